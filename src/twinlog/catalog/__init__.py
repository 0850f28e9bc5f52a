"""The SQL authority: Delta tables created, committed to and read in one database.

The only package that speaks SQL. It never touches the object store.
"""

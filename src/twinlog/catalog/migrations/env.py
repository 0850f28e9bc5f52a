"""Alembic's entry point: runs the revisions on the connection that the runner hands over."""

from alembic import context

attributes = context.config.attributes
context.configure(
    connection=attributes["connection"], version_table=attributes["version_table"], transactional_ddl=False
)
context.run_migrations()

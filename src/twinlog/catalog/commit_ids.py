"""Where a commit landed, by its id."""

from sqlalchemy import Connection, select

from twinlog.catalog import schema


def find_commit(connection: Connection, commit_id: str) -> dict[str, int] | None:
    """The version that a commit has in each of its tables; None if it is not in the log."""
    tables, versions = schema.tables, schema.table_versions
    rows = connection.execute(
        select(tables.c.name, versions.c.version)
        .join(tables, tables.c.table_id == versions.c.table_id)
        .where(versions.c.commit_id == commit_id)
        .order_by(versions.c.member)
    ).all()
    return {row.name: row.version for row in rows} or None

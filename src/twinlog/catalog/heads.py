"""The row of a table that every commit locks, and the place in the log that the lock gives."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from sqlalchemy import Connection, bindparam, select, update
from sqlalchemy.sql.dml import ReturningUpdate

from twinlog.catalog import schema
from twinlog.catalog.dialects.base import Dialect
from twinlog.errors import TableNotFound

_PLACE: Final = (
    schema.tables.c.table_id,
    schema.tables.c.version,
    schema.tables.c.last_commit_ms,
    schema.tables.c.metadata_version,
    schema.tables.c.protocol_version,
    schema.tables.c.delta_id,
)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a commit goes: table, version, time, and which metaData and protocol are in force before it.

    For a table that is only read: where it stands.
    """

    table_id: int
    version: int
    timestamp_ms: int
    metadata_version: int
    protocol_version: int
    delta_id: str


def take_next_versions(
    connection: Connection, dialect: Dialect, names: Sequence[str], *, only_read: Sequence[str] = ()
) -> dict[str, Place]:
    """Lock tables and take each one's next version; those that were only read are locked, but stay where they are.

    Raises:
        TableNotFound: one of them is not in the catalog.
    """
    return {
        name: _lock(connection, name) if name in only_read else _take_next_version(connection, dialect, name)
        for name in _in_lock_order(connection, [*names, *only_read])
    }


def wait_for_writers(connection: Connection, names: Sequence[str]) -> None:
    """Lock tables without moving them: any commit that was under way has landed or failed when this returns."""
    tables = schema.tables
    statement = select(tables.c.table_id).where(tables.c.name.in_(names)).order_by(tables.c.table_id)
    for table_id in connection.execute(statement).scalars().all():
        connection.execute(update(tables).where(tables.c.table_id == table_id).values(version=tables.c.version))


def table_not_found(name: str) -> TableNotFound:
    """The error for a name that is not in the catalog."""
    return TableNotFound("no such table", table=name, hint="`twinlog table list` shows the tables there are")


def _in_lock_order(connection: Connection, names: Sequence[str]) -> list[str]:
    # Everybody locks in id order, so two commits over the same tables cannot deadlock.
    if len(names) == 1:
        return list(names)
    tables = schema.tables
    rows = connection.execute(select(tables.c.name, tables.c.table_id).where(tables.c.name.in_(names))).all()
    ids = {row.name: row.table_id for row in rows}
    missing = [name for name in names if name not in ids]
    if missing:
        raise table_not_found(missing[0])
    return sorted(names, key=ids.__getitem__)


def _take_next_version(connection: Connection, dialect: Dialect, name: str) -> Place:
    row = connection.execute(_next_version_statement(dialect), {"of_name": name}).first()
    if row is None:
        raise table_not_found(name)
    return Place(*row)


def _lock(connection: Connection, name: str) -> Place:
    tables = schema.tables
    statement = update(tables).where(tables.c.name == name).values(version=tables.c.version).returning(*_PLACE)
    row = connection.execute(statement).first()
    if row is None:
        raise table_not_found(name)
    return Place(*row)


@cache
def _next_version_statement(dialect: Dialect) -> ReturningUpdate[Any]:
    # Built once: building it takes longer than running it.
    tables = schema.tables
    return (
        update(tables)
        .where(tables.c.name == bindparam("of_name"))
        .values(
            version=tables.c.version + 1,
            last_commit_ms=dialect.greatest(dialect.now_ms(), tables.c.last_commit_ms + 1),
        )
        .returning(*_PLACE)
    )

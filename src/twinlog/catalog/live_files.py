"""Which files are part of a table now, and taking them out of it."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeAlias, TypeVar

from sqlalchemy import ColumnElement, Connection, FromClause, RowMapping, and_, select, update

from twinlog.catalog import schema

_T = TypeVar("_T")
_CHUNK = 500  # below every database's limit on parameters

FileKey: TypeAlias = tuple[str, str]
"""Path and deletion-vector id."""


def retire(
    connection: Connection, *, table_id: int, version: int, files: Iterable[FileKey]
) -> dict[FileKey, RowMapping]:
    """Take files out of the table as of a version. Returns the rows of those that were part of it."""
    files_table = schema.add_files
    found: dict[FileKey, RowMapping] = {}
    for chunk in _chunks(files):
        is_candidate = and_(
            files_table.c.path.in_([path for path, _ in chunk]),
            _by_path_only(files_table) == table_id,
            files_table.c.removed_version == schema.LIVE,
        )
        wanted = set(chunk)
        candidates = connection.execute(select(files_table).where(is_candidate)).mappings().all()
        retired = {key: row for row in candidates if (key := (row["path"], row["dv_id"])) in wanted}
        if len(retired) == len(candidates):
            statement = update(files_table).where(is_candidate)
            connection.execute(statement.values(removed_version=version))
        else:
            _retire_each(connection, table_id, version, retired.values())
        found |= retired
    return found


def _retire_each(connection: Connection, table_id: int, version: int, rows: Iterable[RowMapping]) -> None:
    # For the rare path that is also live with another deletion vector, which stays.
    files_table = schema.add_files
    for row in rows:
        connection.execute(
            update(files_table)
            .where(
                files_table.c.table_id == table_id,
                files_table.c.version == row["version"],
                files_table.c.ordinal == row["ordinal"],
            )
            .values(removed_version=version)
        )


def find_path_with_two_vectors(connection: Connection, *, table_id: int, version: int) -> str | None:
    """A path that this version added although the table still has it with another deletion vector."""
    added, other = schema.add_files.alias("added"), schema.add_files.alias("other")
    statement = (
        select(added.c.path)
        .join(
            other,
            and_(other.c.path == added.c.path, _by_path_only(other) == table_id, other.c.dv_id != added.c.dv_id),
        )
        .where(
            added.c.table_id == table_id,
            added.c.version == version,
            other.c.removed_version == schema.LIVE,
        )
        .limit(1)
    )
    return connection.execute(statement).scalar()


def has_files_before(connection: Connection, *, table_id: int, version: int) -> bool:
    """Whether a file that an earlier version added is still part of the table."""
    files_table = schema.add_files
    statement = (
        select(files_table.c.path)
        .where(
            files_table.c.table_id == table_id,
            files_table.c.removed_version == schema.LIVE,
            files_table.c.version < version,
        )
        .limit(1)
    )
    return connection.execute(statement).first() is not None


def _by_path_only(files: FromClause) -> ColumnElement[int]:
    # Planners without fresh statistics think little of looking up hundreds of paths and read all files of the table
    # instead. As an expression, the table's id is of no use to the other indexes.
    return files.c.table_id + 0


def _chunks(items: Iterable[_T]) -> Iterator[Sequence[_T]]:
    iterator = iter(items)
    while chunk := list(islice(iterator, _CHUNK)):
        yield chunk

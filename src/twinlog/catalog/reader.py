"""Reading the log: heads, snapshots at a version or time, history, the actions of a commit.

Rows of a ratified version never change and a file's `removed_version` is set once, by a later version. So everything
read at a version is the same whenever it is read, and a snapshot needs no transaction to be consistent.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import orjson
from sqlalchemy import ColumnElement, Connection, RowMapping, func, select

from twinlog.catalog import schema
from twinlog.catalog.database import Database
from twinlog.catalog.heads import table_not_found
from twinlog.catalog.rows import TABLE_OF, from_row
from twinlog.catalog.snapshot import Snapshot
from twinlog.catalog.states import TableStates
from twinlog.errors import ConfigurationError, TableNotFound, VersionNotFound, naming
from twinlog.protocol.actions import Action, CommitInfo
from twinlog.protocol.codec import from_object

_COUNTS: Final = ("num_adds", "num_removes", "num_cdc", "num_txns", "num_domains")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class TableHead:
    """A table as the catalog lists it."""

    table_id: int
    name: str
    location: str
    delta_id: str
    version: int
    last_commit_ms: int
    metadata_version: int
    protocol_version: int
    created_ms: int


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """One line of a table's history."""

    version: int
    timestamp_ms: int
    operation: str
    commit_id: str
    read_version: int | None
    is_blind_append: bool
    num_adds: int
    num_removes: int
    num_cdc: int
    bytes_added: int
    commit_info: CommitInfo


@dataclass(frozen=True, slots=True)
class Commit:
    """A version with all its actions, commitInfo first, in the order in which they are published."""

    version: int
    timestamp_ms: int
    actions: tuple[Action, ...]


class SqlTxnLogReader:
    """Reads what is ratified."""

    def __init__(self, database: Database, states: TableStates) -> None:
        self._database = database
        self._states = states

    def list_tables(self) -> list[TableHead]:
        """All tables, by name."""
        with self._database.read() as connection:
            rows = connection.execute(select(schema.tables).order_by(schema.tables.c.name)).mappings()
            return [TableHead(**row) for row in rows]

    def head(self, name: str) -> TableHead:
        """A table's head.

        Raises:
            TableNotFound: it is not in the catalog.
        """
        with self._database.read() as connection:
            return _head(connection, name)

    def snapshot(self, name: str, *, version: int | None = None, timestamp: datetime | None = None) -> Snapshot:
        """The table at its newest version, at a version, or at a time.

        Raises:
            TableNotFound: it is not in the catalog.
            VersionNotFound: it has no such version, or its first commit is later than the time.
        """
        if version is not None and timestamp is not None:
            raise ConfigurationError("a version and a timestamp were given", table=name, hint="give one of them")
        with naming(name), self._database.read() as connection:
            head = _head(connection, name)
            wanted = head.version
            if timestamp is not None:
                wanted = _version_at(connection, head, timestamp, now_ms=self._database.dialect.now_ms())
            elif version is not None:
                wanted = version
            if not 0 <= wanted <= head.version:
                raise VersionNotFound(
                    f"the table has versions 0 to {head.version}", table=name, version=wanted, hint="choose one of them"
                )
            if wanted == head.version:
                state = self._states.load(
                    connection,
                    table_id=head.table_id,
                    metadata_version=head.metadata_version,
                    protocol_version=head.protocol_version,
                )
            else:
                state = self._states.load_at(connection, table_id=head.table_id, version=wanted)
        return Snapshot(self._database, state, table_id=head.table_id, table=name, version=wanted)

    def history(self, name: str, *, limit: int | None = None) -> list[CommitRecord]:
        """The table's commits, newest first."""
        versions = schema.table_versions
        with self._database.read() as connection:
            head = _head(connection, name)
            statement = select(versions).where(versions.c.table_id == head.table_id)
            rows = connection.execute(statement.order_by(versions.c.version.desc()).limit(limit)).mappings()
            return [_record(row) for row in rows]

    def changes(self, name: str, *, first: int, last: int | None = None) -> Iterator[Commit]:
        """Every commit from version `first` to `last` (default: the newest), with its actions.

        Raises:
            VersionNotFound: the table does not have them all.
        """
        with naming(name), self._database.read() as connection:
            head = _head(connection, name)
            end = head.version if last is None else last
            if not 0 <= first <= end <= head.version:
                raise VersionNotFound(
                    f"versions {first} to {end} asked for, the table has 0 to {head.version}", table=name
                )
            for version in range(first, end + 1):
                yield _commit(connection, head.table_id, version)


def _head(connection: Connection, name: str) -> TableHead:
    row = connection.execute(select(schema.tables).where(schema.tables.c.name == name)).mappings().first()
    if row is None:
        raise table_not_found(name)
    return TableHead(**row)


def _version_at(connection: Connection, head: TableHead, timestamp: datetime, *, now_ms: ColumnElement[int]) -> int:
    if timestamp.tzinfo is None:
        raise ConfigurationError(f"the timestamp {timestamp} has no time zone", hint="use an aware datetime")
    versions = schema.table_versions
    since_epoch_ms = (timestamp - _EPOCH) // timedelta(milliseconds=1)  # exact, unlike a float of seconds
    if since_epoch_ms > max(head.last_commit_ms, connection.execute(select(now_ms)).scalar_one()):
        raise VersionNotFound(
            f"{timestamp.isoformat()} lies in the future, and commits may still come before it",
            hint="leave the timestamp out for the newest version",
        )
    found = connection.execute(
        select(func.max(versions.c.version)).where(
            versions.c.table_id == head.table_id, versions.c.timestamp_ms <= since_epoch_ms
        )
    ).scalar()
    if found is None:
        raise VersionNotFound(f"the table did not exist at {timestamp.isoformat()}", table=head.name)
    return min(int(found), head.version)  # another commit may have landed since the head was read


def _record(row: RowMapping) -> CommitRecord:
    names = [name for name in CommitRecord.__slots__ if name != "commit_info"]
    return CommitRecord(**{name: row[name] for name in names}, commit_info=_commit_info(row["commit_info"]))


def _commit_info(text: str) -> CommitInfo:
    info: CommitInfo = from_object(CommitInfo, orjson.loads(text), where="commitInfo")
    return info


def _commit(connection: Connection, table_id: int, version: int) -> Commit:
    versions = schema.table_versions
    row = (
        connection.execute(select(versions).where(versions.c.table_id == table_id, versions.c.version == version))
        .mappings()
        .first()
    )
    if row is None:
        raise TableNotFound("the table was dropped a moment ago", hint="`twinlog table list` shows what there is")
    found: list[tuple[int, Action]] = [(0, _commit_info(row["commit_info"]))]
    for action_type, table in TABLE_OF.items():
        statement = select(table).where(table.c.table_id == table_id, table.c.version == version)
        rows = connection.execute(statement).mappings()
        found += [(action["ordinal"], from_row(action_type, action)) for action in rows]
    expected = 1 + sum(row[name] for name in _COUNTS) + row["has_metadata"] + row["has_protocol"]
    if len(found) != expected:
        raise TableNotFound(
            f"version {version} has {len(found)} of its {expected} actions: the table is being dropped",
            hint="`twinlog table list` shows what there is",
        )
    found.sort(key=lambda pair: pair[0])
    return Commit(version, row["timestamp_ms"], tuple(action for _, action in found))

"""Commits, from a caller's point of view: they land once, or not at all, or the caller learns how to find out."""

import logging
import random
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from sqlalchemy import Connection, insert, select

from twinlog.catalog import schema
from twinlog.catalog.commit_ids import find_commit
from twinlog.catalog.database import Database, UniqueKeyViolated
from twinlog.catalog.dialects.base import Trouble
from twinlog.catalog.heads import Place, table_not_found, take_next_versions, wait_for_writers
from twinlog.catalog.ratify import AlreadyApplied, Ratification
from twinlog.catalog.requests import Ratified, TableCommit, TableRead
from twinlog.catalog.shares import Share, check_commit_id, check_request
from twinlog.catalog.spool import FileSpool
from twinlog.catalog.states import TableStates
from twinlog.errors import (
    CatalogBusy,
    CatalogError,
    CatalogUnavailable,
    CommitConflict,
    CommitOutcomeUnknown,
    CommitRejected,
    ConnectionLost,
    ExternalWriterDetected,
    InvalidAction,
    ProtocolError,
    TableAlreadyExists,
    TwinlogError,
    naming,
)
from twinlog.protocol.staged import stage
from twinlog.protocol.table_state import TableState

ForeignCommitProbe: TypeAlias = Callable[[str, int], bool]
"""Whether the store already holds a version of the table at a location."""

_PATIENCE_S: Final = 60.0
_FIRST_PAUSE_S: Final = 0.005
_LONGEST_PAUSE_S: Final = 0.5

# So many new rows can make the database's planner choose badly until it looks at the tables again.
_LARGE_COMMIT: Final = 100_000

_LOG: Final = logging.getLogger("twinlog")

_PlaceTaker: TypeAlias = Callable[[Connection], Mapping[str, Place]]


class SqlTxnLogWriter:
    """Ratifies commits in SQL."""

    def __init__(
        self, database: Database, states: TableStates, *, foreign_commit_probe: ForeignCommitProbe | None = None
    ) -> None:
        """Prepare.

        Args:
            database: the catalog's.
            states: cache of table states, shared with readers.
            foreign_commit_probe: asked before each commit, outside of any SQL transaction, whether somebody wrote
                the next version around the catalog. None asks nobody.
        """
        self._database = database
        self._states = states
        self._probe = foreign_commit_probe

    def commit(
        self, *requests: TableCommit, also_read: Sequence[TableRead] = (), commit_id: str | None = None
    ) -> Ratified:
        """Commit to one or several tables, all or nothing.

        Args:
            requests: one for each table.
            also_read: tables that do not move, but that the commit relied on.
            commit_id: repeat it when repeating a commit whose answer was lost; it lands once.

        Raises:
            ProtocolError: the actions break Delta's rules.
            CommitConflict: a commit that came first changed what this one relied on.
            CommitRejected: a table's state forbids it.
            CommitOutcomeUnknown: the database did not answer; ask `outcome` with the commit id.
            TableNotFound: a table is not in the catalog.
            CatalogUnavailable: the database cannot be reached; nothing has changed.
        """
        names = [request.table for request in requests]
        names_read = [read.table for read in also_read]
        if not names:
            raise CommitRejected("the commit names no table", hint="give a TableCommit for each table")
        if len({*names, *names_read}) != len(names) + len(names_read):
            raise CommitRejected(
                "the commit names a table twice", table=", ".join(sorted(names)), hint="join the two shares"
            )
        with naming(", ".join(sorted(names))):
            checked_id = check_commit_id(commit_id)
            try:
                return self._commit(requests, also_read, checked_id, may_repeat=commit_id is not None)
            except (ProtocolError, CommitConflict, CommitRejected):
                # A repeated commit is at odds with its own first time. If it has landed, that is the answer.
                landed = None
                with suppress(CatalogError):
                    landed = self._find_same(checked_id, names) if commit_id is not None else None
                if landed is None:
                    raise
                return landed

    def _commit(
        self, requests: Sequence[TableCommit], also_read: Sequence[TableRead], commit_id: str, *, may_repeat: bool
    ) -> Ratified:
        names = [request.table for request in requests]
        names_read = [read.table for read in also_read]
        with self._prepared(requests) as shares:
            ratified = self._settle_and_retry(
                _Commit(commit_id, may_repeat=may_repeat, shares=shares, also_read=also_read),
                lambda connection: take_next_versions(connection, self._database.dialect, names, only_read=names_read),
            )
            if any(share.num_adds >= _LARGE_COMMIT for share in shares):
                self._refresh_statistics()
            return ratified

    def create(self, request: TableCommit, *, location: str) -> Ratified:
        """Put a table into the catalog together with its first commit.

        Raises:
            TableAlreadyExists: the name or the location is taken.
            ProtocolError: protocol or metadata break Delta's rules.
        """
        with naming(request.table):
            share = Share(request, stage(request.actions), spool=None)
            if share.staged.metadata is None or request.files is not None:
                raise InvalidAction("the first commit of a table needs a metaData action, and no files as Arrow")
            delta_id = share.staged.metadata.id
            if self._probe and self._probe(location, 0):
                raise _external_writer(location, 0)

            def insert_table(connection: Connection) -> Mapping[str, Place]:
                return {share.table: self._insert_table(connection, share.table, location, delta_id)}

            return self._settle_and_retry(
                _Commit(str(uuid.uuid4()), may_repeat=False, shares=[share], also_read=()), insert_table
            )

    def outcome(self, commit_id: str, *, tables: Sequence[str]) -> Ratified | None:
        """Whether a commit landed, for certain: it waits for any of its kind that is still under way.

        Args:
            commit_id: the commit's.
            tables: those it was for; see `CommitOutcomeUnknown.tables`.

        Returns:
            Where it landed, or None if it did not and never will by itself.
        """
        with self._database.write() as connection:
            wait_for_writers(connection, tables)
            landed = find_commit(connection, commit_id)
        return Ratified(commit_id, landed, replayed=True) if landed else None

    @contextmanager
    def _prepared(self, requests: Sequence[TableCommit]) -> Iterator[list[Share]]:
        with ExitStack() as spools:
            shares = []
            for request in requests:
                with naming(request.table):
                    share = Share(request, stage(request.actions), spool=None)
                    check_request(share)
                    shares.append(replace(share, spool=self._spooled(share, spools)))
            yield shares

    def _spooled(self, share: Share, spools: ExitStack) -> FileSpool | None:
        files = share.request.files
        if files is None:
            return None
        try:
            state = self._head_state(share.table)
        except ConnectionLost:
            state = self._head_state(share.table)  # a pooled connection was dead; the next one is new
        after = TableState(share.staged.protocol or state.protocol, share.staged.metadata or state.metadata)
        return spools.enter_context(FileSpool(files, after, removes=share.staged.removes))

    def _head_state(self, name: str) -> TableState:
        tables = schema.tables
        with self._database.read() as connection:
            row = connection.execute(select(tables).where(tables.c.name == name)).mappings().first()
            if row is None:
                raise table_not_found(name)
            return self._states.load(
                connection,
                table_id=row["table_id"],
                metadata_version=row["metadata_version"],
                protocol_version=row["protocol_version"],
            )

    def _settle_and_retry(self, commit: "_Commit", take_places: _PlaceTaker) -> Ratified:
        """Repeat until the commit has an outcome. Conflicts are outcomes; a busy or vanished database is not."""
        deadline = time.monotonic() + _PATIENCE_S
        pause, supersede = _FIRST_PAUSE_S, False
        while True:
            try:
                return self._attempt(commit, take_places, supersede=supersede)
            except AlreadyApplied as applied:
                return Ratified(applied.commit_id, applied.versions, replayed=True)
            except UniqueKeyViolated as violation:
                landed = self._explain(violation, commit, supersede=supersede)
                if landed:
                    return landed
                supersede = supersede or violation.trouble is Trouble.FILE_ALREADY_LIVE
            except _HeadMoved:
                if time.monotonic() > deadline:
                    raise CatalogBusy("other commits keep coming first", hint="try again") from None
            except (CatalogBusy, ConnectionLost) as error:
                may_have_landed = isinstance(error, ConnectionLost) and error.during_commit
                if may_have_landed and (landed := self._settle(commit, deadline)):
                    return landed
                if time.monotonic() > deadline:
                    raise
            time.sleep(random.uniform(0, pause))  # noqa: S311 - jitter, so that rivals do not meet again
            pause = min(pause * 2, _LONGEST_PAUSE_S)

    def _attempt(self, commit: "_Commit", take_places: _PlaceTaker, *, supersede: bool) -> Ratified:
        expected = self._probe_store(commit.names) if self._probe else {}
        with self._database.write() as connection:
            places = take_places(connection)
            if any(places[name].version != version for name, version in expected.items()):
                raise _HeadMoved
            if commit.may_repeat and find_commit(connection, commit.commit_id):
                # The unique key would find most repetitions, but not one whose first table has been dropped since.
                raise UniqueKeyViolated(Trouble.COMMIT_ID_TAKEN)
            ratification = Ratification(
                connection, self._database.dialect, self._states, commit_id=commit.commit_id, supersede=supersede
            )
            ratification.write(commit.shares, commit.also_read, places)
        return Ratified(commit.commit_id, {name: places[name].version for name in commit.names})

    def _refresh_statistics(self) -> None:
        try:
            with self._database.write() as connection:
                self._database.dialect.analyze(connection, schema.add_files)
        except TwinlogError:
            # The commit is ratified; old statistics can only make queries slower.
            _LOG.warning("could not refresh the planner's statistics", exc_info=True)

    def _probe_store(self, names: Sequence[str]) -> dict[str, int]:
        """The version that each table gets next, after making sure that the store does not have it."""
        tables = schema.tables
        with self._database.read() as connection:
            rows = connection.execute(
                select(tables.c.name, tables.c.location, tables.c.version).where(tables.c.name.in_(names))
            ).all()
        for row in rows:
            if self._probe and self._probe(row.location, row.version + 1):
                with naming(row.name):
                    raise _external_writer(row.location, row.version + 1)
        return {row.name: row.version + 1 for row in rows}

    def _insert_table(self, connection: Connection, name: str, location: str, delta_id: str) -> Place:
        tables = schema.tables
        now_ms = self._database.dialect.now_ms()
        row = connection.execute(
            insert(tables)
            .values(
                name=name,
                location=location,
                delta_id=delta_id,
                version=0,
                last_commit_ms=now_ms,
                metadata_version=0,
                protocol_version=0,
                created_ms=now_ms,
            )
            .returning(tables.c.table_id, tables.c.last_commit_ms)
        ).one()
        return Place(row.table_id, 0, row.last_commit_ms, metadata_version=0, protocol_version=0, delta_id=delta_id)

    def _explain(self, violation: UniqueKeyViolated, commit: "_Commit", *, supersede: bool) -> Ratified | None:
        """What a unique key told us: where the commit is already, None to try again, or an error."""
        match violation.trouble:
            case Trouble.COMMIT_ID_TAKEN:
                return self._find_same(commit.commit_id, commit.names)
            case Trouble.NAME_TAKEN | Trouble.LOCATION_TAKEN if landed := self._find_same(
                commit.commit_id, commit.names
            ):
                return replace(landed, replayed=False)  # taken by ourselves, in an attempt whose answer was lost
            case Trouble.FILE_ALREADY_LIVE if not supersede:
                return None
            case Trouble.FILE_ALREADY_LIVE:
                raise InvalidAction("a file is added twice in one commit", hint="keep one of them") from None
            case Trouble.NAME_TAKEN | Trouble.LOCATION_TAKEN:
                raise self._already_exists(commit.names[0]) from None
            case _:
                raise violation

    def _already_exists(self, name: str) -> TableAlreadyExists:
        # Asked again, because a database names only one of the keys when both are violated.
        tables = schema.tables
        with self._database.read() as connection:
            if connection.execute(select(tables.c.name).where(tables.c.name == name)).first():
                return TableAlreadyExists("the name is taken", hint="choose another name, or use the table that has it")
        return TableAlreadyExists("another table has this location", hint="give every table its own location")

    def _find_same(self, commit_id: str, names: Sequence[str]) -> Ratified | None:
        """Where this commit landed before.

        Raises:
            CommitRejected: its id belongs to a commit to other tables.
        """
        landed = self.outcome(commit_id, tables=names)
        if landed and set(landed.versions) != set(names):
            raise CommitRejected(
                f"commit id {commit_id!r} was used for {', '.join(landed.versions)}",
                hint="use a new commit id for a new commit",
            )
        return landed

    def _settle(self, commit: "_Commit", deadline: float) -> Ratified | None:
        while True:
            try:
                landed = self.outcome(commit.commit_id, tables=commit.names)
                return replace(landed, replayed=False) if landed else None
            except CatalogUnavailable as error:
                if time.monotonic() > deadline:
                    raise CommitOutcomeUnknown(
                        f"the answer to COMMIT was lost and the database cannot be asked: {error.message}",
                        commit_id=commit.commit_id,
                        tables=tuple(commit.names),
                        hint=f"repeat the commit with commit id {commit.commit_id} when it is back: it lands once",
                    ) from error
                time.sleep(_LONGEST_PAUSE_S)


@dataclass(frozen=True, slots=True)
class _Commit:
    """What is to land: an id, what is written and what was only read."""

    commit_id: str
    may_repeat: bool
    shares: Sequence[Share]
    also_read: Sequence[TableRead]

    @property
    def names(self) -> list[str]:
        """The tables that it moves."""
        return [share.table for share in self.shares]


class _HeadMoved(Exception):
    """Another commit took the version that the store was probed for."""


def _external_writer(location: str, version: int) -> ExternalWriterDetected:
    return ExternalWriterDetected(
        f"{location} already holds version {version}, which the catalog has not ratified",
        version=version,
        hint="find the writer that goes around the catalog and stop it; import or remove its commit",
    )

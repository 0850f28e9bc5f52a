"""The one transaction that moves tables: versions are assigned, conflicts checked, actions written.

Order matters. The row locks come first, so that whatever is read afterwards cannot change. The version row comes
before everything else that is written, because its unique commit id tells a repeated commit from a new one, and a
repeated commit would conflict with itself. Any exception rolls all of it back.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection, RowMapping, and_, select, update

from twinlog.catalog import schema
from twinlog.catalog.action_rows import ActionRows
from twinlog.catalog.commit_ids import find_commit
from twinlog.catalog.dialects.base import Dialect
from twinlog.catalog.heads import Place
from twinlog.catalog.live_files import FileKey, find_path_with_two_vectors, has_files_before, retire
from twinlog.catalog.requests import TableCommit, TableRead
from twinlog.catalog.row_ids import RowIds
from twinlog.catalog.shares import Share
from twinlog.catalog.states import TableStates
from twinlog.catalog.winners import load_winners
from twinlog.errors import CommitRejected, InvalidAction, MetadataChanged, naming
from twinlog.protocol.actions import Metadata, Txn, dv_id
from twinlog.protocol.codec import encode_json, to_object
from twinlog.protocol.conflicts import Attempt, check_conflicts, needs
from twinlog.protocol.table_rules import (
    ICT_ENABLEMENT,
    check_against,
    check_needs_feature,
    check_record_counts,
    needs_record_counts,
    next_state,
)
from twinlog.protocol.table_state import TableState


class AlreadyApplied(Exception):
    """The application transactions of this commit, or later ones, are in the log already: here is where."""

    def __init__(self, commit_id: str, versions: Mapping[str, int]) -> None:
        super().__init__()
        self.commit_id = commit_id
        self.versions = versions


@dataclass(frozen=True, slots=True)
class _Step:
    """A share at its place, with the table's state before (None at version 0) and after it."""

    share: Share
    place: Place
    before: TableState | None
    after: TableState


class Ratification:
    """One attempt at one commit, on a connection in a write transaction."""

    def __init__(
        self, connection: Connection, dialect: Dialect, states: TableStates, *, commit_id: str, supersede: bool
    ) -> None:
        """Prepare.

        Args:
            connection: in a write transaction that holds the tables' row locks.
            dialect: its database.
            states: cache of table states.
            commit_id: idempotency key of the commit.
            supersede: replace added files that are live already. Finding them costs a query, so it is only done
                when the unique key on live files has shown that there are some.
        """
        self._connection = connection
        self._dialect = dialect
        self._states = states
        self._commit_id = commit_id
        self._supersede = supersede

    def write(self, shares: Sequence[Share], reads: Sequence[TableRead], places: Mapping[str, Place]) -> None:
        """Check what was read and write every share.

        Raises:
            TwinlogError: the commit is refused.
            AlreadyApplied: its application transactions are in the log.
        """
        self._check_applications(shares, places)
        requests: list[TableCommit | TableRead] = [*reads, *(share.request for share in shares)]
        for request in requests:
            _check_identity(request, places[request.table])
        for read in reads:
            with naming(read.table):
                self._check_reads(read, places[read.table])
        for member, share in enumerate(shares):
            with naming(share.table):
                step = self._step(share, places[share.table])
                self._write_step(step, member)

    def _step(self, share: Share, place: Place) -> _Step:
        before = self._state(place) if place.version > 0 else None
        if before:
            # First of all: a commit that relied on something outdated is not to be blamed for what it says about it.
            self._check_conflicts(share, place, before)
        after = next_state(before, share.staged)
        if before and after.has_in_commit_timestamps and not before.has_in_commit_timestamps:
            share = _with_metadata(share, _record_enablement(after.metadata, place))
            after = next_state(before, share.staged)
        return _Step(share, place, before, after)

    def _version_row(self, step: _Step, member: int) -> dict[str, object]:
        share, place, staged = step.share, step.place, step.share.staged
        info = share.commit_info(step.after, commit_id=self._commit_id, timestamp_ms=place.timestamp_ms)
        return {
            "table_id": place.table_id,
            "version": place.version,
            "commit_id": self._commit_id,
            "member": member,
            "timestamp_ms": place.timestamp_ms,
            "operation": share.operation,
            "read_version": share.request.read_version,
            "is_blind_append": share.is_blind_append,
            "num_adds": share.num_adds,
            "num_removes": len(staged.removes),
            "num_cdc": len(staged.cdcs),
            "num_txns": len(staged.txns),
            "num_domains": len(staged.domains) + share.numbers_rows(step.after),
            "has_metadata": staged.metadata is not None,
            "has_protocol": staged.protocol is not None,
            "bytes_added": share.bytes_added,
            "commit_info": encode_json(to_object(info)).decode(),
        }

    def _state(self, place: Place) -> TableState:
        return self._states.load(
            self._connection,
            table_id=place.table_id,
            metadata_version=place.metadata_version,
            protocol_version=place.protocol_version,
        )

    def _check_applications(self, shares: Sequence[Share], places: Mapping[str, Place]) -> None:
        """Stop a commit whose application transactions were seen, if the commit that had them was this whole one."""
        found = [self._find_application(places[share.table], txn) for share in shares for txn in share.staged.txns]
        seen = [commit_id for commit_id in found if commit_id is not None]
        if not seen:
            return
        names = {share.table for share in shares}
        landed = find_commit(self._connection, seen[0]) or {}
        if len(seen) == len(found) and names <= landed.keys() and (len(names) == 1 or len(set(seen)) == 1):
            raise AlreadyApplied(seen[0], {name: landed[name] for name in names})
        raise CommitRejected(
            "some of its application transactions are in the log already, but not this whole commit",
            table=", ".join(sorted(names)),
            hint="commit what is missing by itself",
        )

    def _find_application(self, place: Place, txn: Txn) -> str | None:
        """The commit that first brought an application to this transaction or a later one."""
        txns, versions = schema.txn_actions, schema.table_versions
        of_application = and_(txns.c.table_id == place.table_id, txns.c.app_id == txn.app_id)
        # The newest first: it tells at once that a transaction is new, however long the application's history is.
        newest = select(txns.c.app_version).where(of_application).order_by(txns.c.version.desc()).limit(1)
        last = self._connection.execute(newest).scalar()
        if last is None or last < txn.app_version:
            return None
        statement = (
            select(versions.c.commit_id)
            .join(txns, and_(txns.c.table_id == versions.c.table_id, txns.c.version == versions.c.version))
            .where(of_application, txns.c.app_version >= txn.app_version)
            .order_by(txns.c.version)
            .limit(1)
        )
        return self._connection.execute(statement).scalar()

    def _write_step(self, step: _Step, member: int) -> None:
        share, place = step.share, step.place
        check_against(step.after, share.staged)
        _check_spool(share, step.after)
        retired = self._retire_removed(share, place)
        superseded = self._retire_superseded(share, place) if self._supersede else {}
        row_ids = None
        if share.numbers_rows(step.after):
            known = {row["path"]: row for row in (*retired.values(), *superseded.values())}
            row_ids = RowIds.load(self._connection, place, known)
        ActionRows(self._connection, self._dialect, place).write(
            share,
            row_ids=row_ids,
            retired=retired,
            version_row=self._version_row(step, member),
            status_row=_status_row(place),
        )
        self._check_result(step)
        self._record_state_versions(share, place)

    def _check_conflicts(self, share: Share, place: Place, before: TableState) -> None:
        read_version, staged = share.request.read_version, share.staged
        if read_version is None or not self._has_moved(read_version, head=place.version - 1):
            return
        attempt = Attempt(
            read_version=read_version,
            read_state=self._read_state(place, read_version, before),
            reads=share.request.reads,
            isolation_level=share.isolation_level(before),
            is_blind_append=share.is_blind_append,
            removes=frozenset(remove.path for remove in staged.removes),
            domains=frozenset(domain.domain for domain in staged.domains),
            metadata=staged.metadata,
            protocol=staged.protocol,
            operation=share.operation,
        )
        self._raise_conflict(attempt, place.table_id, share.table, head=place.version - 1)

    def _check_reads(self, read: TableRead, place: Place) -> None:
        if not self._has_moved(read.read_version, head=place.version):
            return
        state = self._state(place)
        attempt = Attempt(
            read_version=read.read_version,
            read_state=self._read_state(place, read.read_version, state),
            reads=read.reads,
            isolation_level=state.isolation_level,
            is_blind_append=False,
        )
        self._raise_conflict(attempt, place.table_id, read.table, head=place.version)

    def _has_moved(self, read_version: int, *, head: int) -> bool:
        if read_version > head:
            raise CommitRejected(
                f"read version {read_version} is ahead of the table, which is at version {head}",
                hint="read the table again",
            )
        return read_version < head

    def _read_state(self, place: Place, read_version: int, current: TableState) -> TableState:
        if max(place.metadata_version, place.protocol_version) <= read_version:
            return current
        return self._states.load_at(self._connection, table_id=place.table_id, version=read_version)

    def _raise_conflict(self, attempt: Attempt, table_id: int, table: str, *, head: int) -> None:
        winners = load_winners(
            self._connection, table_id=table_id, after=attempt.read_version, before=head + 1, needs=needs(attempt)
        )
        conflict = check_conflicts(attempt, winners)
        if conflict:
            raise conflict.to_error(table)

    def _retire_removed(self, share: Share, place: Place) -> Mapping[FileKey, RowMapping]:
        wanted = [(remove.path, dv_id(remove)) for remove in share.staged.removes]
        retired = retire(self._connection, table_id=place.table_id, version=place.version, files=wanted)
        missing = next((key for key in wanted if key not in retired), None)
        if missing:
            path, vector = missing
            raise CommitRejected(
                f"cannot remove {path!r}{f' with deletion vector {vector}' if vector else ''}: not an active file",
                version=place.version - 1,
                hint=f"`twinlog files {share.table}` lists the active files; give a file's deletion vector too",
            )
        return retired

    def _retire_superseded(self, share: Share, place: Place) -> Mapping[FileKey, RowMapping]:
        added = [(add.path, dv_id(add)) for add in share.staged.adds]
        superseded = retire(self._connection, table_id=place.table_id, version=place.version, files=added)
        for batch in share.spool.batches() if share.spool else ():
            keys = zip(batch.column("path").to_pylist(), batch.column("dv_id").to_pylist(), strict=True)
            superseded |= retire(self._connection, table_id=place.table_id, version=place.version, files=keys)
        return superseded

    def _check_result(self, step: _Step) -> None:
        place = step.place
        if "deletionVectors" in step.after.features:
            path = find_path_with_two_vectors(self._connection, table_id=place.table_id, version=place.version)
            if path:
                raise InvalidAction(
                    f"{path!r} is active with another deletion vector", hint="remove that one in the same commit"
                )
        relaid = step.before and step.before.metadata.partition_columns != step.after.metadata.partition_columns
        if relaid and has_files_before(self._connection, table_id=place.table_id, version=place.version):
            raise CommitRejected(
                "the partition columns change while files of the old layout are active",
                hint="remove every active file in the same commit",
            )

    def _record_state_versions(self, share: Share, place: Place) -> None:
        changes = {}
        if share.staged.metadata:
            changes["metadata_version"] = place.version
        if share.staged.protocol:
            changes["protocol_version"] = place.version
        if changes:
            tables = schema.tables
            self._connection.execute(update(tables).where(tables.c.table_id == place.table_id).values(**changes))


def _status_row(place: Place) -> dict[str, object]:
    return {
        "table_id": place.table_id,
        "version": place.version,
        "artifact": "commit",
        "status": "PENDING",
        "enqueued_ms": place.timestamp_ms,
    }


def _check_identity(request: TableCommit | TableRead, place: Place) -> None:
    if request.delta_id not in (None, place.delta_id):
        raise MetadataChanged(
            "the table was dropped and its name given to another one",
            table=request.table,
            hint="read the table again and redo the commit on it",
        )


def _with_metadata(share: Share, metadata: Metadata) -> Share:
    staged = share.staged
    ordered = tuple(metadata if action is staged.metadata else action for action in staged.ordered)
    return replace(share, staged=replace(staged, metadata=metadata, ordered=ordered))


def _record_enablement(metadata: Metadata, place: Place) -> Metadata:
    # Readers find out from these two from which version on commit times are in the log.
    enablement = dict(zip(ICT_ENABLEMENT, (str(place.version), str(place.timestamp_ms)), strict=True))
    return replace(metadata, configuration={**metadata.configuration, **enablement})


def _check_spool(share: Share, state: TableState) -> None:
    spool = share.spool
    if spool is None:
        return
    if spool.partition_types != state.partition_types:
        raise MetadataChanged(
            "the partition columns changed while the files were being prepared", hint="read the table again and retry"
        )
    if spool.first_with_deletion_vector is not None:
        check_needs_feature(state, "deletionVectors", [spool.first_with_deletion_vector])
    if needs_record_counts(state):
        check_record_counts([spool.first_without_record_count] if spool.first_without_record_count else [])

"""Whether a commit still holds after the commits that came first (Delta's optimistic concurrency rules).

The winners are checked in version order and the rules in Delta's order, so the conflict reported is the first one.
No conflict means: take over the last winner's protocol and metadata and land on top. Whether this writer supports an
adopted protocol is for the caller to check. Nothing here loads anything: `needs` says what to load first.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from twinlog.errors import (
    CommitConflict,
    ConcurrentAppend,
    ConcurrentDeleteDelete,
    ConcurrentDeleteRead,
    ConcurrentTransaction,
    MetadataChanged,
    ProtocolChanged,
)
from twinlog.protocol.actions import ROW_TRACKING_DOMAIN, Metadata, PartitionValues, Protocol
from twinlog.protocol.features import removed_features
from twinlog.protocol.isolation import IsolationLevel, ReadSet
from twinlog.protocol.metadata_changes import can_adopt
from twinlog.protocol.predicates import ALWAYS
from twinlog.protocol.read_regions import ReadRegion
from twinlog.protocol.table_state import TableState

# They write the table's own files again, with or without row ids: nothing a reader of rows could notice.
_ROW_TRACKING_REWRITES: Final = frozenset({"ROW TRACKING BACKFILL", "ROW TRACKING UNBACKFILL"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """A commit that wants to land: what it read, and what of its content can clash.

    `read_state` is the table's at `read_version`; `metadata` and `protocol` are those the commit writes, if any.
    `removes` holds paths.
    """

    read_version: int
    read_state: TableState
    reads: ReadSet
    isolation_level: IsolationLevel
    is_blind_append: bool
    removes: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()
    metadata: Metadata | None = None
    protocol: Protocol | None = None
    operation: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Winner:
    """A commit that landed after the attempt's read version.

    `adds` are the partition values of its added files (equal ones may be given once), `removes` the removed paths;
    either may be left empty where `needs` does not ask for it.
    """

    version: int
    is_blind_append: bool
    adds: Iterable[PartitionValues] = ()
    removes: frozenset[str] = frozenset()
    app_ids: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()
    metadata: Metadata | None = None
    protocol: Protocol | None = None
    operation: str | None = None


@dataclass(frozen=True, slots=True)
class Needs:
    """Which of the winners' file actions decide anything."""

    adds: bool
    removes: bool


class ConflictKind(Enum):
    """Which promise to the attempt the winner broke."""

    PROTOCOL_CHANGED = "protocol changed"
    METADATA_CHANGED = "metadata changed"
    CONCURRENT_TRANSACTION = "concurrent transaction"
    CONCURRENT_APPEND = "concurrent append"
    CONCURRENT_DELETE_READ = "concurrent delete of a read file"
    CONCURRENT_DELETE_DELETE = "concurrent delete of a removed file"


_ERRORS: Final[Mapping[ConflictKind, type[CommitConflict]]] = {
    ConflictKind.PROTOCOL_CHANGED: ProtocolChanged,
    ConflictKind.METADATA_CHANGED: MetadataChanged,
    ConflictKind.CONCURRENT_TRANSACTION: ConcurrentTransaction,
    ConflictKind.CONCURRENT_APPEND: ConcurrentAppend,
    ConflictKind.CONCURRENT_DELETE_READ: ConcurrentDeleteRead,
    ConflictKind.CONCURRENT_DELETE_DELETE: ConcurrentDeleteDelete,
}


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why an attempt cannot land as it is; `subject` is the file, filter, domain, application or feature concerned."""

    kind: ConflictKind
    version: int
    detail: str
    subject: str | None = None

    def to_error(self, table: str) -> CommitConflict:
        """The conflict as the error that the table's writer gets."""
        hint = f"reload the snapshot at version {self.version} and redo the commit on it"
        return _ERRORS[self.kind](self.detail, table=table, version=self.version, hint=hint)


def needs(attempt: Attempt) -> Needs:
    """What of the winners must be loaded to check this attempt."""
    reads = attempt.reads
    return Needs(
        adds=(reads.whole_table or bool(reads.predicates))
        and attempt.isolation_level is not IsolationLevel.SNAPSHOT
        and not attempt.is_blind_append
        and attempt.operation not in _ROW_TRACKING_REWRITES,
        removes=reads.whole_table or bool(reads.files) or bool(attempt.removes),
    )


def check_conflicts(attempt: Attempt, winners: Iterable[Winner]) -> Conflict | None:
    """The first conflict between an attempt and the commits that came first, in version order."""
    region = ReadRegion.of(attempt.reads, attempt.read_state) if needs(attempt).adds else None
    metadata = attempt.read_state.metadata
    for winner in winners:
        conflict = (
            _protocol_conflict(attempt, winner)
            or _metadata_conflict(attempt, winner, metadata)
            or _domain_conflict(attempt, winner)
            or _application_conflict(attempt, winner)
            or _append_conflict(attempt, winner, region)
            or _delete_conflict(attempt, winner)
        )
        if conflict is not None:
            return conflict
        metadata = winner.metadata or metadata
    return None


def _protocol_conflict(attempt: Attempt, winner: Winner) -> Conflict | None:
    kind, version = ConflictKind.PROTOCOL_CHANGED, winner.version
    if winner.protocol is not None:
        if attempt.protocol is not None:
            return Conflict(kind, version, f"version {version} changed the protocol, which this commit changes too")
        dropped = removed_features(attempt.read_state.protocol, winner.protocol)
        if dropped:
            return Conflict(kind, version, f"version {version} dropped {_listed(dropped)}", _listed(dropped))
    if attempt.protocol is not None:
        dropped = removed_features(attempt.read_state.protocol, attempt.protocol)
        if dropped:
            detail = f"this commit drops {_listed(dropped)}, of which version {version} may have left new traces"
            return Conflict(kind, version, detail, _listed(dropped))
    return None


def _metadata_conflict(attempt: Attempt, winner: Winner, current: Metadata) -> Conflict | None:
    if winner.metadata is None:
        return None
    if attempt.metadata is not None:
        detail = f"version {winner.version} changed the metadata, which this commit changes too"
    elif not can_adopt(current, winner.metadata):
        detail = f"version {winner.version} changed the metadata that this commit was prepared for"
    else:
        return None
    return Conflict(ConflictKind.METADATA_CHANGED, winner.version, detail)


def _domain_conflict(attempt: Attempt, winner: Winner) -> Conflict | None:
    shared = (attempt.domains & winner.domains) - {ROW_TRACKING_DOMAIN}
    if not shared:
        return None
    detail = f"version {winner.version} wrote the domain {_listed(shared)}, which this commit writes too"
    return Conflict(ConflictKind.CONCURRENT_TRANSACTION, winner.version, detail, _listed(shared))


def _application_conflict(attempt: Attempt, winner: Winner) -> Conflict | None:
    shared = attempt.reads.app_ids & winner.app_ids
    if not shared:
        return None
    detail = f"version {winner.version} recorded a transaction of application {_listed(shared)}, which this commit read"
    return Conflict(ConflictKind.CONCURRENT_TRANSACTION, winner.version, detail, _listed(shared))


def _append_conflict(attempt: Attempt, winner: Winner, region: ReadRegion | None) -> Conflict | None:
    if region is None or winner.operation in _ROW_TRACKING_REWRITES:
        return None
    tolerates_appends = attempt.isolation_level is IsolationLevel.WRITE_SERIALIZABLE and attempt.metadata is None
    if winner.is_blind_append and tolerates_appends:
        return None
    for values in winner.adds:
        predicate = region.filter_covering(values)
        if predicate is not None:
            read = "the whole table" if predicate == ALWAYS else str(predicate)
            detail = f"version {winner.version} added a file{_place(values)} to what this commit read: {read}"
            return Conflict(ConflictKind.CONCURRENT_APPEND, winner.version, detail, read)
    return None


def _delete_conflict(attempt: Attempt, winner: Winner) -> Conflict | None:
    read = winner.removes if attempt.reads.whole_table else winner.removes & attempt.reads.files
    if read:
        detail = (
            f"version {winner.version} removed {min(read)!r}, which this commit read at version {attempt.read_version}"
        )
        return Conflict(ConflictKind.CONCURRENT_DELETE_READ, winner.version, detail, min(read))
    removed = winner.removes & attempt.removes
    if removed:
        detail = f"version {winner.version} removed {min(removed)!r}, which this commit removes too"
        return Conflict(ConflictKind.CONCURRENT_DELETE_DELETE, winner.version, detail, min(removed))
    return None


def _listed(names: frozenset[str]) -> str:
    return ", ".join(sorted(names))


def _place(values: PartitionValues) -> str:
    return f" in partition {', '.join(f'{name}={value}' for name, value in values.items())}" if values else ""

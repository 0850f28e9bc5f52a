"""What a caller asks of a commit, and what the catalog answers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import pyarrow as pa

from twinlog.protocol.actions import Action, JsonObject
from twinlog.protocol.isolation import ReadSet

ArrowFiles: TypeAlias = pa.Table | pa.RecordBatch | pa.RecordBatchReader | Iterable[pa.RecordBatch]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCommit:
    """One table's share of a commit.

    Attributes:
        table: its name.
        actions: in the order in which they are to be published. A commitInfo among them supplies what is not
            given here; version, times and ids are the catalog's.
        files: many files to add, as Arrow (columns of `FILES_SCHEMA`), after `actions`. Streamed, never held whole.
        read_version: the version that the commit was derived from. None means that it depends on nothing it read,
            like a plain append.
        reads: what was read at that version, for the conflict check.
        delta_id: metaData.id of the table that was read, in case it is dropped and its name used again.
    """

    table: str
    actions: Sequence[Action] = ()
    files: ArrowFiles | None = None
    operation: str | None = None
    operation_parameters: JsonObject | None = None
    operation_metrics: Mapping[str, str] | None = None
    user_metadata: str | None = None
    read_version: int | None = None
    reads: ReadSet = field(default_factory=ReadSet)
    delta_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRead:
    """A table that a commit only read: it does not move, but the commit fails if others changed what was read."""

    table: str
    read_version: int
    reads: ReadSet
    delta_id: str


@dataclass(frozen=True, slots=True)
class Ratified:
    """A commit that is in the log.

    Attributes:
        commit_id: the id under which it is in the log.
        versions: the version it has in each of its tables.
        replayed: nothing was done now: the same commit id came before, or the log already has its application
            transactions (`txn`) or later ones. The other fields tell of the commit that is in the log.
    """

    commit_id: str
    versions: Mapping[str, int]
    replayed: bool = False

    @property
    def version(self) -> int:
        """The version, of a commit to one table."""
        (version,) = self.versions.values()
        return version

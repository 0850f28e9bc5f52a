"""One table's share of a commit, prepared before its table is locked."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version as package_version
from typing import Final

from twinlog.catalog import schema
from twinlog.catalog.requests import TableCommit
from twinlog.catalog.spool import FileSpool
from twinlog.errors import CommitRejected, InvalidAction
from twinlog.protocol.actions import CommitInfo, JsonObject, JsonValue
from twinlog.protocol.codec import check_types, encode_json
from twinlog.protocol.isolation import IsolationLevel, is_blind_append, isolation_level_for
from twinlog.protocol.staged import StagedActions
from twinlog.protocol.table_state import TableState

ENGINE_INFO: Final = f"twinlog/{package_version('twinlog')}"


@dataclass(frozen=True, slots=True)
class Share:
    """What goes to one table: the request, its actions by kind, and its spooled files."""

    request: TableCommit
    staged: StagedActions
    spool: FileSpool | None

    @property
    def table(self) -> str:
        """Name of the table."""
        return self.request.table

    @property
    def operation(self) -> str:
        """What the commit calls itself."""
        given = self.staged.commit_info
        return self.request.operation or (given and given.operation) or "WRITE"

    @property
    def is_blind_append(self) -> bool:
        """Whether it only adds files, without having looked at any."""
        return is_blind_append(self.staged.ordered, self.request.reads)

    @property
    def num_adds(self) -> int:
        """How many files it adds."""
        return len(self.staged.adds) + (self.spool.num_files if self.spool else 0)

    @property
    def bytes_added(self) -> int:
        """How many bytes the added files have."""
        return sum(add.size for add in self.staged.adds) + (self.spool.num_bytes if self.spool else 0)

    def numbers_rows(self, state: TableState) -> bool:
        """Whether it adds files that need row ids."""
        if not state.assigns_row_ids:
            return False
        spooled = self.spool is not None and self.spool.num_unnumbered > 0
        return spooled or any(add.base_row_id is None for add in self.staged.adds)

    def isolation_level(self, state: TableState) -> IsolationLevel:
        """How strictly the commit is held to what it read."""
        if self.spool and self.spool.has_data_change:
            return state.isolation_level
        return isolation_level_for(self.staged.ordered, state.isolation_level)

    def commit_info(self, state: TableState, *, commit_id: str, timestamp_ms: int) -> CommitInfo:
        """Provenance as it is published: the caller's words, the catalog's times and ids."""
        given = self.staged.commit_info or CommitInfo()
        request = self.request
        metrics = self.given_metrics
        parameters = request.operation_parameters
        return replace(
            given,
            version=None,
            in_commit_timestamp=timestamp_ms if state.has_in_commit_timestamps else None,
            timestamp=timestamp_ms,
            operation=self.operation,
            operation_parameters=_as_scalars(
                (parameters if parameters is not None else given.operation_parameters) or {}
            ),
            read_version=request.read_version,
            isolation_level=self.isolation_level(state).value,
            is_blind_append=self.is_blind_append,
            operation_metrics=self._counted_metrics() if metrics is None else _as_strings(metrics),
            user_metadata=request.user_metadata or given.user_metadata,
            engine_info=given.engine_info or ENGINE_INFO,
            txn_id=commit_id,
        )

    @property
    def given_metrics(self) -> JsonObject | None:
        """Operation metrics by the caller, in the request or in a commitInfo."""
        given = self.staged.commit_info
        metrics = self.request.operation_metrics
        return metrics if metrics is not None or given is None else given.operation_metrics

    def _counted_metrics(self) -> dict[str, JsonValue]:
        counts = {
            "numFiles": self.num_adds,
            "numOutputBytes": self.bytes_added,
            "numRemovedFiles": len(self.staged.removes),
        }
        return {name: str(count) for name, count in counts.items() if count}


def check_request(share: Share) -> None:
    """The rules about what a commit must have read.

    Raises:
        CommitRejected: it changes metadata or protocol without saying which version it changes.
    """
    request, staged = share.request, share.staged
    check_types(
        CommitInfo(
            operation=request.operation,
            operation_parameters=request.operation_parameters,
            operation_metrics=request.operation_metrics,
            user_metadata=request.user_metadata,
            read_version=request.read_version,
        )
    )
    _as_strings(share.given_metrics)
    read_version = request.read_version
    if read_version is not None and not 0 <= read_version < schema.LIVE:
        raise CommitRejected(f"read version {read_version} is not a version", hint="versions begin at 0")
    if read_version is None and (staged.metadata or staged.protocol):
        raise CommitRejected(
            "a new metaData or protocol replaces the one in force, so the commit must say which version it has seen",
            hint="pass the read version",
        )
    if read_version is None and (request.reads.depends_on_data or request.reads.app_ids):
        raise CommitRejected("the commit says what it read, but not at which version", hint="pass the read version")


def check_commit_id(commit_id: str | None) -> str:
    """A commit id that can be stored and published; a new one if none is given.

    Raises:
        InvalidAction: it is not plain text.
    """
    if commit_id is None:
        return str(uuid.uuid4())
    if not commit_id or not commit_id.isprintable():
        raise InvalidAction(f"{commit_id!r} is not a commit id", hint="use printable text, such as a UUID")
    return commit_id


def _as_scalars(parameters: JsonObject) -> dict[str, JsonValue]:
    # Some readers fail on nested values, so they are published as text, the way the reference writer does it.
    return {
        name: encode_json(value).decode() if isinstance(value, Mapping | list) else value
        for name, value in parameters.items()
    }


def _as_strings(metrics: JsonObject | None) -> dict[str, JsonValue]:
    # Readers expect a map of strings here; numbers are what other writers and most callers have at hand.
    if metrics is None:
        return {}
    if any(isinstance(value, Mapping | list) for value in metrics.values()):
        raise InvalidAction("operationMetrics must be an object of strings or numbers")
    return {name: value if isinstance(value, str) else str(value) for name, value in metrics.items()}

"""What the commands print with `--json`. The reference page is made from these classes, so they are the contract.

Times are ISO 8601 in UTC with milliseconds, sizes are bytes, and a field that has no value is null, never absent.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import orjson

from twinlog.protocol.actions import NullableStringMap, StringMap


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureDocument:
    """Why a command failed, on standard error."""

    error: Annotated[str, "class of the error (see errors.md), WrongUse, Aborted or KeyboardInterrupt"]
    message: Annotated[str, "what failed and why"]
    table: Annotated[str | None, "the table concerned"]
    version: Annotated[int | None, "the version concerned; of a conflict, the winner's"]
    hint: Annotated[str | None, "the next step"]
    retry: Annotated[str, "whether repeating can help: never, later, after_rebase, check_first"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InitDocument:
    """What happened to the schema."""

    catalog: Annotated[str, "URL of the database, without its password"]
    from_revision: Annotated[str | None, "revision before; null if there was no catalog"]
    to_revision: Annotated[str, "revision now"]
    changed: Annotated[bool, "whether anything was done"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingDocument:
    """One check."""

    check: Annotated[str, "what was checked: address, file, connection, journal, clock, schema, write"]
    level: Annotated[str, "ok, warning or problem"]
    message: Annotated[str, "what was found"]
    hint: Annotated[str | None, "the next step"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorDocument:
    """What stands in the way."""

    ok: Annotated[bool, "whether there is no problem; warnings do not count"]
    findings: Annotated[tuple[FindingDocument, ...], "every check that was made"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLineDocument:
    """A table in the list."""

    name: Annotated[str, "unique in the catalog"]
    version: Annotated[int, "newest ratified version"]
    committed_at: Annotated[str, "time of that version"]
    created_at: Annotated[str, "time of version 0"]
    location: Annotated[str, "root of the table in the store"]
    delta_id: Annotated[str, "id of the table in its metaData"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnDocument:
    """The last transaction of an application."""

    app_id: Annotated[str, "the application"]
    version: Annotated[int, "its transaction's number"]
    updated_at: Annotated[str | None, "when, if the application said so"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainDocument:
    """A metadata domain."""

    domain: Annotated[str, "its name"]
    configuration: Annotated[str, "its content"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableDocument:
    """Everything about a table at its newest version."""

    name: Annotated[str, "unique in the catalog"]
    version: Annotated[int, "newest ratified version"]
    committed_at: Annotated[str, "time of that version"]
    created_at: Annotated[str, "time of version 0"]
    location: Annotated[str, "root of the table in the store"]
    delta_id: Annotated[str, "id of the table in its metaData"]
    description: Annotated[str | None, "free text"]
    min_reader_version: Annotated[int, "from the protocol"]
    min_writer_version: Annotated[int, "from the protocol"]
    features: Annotated[tuple[str, ...], "table features that the protocol supports, listed or implied"]
    schema: Annotated[orjson.Fragment, "Spark's StructType JSON"]
    partition_columns: Annotated[tuple[str, ...], "in partition order"]
    properties: Annotated[StringMap, "table properties"]
    num_files: Annotated[int, "active files"]
    size_bytes: Annotated[int, "of the active files"]
    txns: Annotated[tuple[TxnDocument, ...], "last transaction of each application"]
    domains: Annotated[tuple[DomainDocument, ...], "metadata domains that are set"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedDocument:
    """A table that was just created."""

    name: Annotated[str, "as given"]
    version: Annotated[int, "0"]
    location: Annotated[str, "root of the table in the store, absolute"]
    delta_id: Annotated[str, "id of the table in its metaData"]
    min_reader_version: Annotated[int, "chosen as low as schema and properties allow"]
    min_writer_version: Annotated[int, "chosen as low as schema and properties allow"]
    features: Annotated[tuple[str, ...], "table features that the protocol supports, listed or implied"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedDocument:
    """A table that was just dropped."""

    name: Annotated[str, "as given"]
    unpublished_versions: Annotated[int, "versions that were not published yet, and never will be"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitLineDocument:
    """A commit in a table's history."""

    version: Annotated[int, "the version it made"]
    committed_at: Annotated[str, "strictly increasing, by the database's clock"]
    operation: Annotated[str, "what it calls itself"]
    num_adds: Annotated[int, "files added"]
    num_removes: Annotated[int, "files removed"]
    num_cdc: Annotated[int, "change data files"]
    bytes_added: Annotated[int, "size of the added files"]
    commit_id: Annotated[str, "idempotency key; the same in every table of one commit"]
    read_version: Annotated[int | None, "version that it was derived from; null if it depends on none"]
    is_blind_append: Annotated[bool, "whether it only adds files, without having looked at any"]
    commit_info: Annotated[Mapping[str, Any], "the commitInfo action as it is published"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileDocument:
    """An active file."""

    path: Annotated[str, "as in the log: URI-encoded, relative to the table's location or absolute"]
    partition_values: Annotated[NullableStringMap, "by physical column name, as text"]
    size_bytes: Annotated[int, "size of the file"]
    num_records: Annotated[int | None, "rows, if the statistics say so; rows in a deletion vector included"]
    added_version: Annotated[int, "version that added it"]
    modified_at: Annotated[str, "modification time of the file"]
    stats: Annotated[str | None, "statistics, the JSON text of the log"]
    tags: Annotated[NullableStringMap | None, "tags"]
    deletion_vector: Annotated[Mapping[str, Any] | None, "which rows are deleted"]
    base_row_id: Annotated[int | None, "row tracking: id of the first row"]
    default_row_commit_version: Annotated[int | None, "row tracking: version of the rows"]
    clustering_provider: Annotated[str | None, "who clustered it"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommittedDocument:
    """Where a commit landed."""

    table: Annotated[str, "as given"]
    version: Annotated[int, "the version it made"]
    commit_id: Annotated[str, "idempotency key, given or generated"]
    replayed: Annotated[bool, "true if the same commit had landed before, and nothing was done now"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckDocument:
    """Something the demo expects."""

    expectation: Annotated[str, "what must hold"]
    ok: Annotated[bool, "whether it holds"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SceneDocument:
    """One step of the demo."""

    title: Annotated[str, "what it shows"]
    checks: Annotated[tuple[CheckDocument, ...], "what it expects"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoDocument:
    """Whether the demo went as expected."""

    ok: Annotated[bool, "whether every check holds"]
    catalog: Annotated[str | None, "URL of the catalog that was kept; null without --dir"]
    published: Annotated[bool, "false: this version does not write _delta_log yet"]
    elapsed_s: Annotated[float, "how long it took"]
    scenes: Annotated[tuple[SceneDocument, ...], "its steps"]

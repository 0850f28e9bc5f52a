"""Delta actions as frozen values.

Field order is the key order of the reference writer; names are the protocol's in snake case (`json_name` in a
field's metadata where they differ). `extra` holds the keys this version does not know, so that nothing is lost.
Absent and null are the same thing here (`None`); an empty map or list is not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | Mapping[str, JsonValue] | None"
JsonObject: TypeAlias = Mapping[str, JsonValue]
StringMap: TypeAlias = Mapping[str, str]
NullableStringMap: TypeAlias = Mapping[str, str | None]
PartitionValues: TypeAlias = NullableStringMap


ROW_TRACKING_DOMAIN: Final = "delta.rowTracking"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletionVector:
    """Where a file's deleted rows are recorded; part of the file's identity."""

    storage_type: str
    path_or_inline_dv: str
    offset: int | None = None
    size_in_bytes: int
    cardinality: int
    extra: JsonObject = field(default_factory=dict)

    @property
    def unique_id(self) -> str:
        """The id by which the protocol tells two deletion vectors of one path apart."""
        base = self.storage_type + self.path_or_inline_dv
        return base if self.offset is None else f"{base}@{self.offset}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Add:
    """A data file that belongs to the table from this version on."""

    path: str
    partition_values: PartitionValues
    size: int
    modification_time: int
    data_change: bool
    stats: str | None = None
    tags: NullableStringMap | None = None
    deletion_vector: DeletionVector | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None
    clustering_provider: str | None = None
    extra: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """A data file that no longer belongs to the table (a tombstone)."""

    path: str
    deletion_timestamp: int | None = None
    data_change: bool
    extended_file_metadata: bool | None = None
    partition_values: PartitionValues | None = None
    size: int | None = None
    tags: NullableStringMap | None = None
    deletion_vector: DeletionVector | None = None
    base_row_id: int | None = None
    default_row_commit_version: int | None = None
    stats: str | None = None
    extra: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cdc:
    """A file of row-level changes, read only by change-data-feed readers."""

    path: str
    partition_values: PartitionValues
    size: int
    tags: NullableStringMap | None = None
    data_change: bool = False
    extra: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """The encoding of the data files; always Parquet in practice."""

    provider: str = "parquet"
    options: StringMap = field(default_factory=dict)
    extra: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """The table's identity, schema, partitioning and properties."""

    id: str
    name: str | None = None
    description: str | None = None
    format: Format = field(default_factory=Format)
    schema_string: str | None = None  # mandatory in a table we write; old writers left it out
    partition_columns: tuple[str, ...]
    configuration: StringMap
    created_time: int | None = None
    extra: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """What a client must understand to read or write the table."""

    min_reader_version: int
    min_writer_version: int
    reader_features: tuple[str, ...] | None = None
    writer_features: tuple[str, ...] | None = None
    extra: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Txn:
    """The last transaction of an application that this table has seen."""

    app_id: str
    app_version: int = field(metadata={"json_name": "version"})
    last_updated: int | None = None
    extra: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainMetadata:
    """A named piece of configuration owned by a feature or an application."""

    domain: str
    configuration: str
    removed: bool
    extra: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitInfo:
    """Provenance of a commit. Free-form in the protocol; these are the reference writer's keys."""

    version: int | None = None
    in_commit_timestamp: int | None = None
    timestamp: int | None = None
    user_id: str | None = None
    user_name: str | None = None
    operation: str | None = None
    operation_parameters: JsonObject | None = None
    job: JsonObject | None = None
    notebook: JsonObject | None = None
    cluster_id: str | None = None
    read_version: int | None = None
    isolation_level: str | None = None
    is_blind_append: bool | None = None
    data_change: bool | None = None
    operation_metrics: JsonObject | None = None
    user_metadata: str | None = None
    tags: NullableStringMap | None = None
    engine_info: str | None = None
    txn_id: str | None = None
    extra: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointMetadata:
    """The header of a V2 checkpoint; never part of a commit."""

    version: int
    tags: NullableStringMap | None = None
    extra: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecar:
    """A file that holds a share of a V2 checkpoint's file actions; never part of a commit."""

    path: str
    size_in_bytes: int
    modification_time: int
    tags: NullableStringMap | None = None
    extra: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownAction:
    """An action of a kind this version does not know, kept as it was read."""

    kind: str
    body: JsonValue


FileAction: TypeAlias = Add | Remove | Cdc
Action: TypeAlias = (
    FileAction | Metadata | Protocol | Txn | DomainMetadata | CommitInfo | CheckpointMetadata | Sidecar | UnknownAction
)


def dv_id(action: Add | Remove) -> str:
    """The deletion-vector part of a file's identity; empty for a file without one."""
    return action.deletion_vector.unique_id if action.deletion_vector else ""

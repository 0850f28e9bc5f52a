"""What is in force in a table at one version: protocol and metadata, and what follows from them."""

from collections.abc import Mapping
from functools import cached_property

from twinlog.errors import InvalidSchema
from twinlog.protocol.actions import Metadata, Protocol, StringMap
from twinlog.protocol.column_mapping import physical_name
from twinlog.protocol.features import supported_features
from twinlog.protocol.isolation import IsolationLevel
from twinlog.protocol.predicates import ColumnPath
from twinlog.protocol.properties import is_true
from twinlog.protocol.schema import DecimalType, PrimitiveType, StructType, parse_schema


class TableState:
    """Protocol and metadata with the answers that commits and reads need. Treat as immutable."""

    def __init__(self, protocol: Protocol, metadata: Metadata) -> None:
        self.protocol = protocol
        self.metadata = metadata

    @property
    def properties(self) -> StringMap:
        """The table's properties."""
        return self.metadata.configuration

    @cached_property
    def schema(self) -> StructType:
        """The table's schema."""
        if self.metadata.schema_string is None:
            raise InvalidSchema("the metaData action has no schemaString", hint="commit a metaData with a schema")
        return parse_schema(self.metadata.schema_string)

    @cached_property
    def features(self) -> frozenset[str]:
        """Names of the features that the protocol supports."""
        return supported_features(self.protocol)

    @cached_property
    def partition_types(self) -> Mapping[str, str]:
        """Physical name and type of each partition column, in partition order."""
        fields = {field.name: field for field in self.schema.fields}
        chosen = [fields[name] for name in self.metadata.partition_columns]
        return {
            physical_name(field): field.data_type.name
            for field in chosen
            if isinstance(field.data_type, PrimitiveType | DecimalType)
        }

    @cached_property
    def partition_column_types(self) -> Mapping[ColumnPath, str]:
        """Type of each partition column, by logical path."""
        return {(name,): self.column_types[(name,)] for name in self.metadata.partition_columns}

    @cached_property
    def column_types(self) -> Mapping[ColumnPath, str]:
        """Type of every primitive column, nested ones by their path, by logical name."""
        return {logical: type_name for logical, (_, type_name) in self._leaves.items()}

    @cached_property
    def physical_paths(self) -> Mapping[ColumnPath, ColumnPath]:
        """Where each column's statistics are found, by logical name."""
        return {logical: physical for logical, (physical, _) in self._leaves.items()}

    @cached_property
    def _leaves(self) -> dict[ColumnPath, tuple[ColumnPath, str]]:
        return dict(_walk_leaves(self.schema, (), ()))

    @property
    def has_in_commit_timestamps(self) -> bool:
        """Whether commitInfo must carry the commit's time."""
        return self._is_active("inCommitTimestamp", "delta.enableInCommitTimestamps")

    @property
    def has_change_data_feed(self) -> bool:
        """Whether cdc files may be committed."""
        return self._is_active("changeDataFeed", "delta.enableChangeDataFeed") or self._is_active(
            "changeDataFeed", "delta.enableChangeDataCapture"
        )

    @property
    def is_append_only(self) -> bool:
        """Whether removing data is forbidden."""
        return self._is_active("appendOnly", "delta.appendOnly")

    @property
    def assigns_row_ids(self) -> bool:
        """Whether every new file gets a range of row ids."""
        return "rowTracking" in self.features and not is_true(self.properties, "delta.rowTrackingSuspended")

    @property
    def isolation_level(self) -> IsolationLevel:
        """How strictly commits are held to what they read, unless they only rearrange files."""
        return IsolationLevel(self.properties.get("delta.isolationLevel", IsolationLevel.SERIALIZABLE.value))

    def _is_active(self, feature: str, key: str) -> bool:
        return feature in self.features and is_true(self.properties, key)


def _walk_leaves(
    struct: StructType, logical: ColumnPath, physical: ColumnPath
) -> list[tuple[ColumnPath, tuple[ColumnPath, str]]]:
    found: list[tuple[ColumnPath, tuple[ColumnPath, str]]] = []
    for field in struct.fields:
        here = (*logical, field.name), (*physical, physical_name(field))
        if isinstance(field.data_type, StructType):
            found += _walk_leaves(field.data_type, *here)
        elif isinstance(field.data_type, PrimitiveType | DecimalType):
            found.append((here[0], (here[1], field.data_type.name)))
    return found

"""What a new table's first commit holds, and how a change of properties becomes a commit."""

import json
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import pyarrow as pa

from twinlog.catalog.arrow_schema import from_arrow
from twinlog.errors import InvalidSchema
from twinlog.protocol.actions import Action, Metadata, Protocol
from twinlog.protocol.codec import encode_json
from twinlog.protocol.column_mapping import assign_column_mapping
from twinlog.protocol.features import features_needed, legacy_features, protocol_for, upgrade_protocol
from twinlog.protocol.properties import is_true, split_properties
from twinlog.protocol.schema import StructType, parse_schema
from twinlog.protocol.schema_rules import check_partition_columns, check_schema
from twinlog.protocol.table_state import TableState

SchemaLike: TypeAlias = StructType | pa.Schema | str | Mapping[str, Any]

_MODE = "delta.columnMapping.mode"
_MAX_ID = "delta.columnMapping.maxColumnId"
_IN_COMMIT_TIMESTAMPS = "delta.enableInCommitTimestamps"


def as_schema(schema: SchemaLike) -> StructType:
    """A Delta schema from what callers have: one of ours, Arrow's, or Spark's StructType JSON.

    Raises:
        InvalidSchema: it is none of these, or a type has no counterpart in Delta.
    """
    if isinstance(schema, StructType):
        return schema
    if isinstance(schema, pa.Schema):
        return from_arrow(schema)
    if isinstance(schema, str):
        return parse_schema(schema)
    if isinstance(schema, Mapping):
        try:
            return parse_schema(json.dumps(schema, default=dict))
        except (TypeError, ValueError) as error:
            raise InvalidSchema(f"the schema is not JSON: {error}") from error
    raise InvalidSchema(
        f"not a schema: {type(schema).__name__}", hint="give an Arrow schema or the JSON of a Spark StructType"
    )


def first_actions(
    name: str,
    schema: StructType,
    *,
    partition_by: Sequence[str],
    properties: Mapping[str, str],
    description: str | None,
) -> tuple[Metadata, Protocol]:
    """Metadata and the weakest protocol that the schema and properties need.

    Raises:
        ProtocolError: schema, partition columns or properties are not valid.
    """
    check_schema(schema)
    if isinstance(partition_by, str):
        raise InvalidSchema(f"partition_by is the text {partition_by!r}", hint="give a list of column names")
    check_partition_columns(schema, partition_by)
    request = split_properties(properties)
    configuration = dict(request.configuration)
    # A file's modification time is later than its commit, so time travel needs the commit's own time.
    configuration.setdefault(_IN_COMMIT_TIMESTAMPS, "true")
    schema = _with_column_mapping(schema, configuration, fresh=True)
    if is_true(configuration, "delta.enableRowTracking"):
        for kind in ("RowId", "RowCommitVersion"):
            configuration.setdefault(f"delta.rowTracking.materialized{kind}ColumnName", f"_{kind}-{uuid.uuid4()}")
    needed = features_needed(schema, configuration, requested=request.requested_features)
    needed |= legacy_features(request.min_reader_version, request.min_writer_version)
    metadata = Metadata(
        id=str(uuid.uuid4()),
        name=name,
        description=description,
        schema_string=schema.to_json(),
        partition_columns=tuple(partition_by),
        configuration=configuration,
        created_time=time.time_ns() // 1_000_000,
    )
    return metadata, protocol_for(needed)


def create_parameters(metadata: Metadata) -> dict[str, Any]:
    """Operation parameters of a CREATE TABLE; text only, because some readers take nothing else."""
    return {
        "partitionBy": encode_json(list(metadata.partition_columns)).decode(),
        "clusterBy": "[]",
        **({"description": metadata.description} if metadata.description else {}),
        "isManaged": "false",
        "properties": encode_json(dict(metadata.configuration)).decode(),
    }


def property_changes(state: TableState, properties: Mapping[str, str], unset: Sequence[str]) -> list[Action]:
    """The actions that change a table's properties, with the protocol that the new ones need.

    Raises:
        ProtocolError: a property is not valid.
    """
    request = split_properties(properties)
    configuration = {key: value for key, value in state.properties.items() if key not in unset}
    configuration.update(request.configuration)
    mapping_is_new = configuration.get(_MODE, "none") != "none" and state.properties.get(_MODE, "none") == "none"
    schema = _with_column_mapping(state.schema, configuration, fresh=False) if mapping_is_new else state.schema
    actions: list[Action] = [replace(state.metadata, configuration=configuration, schema_string=schema.to_json())]
    protocol = upgrade_protocol(
        state.protocol, features_needed(schema, configuration, requested=request.requested_features)
    )
    return [*actions, protocol] if protocol else actions


def _with_column_mapping(schema: StructType, configuration: dict[str, str], *, fresh: bool) -> StructType:
    if configuration.get(_MODE, "none") == "none":
        return schema
    mapped, max_id = assign_column_mapping(
        schema,
        max_id=int(configuration.get(_MAX_ID, "0")),
        fresh=fresh,
        new_name=lambda: f"col-{uuid.uuid4()}",
    )
    configuration[_MAX_ID] = str(max_id)
    return mapped

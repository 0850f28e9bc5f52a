"""Values for tests that need some table or file and do not care which."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

import pyarrow as pa

from twinlog import FILES_SCHEMA, Catalog, Ratified, Table, TableCommit
from twinlog.catalog.arrow_files import DELETION_VECTOR_TYPE
from twinlog.catalog.definition import SchemaLike
from twinlog.protocol.actions import Action, Add, DeletionVector, Remove
from twinlog.protocol.deletion_vectors import z85_encode
from twinlog.protocol.schema import PrimitiveType, StructField, StructType

SCHEMA: Final = StructType(
    (
        StructField("id", PrimitiveType("long")),
        StructField("name", PrimitiveType("string")),
        StructField("day", PrimitiveType("date")),
    )
)
DV_PROPERTIES: Final = {"delta.enableDeletionVectors": "true"}
ROW_TRACKING_PROPERTIES: Final = {"delta.enableRowTracking": "true"}


def make_table(
    catalog: Catalog,
    name: str = "sales",
    *,
    location: str | None = None,
    schema: SchemaLike = SCHEMA,
    partition_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
) -> Table:
    """A table at version 0."""
    return catalog.create_table(
        name, location=location or f"s3://lake/{name}", schema=schema, partition_by=partition_by, properties=properties
    )


def make_add(path: str = "a.parquet", *, records: int = 10, **changes: Any) -> Add:
    """A file of an unpartitioned table."""
    values: dict[str, Any] = {
        "path": path,
        "partition_values": {},
        "size": 1_000,
        "modification_time": 1_700_000_000_000,
        "data_change": True,
        "stats": make_stats(records),
    }
    return Add(**values | changes)


def make_daily_add(day: str | None, path: str | None = None, **changes: Any) -> Add:
    """A file of a table that is partitioned by day."""
    return make_add(path or f"day={day}/a.parquet", partition_values={"day": day}, **changes)


def make_stats(records: int, **columns: tuple[object, object]) -> str:
    """Statistics with the minimum and maximum of some columns, none of which has nulls."""
    return json.dumps(
        {
            "numRecords": records,
            "minValues": {name: low for name, (low, _) in columns.items()},
            "maxValues": {name: high for name, (_, high) in columns.items()},
            "nullCount": dict.fromkeys(columns, 0),
        }
    )


def make_dv(number: int = 1, *, cardinality: int = 1) -> DeletionVector:
    """A deletion vector in a file; those of different numbers have different ids."""
    return DeletionVector(
        storage_type="u",
        path_or_inline_dv=z85_encode(UUID(int=number).bytes),
        offset=1,
        size_in_bytes=36,
        cardinality=cardinality,
    )


def make_remove(path: str = "a.parquet", **changes: Any) -> Remove:
    return Remove(path=path, **{"data_change": True} | changes)


def make_files(paths: Iterable[str], **columns: object) -> pa.Table:
    """Files as Arrow; a column is one value for all of them."""
    row: dict[str, object] = {
        "partition_values": {},
        "size": 1_000,
        "modification_time": 1_700_000_000_000,
        "data_change": True,
    } | columns
    for name in ("partition_values", "tags"):
        value = row.get(name)
        row[name] = list(value.items()) if isinstance(value, dict) else value
    if isinstance(vector := row.get("deletion_vector"), DeletionVector):
        row["deletion_vector"] = {field.name: getattr(vector, field.name) for field in DELETION_VECTOR_TYPE}
    return pa.Table.from_pylist([row | {"path": path} for path in paths], FILES_SCHEMA)


def commit(catalog: Catalog, *actions: Action, table: str = "sales", **request: Any) -> Ratified:
    """Commit actions to one table."""
    return catalog.writer.commit(TableCommit(table=table, actions=actions, **request))


def actions_of(table: Table, version: int) -> tuple[Action, ...]:
    """The actions of a version as they were read back, without its commitInfo."""
    (found,) = table.changes(first=version, last=version)
    return found.actions[1:]


def paths_of(files: pa.Table) -> list[str]:
    """Paths in order of their names."""
    return sorted(files.column("path").to_pylist())

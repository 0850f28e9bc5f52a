import json
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pytest

from tests.support.builders import SCHEMA, make_table
from tests.support.databases import read_contents, refusal
from twinlog import Catalog
from twinlog.catalog.definition import SchemaLike
from twinlog.errors import ConfigurationError, InvalidAction, InvalidSchema, TwinlogError, UnsupportedFeature
from twinlog.protocol.actions import CommitInfo, Format, Metadata, Protocol
from twinlog.protocol.schema import ArrayType, MapType, PrimitiveType, StructField, StructType

NESTED = StructType(
    (
        StructField("id", PrimitiveType("long"), nullable=False),
        StructField("tags", ArrayType(PrimitiveType("string"), contains_null=True)),
        StructField(
            "prices", MapType(PrimitiveType("string"), PrimitiveType("double"), value_contains_null=True), nullable=True
        ),
        StructField("place", StructType((StructField("city", PrimitiveType("string")),))),
    )
)
NESTED_ARROW = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("tags", pa.list_(pa.string())),
        ("prices", pa.map_(pa.string(), pa.float64())),
        ("place", pa.struct([("city", pa.string())])),
    ]
)


KINDS_OF_SCHEMA: dict[str, SchemaLike] = {
    "ours": NESTED,
    "arrow": NESTED_ARROW,
    "spark-json": NESTED.to_json(),
    "mapping": json.loads(NESTED.to_json()),
    "read-only-mapping": MappingProxyType(json.loads(NESTED.to_json())),
}


def test_table_when_created_from_each_kind_of_schema_then_has_it(catalog: Catalog, subtests: pytest.Subtests):
    for kind, schema in KINDS_OF_SCHEMA.items():
        with subtests.test(kind):
            snapshot = make_table(catalog, kind, schema=schema).snapshot()
            assert snapshot.schema == NESTED
            assert snapshot.metadata.schema_string == NESTED.to_json()


def test_table_when_created_then_version_0_is_commit_info_metadata_protocol(catalog: Catalog):
    table = catalog.create_table(
        "sales",
        location="s3://lake/sales",
        schema=SCHEMA,
        partition_by=["day"],
        properties={"owner": "me"},
        description="what was sold",
    )
    (commit,) = table.changes(first=0)
    info, metadata, protocol = commit.actions
    head = table.head()
    assert isinstance(info, CommitInfo)
    assert isinstance(metadata, Metadata)
    assert isinstance(protocol, Protocol)
    assert (info.operation, info.timestamp, info.in_commit_timestamp) == (
        "CREATE TABLE",
        commit.timestamp_ms,
        commit.timestamp_ms,
    )
    assert info.operation_parameters is not None
    assert info.operation_parameters["partitionBy"] == '["day"]'
    assert metadata == Metadata(
        id=head.delta_id,
        name="sales",
        description="what was sold",
        format=Format(),
        schema_string=SCHEMA.to_json(),
        partition_columns=("day",),
        configuration={"owner": "me", "delta.enableInCommitTimestamps": "true"},
        created_time=metadata.created_time,
    )
    assert (head.version, head.last_commit_ms, head.created_ms) == (0, commit.timestamp_ms, commit.timestamp_ms)


def test_table_when_created_then_has_no_files_txns_or_domains(catalog: Catalog):
    snapshot = make_table(catalog).snapshot()
    assert snapshot.version == 0
    assert snapshot.files().num_rows == 0
    assert snapshot.txns() == {}
    assert snapshot.domains() == {}


def test_two_tables_when_created_then_have_different_delta_ids(catalog: Catalog):
    assert make_table(catalog, "a").head().delta_id != make_table(catalog, "b").head().delta_id


def test_column_mapping_when_asked_for_then_every_field_has_a_new_id_and_physical_name(catalog: Catalog):
    table = make_table(catalog, schema=NESTED, properties={"delta.columnMapping.mode": "name"})
    snapshot = table.snapshot()
    fields = [*snapshot.schema.fields, snapshot.schema.fields[3].data_type.fields[0]]  # type: ignore[union-attr]
    assert sorted(field.metadata["delta.columnMapping.id"] for field in fields) == [1, 2, 3, 4, 5]  # type: ignore[type-var]
    assert all(str(field.metadata["delta.columnMapping.physicalName"]).startswith("col-") for field in fields)
    assert snapshot.properties["delta.columnMapping.maxColumnId"] == "5"


def test_row_tracking_when_asked_for_then_materialized_columns_are_named(catalog: Catalog):
    properties = make_table(catalog, properties={"delta.enableRowTracking": "true"}).snapshot().properties
    assert properties["delta.rowTracking.materializedRowIdColumnName"]
    assert properties["delta.rowTracking.materializedRowCommitVersionColumnName"]


def test_location_when_local_and_relative_then_stored_absolute(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.chdir(tmp_path)
    table = catalog.create_table("sales", location="lake/sales/", schema=SCHEMA)
    assert table.head().location == str(tmp_path / "lake" / "sales")


def test_location_when_it_ends_in_slashes_then_stored_without(catalog: Catalog):
    assert catalog.create_table("sales", location="s3://lake/sales//", schema=SCHEMA).head().location == (
        "s3://lake/sales"
    )


def test_name_when_printable_then_taken_as_it_is(catalog: Catalog, subtests: pytest.Subtests):
    for name in ("Verkäufe", "a b", "a/b.c", "quote'\"`", "%s :name ?", "x" * 300):
        with subtests.test(name=name):
            make_table(catalog, name)
            assert catalog.table(name).head().name == name
            assert catalog.table(name).snapshot().table == name


def test_name_when_not_printable_then_refused(catalog: Catalog, subtests: pytest.Subtests):
    for name in ("", " a", "a ", "a\nb", "a\0b"):
        with subtests.test(name=name), pytest.raises(ConfigurationError, match="not a table name") as caught:
            catalog.create_table(name, location="s3://lake/x", schema=SCHEMA)
        assert caught.value.hint
    assert catalog.list_tables() == []


def test_location_when_unusable_then_refused(catalog: Catalog, subtests: pytest.Subtests):
    for location in ("", "/", "s3://lake/a\0b"):
        with subtests.test(location=location), refusal(catalog, ConfigurationError, table="sales"):
            catalog.create_table("sales", location=location, schema=SCHEMA)


WRONG_DEFINITIONS: dict[str, tuple[type[TwinlogError], dict[str, Any]]] = {
    "partition column not in the schema": (InvalidSchema, {"partition_by": ["nope"]}),
    "partition column in another case": (InvalidSchema, {"partition_by": ["Day"]}),
    "partition column twice": (InvalidSchema, {"partition_by": ["day", "day"]}),
    "no column left for data": (InvalidSchema, {"partition_by": ["id", "name", "day"]}),
    "partition by an array": (InvalidSchema, {"schema": NESTED, "partition_by": ["tags"]}),
    "schema that is not JSON": (InvalidSchema, {"schema": "not json"}),
    "schema with NaN": (InvalidSchema, {"schema": SCHEMA.to_json().replace("{}", '{"x":NaN}')}),
    "struct without fields": (InvalidSchema, {"schema": '{"type":"struct"}'}),
    "schema that is not a struct": (InvalidSchema, {"schema": '"string"'}),
    "schema of no known kind": (InvalidSchema, {"schema": 7}),
    "mapping that is not JSON": (InvalidSchema, {"schema": {"type": object()}}),
    "arrow type that Delta has not": (InvalidSchema, {"schema": pa.schema([("at", pa.time64("us"))])}),
    "columns that differ in case only": (InvalidSchema, {"schema": pa.schema([("a", pa.int8()), ("A", pa.int8())])}),
    "property with a wrong value": (InvalidAction, {"properties": {"delta.appendOnly": "maybe"}}),
    "property that is not text": (InvalidAction, {"properties": {"delta.appendOnly": True}}),
    "unknown feature": (UnsupportedFeature, {"properties": {"delta.feature.nope": "supported"}}),
    "feature that is not written": (UnsupportedFeature, {"properties": {"delta.feature.geospatial": "supported"}}),
    "NUL in the description": (InvalidAction, {"description": "a\0b"}),
}


def test_table_when_its_definition_is_wrong_then_refused(catalog: Catalog, subtests: pytest.Subtests):
    for case, (error, arguments) in WRONG_DEFINITIONS.items():
        definition: dict[str, Any] = {"location": f"s3://lake/{case}", "schema": SCHEMA} | arguments
        with subtests.test(case), refusal(catalog, error, table=case):
            catalog.create_table(case, **definition)


def test_table_when_refused_then_name_and_location_are_still_free(catalog: Catalog):
    with refusal(catalog, UnsupportedFeature, table="sales"):
        make_table(catalog, properties={"delta.feature.catalogManaged": "supported"})
    make_table(catalog)
    assert len(read_contents(catalog)["dl_tables"]) == 1

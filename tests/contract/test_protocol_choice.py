import pytest

from tests.support.builders import SCHEMA, make_table
from twinlog import Catalog
from twinlog.protocol.actions import Protocol
from twinlog.protocol.schema import PrimitiveType, StructField, StructType

ICT_OFF = {"delta.enableInCommitTimestamps": "false"}
LONG = PrimitiveType("long")


def with_column(column: StructField) -> StructType:
    return StructType((*SCHEMA.fields, column))


def listing(*writer: str, reader: tuple[str, ...] | None = None, reader_version: int | None = None) -> Protocol:
    return Protocol(
        min_reader_version=reader_version or (1 if reader is None else 3),
        min_writer_version=7,
        reader_features=reader,
        writer_features=tuple(sorted(("appendOnly", "invariants", *writer))),
    )


OF_PROPERTIES: list[tuple[dict[str, str], Protocol]] = [
    ({}, listing("inCommitTimestamp")),
    (ICT_OFF, Protocol(min_reader_version=1, min_writer_version=2)),
    (ICT_OFF | {"delta.appendOnly": "true"}, Protocol(min_reader_version=1, min_writer_version=2)),
    (ICT_OFF | {"delta.constraints.positive": "id > 0"}, Protocol(min_reader_version=1, min_writer_version=3)),
    (ICT_OFF | {"delta.enableChangeDataFeed": "true"}, Protocol(min_reader_version=1, min_writer_version=4)),
    (ICT_OFF | {"delta.columnMapping.mode": "name"}, Protocol(min_reader_version=2, min_writer_version=5)),
    (ICT_OFF | {"delta.columnMapping.mode": "id"}, Protocol(min_reader_version=2, min_writer_version=5)),
    (
        ICT_OFF | {"delta.minReaderVersion": "1", "delta.minWriterVersion": "4"},
        Protocol(min_reader_version=1, min_writer_version=4),
    ),
    (
        {"delta.columnMapping.mode": "name"},
        listing("columnMapping", "inCommitTimestamp", reader_version=2),
    ),
    ({"delta.enableChangeDataFeed": "true"}, listing("changeDataFeed", "inCommitTimestamp")),
    (ICT_OFF | {"delta.enableDeletionVectors": "true"}, listing("deletionVectors", reader=("deletionVectors",))),
    (
        {"delta.enableDeletionVectors": "true", "delta.columnMapping.mode": "name"},
        listing(
            "columnMapping",
            "deletionVectors",
            "inCommitTimestamp",
            reader=("columnMapping", "deletionVectors"),
        ),
    ),
    (ICT_OFF | {"delta.enableRowTracking": "true"}, listing("domainMetadata", "rowTracking")),
    (ICT_OFF | {"delta.checkpointPolicy": "v2"}, listing("v2Checkpoint", reader=("v2Checkpoint",))),
    (ICT_OFF | {"delta.enableTypeWidening": "true"}, listing("typeWidening", reader=("typeWidening",))),
    (ICT_OFF | {"delta.feature.domainMetadata": "supported"}, listing("domainMetadata")),
    (
        ICT_OFF | {"delta.feature.VACUUMPROTOCOLCHECK": "supported"},
        listing("vacuumProtocolCheck", reader=("vacuumProtocolCheck",)),
    ),
    (
        ICT_OFF | {"delta.enableIcebergCompatV2": "true"},
        listing("columnMapping", "icebergCompatV2", reader_version=2),
    ),
]
OF_COLUMNS: list[tuple[StructField, Protocol]] = [
    (StructField("c", LONG, nullable=False), Protocol(min_reader_version=1, min_writer_version=2)),
    (
        StructField("c", LONG, metadata={"delta.generationExpression": "id + 1"}),
        Protocol(min_reader_version=1, min_writer_version=4),
    ),
    (
        StructField("c", LONG, metadata={"delta.identity.start": 1, "delta.identity.step": 1}),
        Protocol(min_reader_version=1, min_writer_version=6),
    ),
    (StructField("c", LONG, metadata={"CURRENT_DEFAULT": "7"}), listing("allowColumnDefaults")),
    (StructField("c", PrimitiveType("timestamp_ntz")), listing("timestampNtz", reader=("timestampNtz",))),
    (StructField("c", PrimitiveType("variant")), listing("variantType", reader=("variantType",))),
    (
        StructField("c", StructType((StructField("at", PrimitiveType("timestamp_ntz")),))),
        listing("timestampNtz", reader=("timestampNtz",)),
    ),
]


def test_protocol_when_properties_need_features_then_the_weakest_that_has_them(
    catalog: Catalog, subtests: pytest.Subtests
):
    for number, (properties, expected) in enumerate(OF_PROPERTIES):
        with subtests.test(", ".join(properties) or "none"):
            assert make_table(catalog, f"table-{number}", properties=properties).snapshot().protocol == expected


def test_protocol_when_schema_needs_features_then_the_weakest_that_has_them(
    catalog: Catalog, subtests: pytest.Subtests
):
    for number, (column, expected) in enumerate(OF_COLUMNS):
        with subtests.test(str(column)):
            table = make_table(catalog, f"table-{number}", schema=with_column(column), properties=ICT_OFF)
            assert table.snapshot().protocol == expected


def test_protocol_when_shaped_by_properties_then_those_are_not_stored(catalog: Catalog):
    asked = {"delta.minReaderVersion": "1", "delta.minWriterVersion": "2", "delta.feature.domainMetadata": "supported"}
    assert make_table(catalog, properties=ICT_OFF | asked).snapshot().properties == ICT_OFF


def test_property_when_written_in_another_case_then_stored_in_the_usual_one(catalog: Catalog):
    snapshot = make_table(catalog, properties=ICT_OFF | {"DELTA.appendonly": "true"}).snapshot()
    assert snapshot.properties == ICT_OFF | {"delta.appendOnly": "true"}

"""Changing table properties, with the protocol that the new ones need."""

import pytest

from tests.support.builders import SCHEMA, actions_of, commit, make_add, make_table
from tests.support.databases import refusal
from twinlog import Catalog
from twinlog.errors import CommitRejected, InvalidAction, TwinlogError, UnsupportedFeature
from twinlog.protocol.actions import Cdc, Metadata, Protocol

ICT_OFF = {"delta.enableInCommitTimestamps": "false"}


def test_properties_when_set_then_others_stay(catalog: Catalog):
    table = make_table(catalog, properties={"owner": "me", "team": "ours"})
    landed = table.set_properties({"owner": "you", "new": "one"})
    assert landed.version == 1
    assert table.snapshot().properties == {
        "owner": "you",
        "team": "ours",
        "new": "one",
        "delta.enableInCommitTimestamps": "true",
    }
    assert table.history()[0].operation == "SET TBLPROPERTIES"
    assert table.history()[0].read_version == 0


def test_properties_when_unset_then_gone(catalog: Catalog):
    table = make_table(catalog, properties={"owner": "me", "team": "ours"})
    table.set_properties({"x": "y"}, unset=["owner", "never there"])
    assert table.snapshot().properties == {"team": "ours", "x": "y", "delta.enableInCommitTimestamps": "true"}


def test_properties_when_they_need_no_feature_then_the_protocol_stays(catalog: Catalog):
    table = make_table(catalog)
    table.set_properties({"delta.appendOnly": "true"})
    (metadata,) = actions_of(table, 1)
    assert isinstance(metadata, Metadata)
    assert table.head().protocol_version == 0


NEEDING_FEATURES: list[tuple[dict[str, str], dict[str, str], Protocol]] = [
    (ICT_OFF, {"delta.enableChangeDataFeed": "true"}, Protocol(min_reader_version=1, min_writer_version=4)),
    (ICT_OFF, {"delta.columnMapping.mode": "name"}, Protocol(min_reader_version=2, min_writer_version=5)),
    (
        ICT_OFF,
        {"delta.enableDeletionVectors": "true"},
        Protocol(
            min_reader_version=3,
            min_writer_version=7,
            reader_features=("deletionVectors",),
            writer_features=("appendOnly", "deletionVectors", "invariants"),
        ),
    ),
    (
        {"delta.enableChangeDataFeed": "true"},
        {"delta.checkpointPolicy": "v2"},
        Protocol(
            min_reader_version=3,
            min_writer_version=7,
            reader_features=("v2Checkpoint",),
            writer_features=("appendOnly", "changeDataFeed", "inCommitTimestamp", "invariants", "v2Checkpoint"),
        ),
    ),
    (
        {},
        {"delta.feature.domainMetadata": "supported"},
        Protocol(
            min_reader_version=1,
            min_writer_version=7,
            writer_features=("appendOnly", "domainMetadata", "inCommitTimestamp", "invariants"),
        ),
    ),
]


def test_properties_when_they_need_a_feature_then_the_protocol_gets_it(catalog: Catalog, subtests: pytest.Subtests):
    for number, (before, change, expected) in enumerate(NEEDING_FEATURES):
        with subtests.test(", ".join(change)):
            table = make_table(catalog, f"table-{number}", properties=before)
            table.set_properties(change)
            assert table.snapshot().protocol == expected
            assert table.snapshot(version=0).protocol != expected
            assert table.head().protocol_version == 1
            assert not any(key.startswith("delta.feature.") for key in table.snapshot().properties)
            commit(catalog, make_add(), table=table.name)


def test_column_mapping_when_switched_on_later_then_columns_keep_their_names_in_files(catalog: Catalog):
    table = make_table(catalog)
    table.set_properties({"delta.columnMapping.mode": "name"})
    fields = table.snapshot().schema.fields
    assert [field.metadata["delta.columnMapping.physicalName"] for field in fields] == [
        field.name for field in SCHEMA.fields
    ]
    assert [field.metadata["delta.columnMapping.id"] for field in fields] == [1, 2, 3]
    assert table.snapshot().properties["delta.columnMapping.maxColumnId"] == "3"


def test_change_data_feed_when_switched_off_then_cdc_files_are_refused(catalog: Catalog):
    cdc = Cdc(path="_change_data/a.parquet", partition_values={}, size=1)
    table = make_table(catalog, properties={"delta.enableChangeDataFeed": "true"})
    commit(catalog, cdc)
    table.set_properties({"delta.enableChangeDataFeed": "false"})
    with refusal(catalog, CommitRejected, table="sales"):
        commit(catalog, cdc)


WRONG_CHANGES: dict[str, tuple[type[TwinlogError], dict[str, str]]] = {
    "value of the wrong kind": (InvalidAction, {"delta.appendOnly": "perhaps"}),
    "number out of range": (InvalidAction, {"delta.checkpointInterval": "0"}),
    "interval": (InvalidAction, {"delta.logRetentionDuration": "interval 1 month"}),
    "value that is not text": (InvalidAction, {"delta.appendOnly": True}),  # type: ignore[dict-item]
    "unknown feature": (UnsupportedFeature, {"delta.feature.nope": "supported"}),
    "feature that is not written": (UnsupportedFeature, {"delta.feature.geospatial": "supported"}),
    "mapping by id later": (CommitRejected, {"delta.columnMapping.mode": "id"}),
    "row tracking later": (CommitRejected, {"delta.enableRowTracking": "true"}),
}


def test_properties_when_wrong_then_refused(catalog: Catalog, subtests: pytest.Subtests):
    table = make_table(catalog)
    for case, (error, change) in WRONG_CHANGES.items():
        with subtests.test(case), refusal(catalog, error, table="sales"):
            table.set_properties(change)


def test_column_mapping_when_unset_then_refused(catalog: Catalog):
    table = make_table(catalog, properties={"delta.columnMapping.mode": "name"})
    with refusal(catalog, CommitRejected, table="sales"):
        table.set_properties({}, unset=["delta.columnMapping.mode"])

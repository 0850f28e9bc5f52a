"""Commits that the table's state forbids: a typed error, and no change."""

from dataclasses import replace
from typing import Any

import pytest

from tests.support.builders import SCHEMA, commit, make_add, make_daily_add, make_dv, make_remove, make_table
from tests.support.databases import refusal
from twinlog import Catalog, ReadSet, Snapshot, TableCommit
from twinlog.errors import CommitRejected, InvalidAction, InvalidSchema, TwinlogError, UnsupportedFeature
from twinlog.protocol.actions import Action, Cdc, DomainMetadata, Metadata, Protocol
from twinlog.protocol.schema import PrimitiveType, StructField, StructType

Case = tuple[type[TwinlogError], Action]


def bad_metadata(snapshot: Snapshot) -> dict[str, Case]:
    metadata = snapshot.metadata
    renamed = StructType((StructField("a", PrimitiveType("long")), StructField("A", PrimitiveType("long"))))
    unknown = StructType((*SCHEMA.fields, StructField("x", PrimitiveType("bigint"))))
    local = StructType((*SCHEMA.fields, StructField("x", PrimitiveType("timestamp_ntz"))))

    def with_property(key: str, value: Any) -> Metadata:
        return replace(metadata, configuration={**metadata.configuration, key: value})

    return {
        "another id": (CommitRejected, replace(metadata, id="00000000-0000-0000-0000-000000000000")),
        "partition column that is not in the schema": (InvalidSchema, replace(metadata, partition_columns=("nope",))),
        "partition column twice": (InvalidSchema, replace(metadata, partition_columns=("day", "day"))),
        "no schema": (InvalidSchema, replace(metadata, schema_string=None)),
        "schema that is not JSON": (InvalidSchema, replace(metadata, schema_string="{")),
        "schema with NaN": (
            InvalidSchema,
            replace(metadata, schema_string=SCHEMA.to_json().replace('"metadata":{}', '"metadata":{"x":NaN}', 1)),
        ),
        "columns that differ in case only": (InvalidSchema, replace(metadata, schema_string=renamed.to_json())),
        "type that Delta has not": (InvalidSchema, replace(metadata, schema_string=unknown.to_json())),
        "type whose feature is missing": (UnsupportedFeature, replace(metadata, schema_string=local.to_json())),
        "property whose feature is missing": (
            UnsupportedFeature,
            with_property("delta.enableDeletionVectors", "true"),
        ),
        "property that belongs to the protocol": (InvalidAction, with_property("delta.minWriterVersion", "7")),
        "feature as a property": (InvalidAction, with_property("delta.feature.domainMetadata", "supported")),
        "property with a wrong value": (InvalidAction, with_property("delta.appendOnly", "maybe")),
        "property that is a number": (InvalidAction, with_property("owner", 7)),
        "column mapping without ids": (
            UnsupportedFeature,
            with_property("delta.columnMapping.mode", "name"),
        ),
    }


def bad_protocols(snapshot: Snapshot) -> dict[str, Case]:
    protocol = snapshot.protocol
    features = protocol.writer_features or ()

    def writing(*names: str) -> Protocol:
        return replace(protocol, writer_features=names)

    return {
        "feature that does not exist": (UnsupportedFeature, writing(*features, "nope")),
        "feature that is not written": (
            UnsupportedFeature,
            replace(
                protocol,
                min_reader_version=3,
                reader_features=("catalogManaged", "vacuumProtocolCheck"),
                writer_features=(*features, "catalogManaged", "vacuumProtocolCheck"),
            ),
        ),
        "removed feature": (CommitRejected, writing(*(name for name in features if name != "appendOnly"))),
        "removed features by an older version": (
            CommitRejected,
            Protocol(min_reader_version=1, min_writer_version=1),
        ),
        "removed feature that is in use": (
            CommitRejected,
            writing(*(name for name in features if name != "inCommitTimestamp")),
        ),
        "reader feature that is not listed for readers": (InvalidAction, writing(*features, "deletionVectors")),
        "list without its version": (InvalidAction, replace(protocol, min_writer_version=4)),
        "version without its list": (InvalidAction, replace(protocol, writer_features=None)),
        "version that does not exist": (InvalidAction, replace(protocol, min_reader_version=4)),
        "version below one": (InvalidAction, replace(protocol, min_reader_version=0)),
    }


def test_metadata_when_it_cannot_follow_then_refused(catalog: Catalog, subtests: pytest.Subtests):
    snapshot = make_table(catalog).snapshot()
    for case, (error, action) in bad_metadata(snapshot).items():
        with subtests.test(case), refusal(catalog, error, table="sales"):
            commit(catalog, make_add(), action, read_version=0)


def test_protocol_when_it_cannot_follow_then_refused(catalog: Catalog, subtests: pytest.Subtests):
    snapshot = make_table(catalog).snapshot()
    for case, (error, action) in bad_protocols(snapshot).items():
        with subtests.test(case), refusal(catalog, error, table="sales"):
            commit(catalog, make_add(), action, read_version=0)


def test_partition_columns_when_changed_while_files_of_the_old_are_live_then_refused(catalog: Catalog):
    table = make_table(catalog, partition_by=["day"])
    commit(catalog, make_daily_add("2024-01-01"))
    metadata = replace(table.snapshot().metadata, partition_columns=())
    with refusal(catalog, CommitRejected, table="sales"):
        commit(catalog, metadata, read_version=1)
    with refusal(catalog, CommitRejected, table="sales"):
        commit(catalog, metadata, make_add("new"), read_version=1)
    old = make_remove("day=2024-01-01/a.parquet")
    assert commit(catalog, metadata, old, make_add("new"), read_version=1).version == 2


def test_remove_when_the_file_is_not_active_then_refused(catalog: Catalog, subtests: pytest.Subtests):
    make_table(catalog)
    commit(catalog, make_add("a"), make_add("gone"))
    commit(catalog, make_remove("gone"))
    for path in ("never", "gone", "A", "%61"):
        with subtests.test(path), refusal(catalog, CommitRejected, table="sales") as caught:
            commit(catalog, make_remove("a"), make_remove(path))
        with subtests.test(f"{path}: named"):
            assert repr(path) in caught.value.message


def test_remove_when_the_table_is_append_only_then_only_without_data_change(catalog: Catalog):
    table = make_table(catalog, properties={"delta.appendOnly": "true"})
    commit(catalog, make_add("a"))
    with refusal(catalog, CommitRejected, table="sales"):
        commit(catalog, make_remove("a"), make_add("b"))
    commit(catalog, make_remove("a", data_change=False), make_add("b", data_change=False))
    table.set_properties({"delta.appendOnly": "false"})
    assert commit(catalog, make_remove("b")).version == 4


UNFIT: dict[str, Case] = {
    "cdc file without the feed": (CommitRejected, Cdc(path="_change_data/a", partition_values={}, size=1)),
    "domain without the feature": (
        UnsupportedFeature,
        DomainMetadata(domain="d", configuration="{}", removed=False),
    ),
    "deletion vector without the feature": (UnsupportedFeature, make_add(deletion_vector=make_dv())),
}


def test_action_when_the_table_has_not_its_feature_then_refused(catalog: Catalog, subtests: pytest.Subtests):
    make_table(catalog)
    for case, (error, action) in UNFIT.items():
        with subtests.test(case), refusal(catalog, error, table="sales"):
            commit(catalog, action)


WRONG_REQUESTS: dict[str, tuple[type[TwinlogError], dict[str, Any]]] = {
    "read version ahead of the table": (CommitRejected, {"read_version": 2}),
    "read version far ahead": (CommitRejected, {"read_version": 2**63 - 1}),
    "read version below zero": (CommitRejected, {"read_version": -1}),
    "read version that is text": (InvalidAction, {"read_version": "1"}),
    "reads without a version": (CommitRejected, {"reads": ReadSet(whole_table=True)}),
    "reads of an application without a version": (CommitRejected, {"reads": ReadSet(app_ids=frozenset({"app"}))}),
    "operation that is a number": (InvalidAction, {"operation": 7}),
    "operation with NUL": (InvalidAction, {"operation": "a\0b"}),
    "operation parameters that are text": (InvalidAction, {"operation_parameters": "text"}),
    "operation parameters with NaN": (InvalidAction, {"operation_parameters": {"x": float("nan")}}),
    "operation parameters that are not JSON": (InvalidAction, {"operation_parameters": {"x": object()}}),
    "operation metrics that are text": (InvalidAction, {"operation_metrics": "text"}),
    "operation metrics that are nested": (InvalidAction, {"operation_metrics": {"x": {}}}),
    "user metadata that is a number": (InvalidAction, {"user_metadata": 7}),
}


def test_request_when_wrong_then_refused(catalog: Catalog, subtests: pytest.Subtests):
    make_table(catalog)
    commit(catalog, make_add("a"))
    for case, (error, request) in WRONG_REQUESTS.items():
        with subtests.test(case), refusal(catalog, error, table="sales"):
            catalog.writer.commit(TableCommit(table="sales", actions=[make_add("b")], **request))


def test_metadata_or_protocol_when_it_does_not_say_what_it_replaces_then_refused(catalog: Catalog):
    snapshot = make_table(catalog).snapshot()
    for action in (snapshot.metadata, snapshot.protocol):
        with refusal(catalog, CommitRejected, table="sales"):
            commit(catalog, action)


def test_history_when_bad_commits_were_tried_then_is_readable(catalog: Catalog):
    table = make_table(catalog)
    for request in ({"operation_parameters": "text"}, {"operation": 7}, {"user_metadata": 7}):
        with pytest.raises(TwinlogError):
            commit(catalog, make_add("b"), **request)
    assert [record.version for record in table.history()] == [0]

from dataclasses import replace
from typing import Any

import pytest

from tests.support.builders import SCHEMA, make_add, make_daily_add, make_dv, make_remove
from twinlog.errors import CommitRejected, InvalidAction, InvalidSchema, TwinlogError, UnsupportedFeature
from twinlog.protocol.actions import Action, Cdc, DomainMetadata, Metadata, Protocol, StringMap
from twinlog.protocol.column_mapping import assign_column_mapping
from twinlog.protocol.schema import PrimitiveType, StructField, StructType
from twinlog.protocol.staged import stage
from twinlog.protocol.table_rules import (
    check_against,
    check_partition_values,
    check_record_counts,
    needs_record_counts,
    next_state,
)
from twinlog.protocol.table_state import TableState

LEGACY = Protocol(min_reader_version=1, min_writer_version=2)
TRACKING = {
    "delta.enableRowTracking": "true",
    "delta.rowTracking.materializedRowIdColumnName": "_id",
    "delta.rowTracking.materializedRowCommitVersionColumnName": "_version",
}
MAPPED, _ = assign_column_mapping(SCHEMA, max_id=0, fresh=True, new_name=iter("abc").__next__)
MAPPING = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "3"}
MAPPING_PROTOCOL = Protocol(min_reader_version=2, min_writer_version=5)
CDC = Cdc(path="_change_data/c", partition_values={}, size=1)
DOMAIN = DomainMetadata(domain="app.settings", configuration="{}", removed=False)


def listing(*features: str, readers: tuple[str, ...] = ()) -> Protocol:
    return Protocol(
        min_reader_version=3 if readers else 1,
        min_writer_version=7,
        reader_features=readers or None,
        writer_features=("appendOnly", "invariants", *features, *readers),
    )


def metadata(
    schema: StructType = SCHEMA, *, partition_by: tuple[str, ...] = (), properties: StringMap | None = None
) -> Metadata:
    return Metadata(
        id="table-id", schema_string=schema.to_json(), partition_columns=partition_by, configuration=properties or {}
    )


def state(
    protocol: Protocol = LEGACY, *, partition_by: tuple[str, ...] = (), properties: StringMap | None = None
) -> TableState:
    return TableState(protocol, metadata(partition_by=partition_by, properties=properties))


def refusal(error: pytest.ExceptionInfo[TwinlogError]) -> tuple[type[TwinlogError], str, str | None]:
    return type(error.value), error.value.message, error.value.hint


def test_next_state_when_the_table_is_new_then_what_was_given():
    after = next_state(None, stage([LEGACY, metadata()]))
    assert (after.protocol, after.metadata) == (LEGACY, metadata())


def test_next_state_when_nothing_changes_then_the_current_one():
    current = state()
    assert next_state(current, stage([make_add()])) is current


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ([metadata(properties={"comment": "new"})], (LEGACY, metadata(properties={"comment": "new"}))),
        ([listing("domainMetadata")], (listing("domainMetadata"), metadata())),
        (
            [listing("domainMetadata"), metadata(properties={"comment": "new"})],
            (listing("domainMetadata"), metadata(properties={"comment": "new"})),
        ),
    ],
    ids=["metaData", "protocol", "both"],
)
def test_next_state_when_one_is_given_then_the_other_stays(actions: list[Action], expected: tuple[Protocol, Metadata]):
    after = next_state(state(), stage(actions))
    assert (after.protocol, after.metadata) == expected


def test_next_state_when_mapping_goes_from_none_to_name_then_accepted():
    mapped = metadata(MAPPED, properties=MAPPING)
    assert next_state(state(), stage([MAPPING_PROTOCOL, mapped])).metadata == mapped


@pytest.mark.parametrize("given", [[], [LEGACY], [metadata()]], ids=["neither", "protocol only", "metaData only"])
def test_next_state_when_the_first_commit_lacks_one_then_refused(given: list[Action]):
    with pytest.raises(InvalidAction) as error:
        next_state(None, stage([*given, make_add()]))
    assert error.value.message == "the first commit of a table needs a protocol and a metaData action"


WITH_CLUSTERING = listing("clustering", "domainMetadata", "someFutureFeature")
DROP_FEATURE_HINT = "drop it with the engine that added it (ALTER TABLE ... DROP FEATURE), or try a newer twinlog"
REFUSED_STATES: list[tuple[str, TableState | None, list[Action], type[TwinlogError], str, str]] = [
    (
        "a plain append to a table whose features are unknown",
        state(WITH_CLUSTERING),
        [make_add()],
        UnsupportedFeature,
        "twinlog cannot write a table with 'someFutureFeature' (unknown)",
        DROP_FEATURE_HINT,
    ),
    (
        "a new protocol with an unknown feature",
        state(),
        [WITH_CLUSTERING],
        UnsupportedFeature,
        "twinlog cannot write a table with 'someFutureFeature' (unknown)",
        DROP_FEATURE_HINT,
    ),
    (
        "a malformed protocol",
        None,
        [replace(LEGACY, writer_features=()), metadata()],
        InvalidAction,
        "protocol: writerFeatures is only allowed with minWriterVersion 7, not 2",
        "leave writerFeatures out, or raise minWriterVersion",
    ),
    (
        "another table's id",
        state(),
        [replace(metadata(), id="other-id")],
        CommitRejected,
        "metaData.id 'other-id' is not this table's 'table-id'",
        "keep the id: it identifies the table for its whole life",
    ),
    (
        "a feature dropped by name",
        state(listing("domainMetadata", readers=("deletionVectors",))),
        [listing()],
        CommitRejected,
        "the new protocol removes deletionVectors, domainMetadata",
        "keep the features that the table has; they may be added but never dropped by a commit",
    ),
    (
        "a feature dropped by version",
        state(),
        [Protocol(min_reader_version=1, min_writer_version=1)],
        CommitRejected,
        "the new protocol removes appendOnly, invariants",
        "keep the features that the table has; they may be added but never dropped by a commit",
    ),
    (
        "row tracking switched on later",
        state(listing("rowTracking", "domainMetadata")),
        [metadata(properties=TRACKING)],
        CommitRejected,
        "row tracking cannot be switched on later: files that exist have no row ids",
        "create a new table with delta.enableRowTracking=true",
    ),
    (
        "mapping from none to id",
        state(MAPPING_PROTOCOL),
        [metadata(MAPPED, properties=MAPPING | {"delta.columnMapping.mode": "id"})],
        CommitRejected,
        "column mapping cannot change from none to id",
        "only none to name is possible",
    ),
    (
        "mapping switched off",
        TableState(MAPPING_PROTOCOL, metadata(MAPPED, properties=MAPPING)),
        [metadata(MAPPED)],
        CommitRejected,
        "column mapping cannot change from name to none",
        "only none to name is possible",
    ),
    (
        "mapping without ids",
        None,
        [MAPPING_PROTOCOL, metadata(properties=MAPPING)],
        InvalidSchema,
        "field 'id' has no column-mapping id or physical name",
        "every field needs both while delta.columnMapping.mode is set",
    ),
    (
        "a property that asks for a feature",
        state(),
        [metadata(properties={"delta.enableDeletionVectors": "true"})],
        UnsupportedFeature,
        "the schema or properties need deletionVectors, which the protocol does not list",
        "commit a protocol action with these features together with the metaData",
    ),
    (
        "a type that asks for a feature",
        None,
        [LEGACY, metadata(StructType((StructField("t", PrimitiveType("timestamp_ntz")),)))],
        UnsupportedFeature,
        "the schema or properties need timestampNtz, which the protocol does not list",
        "commit a protocol action with these features together with the metaData",
    ),
    (
        "a property with an impossible value",
        state(),
        [metadata(properties={"delta.appendOnly": "maybe"})],
        InvalidAction,
        "property 'delta.appendOnly' must be true or false, not 'maybe'",
        "correct the value, or leave the property out to have the default",
    ),
    (
        "a property that belongs into the protocol",
        state(),
        [metadata(properties={"delta.minReaderVersion": "2"})],
        InvalidAction,
        "property 'delta.minReaderVersion' must not be stored in the table's configuration",
        "the protocol action holds versions and features; give this property only when creating a table",
    ),
    (
        "a partition column that is not in the schema",
        None,
        [LEGACY, metadata(partition_by=("Day",))],
        InvalidSchema,
        "partition column 'Day' is not in the schema",
        "names are case-sensitive here: write 'day'",
    ),
    (
        "no schema",
        state(),
        [replace(metadata(), schema_string=None)],
        InvalidSchema,
        "the metaData action has no schemaString",
        "commit a metaData with a schema",
    ),
]


@pytest.mark.parametrize(
    ("current", "actions", "error_type", "message", "hint"),
    [case[1:] for case in REFUSED_STATES],
    ids=[case[0] for case in REFUSED_STATES],
)
def test_next_state_when_a_rule_is_broken_then_refused(
    current: TableState | None, actions: list[Action], error_type: type[TwinlogError], message: str, hint: str
):
    with pytest.raises(TwinlogError) as error:
        next_state(current, stage(actions))
    assert refusal(error) == (error_type, message, hint)


APPEND_ONLY_HINT = "set delta.appendOnly to false, or remove with dataChange false when only rearranging data"
BY_DAY_HINT = "give every partition column, by physical name, null included, and no other"
DAILY = state(partition_by=("day",))
ROW_IDS = state(listing("rowTracking", "domainMetadata"), properties=TRACKING)
CDF = {"delta.enableChangeDataFeed": "true"}
CDF_PROTOCOL = Protocol(min_reader_version=1, min_writer_version=4)

ACCEPTED: list[tuple[str, TableState, list[Action]]] = [
    ("files of a partition", DAILY, [make_daily_add("2024-01-31"), make_daily_add(None, "b")]),
    ("a remove that leaves its partition values out", DAILY, [make_remove("a")]),
    (
        "rearranging an append-only table",
        state(properties={"delta.appendOnly": "true"}),
        [make_remove("a", data_change=False)],
    ),
    ("appending to an append-only table", state(properties={"delta.appendOnly": "true"}), [make_add("a")]),
    ("removing once append-only is off", state(properties={"delta.appendOnly": "false"}), [make_remove("a")]),
    ("cdc with a change data feed", state(CDF_PROTOCOL, properties=CDF), [CDC]),
    ("cdc by the old property", state(CDF_PROTOCOL, properties={"delta.enableChangeDataCapture": "true"}), [CDC]),
    (
        "a vector with its feature",
        state(listing(readers=("deletionVectors",))),
        [make_add("a", deletion_vector=make_dv())],
    ),
    ("a domain with its feature", state(listing("domainMetadata")), [DOMAIN]),
    ("a file that has row ids", ROW_IDS, [make_add("a", base_row_id=0, default_row_commit_version=0)]),
    ("a file that will get row ids", ROW_IDS, [make_add("a")]),
    (
        "no row ids while row tracking is suspended",
        state(listing("rowTracking", "domainMetadata"), properties={"delta.rowTrackingSuspended": "true"}),
        [make_add("a", stats=None)],
    ),
    ("no statistics in a plain table", state(), [make_add("a", stats=None)]),
]


@pytest.mark.parametrize(("current", "actions"), [case[1:] for case in ACCEPTED], ids=[case[0] for case in ACCEPTED])
def test_check_against_when_the_actions_fit_then_accepted(current: TableState, actions: list[Action]):
    check_against(current, stage(actions))


REFUSED: list[tuple[str, TableState, list[Action], type[TwinlogError], str, str | None]] = [
    (
        "an add without its partition value",
        DAILY,
        [make_add("a")],
        InvalidAction,
        "the partition values of 'a' are for [], the table is partitioned by ['day']",
        BY_DAY_HINT,
    ),
    (
        "a partition value of a table without partitions",
        state(),
        [make_daily_add("2024-01-31", "a")],
        InvalidAction,
        "the partition values of 'a' are for ['day'], the table is partitioned by []",
        BY_DAY_HINT,
    ),
    (
        "a remove with another table's partitions",
        DAILY,
        [make_remove("a", partition_values={"month": "1"})],
        InvalidAction,
        "the partition values of 'a' are for ['month'], the table is partitioned by ['day']",
        BY_DAY_HINT,
    ),
    (
        "a cdc file without its partition value",
        state(CDF_PROTOCOL, partition_by=("day",), properties=CDF),
        [CDC],
        InvalidAction,
        "the partition values of '_change_data/c' are for [], the table is partitioned by ['day']",
        BY_DAY_HINT,
    ),
    (
        "a partition value that is no date",
        DAILY,
        [make_daily_add("yesterday", "a")],
        InvalidAction,
        "partition value of 'day' in 'a': ",
        None,
    ),
    (
        "a remove of data from an append-only table",
        state(properties={"delta.appendOnly": "true"}),
        [make_remove("a", data_change=False), make_remove("b")],
        CommitRejected,
        "cannot remove 'b': the table is append-only",
        APPEND_ONLY_HINT,
    ),
    (
        "cdc without a change data feed",
        state(CDF_PROTOCOL),
        [CDC],
        CommitRejected,
        "cdc files need the change data feed",
        "set delta.enableChangeDataFeed to true first",
    ),
    (
        "cdc with the property but not the feature",
        state(properties=CDF),
        [CDC],
        CommitRejected,
        "cdc files need the change data feed",
        "set delta.enableChangeDataFeed to true first",
    ),
    (
        "a vector without its feature",
        state(),
        [make_add("a", deletion_vector=make_dv())],
        UnsupportedFeature,
        "'a' needs the table feature deletionVectors",
        "add deletionVectors to the table's protocol first",
    ),
    (
        "a domain without its feature",
        state(),
        [DOMAIN],
        UnsupportedFeature,
        "'app.settings' needs the table feature domainMetadata",
        "add domainMetadata to the table's protocol first",
    ),
    (
        "the catalog's own domain",
        ROW_IDS,
        [replace(DOMAIN, domain="delta.rowTracking")],
        InvalidAction,
        "the domain delta.rowTracking is written by the catalog",
        "leave it out: row ids are assigned when the commit is ratified",
    ),
    (
        "the catalog's own domain in a table without row tracking",
        state(listing("domainMetadata")),
        [replace(DOMAIN, domain="delta.rowTracking", removed=True)],
        InvalidAction,
        "the domain delta.rowTracking is written by the catalog",
        "leave it out: row ids are assigned when the commit is ratified",
    ),
    (
        "a row id without its version",
        ROW_IDS,
        [make_add("a", base_row_id=7)],
        InvalidAction,
        "'a' must have both baseRowId and defaultRowCommitVersion, or neither",
        None,
    ),
    (
        "a row commit version without its row id",
        ROW_IDS,
        [make_add("a", default_row_commit_version=7)],
        InvalidAction,
        "'a' must have both baseRowId and defaultRowCommitVersion, or neither",
        None,
    ),
    (
        "row tracking without a record count",
        ROW_IDS,
        [make_add("a"), make_add("b", stats="{}")],
        InvalidAction,
        "the stats of 'b' must give numRecords: the table's features number or count rows",
        "write stats with numRecords",
    ),
    (
        "row tracking without statistics",
        ROW_IDS,
        [make_add("a", stats=None, base_row_id=0, default_row_commit_version=0)],
        InvalidAction,
        "the stats of 'a' must give numRecords: the table's features number or count rows",
        "write stats with numRecords",
    ),
]


@pytest.mark.parametrize(
    ("current", "actions", "error_type", "message", "hint"),
    [case[1:] for case in REFUSED],
    ids=[case[0] for case in REFUSED],
)
def test_check_against_when_a_rule_is_broken_then_refused(
    current: TableState, actions: list[Action], error_type: type[TwinlogError], message: str, hint: str | None
):
    with pytest.raises(TwinlogError) as error:
        check_against(current, stage(actions))
    found = refusal(error)
    assert found[0] is error_type
    assert found[1] == message or (message.endswith(": ") and found[1].startswith(message))
    assert found[2] == (hint or error_type.usual_hint)


@pytest.mark.parametrize(
    ("values", "types"),
    [
        ({}, {}),
        ({"a": "1", "b": None}, {"b": "string", "a": "integer"}),
        ({"a": ""}, {"a": "long"}),
        ({"a": "2024-01-31"}, {"a": "date"}),
    ],
)
def test_partition_values_when_readable_then_accepted(values: dict[str, Any], types: dict[str, str]):
    check_partition_values(values, types, path="f")


@pytest.mark.parametrize(("text", "type_name"), [("x", "integer"), ("2024-13-01", "date"), ("maybe", "boolean")])
def test_partition_value_when_not_of_its_type_then_refused_by_column_and_file(text: str, type_name: str):
    with pytest.raises(InvalidAction, match="partition value of 'a' in 'f': ") as error:
        check_partition_values({"a": text}, {"a": type_name}, path="f")
    assert repr(text) in error.value.message
    assert type_name in error.value.message


@pytest.mark.parametrize(
    ("current", "expected"),
    [
        (state(), False),
        (ROW_IDS, True),
        (state(listing("rowTracking", "domainMetadata")), True),
        (state(listing("rowTracking", "domainMetadata"), properties={"delta.rowTrackingSuspended": "true"}), False),
        (state(properties={"delta.enableIcebergCompatV1": "true"}), True),
        (state(properties={"delta.enableIcebergCompatV2": "TRUE"}), True),
        (state(properties={"delta.enableIcebergCompatV2": "false"}), False),
    ],
)
def test_record_counts_are_needed_when_rows_are_numbered_or_counted(current: TableState, expected: bool):  # noqa: FBT001
    assert needs_record_counts(current) is expected


def test_check_record_counts_when_there_are_several_files_then_the_first_is_named():
    check_record_counts([])
    with pytest.raises(InvalidAction, match="the stats of 'a' must give numRecords"):
        check_record_counts(iter(["a", "b"]))

"""Actions that are wrong in themselves or beside each other: a typed error, and no change."""

from dataclasses import replace
from typing import Any

import pytest

from tests.support.builders import (
    DV_PROPERTIES,
    commit,
    make_add,
    make_daily_add,
    make_dv,
    make_remove,
    make_table,
)
from tests.support.databases import refusal
from twinlog import Catalog
from twinlog.errors import InvalidAction
from twinlog.protocol.actions import (
    Action,
    Cdc,
    CheckpointMetadata,
    CommitInfo,
    DomainMetadata,
    Protocol,
    Sidecar,
    Txn,
    UnknownAction,
)

PROPERTIES = DV_PROPERTIES | {
    "delta.feature.domainMetadata": "supported",
    "delta.enableChangeDataFeed": "true",
}
TXN = Txn(app_id="app", app_version=1)
DOMAIN = DomainMetadata(domain="d", configuration="{}", removed=False)
CDC = Cdc(path="_change_data/c", partition_values={}, size=1)


def wrong(value: object) -> Any:
    """A value whose type is not what the field declares, as callers without a type checker give it."""
    return value


WRONG_TYPES: dict[str, Action] = {
    "size that is text": make_add(size="12"),
    "size that is a fraction": make_add(size=1.5),
    "size that is a boolean": make_add(size=True),
    "size beyond 64 bits": make_add(size=2**63),
    "size that is missing": make_add(size=None),
    "path that is a number": make_add(wrong(7)),
    "path that is missing": make_add(wrong(None)),
    "data change that is text": make_add(data_change="true"),
    "partition values that are a list": make_add(partition_values=["day"]),
    "partition values that are numbers": make_add(partition_values={"day": 1}),
    "partition values that are missing": make_add(partition_values=None),
    "tags that are numbers": make_add(tags={"a": 1}),
    "stats that are an object": make_add(stats={"numRecords": 1}),
    "deletion vector that is an object": make_add(deletion_vector={"storageType": "u"}),
    "deletion vector with text for a number": make_add(deletion_vector=replace(make_dv(), cardinality=wrong("1"))),
    "unknown fields that are text": make_add(extra="text"),
    "unknown fields that are a list": make_add(extra=["text"]),
    "unknown fields with keys that are numbers": make_add(extra={1: 2}),
    "unknown field that is not JSON": make_add(extra={"x": object()}),
    "unknown field beyond 64 bits": make_add(extra={"x": 2**64}),
    "unknown field with a known name": make_add(extra={"size": 5}),
    "unknown field that is NaN": make_add(extra={"x": float("nan")}),
    "unknown field that is infinite": make_add(extra={"x": [1, {"y": float("inf")}]}),
    "application version that is text": replace(TXN, app_version=wrong("1")),
    "domain whose configuration is an object": replace(DOMAIN, configuration=wrong({})),
    "domain whose removal is missing": replace(DOMAIN, removed=wrong(None)),
    "protocol version that is text": Protocol(min_reader_version=wrong("1"), min_writer_version=2),
    "commitInfo whose parameters are text": CommitInfo(operation_parameters=wrong("text")),
    "commitInfo whose parameters are NaN": CommitInfo(operation_parameters={"x": float("nan")}),
    "commitInfo whose metrics are nested": CommitInfo(operation_metrics={"x": [1]}),
    "commitInfo with an unknown field that is not JSON": CommitInfo(extra=wrong({"x": object()})),
    "not an action": wrong(object()),
    "a dict": wrong({"add": {"path": "a"}}),
}

BAD_FILES: dict[str, Action] = {
    "empty path": make_add(""),
    "path with a blank": make_add("a b"),
    "path with a lone percent": make_add("a%2"),
    "path with a query": make_add("a?b"),
    "path with a fragment": make_add("a#b"),
    "path with a scheme and nothing else": make_add("http:foo"),
    "path that leaves the table": make_add("../a"),
    "path that names a folder": make_add("a/"),
    "path with NUL": make_add("a\0b"),
    "path that is not Unicode": make_add("a\ud800"),
    "path of a remove": make_remove("a b"),
    "path of a cdc file": replace(CDC, path="a b"),
    "negative size": make_add(size=-1),
    "negative size of a cdc file": replace(CDC, size=-1),
    "stats that are not JSON": make_add(stats="{"),
    "stats that are a list": make_add(stats="[]"),
    "stats with NaN": make_add(stats='{"numRecords":1,"minValues":{"x":NaN}}'),
    "stats with Infinity": make_add(stats='{"maxValues":{"x":-Infinity}}'),
    "deletion vector of an unknown kind": make_add(deletion_vector=replace(make_dv(), storage_type="x")),
    "deletion vector that is not Z85": make_add(deletion_vector=replace(make_dv(), path_or_inline_dv="~" * 20)),
    "deletion vector with a negative size": make_add(deletion_vector=replace(make_dv(), size_in_bytes=-1)),
    "deletion vector without a record count": make_add(deletion_vector=make_dv(), stats="{}"),
    "cdc file that changes data": replace(CDC, data_change=True),
    "remove that claims what it does not say": make_remove("live", extended_file_metadata=True),
    "NUL in a text": make_add(clustering_provider="a\0b"),
    "NUL in an application": replace(TXN, app_id="a\0b"),
    "NUL in a domain": replace(DOMAIN, configuration="a\0b"),
    "text that is not Unicode": make_add(clustering_provider="\ud800"),
}

DO_NOT_BELONG: dict[str, Action] = {
    "checkpointMetadata": CheckpointMetadata(version=1),
    "sidecar": Sidecar(path="a", size_in_bytes=1, modification_time=1),
    "unknown action": UnknownAction(kind="future", body={"a": 1}),
}

TWINS: dict[str, tuple[Action, ...]] = {
    "add twice": (make_add("a"), make_add("a", size=5)),
    "add twice with different deletion vectors": (make_add("a"), make_add("a", deletion_vector=make_dv())),
    "remove twice": (make_remove("live"), make_remove("live")),
    "remove twice with different deletion vectors": (
        make_remove("live"),
        make_remove("live", deletion_vector=make_dv()),
    ),
    "add and remove of the same file": (make_remove("live"), make_add("live")),
    "add and remove with the same deletion vector": (
        make_remove("live", deletion_vector=make_dv()),
        make_add("live", deletion_vector=make_dv()),
    ),
    "cdc twice": (CDC, CDC),
    "txn of one application twice": (TXN, replace(TXN, app_version=2)),
    "domain twice": (DOMAIN, replace(DOMAIN, removed=True)),
    "protocol twice": (Protocol(min_reader_version=1, min_writer_version=2),) * 2,
    "commitInfo twice": (CommitInfo(), CommitInfo()),
}


def make_target(catalog: Catalog) -> None:
    make_table(catalog, properties=PROPERTIES)
    commit(catalog, make_add("live"))


@pytest.mark.parametrize(
    "cases", [WRONG_TYPES, BAD_FILES, DO_NOT_BELONG], ids=["wrong-types", "bad-files", "do-not-belong"]
)
def test_action_when_wrong_in_itself_then_refused(
    catalog: Catalog, subtests: pytest.Subtests, cases: dict[str, Action]
):
    make_target(catalog)
    for case, action in cases.items():
        with subtests.test(case), refusal(catalog, InvalidAction, table="sales"):
            commit(catalog, make_add("good"), action)


def test_actions_when_they_clash_then_refused(catalog: Catalog, subtests: pytest.Subtests):
    make_target(catalog)
    for case, actions in TWINS.items():
        with subtests.test(case), refusal(catalog, InvalidAction, table="sales"):
            commit(catalog, make_add("good"), *actions, read_version=1)


def test_metadata_when_twice_in_a_commit_then_refused(catalog: Catalog):
    table = make_table(catalog)
    metadata = table.snapshot().metadata
    with refusal(catalog, InvalidAction, table="sales"):
        commit(catalog, metadata, metadata, read_version=0)


def test_partition_values_when_they_do_not_fit_then_refused(catalog: Catalog, subtests: pytest.Subtests):
    make_table(catalog, partition_by=["day"], properties=PROPERTIES)
    live = make_daily_add("2024-01-01", "live")
    commit(catalog, live)
    for case, values in {
        "no key": {},
        "other key": {"name": "x"},
        "key in another case": {"Day": "2024-01-01"},
        "key too many": {"day": "2024-01-01", "name": "x"},
        "value of another type": {"day": "today"},
        "value that is no day": {"day": "2024-02-30"},
    }.items():
        for action in (
            make_add("bad", partition_values=values),
            replace(CDC, partition_values=values),
            make_remove("live", partition_values=values, size=1, extended_file_metadata=True),
        ):
            with subtests.test(case, kind=type(action).__name__), refusal(catalog, InvalidAction, table="sales"):
                commit(catalog, action)


def test_partition_values_when_columns_are_mapped_and_named_logically_then_refused(catalog: Catalog):
    make_table(catalog, partition_by=["day"], properties={"delta.columnMapping.mode": "name"})
    with refusal(catalog, InvalidAction, table="sales"):
        commit(catalog, make_daily_add("2024-01-01"))

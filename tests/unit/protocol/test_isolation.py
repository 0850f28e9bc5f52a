import pytest

from twinlog.protocol.actions import (
    Action,
    Add,
    Cdc,
    CommitInfo,
    DomainMetadata,
    Protocol,
    Remove,
    Txn,
    UnknownAction,
)
from twinlog.protocol.isolation import IsolationLevel, ReadSet, is_blind_append, isolation_level_for
from twinlog.protocol.predicates import ALWAYS


def make_add(*, data_change: bool) -> Add:
    return Add(path="f", partition_values={}, size=1, modification_time=1, data_change=data_change)


def make_domain(name: str) -> DomainMetadata:
    return DomainMetadata(domain=name, configuration="{}", removed=False)


REARRANGED = make_add(data_change=False)
REMOVED = Remove(path="g", data_change=False)
CHANGES = Cdc(path="c", partition_values={}, size=1)


@pytest.mark.parametrize(
    "actions",
    [
        [],
        [CommitInfo(operation="OPTIMIZE"), REARRANGED, REMOVED, make_domain("delta.rowTracking")],
        [CHANGES],
    ],
)
def test_commit_that_changes_no_data_needs_snapshot_isolation_only(actions: list[Action]) -> None:
    assert isolation_level_for(actions, IsolationLevel.SERIALIZABLE) is IsolationLevel.SNAPSHOT


@pytest.mark.parametrize(
    "action",
    [
        make_add(data_change=True),
        Remove(path="g", data_change=True),
        make_domain("delta.clustering"),
        Txn(app_id="a", app_version=1),
        Protocol(min_reader_version=1, min_writer_version=2),
        UnknownAction(kind="new", body={}),
    ],
)
def test_commit_with_anything_else_gets_the_tables_isolation(action: Action) -> None:
    for default in (IsolationLevel.SERIALIZABLE, IsolationLevel.WRITE_SERIALIZABLE):
        assert isolation_level_for([REARRANGED, action], default) is default


@pytest.mark.parametrize(
    ("actions", "reads", "expected"),
    [
        ([make_add(data_change=True), Txn(app_id="a", app_version=1)], ReadSet(app_ids=frozenset({"a"})), True),
        ([], ReadSet(), True),
        ([make_add(data_change=True)], ReadSet(predicates=(ALWAYS,)), False),
        ([make_add(data_change=True)], ReadSet(files=frozenset({"f"})), False),
        ([make_add(data_change=True)], ReadSet(whole_table=True), False),
        ([make_add(data_change=True), REMOVED], ReadSet(), False),
        ([make_add(data_change=True), CHANGES], ReadSet(), False),
    ],
)
def test_blind_append_only_adds_and_read_nothing(actions: list[Action], reads: ReadSet, expected: bool) -> None:  # noqa: FBT001
    assert is_blind_append(actions, reads) is expected

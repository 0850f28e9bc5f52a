"""What a commit says of itself: the caller's words, the catalog's times and ids."""

import twinlog
from tests.support.builders import commit, make_add, make_remove, make_table
from twinlog import Catalog, CommitRecord, TableCommit
from twinlog.protocol.actions import CommitInfo


def info_of(catalog: Catalog, version: int = 1) -> CommitInfo:
    ((info, *_),) = [found.actions for found in catalog.table("sales").changes(first=version, last=version)]
    assert isinstance(info, CommitInfo)
    return info


def test_commit_info_when_nothing_is_given_then_is_filled_in(catalog: Catalog):
    table = make_table(catalog)
    landed = commit(catalog, make_add("a.parquet", size=10), make_add("b.parquet", size=5))
    (record, _) = table.history()
    assert info_of(catalog) == CommitInfo(
        in_commit_timestamp=record.timestamp_ms,
        timestamp=record.timestamp_ms,
        operation="WRITE",
        operation_parameters={},
        isolation_level="Serializable",
        is_blind_append=True,
        operation_metrics={"numFiles": "2", "numOutputBytes": "15"},
        engine_info=info_of(catalog).engine_info,
        txn_id=landed.commit_id,
    )
    assert str(info_of(catalog).engine_info).startswith("twinlog/")


def test_commit_info_when_the_request_speaks_then_says_it(catalog: Catalog):
    make_table(catalog)
    commit(
        catalog,
        make_add(),
        operation="MERGE",
        operation_parameters={"predicate": "[]", "auto": True, "none": None, "number": 5},
        operation_metrics={"numOutputRows": "7"},
        user_metadata="by hand",
        read_version=0,
    )
    info = info_of(catalog)
    assert info.operation == "MERGE"
    assert info.operation_parameters == {"predicate": "[]", "auto": True, "none": None, "number": 5}
    assert info.operation_metrics == {"numOutputRows": "7"}
    assert info.user_metadata == "by hand"
    assert info.read_version == 0


def test_operation_parameters_when_nested_then_published_as_text(catalog: Catalog):
    make_table(catalog)
    commit(catalog, operation_parameters={"partitionBy": ["a", "b"], "properties": {"x": "y"}})
    assert info_of(catalog).operation_parameters == {"partitionBy": '["a","b"]', "properties": '{"x":"y"}'}


def test_operation_metrics_when_numbers_then_published_as_text(catalog: Catalog):
    make_table(catalog)
    commit(catalog, operation_metrics={"numFiles": 3})
    assert info_of(catalog).operation_metrics == {"numFiles": "3"}


def test_commit_info_when_among_the_actions_then_its_words_are_kept_and_its_times_are_not(catalog: Catalog):
    table = make_table(catalog)
    given = CommitInfo(
        version=77,
        in_commit_timestamp=1,
        timestamp=2,
        user_id="u",
        user_name="somebody",
        operation="OPTIMIZE",
        operation_parameters={"zOrderBy": "[]"},
        job={"jobId": "1"},
        notebook={"notebookId": "2"},
        cluster_id="c",
        read_version=55,
        isolation_level="x",
        is_blind_append=True,
        data_change=False,
        operation_metrics={"numRemovedFiles": 1},
        user_metadata="m",
        tags={"delta.rowTracking.preserved": "true"},
        engine_info="Apache-Spark/4.0 Delta-Lake/4.0",
        txn_id="not mine",
        extra={"future": {"a": [1]}},
    )
    commit(catalog, make_add())
    landed = commit(catalog, make_remove(data_change=False), given)
    record = table.history()[0]
    assert info_of(catalog, 2) == CommitInfo(
        in_commit_timestamp=record.timestamp_ms,
        timestamp=record.timestamp_ms,
        user_id="u",
        user_name="somebody",
        operation="OPTIMIZE",
        operation_parameters={"zOrderBy": "[]"},
        job={"jobId": "1"},
        notebook={"notebookId": "2"},
        cluster_id="c",
        isolation_level="SnapshotIsolation",
        is_blind_append=False,
        data_change=False,
        operation_metrics={"numRemovedFiles": "1"},
        user_metadata="m",
        tags={"delta.rowTracking.preserved": "true"},
        engine_info="Apache-Spark/4.0 Delta-Lake/4.0",
        txn_id=landed.commit_id,
        extra={"future": {"a": [1]}},
    )


def test_history_when_commits_landed_then_newest_first_with_their_counts(catalog: Catalog):
    table = make_table(catalog)
    commit(catalog, make_add("a.parquet"), make_add("b.parquet"), operation="WRITE")
    landed = catalog.writer.commit(
        TableCommit(
            table="sales",
            actions=[make_remove("a.parquet"), make_add("c.parquet", size=5)],
            operation="UPDATE",
            read_version=1,
            reads=twinlog.ReadSet(files=frozenset({"a.parquet"})),
        ),
        commit_id="my id",
    )
    records = table.history()
    assert [record.operation for record in records] == ["UPDATE", "WRITE", "CREATE TABLE"]
    assert records[0] == CommitRecord(
        version=landed.version,
        timestamp_ms=records[0].timestamp_ms,
        operation="UPDATE",
        commit_id="my id",
        read_version=1,
        is_blind_append=False,
        num_adds=1,
        num_removes=1,
        num_cdc=0,
        bytes_added=5,
        commit_info=info_of(catalog, 2),
    )
    assert (records[1].num_adds, records[1].bytes_added, records[1].is_blind_append) == (2, 2_000, True)


def test_history_when_limited_then_the_newest(catalog: Catalog):
    table = make_table(catalog)
    commit(catalog)
    commit(catalog)
    for limit, expected in ((None, [2, 1, 0]), (2, [2, 1]), (1, [2]), (0, []), (9, [2, 1, 0])):
        assert [record.version for record in table.history(limit=limit)] == expected

"""Commit times: by the database's clock, strictly increasing, in the log where the table asks for it."""

import time
from itertools import pairwise

from tests.support.builders import commit, make_add, make_table
from tests.support.databases import execute, refusal
from twinlog import Catalog, Table
from twinlog.errors import InvalidAction
from twinlog.protocol.actions import CommitInfo, Metadata

ENABLED = "delta.enableInCommitTimestamps"
VERSION_KEY = "delta.inCommitTimestampEnablementVersion"
TIME_KEY = "delta.inCommitTimestampEnablementTimestamp"
FAR_FUTURE_MS = 4_000_000_000_000


def infos(table: Table) -> list[CommitInfo]:
    return [record.commit_info for record in reversed(table.history())]


def times(table: Table) -> list[int]:
    return [record.timestamp_ms for record in reversed(table.history())]


def test_timestamps_when_commits_follow_at_once_then_strictly_increase(catalog: Catalog):
    table = make_table(catalog)
    for _ in range(10):
        commit(catalog)
    found = times(table)
    assert all(earlier < later for earlier, later in pairwise(found))
    assert [info.in_commit_timestamp for info in infos(table)] == found
    assert [info.timestamp for info in infos(table)] == found
    assert [commit.timestamp_ms for commit in table.changes(first=0)] == found


def test_timestamp_when_taken_then_is_the_present(catalog: Catalog):
    before = time.time_ns() // 1_000_000
    table = make_table(catalog)
    commit(catalog)
    after = time.time_ns() // 1_000_000
    created, committed = times(table)
    assert before - 1 <= created < committed <= after + 2


def test_timestamp_when_the_clock_was_set_back_then_still_increases(catalog: Catalog):
    table = make_table(catalog)
    execute(catalog, "UPDATE dl_tables SET last_commit_ms = :future", future=FAR_FUTURE_MS)
    commit(catalog)
    commit(catalog)
    assert times(table)[1:] == [FAR_FUTURE_MS + 1, FAR_FUTURE_MS + 2]
    assert infos(table)[2].in_commit_timestamp == FAR_FUTURE_MS + 2
    assert table.head().last_commit_ms == FAR_FUTURE_MS + 2


def test_in_commit_timestamp_when_on_from_the_start_then_enablement_is_not_recorded(catalog: Catalog):
    properties = make_table(catalog).snapshot().properties
    assert VERSION_KEY not in properties
    assert TIME_KEY not in properties


def test_in_commit_timestamp_when_off_then_absent(catalog: Catalog):
    table = make_table(catalog, properties={ENABLED: "false"})
    commit(catalog, make_add())
    assert [info.in_commit_timestamp for info in infos(table)] == [None, None]
    assert [info.timestamp for info in infos(table)] == times(table)


def test_in_commit_timestamp_when_switched_on_later_then_records_since_when(catalog: Catalog):
    table = make_table(catalog, properties={ENABLED: "false"})
    commit(catalog, make_add())
    table.set_properties({ENABLED: "true"})
    commit(catalog, make_add("b.parquet"))
    snapshot = table.snapshot()
    assert snapshot.protocol.min_writer_version == 7
    assert "inCommitTimestamp" in (snapshot.protocol.writer_features or ())
    assert snapshot.properties[VERSION_KEY] == "2"
    assert snapshot.properties[TIME_KEY] == str(times(table)[2])
    assert [info.in_commit_timestamp for info in infos(table)] == [None, None, *times(table)[2:]]
    ((_, metadata, *_),) = [found.actions for found in table.changes(first=2, last=2)]
    assert isinstance(metadata, Metadata)
    assert metadata.configuration == snapshot.properties


def test_in_commit_timestamp_when_switched_on_by_a_rebased_commit_then_records_where_it_landed(catalog: Catalog):
    table = make_table(catalog, properties={ENABLED: "false"})
    with catalog.transaction() as txn:
        txn.table("sales").set_properties({ENABLED: "true"})
        commit(catalog, make_add())
    assert txn.result.version == 2
    assert table.snapshot().properties[VERSION_KEY] == "2"
    assert table.snapshot().properties[TIME_KEY] == str(times(table)[2])


def test_in_commit_timestamp_when_switched_off_then_absent_again(catalog: Catalog):
    table = make_table(catalog)
    table.set_properties({ENABLED: "false"})
    commit(catalog)
    assert [info.in_commit_timestamp is None for info in infos(table)] == [False, True, True]


def test_enablement_when_only_half_of_it_is_set_by_hand_then_refused(catalog: Catalog):
    table = make_table(catalog)
    with refusal(catalog, InvalidAction, table="sales"):
        table.set_properties({VERSION_KEY: "0"})

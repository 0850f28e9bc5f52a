"""Commits that land on top of others without anybody noticing."""

from collections.abc import Mapping

import pytest

from tests.contract.rivals import (
    MEETINGS_BY,
    MONDAY,
    READ_MONDAY,
    TUESDAY,
    WEDNESDAY,
    Meeting,
    actions,
    set_domain,
    set_property,
)
from tests.support.builders import commit, make_add, make_daily_add, make_remove, make_table, paths_of
from twinlog import Catalog, ReadSet
from twinlog.errors import ConcurrentAppend
from twinlog.protocol.actions import Txn

OLD_MONDAY = f"day={MONDAY}/a.parquet"
OLD_TUESDAY = f"day={TUESDAY}/a.parquet"
ADD_WEDNESDAY = actions(make_daily_add(WEDNESDAY))
ADD_TO_MONDAY = actions(make_daily_add(MONDAY, "new.parquet"))

REBASES: Mapping[str, Meeting] = {
    "append on an append": Meeting(mine=ADD_WEDNESDAY, winner=ADD_TO_MONDAY),
    "append on a remove": Meeting(mine=ADD_WEDNESDAY, winner=actions(make_remove(OLD_MONDAY))),
    "append on an append to another partition than was read": Meeting(
        predicate=READ_MONDAY, mine=ADD_TO_MONDAY, winner=ADD_WEDNESDAY
    ),
    "rewrite of a partition on an append to another": Meeting(
        predicate=READ_MONDAY,
        mine=actions(make_remove(OLD_MONDAY), make_daily_add(MONDAY, "rewritten.parquet")),
        winner=ADD_WEDNESDAY,
    ),
    "remove on a remove in another partition": Meeting(
        predicate=READ_MONDAY, mine=actions(make_remove(OLD_MONDAY)), winner=actions(make_remove(OLD_TUESDAY))
    ),
    "rewrite under write-serializable on a blind append": Meeting(
        predicate=READ_MONDAY,
        mine=actions(make_remove(OLD_MONDAY), make_daily_add(MONDAY, "rewritten.parquet")),
        winner=ADD_TO_MONDAY,
        properties={"delta.isolationLevel": "WriteSerializable"},
    ),
    "rearrangement on an append to what was read": Meeting(
        predicate=READ_MONDAY,
        mine=actions(
            make_remove(OLD_MONDAY, data_change=False), make_daily_add(MONDAY, "packed.parquet", data_change=False)
        ),
        winner=ADD_TO_MONDAY,
    ),
    "metadata on an append": Meeting(mine=set_property("owner", "me"), winner=ADD_WEDNESDAY),
    "append on a harmless property": Meeting(
        mine=ADD_WEDNESDAY, winner=set_property("delta.enableDeletionVectors", "true")
    ),
    "append on the feature of another": Meeting(
        mine=ADD_WEDNESDAY, winner=set_property("delta.checkpointPolicy", "v2")
    ),
    "domain on another domain": Meeting(mine=set_domain("mine"), winner=set_domain("yours")),
    "application on another application": Meeting(
        app_id="mine",
        mine=actions(Txn(app_id="mine", app_version=1)),
        winner=actions(Txn(app_id="yours", app_version=1)),
    ),
}


@pytest.mark.parametrize("by", MEETINGS_BY)
def test_commit_when_the_winner_left_what_it_relied_on_then_lands_on_top(
    catalog: Catalog, subtests: pytest.Subtests, by: str
):
    for case, meeting in REBASES.items():
        with subtests.test(case):
            assert MEETINGS_BY[by](catalog, case, meeting).version == 3
            history = catalog.table(case).history()
            assert [record.version for record in history] == [3, 2, 1, 0]
            assert history[0].read_version == history[0].commit_info.read_version == 1


def test_append_when_prepared_before_a_feature_was_added_then_lands_under_it(catalog: Catalog):
    table = make_table(catalog)
    table.set_properties({"delta.enableDeletionVectors": "true"})
    assert commit(catalog, make_add(), read_version=0).version == 2
    assert "deletionVectors" in (table.snapshot().protocol.reader_features or ())


def test_commit_when_many_versions_behind_then_checked_against_all_of_them(catalog: Catalog):
    table = make_table(catalog, partition_by=["day"])
    commit(catalog, make_daily_add(MONDAY))
    predicate = table.snapshot().bound(READ_MONDAY)
    for number in range(5):
        commit(catalog, make_daily_add(TUESDAY, f"{number}.parquet"))
    mine = make_daily_add(MONDAY, "mine.parquet")
    landed = commit(catalog, mine, read_version=1, reads=ReadSet(predicates=(predicate,)))
    assert landed.version == 7
    for number in range(5):
        commit(catalog, make_daily_add(TUESDAY, f"{number + 10}.parquet"))
    with pytest.raises(ConcurrentAppend) as caught:
        commit(catalog, make_daily_add(MONDAY, "more"), read_version=6, reads=ReadSet(predicates=(predicate,)))
    assert caught.value.version == 7


def test_blind_appends_when_they_give_no_read_version_then_always_land(catalog: Catalog):
    table = make_table(catalog)
    table.set_properties({"owner": "me"})
    for number in range(3):
        commit(catalog, make_add(f"{number}.parquet"))
    assert paths_of(table.snapshot().files()) == ["0.parquet", "1.parquet", "2.parquet"]


def test_commit_when_it_read_the_newest_version_then_is_not_checked_against_it(catalog: Catalog):
    make_table(catalog)
    commit(catalog, make_add())
    assert commit(catalog, make_remove(), read_version=1, reads=ReadSet(whole_table=True)).version == 2

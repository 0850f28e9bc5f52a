"""Commits that cannot land because of one that came first, and what the caller learns."""

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
    describe,
    set_domain,
    set_property,
)
from tests.support.builders import make_daily_add, make_dv, make_remove
from tests.support.databases import read_contents
from twinlog import Catalog
from twinlog.errors import (
    CommitConflict,
    ConcurrentAppend,
    ConcurrentDeleteDelete,
    ConcurrentDeleteRead,
    ConcurrentTransaction,
    MetadataChanged,
    ProtocolChanged,
    Retry,
)
from twinlog.protocol.actions import Txn

OLD_MONDAY = f"day={MONDAY}/a.parquet"
OLD_TUESDAY = f"day={TUESDAY}/a.parquet"
ADD_WEDNESDAY = actions(make_daily_add(WEDNESDAY))
ADD_TO_MONDAY = actions(make_daily_add(MONDAY, "new.parquet"))

CONFLICTS: Mapping[str, tuple[type[CommitConflict], Meeting]] = {
    "append to a partition that was read": (
        ConcurrentAppend,
        Meeting(predicate=READ_MONDAY, mine=ADD_WEDNESDAY, winner=ADD_TO_MONDAY),
    ),
    "append to a table that was read whole": (
        ConcurrentAppend,
        Meeting(whole_table=True, mine=ADD_WEDNESDAY, winner=actions(make_daily_add(WEDNESDAY, "b.parquet"))),
    ),
    "append where only data columns were asked for": (
        ConcurrentAppend,
        Meeting(predicate="id = 7", mine=ADD_WEDNESDAY, winner=actions(make_daily_add(WEDNESDAY, "b.parquet"))),
    ),
    "append to the null partition that was read": (
        ConcurrentAppend,
        Meeting(predicate="day is null", mine=ADD_WEDNESDAY, winner=actions(make_daily_add(None))),
    ),
    "rewrite where write-serializable was read": (
        ConcurrentAppend,
        Meeting(
            predicate=READ_MONDAY,
            mine=ADD_WEDNESDAY,
            winner=actions(make_daily_add(MONDAY, "new.parquet"), make_remove(OLD_TUESDAY)),
            properties={"delta.isolationLevel": "WriteSerializable"},
        ),
    ),
    "remove of a file of a partition that was read": (
        ConcurrentDeleteRead,
        Meeting(predicate=READ_MONDAY, mine=ADD_WEDNESDAY, winner=actions(make_remove(OLD_MONDAY))),
    ),
    "remove of a file of a table that was read whole": (
        ConcurrentDeleteRead,
        Meeting(whole_table=True, mine=ADD_WEDNESDAY, winner=actions(make_remove(OLD_TUESDAY))),
    ),
    "remove of the same file": (
        ConcurrentDeleteDelete,
        Meeting(mine=actions(make_remove(OLD_MONDAY)), winner=actions(make_remove(OLD_MONDAY))),
    ),
    "remove of a file that got a deletion vector": (
        ConcurrentDeleteDelete,
        Meeting(
            mine=actions(make_remove(OLD_MONDAY)),
            winner=actions(make_remove(OLD_MONDAY), make_daily_add(MONDAY, OLD_MONDAY, deletion_vector=make_dv())),
            properties={"delta.enableDeletionVectors": "true"},
        ),
    ),
    "rearrangement of files that are gone": (
        ConcurrentDeleteDelete,
        Meeting(
            mine=actions(
                make_remove(OLD_MONDAY, data_change=False), make_daily_add(MONDAY, "packed.parquet", data_change=False)
            ),
            winner=actions(make_remove(OLD_MONDAY)),
        ),
    ),
    "change of a property": (MetadataChanged, Meeting(mine=ADD_WEDNESDAY, winner=set_property("owner", "me"))),
    "both change a property": (
        MetadataChanged,
        Meeting(mine=set_property("owner", "you"), winner=set_property("owner", "me")),
    ),
    "both change the metadata, one of them harmlessly": (
        MetadataChanged,
        Meeting(mine=describe("mine"), winner=set_property("delta.checkpointPolicy", "v2")),
    ),
    "change of the metadata on column mapping": (
        MetadataChanged,
        Meeting(mine=describe("mine"), winner=set_property("delta.columnMapping.mode", "name")),
    ),
    "both change the protocol": (
        ProtocolChanged,
        Meeting(
            mine=set_property("delta.enableChangeDataFeed", "true"),
            winner=set_property("delta.enableDeletionVectors", "true"),
        ),
    ),
    "transaction of an application that was read": (
        ConcurrentTransaction,
        Meeting(
            app_id="app",
            mine=actions(Txn(app_id="app", app_version=2)),
            winner=actions(Txn(app_id="app", app_version=1)),
        ),
    ),
    "both write a domain": (
        ConcurrentTransaction,
        Meeting(mine=set_domain("my.domain"), winner=set_domain("my.domain")),
    ),
}


@pytest.mark.parametrize("by", MEETINGS_BY)
def test_commit_when_the_winner_broke_what_it_relied_on_then_conflicts(
    catalog: Catalog, subtests: pytest.Subtests, by: str
):
    for case, (expected, meeting) in CONFLICTS.items():
        after_winner: list[object] = []
        with subtests.test(case):
            with pytest.raises(CommitConflict) as caught:
                MEETINGS_BY[by](catalog, case, meeting, lambda seen=after_winner: seen.append(read_contents(catalog)))
            error = caught.value
            assert type(error) is expected
            assert (error.table, error.version) == (case, 2)
            assert repr(case) in str(error)
            assert error.hint
            assert error.retry is Retry.AFTER_REBASE
            assert after_winner == [read_contents(catalog)]

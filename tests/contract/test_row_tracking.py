"""Every new file gets the next free range of row ids, in the transaction that adds it."""

import json
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

from tests.support.builders import (
    DV_PROPERTIES,
    ROW_TRACKING_PROPERTIES,
    actions_of,
    commit,
    make_add,
    make_dv,
    make_files,
    make_remove,
    make_stats,
    make_table,
)
from tests.support.databases import refusal
from twinlog import Catalog, Table
from twinlog.errors import CommitRejected, InvalidAction
from twinlog.protocol.actions import Action, Add, DomainMetadata, Remove

DOMAIN = "delta.rowTracking"


def tracked(catalog: Catalog, **properties: str) -> Table:
    return make_table(catalog, properties=ROW_TRACKING_PROPERTIES | properties)


def numbers(actions: tuple[Action, ...]) -> list[tuple[int | None, int | None]]:
    return [(add.base_row_id, add.default_row_commit_version) for add in actions if isinstance(add, Add)]


def high_water_mark(table: Table, version: int | None = None) -> int:
    domain = table.snapshot(version=version).domains()[DOMAIN]
    configuration = json.loads(domain.configuration)
    assert configuration["domainName"] == DOMAIN
    mark: int = configuration["rowIdHighWaterMark"]
    return mark


def test_row_ids_when_files_are_added_by_several_commits_then_consecutive(catalog: Catalog):
    table = tracked(catalog)
    commit(catalog, make_add("a", records=10), make_add("b", records=0), make_add("c", records=5))
    commit(catalog, make_add("d", records=1))
    assert numbers(actions_of(table, 1)) == [(0, 1), (10, 1), (10, 1)]
    assert numbers(actions_of(table, 2)) == [(15, 2)]
    assert (high_water_mark(table, 1), high_water_mark(table, 2)) == (14, 15)


def test_row_ids_when_files_come_as_arrow_then_consecutive_with_the_rest(catalog: Catalog):
    table = tracked(catalog)
    commit(
        catalog, make_add("a", records=3), files=make_files((f"b{number}" for number in range(4)), stats=make_stats(10))
    )
    commit(catalog, make_add("c", records=7))
    assert numbers(actions_of(table, 1)) == [(0, 1), (3, 1), (13, 1), (23, 1), (33, 1)]
    assert numbers(actions_of(table, 2)) == [(43, 2)]
    assert (high_water_mark(table, 1), high_water_mark(table, 2)) == (42, 49)


def test_row_ids_when_arrow_comes_in_many_batches_then_consecutive(catalog: Catalog):
    table = tracked(catalog)
    batches = [batch for number in range(3) for batch in make_files([f"{number}"], stats=make_stats(2)).to_batches()]
    commit(catalog, files=iter(batches))
    assert numbers(actions_of(table, 1)) == [(0, 1), (2, 1), (4, 1)]


def test_high_water_mark_when_it_moves_then_is_the_last_action_of_the_commit(catalog: Catalog):
    table = tracked(catalog)
    commit(catalog, make_add("a"), files=make_files(["b"], stats=make_stats(1)))
    last = actions_of(table, 1)[-1]
    assert last == DomainMetadata(
        domain=DOMAIN,
        configuration='{"rowIdHighWaterMark":10,"domainName":"delta.rowTracking"}',
        removed=False,
    )


def test_high_water_mark_when_no_file_is_new_then_is_not_written(catalog: Catalog):
    table = tracked(catalog)
    commit(catalog, make_add("a", records=4))
    commit(catalog, make_remove("a"))
    commit(catalog, make_add("a", records=4, base_row_id=0, default_row_commit_version=1))
    assert [len(actions_of(table, version)) for version in (1, 2, 3)] == [2, 1, 1]
    assert high_water_mark(table) == 3


def test_row_ids_when_given_then_kept_and_the_others_get_new_ones(catalog: Catalog):
    table = tracked(catalog)
    commit(catalog, make_add("a", records=4))
    moved = {"base_row_id": 0, "default_row_commit_version": 1}
    commit(catalog, make_add("b", records=4, **moved), make_add("c", records=6))
    files = pa.concat_tables([make_files(["d"], stats=make_stats(4), **moved), make_files(["e"], stats=make_stats(1))])
    commit(catalog, files=files)
    assert numbers(actions_of(table, 2)) == [(0, 1), (4, 2)]
    assert numbers(actions_of(table, 3)) == [(0, 1), (10, 3)]
    assert high_water_mark(table) == 10


def test_row_ids_when_a_file_gets_a_deletion_vector_then_stay(catalog: Catalog):
    table = tracked(catalog, **DV_PROPERTIES)
    commit(catalog, make_add("a", records=4), make_add("b", records=4))
    (old,) = [add for add in actions_of(table, 1) if isinstance(add, Add) and add.path == "b"]
    commit(
        catalog,
        make_remove("b"),
        make_add("b", records=4, deletion_vector=make_dv(), base_row_id=old.base_row_id, default_row_commit_version=1),
    )
    remove, add = actions_of(table, 2)
    assert isinstance(remove, Remove)
    assert isinstance(add, Add)
    assert (remove.base_row_id, remove.default_row_commit_version) == (4, 1)
    assert (add.base_row_id, add.default_row_commit_version) == (4, 1)


def test_row_ids_when_the_commit_is_rebased_then_of_where_it_lands(catalog: Catalog):
    table = tracked(catalog)
    commit(catalog, make_add("winner", records=100))
    commit(catalog, make_add("mine", records=1), read_version=0)
    assert numbers(actions_of(table, 2)) == [(100, 2)]
    assert high_water_mark(table) == 100


def test_row_ids_when_threads_commit_at_once_then_never_overlap(catalog: Catalog):
    table = tracked(catalog)

    def write(writer: int) -> None:
        for number in range(4):
            commit(catalog, make_add(f"{writer}-{number}", records=3))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    found = sorted(table.snapshot().files().column("base_row_id").to_pylist())
    assert found == [3 * number for number in range(16)]


def test_row_ids_when_suspended_then_not_given(catalog: Catalog):
    table = make_table(
        catalog, properties={"delta.feature.rowTracking": "supported", "delta.rowTrackingSuspended": "true"}
    )
    commit(catalog, make_add("a", stats=None))
    assert numbers(actions_of(table, 1)) == [(None, None)]
    assert table.snapshot().domains() == {}


def test_row_ids_when_supported_but_not_enabled_then_given(catalog: Catalog):
    table = make_table(catalog, properties={"delta.feature.rowTracking": "supported"})
    commit(catalog, make_add("a", records=2))
    assert numbers(actions_of(table, 1)) == [(0, 1)]


def test_file_when_without_a_record_count_then_refused(catalog: Catalog, subtests: pytest.Subtests):
    tracked(catalog)
    for stats in (None, "{}", '{"numRecords":"10"}', '{"numRecords":-1}', '{"numRecords":null}'):
        with subtests.test("action", stats=stats), refusal(catalog, InvalidAction, table="sales") as caught:
            commit(catalog, make_add("good"), make_add("bad", stats=stats))
        with subtests.test("action is named", stats=stats):
            assert "'bad'" in caught.value.message
        with subtests.test("arrow", stats=stats), refusal(catalog, InvalidAction, table="sales") as caught:
            commit(catalog, files=make_files(["bad"], stats=stats))
        with subtests.test("arrow is named", stats=stats):
            assert "'bad'" in caught.value.message


def test_row_ids_when_only_half_given_then_refused(catalog: Catalog, subtests: pytest.Subtests):
    tracked(catalog)
    for half in ({"base_row_id": 0}, {"default_row_commit_version": 1}):
        with subtests.test("action", **half), refusal(catalog, InvalidAction, table="sales"):
            commit(catalog, make_add("a", **half))
        with subtests.test("arrow", **half), refusal(catalog, InvalidAction, table="sales"):
            commit(catalog, files=make_files(["a"], stats=make_stats(1), **half))


def test_domain_of_row_tracking_when_written_by_hand_then_refused(catalog: Catalog):
    tracked(catalog)
    with refusal(catalog, InvalidAction, table="sales"):
        commit(catalog, DomainMetadata(domain=DOMAIN, configuration='{"rowIdHighWaterMark":5}', removed=False))


def test_row_tracking_when_switched_on_later_then_refused(catalog: Catalog):
    table = make_table(catalog)
    with refusal(catalog, CommitRejected, table="sales"):
        table.set_properties({"delta.enableRowTracking": "true"})

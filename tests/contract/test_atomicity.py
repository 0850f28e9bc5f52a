"""A commit is one SQL transaction over all its tables, and every version waits to be published."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from tests.support.builders import actions_of, commit, make_add, make_remove, make_table, paths_of
from tests.support.databases import execute, read_queue, refusal
from twinlog import Catalog, TableCommit, TwinlogError
from twinlog.errors import (
    CatalogSchemaMismatch,
    CommitRejected,
    ConcurrentDeleteDelete,
    InvalidAction,
    MetadataChanged,
    TableNotFound,
    UnsupportedFeature,
)

THREADS = 4
COMMITS_EACH = 5


def test_commit_when_over_several_tables_then_lands_in_all_of_them(catalog: Catalog):
    names = ("c", "a", "b")
    for name in names:
        make_table(catalog, name)
    commit(catalog, table="a")
    landed = catalog.writer.commit(
        *(TableCommit(table=name, actions=[make_add(f"{name}.parquet")]) for name in names), commit_id="all"
    )
    assert landed.versions == {"a": 2, "b": 1, "c": 1}
    assert not landed.replayed
    for name, version in landed.versions.items():
        table = catalog.table(name)
        assert actions_of(table, version) == (make_add(f"{name}.parquet"),)
        assert table.history()[0].commit_id == "all"
        assert table.history()[0].commit_info.txn_id == "all"


def bad_shares(catalog: Catalog) -> dict[str, tuple[type[TwinlogError], TableCommit]]:
    metadata = catalog.table("z").snapshot().metadata
    return {
        "wrong action": (InvalidAction, TableCommit(table="z", actions=[make_add("a b")])),
        "file that is not there": (CommitRejected, TableCommit(table="z", actions=[make_remove("nope")])),
        "feature that is not there": (
            UnsupportedFeature,
            TableCommit(
                table="z",
                actions=[replace(metadata, configuration={"delta.enableDeletionVectors": "true"})],
                read_version=2,
            ),
        ),
        "conflict": (
            ConcurrentDeleteDelete,
            TableCommit(table="z", actions=[make_remove("a.parquet")], read_version=1),
        ),
        "changed metadata": (MetadataChanged, TableCommit(table="m", actions=[make_add()], read_version=0)),
        "version ahead": (CommitRejected, TableCommit(table="z", actions=[make_add("x")], read_version=3)),
        "no such table": (TableNotFound, TableCommit(table="nope", actions=[make_add("x")])),
    }


@pytest.mark.parametrize("bad_first", [False, True], ids=["last", "first"])
def test_commit_when_one_share_is_bad_then_nothing_lands_anywhere(
    catalog: Catalog, subtests: pytest.Subtests, *, bad_first: bool
):
    for name in ("a", "m", "z"):
        make_table(catalog, name)
    commit(catalog, make_add("a.parquet"), table="z")
    commit(catalog, make_remove("a.parquet"), table="z")
    catalog.table("m").set_properties({"owner": "me"})
    good = TableCommit(table="a", actions=[make_add("good.parquet")])
    for case, (error, bad) in bad_shares(catalog).items():
        shares = (bad, good) if bad_first else (good, bad)
        with subtests.test(case), refusal(catalog, error, table=bad.table):
            catalog.writer.commit(*shares)


def test_commit_when_it_names_no_table_or_one_twice_then_refused(catalog: Catalog):
    make_table(catalog)
    share = TableCommit(table="sales", actions=[make_add()])
    with refusal(catalog, CommitRejected, table="sales, sales"):
        catalog.writer.commit(share, share)
    with pytest.raises(CommitRejected) as caught:
        catalog.writer.commit()
    assert caught.value.hint


def test_versions_when_threads_commit_at_once_then_dense_and_every_commit_once(catalog: Catalog):
    table = make_table(catalog)

    def write(writer: int) -> list[int]:
        return [commit(catalog, make_add(f"{writer}-{number}.parquet")).version for number in range(COMMITS_EACH)]

    with ThreadPoolExecutor(THREADS) as pool:
        versions = [version for found in pool.map(write, range(THREADS)) for version in found]
    assert sorted(versions) == list(range(1, THREADS * COMMITS_EACH + 1))
    assert table.snapshot().files().num_rows == THREADS * COMMITS_EACH
    assert [found.version for found in table.changes(first=0)] == list(range(THREADS * COMMITS_EACH + 1))
    times = [record.timestamp_ms for record in table.history()]
    assert times == sorted(set(times), reverse=True)


def test_commits_over_the_same_tables_when_in_opposite_order_then_do_not_deadlock(catalog: Catalog):
    for name in ("a", "b"):
        make_table(catalog, name)

    def write(writer: int) -> None:
        names = ("a", "b") if writer % 2 else ("b", "a")
        for number in range(COMMITS_EACH):
            add = make_add(f"{writer}-{number}.parquet")
            catalog.writer.commit(*(TableCommit(table=name, actions=[add]) for name in names))

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(write, range(THREADS)))
    assert paths_of(catalog.table("a").snapshot().files()) == paths_of(catalog.table("b").snapshot().files())
    assert catalog.table("a").head().version == catalog.table("b").head().version == THREADS * COMMITS_EACH


def test_two_clients_when_they_commit_in_turn_then_see_each_other(catalog: Catalog, other_catalog: Catalog):
    make_table(catalog)
    other_catalog.table("sales").set_properties({"delta.appendOnly": "true"})
    with refusal(catalog, CommitRejected, table="sales"):
        commit(catalog, make_remove())
    assert commit(catalog, make_add()).version == 2
    assert other_catalog.table("sales").head().version == 2


def test_every_version_when_ratified_then_waits_to_be_published(catalog: Catalog):
    table = make_table(catalog)
    make_table(catalog, "orders")
    commit(catalog, make_add())
    table.set_properties({"owner": "me"})
    catalog.writer.commit(
        TableCommit(table="sales", actions=[make_remove()]), TableCommit(table="orders", actions=[make_add()])
    )
    assert read_queue(catalog, "sales") == [(version, "commit", "PENDING") for version in range(4)]
    assert read_queue(catalog, "orders") == [(version, "commit", "PENDING") for version in range(2)]


def test_version_when_it_cannot_be_queued_then_is_not_ratified(catalog: Catalog):
    table = make_table(catalog)
    commit(catalog, make_add("a"))
    execute(catalog, "DROP TABLE dl_mirror_status")
    with pytest.raises(CatalogSchemaMismatch):
        commit(catalog, make_remove("a"), make_add("b"))
    assert table.head().version == 1
    assert paths_of(table.snapshot().files()) == ["a"]


def test_commit_when_refused_after_others_landed_then_leaves_no_gap(catalog: Catalog):
    make_table(catalog)
    commit(catalog, make_add())
    with refusal(catalog, CommitRejected, table="sales"):
        commit(catalog, make_remove("nope"))
    assert commit(catalog, make_remove()).version == 2
    assert [version for version, _, _ in read_queue(catalog, "sales")] == [0, 1, 2]

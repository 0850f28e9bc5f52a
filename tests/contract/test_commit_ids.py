"""The same commit id never lands twice, and tells where a commit is."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from tests.support.builders import commit, make_add, make_files, make_remove, make_table, paths_of
from tests.support.databases import read_contents, refusal
from twinlog import Catalog, Ratified, TableCommit
from twinlog.errors import CommitRejected, ConcurrentDeleteDelete, InvalidAction

THREADS = 4


def commit_as(catalog: Catalog, commit_id: str, *tables: str, path: str = "a.parquet") -> Ratified:
    return catalog.writer.commit(
        *(TableCommit(table=table, actions=[make_add(path)]) for table in tables), commit_id=commit_id
    )


def test_commit_when_no_id_is_given_then_has_one_of_its_own(catalog: Catalog):
    make_table(catalog)
    first, second = commit(catalog), commit(catalog)
    assert first.commit_id != second.commit_id
    assert catalog.table("sales").history()[0].commit_id == second.commit_id


def test_commit_when_repeated_then_is_replayed_and_nothing_changes(catalog: Catalog):
    make_table(catalog)
    first = commit_as(catalog, "id", "sales")
    commit(catalog, make_add("later.parquet"))
    before = read_contents(catalog)
    again = commit_as(catalog, "id", "sales")
    assert (first.version, first.replayed) == (1, False)
    assert again == Ratified("id", {"sales": 1}, replayed=True)
    assert read_contents(catalog) == before


def test_commit_over_several_tables_when_repeated_then_is_replayed_in_any_order(catalog: Catalog):
    for name in ("a", "b"):
        make_table(catalog, name)
    commit(catalog, table="b")
    first = commit_as(catalog, "id", "a", "b")
    before = read_contents(catalog)
    for tables in (("a", "b"), ("b", "a")):
        again = commit_as(catalog, "id", *tables)
        assert again.replayed
        assert again.versions == first.versions == {"a": 1, "b": 2}
    assert read_contents(catalog) == before


def test_commit_when_repeated_and_it_would_conflict_with_itself_then_is_replayed(catalog: Catalog):
    table = make_table(catalog)
    commit(catalog, make_add())
    requests = {
        "remove": TableCommit(table="sales", actions=[make_remove()], read_version=1),
        "metadata": TableCommit(table="sales", actions=[table.snapshot().metadata], read_version=1),
        "files": TableCommit(table="sales", files=make_files(["b.parquet"])),
    }
    for commit_id, request in requests.items():
        first = catalog.writer.commit(request, commit_id=commit_id)
        before = read_contents(catalog)
        again = catalog.writer.commit(request, commit_id=commit_id)
        assert (again.version, again.replayed) == (first.version, True)
        assert read_contents(catalog) == before


def test_commit_id_when_used_for_other_tables_then_refused(catalog: Catalog, subtests: pytest.Subtests):
    for name in ("a", "b", "c"):
        make_table(catalog, name)
    commit_as(catalog, "id", "a", "b")
    for tables in (["b"], ["a"], ["a", "b", "c"], ["a", "c"], ["c", "b"]):
        with subtests.test(tables=tables), refusal(catalog, CommitRejected, table=", ".join(sorted(tables))):
            commit_as(catalog, "id", *tables, path="b.parquet")


def test_commit_id_when_its_commit_was_refused_then_can_be_used(catalog: Catalog):
    make_table(catalog)
    commit(catalog, make_add("x.parquet"))
    commit(catalog, make_remove("x.parquet"))
    bad = TableCommit(table="sales", actions=[make_remove("x.parquet")], read_version=1)
    with refusal(catalog, ConcurrentDeleteDelete, table="sales"):
        catalog.writer.commit(bad, commit_id="id")
    assert commit_as(catalog, "id", "sales").version == 3


@pytest.mark.parametrize("tables", [("a",), ("a", "b")], ids=["one-table", "two-tables"])
def test_commits_with_the_same_id_when_made_at_once_then_one_lands(catalog: Catalog, tables: tuple[str, ...]):
    for name in ("a", "b"):
        make_table(catalog, name)
    start = Barrier(THREADS)

    def write(_: int) -> Ratified:
        start.wait()
        return commit_as(catalog, "id", *tables)

    with ThreadPoolExecutor(THREADS) as pool:
        results = list(pool.map(write, range(THREADS)))
    assert sorted(result.replayed for result in results) == [False] + [True] * (THREADS - 1)
    assert all(result.versions == dict.fromkeys(tables, 1) for result in results)
    assert catalog.table("a").head().version == 1
    assert paths_of(catalog.table("a").snapshot().files()) == ["a.parquet"]


def test_outcome_when_asked_then_tells_where_the_commit_is(catalog: Catalog):
    for name in ("a", "b"):
        make_table(catalog, name)
    commit_as(catalog, "id", "b", "a")
    assert catalog.writer.outcome("id", tables=["a", "b"]) == Ratified("id", {"a": 1, "b": 1}, replayed=True)
    assert catalog.writer.outcome("id", tables=["a"]) == Ratified("id", {"a": 1, "b": 1}, replayed=True)
    assert catalog.writer.outcome("other", tables=["a", "b"]) is None


def test_outcome_when_asked_then_changes_nothing(catalog: Catalog):
    make_table(catalog)
    before = read_contents(catalog)
    catalog.writer.outcome("id", tables=["sales", "nope"])
    assert read_contents(catalog) == before


def test_commit_id_when_its_table_is_dropped_then_is_forgotten(catalog: Catalog):
    make_table(catalog)
    commit_as(catalog, "id", "sales")
    catalog.drop_table("sales")
    make_table(catalog)
    assert catalog.writer.outcome("id", tables=["sales"]) is None
    assert not commit_as(catalog, "id", "sales").replayed


def test_commit_id_when_not_storable_then_refused(catalog: Catalog, subtests: pytest.Subtests):
    make_table(catalog)
    for commit_id in ("a\0b", "\ud800"):
        with subtests.test(ascii(commit_id)), refusal(catalog, InvalidAction, table="sales"):
            commit_as(catalog, commit_id, "sales")


def test_transaction_when_repeated_with_its_id_then_is_replayed(catalog: Catalog):
    table = make_table(catalog)
    results = []
    for _ in range(2):
        with catalog.transaction(commit_id="id") as txn:
            txn.table("sales").files()
            txn.table("sales").add(make_add())
        results.append(txn.result)
    assert [result.replayed for result in results] == [False, True]
    assert table.head().version == 1

"""`txn` actions: an application's transaction lands once, whatever commit carries it."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from tests.support.builders import actions_of, commit, make_add, make_files, make_table, paths_of
from tests.support.databases import read_contents, refusal
from twinlog import Catalog, Ratified, TableCommit
from twinlog.errors import CommitRejected
from twinlog.protocol.actions import Txn

THREADS = 4


def txn(app_version: int, app_id: str = "app") -> Txn:
    return Txn(app_id=app_id, app_version=app_version)


def test_transaction_when_newer_then_lands(catalog: Catalog):
    table = make_table(catalog)
    for version in (1, 2, 10):
        assert not commit(catalog, txn(version), make_add(f"{version}.parquet")).replayed
    assert table.head().version == 3
    assert table.snapshot().txns() == {"app": txn(10)}


def test_transaction_when_repeated_then_is_replayed_and_nothing_changes(catalog: Catalog):
    make_table(catalog)
    commit(catalog)
    first = commit(catalog, txn(1), make_add("a.parquet"))
    commit(catalog, make_add("b.parquet"))
    before = read_contents(catalog)
    again = commit(catalog, txn(1), make_add("other.parquet"))
    assert (first.version, first.replayed) == (2, False)
    assert (again.versions, again.replayed) == ({"sales": 2}, True)
    assert read_contents(catalog) == before


def test_transaction_when_older_then_is_replayed_where_the_application_passed_it(catalog: Catalog):
    make_table(catalog)
    commit(catalog, txn(5))
    commit(catalog, txn(9))
    for version, landed_at in ((3, 1), (5, 1), (6, 2), (9, 2)):
        again = commit(catalog, txn(version), make_add(f"{version}.parquet"))
        assert (again.version, again.replayed) == (landed_at, True)
    assert catalog.table("sales").snapshot().files().num_rows == 0


def test_transactions_of_different_applications_when_of_one_version_then_both_land(catalog: Catalog):
    table = make_table(catalog)
    commit(catalog, txn(1, "a"), txn(1, "b"))
    assert not commit(catalog, txn(1, "c")).replayed
    assert set(table.snapshot().txns()) == {"a", "b", "c"}


def test_transactions_when_only_some_are_in_the_log_then_refused(catalog: Catalog):
    make_table(catalog)
    commit(catalog, txn(1, "a"))
    with refusal(catalog, CommitRejected, table="sales"):
        commit(catalog, txn(1, "a"), txn(1, "b"))


def test_transactions_over_several_tables_when_repeated_then_are_replayed(catalog: Catalog):
    for name in ("a", "b"):
        make_table(catalog, name)
    commit(catalog, table="b")
    shares = [TableCommit(table=name, actions=[txn(1), make_add()]) for name in ("a", "b")]
    first = catalog.writer.commit(*shares)
    before = read_contents(catalog)
    again = catalog.writer.commit(*shares)
    assert again.replayed
    assert again.versions == first.versions == {"a": 1, "b": 2}
    assert read_contents(catalog) == before


def test_transactions_over_several_tables_when_one_is_in_the_log_then_refused(catalog: Catalog):
    for name in ("a", "b"):
        make_table(catalog, name)
    commit(catalog, txn(1), table="a")
    with refusal(catalog, CommitRejected, table="a, b"):
        catalog.writer.commit(*(TableCommit(table=name, actions=[txn(1), make_add()]) for name in ("a", "b")))


def test_transaction_in_one_of_two_tables_when_repeated_then_names_both(catalog: Catalog):
    for name in ("a", "b"):
        make_table(catalog, name)
    shares = [TableCommit(table="a", actions=[txn(1)]), TableCommit(table="b", actions=[make_add()])]
    first = catalog.writer.commit(*shares)
    before = read_contents(catalog)
    again = catalog.writer.commit(*shares)
    assert again.replayed
    assert again.versions == first.versions
    assert read_contents(catalog) == before


def test_transaction_when_in_the_log_then_the_share_of_another_table_is_not_lost_silently(catalog: Catalog):
    for name in ("a", "b"):
        make_table(catalog, name)
    commit(catalog, txn(1), table="a")
    shares = [TableCommit(table="a", actions=[txn(1)]), TableCommit(table="b", actions=[make_add()])]
    with refusal(catalog, CommitRejected, table="a, b"):
        catalog.writer.commit(*shares)


def test_transaction_when_made_at_once_by_threads_then_one_lands(catalog: Catalog):
    table = make_table(catalog)
    start = Barrier(THREADS)

    def write(number: int) -> Ratified:
        start.wait()
        return commit(catalog, txn(1), make_add(f"{number}.parquet"))

    with ThreadPoolExecutor(THREADS) as pool:
        results = list(pool.map(write, range(THREADS)))
    assert sorted(result.replayed for result in results) == [False] + [True] * (THREADS - 1)
    assert table.head().version == 1
    assert table.snapshot().files().num_rows == 1


def test_transaction_when_committed_with_arrow_files_and_repeated_then_is_replayed(catalog: Catalog):
    table = make_table(catalog)
    for path in ("a.parquet", "b.parquet"):
        commit(catalog, txn(1), files=make_files([path]))
    assert paths_of(table.snapshot().files()) == ["a.parquet"]


def test_transaction_when_last_updated_is_given_then_kept(catalog: Catalog):
    table = make_table(catalog)
    given = Txn(app_id="app", app_version=1, last_updated=1_700_000_000_000, extra={"x": 1})
    commit(catalog, given)
    assert actions_of(table, 1) == (given,)
    assert table.snapshot().txns() == {"app": given}

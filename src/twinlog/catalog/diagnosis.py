"""Looks at a database without changing it: whether it holds a catalog, and what would stop twinlog from using it.

Every check answers with a value instead of raising, so that one report can show all that is wrong.
"""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from sqlalchemy import BigInteger, Column, Connection, MetaData, Table, delete, false, insert, select, text

from twinlog.catalog import migrations, schema
from twinlog.catalog.catalog import Catalog
from twinlog.catalog.database import Database
from twinlog.errors import CatalogSchemaMismatch, TwinlogError

CLOCK_TOLERANCE_S: Final = 5.0

_INIT: Final = "run `twinlog init`"
_EMBEDDED: Final = frozenset({"sqlite", "duckdb"})
_NAMES: Final = {"postgresql": "PostgreSQL", "sqlite": "SQLite", "duckdb": "DuckDB"}
_VERSION_QUERIES: Final = {
    "postgresql": "SHOW server_version",
    "sqlite": "SELECT sqlite_version()",
    "duckdb": "SELECT version()",
}
# The oldest releases with everything the catalog uses; SQLite's is the first one with RETURNING.
_OLDEST: Final = {"postgresql": (14,), "sqlite": (3, 35)}
_NEXT_STEPS: Final = {
    "connection": "start the database, end whatever holds its file, or correct host, database, user or password",
    "write": "give this user the right to write, or free the disk; read-only replicas cannot be used",
}


class Level(Enum):
    """How much a finding matters: a problem keeps twinlog from working, a warning does not."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check; `hint` is the next step where one is needed."""

    check: str
    level: Level
    message: str
    hint: str | None = None


class _Undo(Exception):
    """Ends a write transaction that must leave nothing behind."""


def open_existing(url: str) -> Catalog:
    """Open a catalog that is there already. Unlike `connect` it creates nothing, so a mistyped URL stays harmless.

    Raises:
        ConfigurationError: the URL is not one of a supported database.
        CatalogUnavailable: the database cannot be reached.
        CatalogSchemaMismatch: there is no catalog, or it is older or newer than this twinlog.
    """
    database = Database(url)
    try:
        _require_catalog(database)
    except BaseException:
        database.close()
        raise
    return Catalog(database)


def diagnose(url: str) -> list[Finding]:
    """Check everything that the catalog needs of its database. Checks that cannot be made are left out."""
    try:
        database = Database(url)
    except TwinlogError as error:
        return [_problem("address", error)]
    try:
        return list(_findings(database))
    finally:
        database.close()


def _require_catalog(database: Database) -> None:
    if _missing_file(database) or migrations.current_revision(database) is None:
        raise CatalogSchemaMismatch(
            f"there is no catalog at {database.display_url}", hint=f"{_INIT} to create it, or correct the URL"
        )
    migrations.prepare(database)


def _findings(database: Database) -> Iterator[Finding]:
    if _backend(database) in _EMBEDDED:
        file = _check_file(database)
        yield file
        if file.level is Level.PROBLEM:
            return
    try:
        with database.read() as connection:
            yield _check_server(connection, database)
            if _backend(database) == "sqlite":
                yield _check_journal(connection)
            yield _check_clock(connection, database)
    except TwinlogError as error:
        yield _problem("connection", error)
        return
    yield _check_schema(database)
    yield _check_write(database)


def _check_file(database: Database) -> Finding:
    if missing := _missing_file(database):
        return Finding("file", Level.PROBLEM, f"{missing} does not exist", f"{_INIT} to create it, or correct the URL")
    path = _path(database)
    if not path.is_file():
        return Finding("file", Level.PROBLEM, f"{path} is not a file", "correct the URL")
    # The database keeps a second file beside the first, so the folder must be writable too.
    locked = next((place for place in (path, path.parent) if not os.access(place, os.R_OK | os.W_OK)), None)
    if locked:
        return Finding("file", Level.PROBLEM, f"{locked} is not writable", "give this user the right to write there")
    return Finding("file", Level.OK, f"{path} and its folder are writable")


def _check_server(connection: Connection, database: Database) -> Finding:
    backend = _backend(database)
    version = str(connection.execute(text(_VERSION_QUERIES[backend])).scalar_one())
    driver = connection.dialect.driver
    shown = f"{_NAMES[backend]} {version.removeprefix('v')} at {database.display_url}, driver {driver}"
    oldest = _OLDEST.get(backend, ())
    if _numbers(version) < oldest:
        wanted = ".".join(map(str, oldest))
        return Finding("connection", Level.PROBLEM, shown, f"use {_NAMES[backend]} {wanted} or newer")
    return Finding("connection", Level.OK, shown)


def _check_journal(connection: Connection) -> Finding:
    mode = str(connection.execute(text("PRAGMA journal_mode")).scalar_one())
    if mode == "wal":
        return Finding("journal", Level.OK, "write-ahead log: readers and the writer do not block each other")
    return Finding(
        "journal",
        Level.PROBLEM,
        f"journal mode is {mode!r}, the catalog needs 'wal'",
        "move the database to a local disk: network file systems do not support a write-ahead log",
    )


def _check_clock(connection: Connection, database: Database) -> Finding:
    before = time.time()
    database_ms = connection.execute(select(database.dialect.now_ms())).scalar_one()
    after = time.time()
    return judge_clock(database_ms / 1000 - (before + after) / 2)


def judge_clock(ahead_s: float) -> Finding:
    """What a difference between the database's clock and this machine's means."""
    if abs(ahead_s) <= CLOCK_TOLERANCE_S:
        return Finding("clock", Level.OK, f"the database's clock is within {CLOCK_TOLERANCE_S:.0f} s of this machine's")
    direction = "ahead of" if ahead_s > 0 else "behind"
    return Finding(
        "clock",
        Level.WARNING,
        f"the database's clock is {abs(ahead_s):.0f} s {direction} this machine's; commits carry the database's time",
        "synchronise both clocks (NTP)",
    )


def _check_schema(database: Database) -> Finding:
    try:
        revision = migrations.current_revision(database)
        if revision is None:
            return Finding("schema", Level.PROBLEM, "the database holds no catalog", f"{_INIT} to create it")
        migrations.prepare(database)
    except TwinlogError as error:
        return _problem("schema", error)
    return Finding("schema", Level.OK, f"revision {revision}, as this twinlog needs")


def _check_write(database: Database) -> Finding:
    try:
        is_current = migrations.current_revision(database) == migrations.HEAD
        _write_and_undo(database, is_current=is_current)
    except TwinlogError as error:
        return _problem("write", error)
    what = "rows can be written" if is_current else "tables can be created"
    return Finding("write", Level.OK, f"{what} (tried and rolled back)")


def _write_and_undo(database: Database, *, is_current: bool) -> None:
    with suppress(_Undo), database.write() as connection:
        if is_current:
            _touch_tables(connection)
        else:
            Table("dl_doctor", MetaData(), Column("version", BigInteger)).create(connection)
        raise _Undo


def _touch_tables(connection: Connection) -> None:
    """Use the right to insert into and delete from every table, and write one row for real."""
    for table in schema.metadata.sorted_tables:
        nothing = select(table).where(false())
        connection.execute(insert(table).from_select([column.name for column in table.columns], nothing))
        connection.execute(delete(table).where(false()))
    row = {"table_id": -1, "version": -1, "artifact": "doctor", "status": "PENDING", "enqueued_ms": 0}
    connection.execute(insert(schema.mirror_status), row)


def _problem(check: str, error: TwinlogError) -> Finding:
    # Somebody who reads this is running doctor already, so its errors must not send them there.
    hint = None if error.hint and "twinlog doctor" in error.hint else error.hint
    return Finding(check, Level.PROBLEM, error.message, hint or _NEXT_STEPS.get(check))


def _backend(database: Database) -> str:
    return database.dialect.url.get_backend_name()


def _path(database: Database) -> Path:
    return Path(database.dialect.url.database or "").absolute()


def _missing_file(database: Database) -> Path | None:
    """The file of an embedded database, if there is none yet: connecting would create it."""
    path = _path(database)
    return path if _backend(database) in _EMBEDDED and not path.exists() else None


def _numbers(version: str) -> tuple[int, ...]:
    release = version.removeprefix("v").split()[0]
    return tuple(int(part) for part in release.split(".") if part.isdigit())

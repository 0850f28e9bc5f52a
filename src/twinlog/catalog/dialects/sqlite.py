"""SQLite, the embedded default: one file, many processes, one writer at a time."""

import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Select,
    Table,
    create_engine,
    event,
    func,
    literal_column,
    text,
)
from sqlalchemy.pool import ConnectionPoolEntry

from twinlog.catalog.dialects.base import Dialect, Trouble, arrow_schema, literal_sql
from twinlog.errors import ConfigurationError

_PATIENCE_S = 60.0
_BUSY_TIMEOUT_MS = 500  # short, because nothing can interrupt SQLite while it waits
_BATCH_ROWS = 20_000


class SqliteDialect(Dialect):
    """One database file in WAL mode."""

    driver_errors: ClassVar = (sqlite3.Error,)
    unique_keys: ClassVar = {
        "dl_table_versions.commit_id": Trouble.COMMIT_ID_TAKEN,
        "dl_add_files.path": Trouble.FILE_ALREADY_LIVE,
        "dl_tables.name": Trouble.NAME_TAKEN,
        "dl_tables.location": Trouble.LOCATION_TAKEN,
    }

    def create_engine(self) -> Engine:
        """Build the engine for a file that exists or can be created."""
        path = self.url.database
        if not path or path == ":memory:":
            raise ConfigurationError(
                "SQLite needs a file: an in-memory database is gone with its first connection",
                hint="use sqlite:///relative/path.db or sqlite:////absolute/path.db",
            )
        if not Path(path).absolute().parent.is_dir():
            raise ConfigurationError(f"the folder of {path!r} does not exist", hint="create it first")
        engine = create_engine(self.url, hide_parameters=True)
        event.listen(engine, "connect", _configure)
        event.listen(engine, "begin", _begin)
        return engine

    def now_ms(self) -> ColumnElement[int]:
        """The Julian day is SQLite's only clock with milliseconds in every supported release."""
        return literal_column("CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)")

    def greatest(self, left: ColumnElement[int], right: ColumnElement[int]) -> ColumnElement[int]:
        """SQLite's max with two arguments is the scalar one."""
        return func.max(left, right)

    def classify(self, error: BaseException) -> Trouble:
        """SQLite says what happened in the message; constraint errors list the key's columns."""
        message = str(error)
        if isinstance(error, sqlite3.IntegrityError):
            return self.unique_violation(message)
        if isinstance(error, sqlite3.OperationalError):
            if "locked" in message or "busy" in message:
                return Trouble.BUSY
            if "no such table" in message:
                return Trouble.SCHEMA_MISSING
            return Trouble.UNAVAILABLE  # cannot open, disk full, read-only, I/O error
        return Trouble.BAD_VALUE if isinstance(error, sqlite3.DataError) else Trouble.OTHER

    def read_arrow(self, engine: Engine, statement: Select[tuple[object, ...]]) -> Iterator[pa.RecordBatch]:
        """Through the driver's own rows.

        Not through ADBC: that brings a second copy of SQLite into the process, and closing a file in one copy drops
        the locks that the other one holds on it (POSIX), which can corrupt the database.
        """
        schema = arrow_schema(statement.selected_columns)
        with engine.connect() as connection:
            cursor = connection.exec_driver_sql(literal_sql(engine, statement)).cursor
            while rows := cursor.fetchmany(_BATCH_ROWS):
                columns = zip(zip(*rows, strict=True), schema, strict=True)
                arrays = [_typed(values, field.type) for values, field in columns]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def insert(self, connection: Connection, rows: Mapping[Table, Sequence[Mapping[str, object]]]) -> None:
        """The driver's executemany: SQLAlchemy's care for each value would take longer than SQLite does."""
        for table, table_rows in rows.items():
            self._insert(connection, table, table_rows)

    def _insert(self, connection: Connection, table: Table, rows: Sequence[Mapping[str, object]]) -> None:
        names = [column.name for column in table.columns]
        connection.exec_driver_sql(
            self.insert_sql(connection, table), [tuple(row[name] for name in names) for row in rows]
        )

    def bulk_insert(self, connection: Connection, table: Table, batches: Iterable[pa.RecordBatch]) -> None:
        """The driver's executemany, fed with tuples so that no dict is built for a row."""
        names = [column.name for column in table.columns]
        for batch in batches:
            columns = [batch.column(name).to_pylist() for name in names]
            connection.exec_driver_sql(self.insert_sql(connection, table), list(zip(*columns, strict=True)))

    def analyze(self, connection: Connection, table: Table) -> None:
        """Refresh statistics of one table, from a sample of each index."""
        connection.execute(text("PRAGMA analysis_limit=1000"))
        connection.execute(text(f"ANALYZE {table.name}"))


def _typed(values: tuple[object, ...], arrow_type: pa.DataType) -> pa.Array:
    # SQLite has no booleans; they come as 0 and 1.
    return (
        pa.array(values, pa.int64()).cast(arrow_type)
        if pa.types.is_boolean(arrow_type)
        else pa.array(values, arrow_type)
    )


def _configure(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
    connection.isolation_level = None  # transactions begin where `_begin` says, not at the driver's guess
    connection.execute(f"PRAGMA busy_timeout={_BUSY_TIMEOUT_MS}")
    _execute_patiently(connection, "PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")  # a ratified commit survives a power cut


def _begin(connection: Connection) -> None:
    # A writer takes the lock at once: upgrading a read transaction later would fail instead of wait.
    if not connection.get_execution_options().get("twinlog_write", False):
        connection.exec_driver_sql("BEGIN")
        return
    driver = connection.connection.driver_connection
    if not isinstance(driver, sqlite3.Connection):
        raise TypeError(f"expected an SQLite connection, found {type(driver).__name__}")
    _execute_patiently(driver, "BEGIN IMMEDIATE")


def _execute_patiently(driver: sqlite3.Connection, statement: str) -> None:
    """Wait for a lock in short steps, so that the process stays interruptible."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        try:
            driver.execute(statement)
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
        else:
            return

"""DuckDB, embedded in one process; its threads share the database."""

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import ClassVar

import duckdb
import pyarrow as pa
from alembic.ddl.impl import DefaultImpl
from sqlalchemy import ColumnElement, Connection, Engine, Select, Table, create_engine, literal_column

from twinlog.catalog.dialects.base import Dialect, Trouble, literal_sql
from twinlog.catalog.schema import LIVE
from twinlog.errors import ConfigurationError

_BATCH_ROWS = 50_000

# DuckDB lets concurrent writers of a row fail rather than wait, so writers of one file queue here. Only threads of
# this process can meet: DuckDB locks the file against others.
_WRITER_LOCKS: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


class DuckDBImpl(DefaultImpl):
    """Tells Alembic that DuckDB needs no special DDL."""

    __dialect__ = "duckdb"


class DuckdbDialect(Dialect):
    """One database file, one process."""

    driver_errors: ClassVar = (duckdb.Error,)
    unique_keys: ClassVar = {
        'key "commit_id:': Trouble.COMMIT_ID_TAKEN,
        'key "name:': Trouble.NAME_TAKEN,
        'key "location:': Trouble.LOCATION_TAKEN,
        "removed_version:": Trouble.FILE_ALREADY_LIVE,
    }

    def create_engine(self) -> Engine:
        """Build the engine for a file that exists or can be created."""
        path = self.url.database
        if not path or path == ":memory:":
            raise ConfigurationError("DuckDB needs a file here", hint="use duckdb:///relative/path.duckdb")
        if not Path(path).absolute().parent.is_dir():
            raise ConfigurationError(f"the folder of {path!r} does not exist", hint="create it first")
        self.url = self.url.set(database=str(Path(path).absolute()))  # the working directory may change
        return create_engine(self.url, hide_parameters=True)

    def now_ms(self) -> ColumnElement[int]:
        """The transaction's start: writers queue before they begin, so it is late enough."""
        return literal_column("epoch_ms(get_current_timestamp())")

    def classify(self, error: BaseException) -> Trouble:
        """By exception class; constraint errors list the key's columns."""
        if isinstance(error, duckdb.TransactionException):
            return Trouble.BUSY
        if isinstance(error, duckdb.ConstraintException):
            return self.unique_violation(str(error))
        if isinstance(error, duckdb.CatalogException):
            return Trouble.SCHEMA_MISSING
        if isinstance(error, duckdb.IOException):
            return Trouble.UNAVAILABLE  # another process holds the file, or the disk failed
        return Trouble.BAD_VALUE if isinstance(error, duckdb.DataError) else Trouble.OTHER

    def unique_violation(self, message: str) -> Trouble:
        """Within one transaction the message has values only; of our keys, the one of live files ends like this."""
        if f', {LIVE}"' in message:
            return Trouble.FILE_ALREADY_LIVE
        return super().unique_violation(message)

    def read_arrow(self, engine: Engine, statement: Select[tuple[object, ...]]) -> Iterator[pa.RecordBatch]:
        """DuckDB speaks Arrow itself."""
        with engine.connect() as connection:
            yield from _driver(connection).execute(literal_sql(engine, statement)).to_arrow_reader(_BATCH_ROWS)

    def bulk_insert(self, connection: Connection, table: Table, batches: Iterable[pa.RecordBatch]) -> None:
        """INSERT ... SELECT from each batch, vectorised."""
        driver = _driver(connection)
        columns = ", ".join(column.name for column in table.columns)
        for batch in batches:
            driver.register("twinlog_batch", pa.Table.from_batches([batch]))
            driver.execute(f"INSERT INTO {table.name} ({columns}) SELECT {columns} FROM twinlog_batch")  # noqa: S608 - names from our schema
            driver.unregister("twinlog_batch")

    def analyze(self, connection: Connection, table: Table) -> None:
        """DuckDB keeps its statistics up to date by itself."""

    def lock_writers(self) -> AbstractContextManager[object]:
        """One writer at a time for each file."""
        return _WRITER_LOCKS[str(Path(self.url.database or "").absolute())]


def _driver(connection: Connection) -> duckdb.DuckDBPyConnection:
    driver: duckdb.DuckDBPyConnection = connection.connection.driver_connection  # type: ignore[assignment]  # a wrapper that passes calls on
    return driver

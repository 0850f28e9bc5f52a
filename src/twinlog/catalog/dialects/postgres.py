"""PostgreSQL through psycopg, with ADBC for bulk reads and COPY for bulk inserts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import ClassVar, Final, cast

import adbc_driver_postgresql.dbapi as adbc_postgresql
import psycopg
import pyarrow as pa
import pyarrow.csv as pa_csv
from psycopg.abc import Buffer
from psycopg.copy import LibpqWriter
from psycopg.generators import copy_to
from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    QueuePool,
    Select,
    Table,
    create_engine,
    literal_column,
    text,
)

from twinlog.catalog.dialects.base import Dialect, Trouble, literal_sql

_CONNECT_TIMEOUT_S = 10
_LOCK_TIMEOUT_S = 60
_PIECE_BYTES = 32 * 1024
_MIGRATION_LOCK = 7_493_001  # any constant; names our advisory lock

# Kept from the garbage collector: closing a connection of the parent's would end it for the parent too.
_OF_PARENTS: Final[list[QueuePool]] = []

_STATES: Final = {
    "40001": Trouble.BUSY,  # serialization failure
    "40P01": Trouble.BUSY,  # deadlock
    "55P03": Trouble.BUSY,  # lock not available
    "57P01": Trouble.CONNECTION_LOST,  # shut down by the administrator
    "57P02": Trouble.CONNECTION_LOST,  # crashed
    "57P03": Trouble.CONNECTION_LOST,  # starting up
    "57014": Trouble.BUSY,  # cancelled by a statement timeout
    "40003": Trouble.CONNECTION_LOST,  # completion unknown
    "42P01": Trouble.SCHEMA_MISSING,  # undefined table
    "25006": Trouble.UNAVAILABLE,  # read-only, such as a standby
}
_STATE_CLASSES: Final = {
    "08": Trouble.CONNECTION_LOST,
    "22": Trouble.BAD_VALUE,
    "53": Trouble.UNAVAILABLE,  # out of disk, memory or connections
    "54": Trouble.BAD_VALUE,  # too long for an index
    "58": Trouble.UNAVAILABLE,  # the disk under the server
}


class _FlushingWriter(LibpqWriter):
    """Lets the server take each piece before the next one is sent.

    Otherwise libpq collects what a slower server has not taken yet, and moves it around in its buffer with every
    write: memory that grows with the data, and three times the processor time.
    """

    def write(self, data: Buffer) -> None:
        view = memoryview(data)
        for start in range(0, len(view), _PIECE_BYTES):
            self.connection.wait(copy_to(self.connection.pgconn, view[start : start + _PIECE_BYTES], flush=True))


class PostgresDialect(Dialect):
    """The production choice."""

    driver_errors: ClassVar = (psycopg.Error, adbc_postgresql.Error)
    unique_keys: ClassVar = {
        "uq_dl_table_versions_commit": Trouble.COMMIT_ID_TAKEN,
        "uq_dl_add_files_file": Trouble.FILE_ALREADY_LIVE,
        "uq_dl_tables_name": Trouble.NAME_TAKEN,
        "uq_dl_tables_location": Trouble.LOCATION_TAKEN,
    }

    def create_engine(self) -> Engine:
        """Build the engine, and beside it a pool of ADBC connections."""
        self._adbc_pool = QueuePool(self._connect_adbc)
        return create_engine(
            self.url.set(drivername="postgresql+psycopg"),
            isolation_level="READ COMMITTED",  # the conflict check must see commits that landed while we waited
            connect_args={
                "connect_timeout": _CONNECT_TIMEOUT_S,
                "application_name": "twinlog",
                "options": f"-c lock_timeout={_LOCK_TIMEOUT_S}s {self.url.query.get('options', '')}",
            },
            hide_parameters=True,
        )

    def close(self) -> None:
        """Close the pool of ADBC connections."""
        self._adbc_pool.dispose()
        self._adbc_pool = self._adbc_pool.recreate()

    def forget_connections(self) -> None:
        """Begin a new pool of ADBC connections."""
        _OF_PARENTS.append(self._adbc_pool)
        self._adbc_pool = self._adbc_pool.recreate()

    def _connect_adbc(self) -> adbc_postgresql.Connection:
        uri = self.url.set(drivername="postgresql").render_as_string(hide_password=False)
        return adbc_postgresql.connect(uri, autocommit=True)

    def now_ms(self) -> ColumnElement[int]:
        """clock_timestamp, not now(): the latter is the start of the transaction, before the lock was waited for."""
        return literal_column("CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)")

    def classify(self, error: BaseException) -> Trouble:
        """By SQLSTATE; an operational error without one means the connection itself failed."""
        state = getattr(error, "sqlstate", None)
        if state is None:
            if isinstance(error, psycopg.OperationalError | adbc_postgresql.OperationalError):
                return Trouble.CONNECTION_LOST
            return Trouble.BAD_VALUE if isinstance(error, psycopg.DataError) else Trouble.OTHER
        if isinstance(error, psycopg.errors.UniqueViolation):
            return self.unique_violation(error.diag.constraint_name or "")
        return _STATES.get(state) or _STATE_CLASSES.get(state[:2], Trouble.OTHER)

    def read_arrow(self, engine: Engine, statement: Select[tuple[object, ...]]) -> Iterator[pa.RecordBatch]:
        """ADBC decodes PostgreSQL's binary rows straight into Arrow."""
        pooled = self._adbc_pool.connect()
        try:
            cursor = cast("adbc_postgresql.Connection", pooled).cursor()
            with cursor:
                cursor.execute(literal_sql(engine, statement))
                yield from cursor.fetch_record_batch()
        except adbc_postgresql.Error:
            pooled.invalidate()  # it may be dead, and must not come out of the pool again
            raise
        finally:
            pooled.close()

    def insert(self, connection: Connection, rows: Mapping[Table, Sequence[Mapping[str, object]]]) -> None:
        """The driver's own statements; SQLAlchemy's care for each value is not needed.

        Not in one pipeline over all tables: psycopg was seen to wait forever in it when the connection broke.
        """
        for table, table_rows in rows.items():
            statement = self.insert_sql(connection, table)
            connection.exec_driver_sql(statement, dict(table_rows[0]) if len(table_rows) == 1 else list(table_rows))

    def bulk_insert(self, connection: Connection, table: Table, batches: Iterable[pa.RecordBatch]) -> None:
        """COPY on the transaction's own connection; Arrow writes the CSV, so no value passes through Python."""
        columns = ", ".join(column.name for column in table.columns)
        options = pa_csv.WriteOptions(include_header=False)
        driver = _driver(connection)
        copy_sql = f"COPY {table.name} ({columns}) FROM STDIN (FORMAT csv)"
        with driver.cursor() as cursor, cursor.copy(copy_sql.encode(), writer=_FlushingWriter(cursor)) as copy:
            for batch in batches:
                buffer = BytesIO()
                pa_csv.write_csv(batch.select([column.name for column in table.columns]), buffer, options)
                copy.write(buffer.getbuffer())

    def analyze(self, connection: Connection, table: Table) -> None:
        """Refresh statistics of one table."""
        connection.execute(text(f"ANALYZE {table.name}"))

    def lock_migrations(self, connection: Connection) -> None:
        """An advisory lock that ends with the transaction."""
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK})


def _driver(connection: Connection) -> psycopg.Connection[tuple[object, ...]]:
    driver = connection.connection.driver_connection
    if not isinstance(driver, psycopg.Connection):
        raise TypeError(f"expected a psycopg connection, found {type(driver).__name__}")
    return driver

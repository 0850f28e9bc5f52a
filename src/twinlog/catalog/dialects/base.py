"""The port that every database fulfils: how it connects, tells the time, moves Arrow and names its errors."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from enum import Enum, auto
from typing import Any, ClassVar

import pyarrow as pa
from sqlalchemy import URL, Boolean, ColumnElement, Connection, Engine, Integer, Select, Table, func, insert


class Trouble(Enum):
    """What a driver's error means for the transaction it struck."""

    BUSY = auto()
    CONNECTION_LOST = auto()
    UNAVAILABLE = auto()
    SCHEMA_MISSING = auto()
    COMMIT_ID_TAKEN = auto()
    FILE_ALREADY_LIVE = auto()
    NAME_TAKEN = auto()
    LOCATION_TAKEN = auto()
    BAD_VALUE = auto()
    OTHER = auto()


class Dialect(ABC):
    """One database system."""

    # What the database's drivers may raise besides SQLAlchemy's own errors.
    driver_errors: ClassVar[tuple[type[Exception], ...]]
    # Names of the unique keys, as the driver's message spells them, to what their violation means.
    unique_keys: ClassVar[dict[str, Trouble]]

    def __init__(self, url: URL) -> None:
        self.url = url
        self._insert_statements: dict[Table, str] = {}

    @abstractmethod
    def create_engine(self) -> Engine:
        """Build the engine; no connection is made yet."""

    @abstractmethod
    def now_ms(self) -> ColumnElement[int]:
        """The database's clock as an SQL expression, in milliseconds since the epoch."""

    def greatest(self, left: ColumnElement[int], right: ColumnElement[int]) -> ColumnElement[int]:
        """The larger of two numbers."""
        return func.greatest(left, right)

    @abstractmethod
    def classify(self, error: BaseException) -> Trouble:
        """Say what a driver's error means."""

    @abstractmethod
    def read_arrow(self, engine: Engine, statement: Select[tuple[object, ...]]) -> Iterator[pa.RecordBatch]:
        """Stream a query's rows as Arrow batches. Literals in the statement must be numbers or empty strings."""

    def insert(self, connection: Connection, rows: Mapping[Table, Sequence[Mapping[str, object]]]) -> None:
        """Insert a few rows into several tables, in this order; each row has every column."""
        for table, table_rows in rows.items():
            connection.execute(insert(table), table_rows)

    @abstractmethod
    def bulk_insert(self, connection: Connection, table: Table, batches: Iterable[pa.RecordBatch]) -> None:
        """Insert batches whose columns are named like the table's, inside the connection's transaction."""

    @abstractmethod
    def analyze(self, connection: Connection, table: Table) -> None:
        """Refresh the planner's statistics after a bulk load."""

    def close(self) -> None:
        """Let go of what `create_engine` made besides the engine."""
        self._insert_statements.clear()

    def forget_connections(self) -> None:
        """Drop what `create_engine` made besides the engine without closing it: it belongs to the parent process."""
        self._insert_statements.clear()

    def lock_writers(self) -> AbstractContextManager[object]:
        """Serialise writers of this process, for databases that would make them fail instead of wait."""
        return nullcontext()

    def lock_migrations(self, connection: Connection) -> None:
        """Hold off other processes that would migrate at the same time; released with the transaction.

        A database whose write transactions exclude each other needs nothing here.
        """
        del connection

    def insert_sql(self, connection: Connection, table: Table) -> str:
        """The INSERT of all columns as the driver takes it; made once, because that takes longer than running it."""
        if table not in self._insert_statements:
            self._insert_statements[table] = str(insert(table).compile(connection.engine))
        return self._insert_statements[table]

    def unique_violation(self, message: str) -> Trouble:
        """Find the unique key that a driver's message names."""
        return next((trouble for key, trouble in self.unique_keys.items() if key in message), Trouble.OTHER)


def literal_sql(engine: Engine, statement: Select[tuple[object, ...]]) -> str:
    """The statement as text with its literals in place, for drivers that SQLAlchemy does not speak to."""
    return str(statement.compile(engine, compile_kwargs={"literal_binds": True}))


def arrow_schema(columns: Iterable[ColumnElement[Any]]) -> pa.Schema:
    """The Arrow types of our columns: text, 64-bit numbers, booleans."""
    return pa.schema([(str(column.key), _arrow_type(column.type)) for column in columns])


def _arrow_type(column_type: object) -> pa.DataType:
    if isinstance(column_type, Boolean):
        return pa.bool_()
    return pa.int64() if isinstance(column_type, Integer) else pa.string()

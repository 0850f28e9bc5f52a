"""One database: connections, transactions, and its errors in our words.

Everything above talks to the database through here, so a driver's error never reaches a caller and a password
never reaches a message.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from weakref import WeakSet

import pyarrow as pa
from sqlalchemy import Connection, Select
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from twinlog.catalog.addresses import parse_address, redacted, unsupported, without_secrets
from twinlog.catalog.dialects.base import Dialect, Trouble
from twinlog.catalog.dialects.duckdb import DuckdbDialect
from twinlog.catalog.dialects.postgres import PostgresDialect
from twinlog.catalog.dialects.sqlite import SqliteDialect
from twinlog.errors import (
    CatalogBusy,
    CatalogError,
    CatalogSchemaMismatch,
    CatalogUnavailable,
    ConnectionLost,
    InvalidAction,
    TwinlogError,
)

_DIALECTS: Final[dict[str, type[Dialect]]] = {
    "postgresql": PostgresDialect,
    "sqlite": SqliteDialect,
    "duckdb": DuckdbDialect,
}

_OPEN: Final[WeakSet["Database"]] = WeakSet()

_DOCTOR: Final = "run `twinlog doctor`"
_MEANINGS: Final[dict[Trouble, tuple[type[TwinlogError], str, str]]] = {
    Trouble.BUSY: (CatalogBusy, "the database is busy", "try again"),
    Trouble.UNAVAILABLE: (CatalogUnavailable, "the database cannot be used", _DOCTOR),
    Trouble.SCHEMA_MISSING: (CatalogSchemaMismatch, "the database has no twinlog schema", "run `twinlog init`"),
    Trouble.BAD_VALUE: (InvalidAction, "the database cannot store a value", "check the actions"),
    Trouble.OTHER: (CatalogError, "the database refused", _DOCTOR),
}


class UniqueKeyViolated(CatalogError):
    """A unique key refused a row; `trouble` says which. Its callers turn it into what it means to them."""

    def __init__(self, trouble: Trouble) -> None:
        super().__init__(f"unique key violated: {trouble.name.lower()}")
        self.trouble = trouble


class Database:
    """A catalog database, known by its URL."""

    def __init__(self, url: str) -> None:
        parsed = parse_address(url, _DIALECTS)
        self.display_url = without_secrets(parsed)
        self.dialect = _DIALECTS[parsed.get_backend_name()](parsed)
        try:
            self.engine = self.dialect.create_engine()
        except (ArgumentError, NoSuchModuleError) as error:
            raise unsupported(url) from error
        _OPEN.add(self)
        self._foreign_errors: tuple[type[Exception], ...] = (
            SQLAlchemyError,
            UnicodeEncodeError,
            OverflowError,
            *self.dialect.driver_errors,
        )

    def forget_connections(self) -> None:
        """Leave the pooled connections to the process that opened them."""
        self.engine.dispose(close=False)
        self.dialect.forget_connections()

    def close(self) -> None:
        """Close pooled connections. New ones are made when they are needed."""
        self.engine.dispose()
        self.dialect.close()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection for queries."""
        with self._translated(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction: committed at the end of the block, rolled back if it raises.

        Raises:
            ConnectionLost: `during_commit` tells whether the transaction may have landed.
        """
        with self.dialect.lock_writers(), self._translated(), self.engine.connect() as connection:
            connection.execution_options(twinlog_write=True)
            transaction = connection.begin()
            try:
                yield connection
            except BaseException:
                transaction.rollback()
                raise
            with self._translated(during_commit=True):
                transaction.commit()

    def read_arrow(self, statement: Select[tuple[object, ...]]) -> Iterator[pa.RecordBatch]:
        """Stream a query's rows as Arrow."""
        with self._translated():
            yield from self.dialect.read_arrow(self.engine, statement)

    @contextmanager
    def _translated(self, *, during_commit: bool = False) -> Iterator[None]:
        try:
            yield
        except TwinlogError:
            raise
        except self._foreign_errors as error:
            raise self._translate(error, during_commit=during_commit) from error

    def _translate(self, error: BaseException, *, during_commit: bool) -> TwinlogError:
        cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
        if isinstance(error, UnicodeEncodeError | OverflowError):
            trouble = Trouble.BAD_VALUE
        elif isinstance(error, PoolTimeoutError):
            trouble = Trouble.BUSY
        elif isinstance(error, DBAPIError) and error.connection_invalidated:
            trouble = Trouble.CONNECTION_LOST
        else:
            trouble = self.dialect.classify(cause)
        reason = redacted(" ".join(str(cause).split()), self.dialect.url)
        if trouble is Trouble.CONNECTION_LOST:
            self.close()  # what else is pooled is as dead; the next attempt begins with new connections
            message = f"no connection to {self.display_url}: {reason}"
            return ConnectionLost(message, during_commit=during_commit, hint=_DOCTOR)
        if trouble in _MEANINGS:
            error_type, meaning, hint = _MEANINGS[trouble]
            return error_type(f"{meaning}: {reason}", hint=hint)
        return UniqueKeyViolated(trouble)


def _forget_connections_in_child() -> None:
    # Parent and child would talk on the same sockets, each in the middle of the other's transactions.
    for database in _OPEN:
        database.forget_connections()


os.register_at_fork(after_in_child=_forget_connections_in_child)

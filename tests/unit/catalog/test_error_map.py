"""Every error of every driver means something to us: a new class in a driver's next release fails here."""

import sqlite3
from collections.abc import Iterator, Mapping

import adbc_driver_postgresql.dbapi as adbc
import duckdb
import psycopg
import pytest
import sqlalchemy.exc
from adbc_driver_manager import AdbcStatusCode
from sqlalchemy import make_url

from twinlog.catalog.database import Database
from twinlog.catalog.dialects.base import Trouble
from twinlog.catalog.dialects.duckdb import DuckdbDialect
from twinlog.catalog.dialects.postgres import PostgresDialect
from twinlog.catalog.dialects.sqlite import SqliteDialect
from twinlog.errors import CatalogError, CatalogUnavailable, ConnectionLost, InvalidAction, Retry, TwinlogError

# Classes of SQLSTATE; a constraint's own meaning is found by its name, in the contract suite.
OF_STATE_CLASS: Mapping[str, Trouble] = {
    "08": Trouble.CONNECTION_LOST,
    "22": Trouble.BAD_VALUE,
    "53": Trouble.UNAVAILABLE,
    "54": Trouble.BAD_VALUE,  # a path too long for an index
    "58": Trouble.UNAVAILABLE,  # the disk under the server
    **dict.fromkeys(
        [
            *("02", "03", "09", "0A", "0B", "0F", "0L", "0P", "0Z"),
            *("10", "20", "21", "23", "24", "25", "26", "27", "28", "2B", "2D", "2F"),
            *("34", "38", "39", "3B", "3D", "3F", "40", "42", "44", "55", "57", "72"),
            *("F0", "HV", "P0", "XX"),
        ],
        Trouble.OTHER,
    ),
}
OF_STATE: Mapping[str, Trouble] = {
    "40001": Trouble.BUSY,
    "40P01": Trouble.BUSY,
    "55P03": Trouble.BUSY,
    "57014": Trouble.BUSY,
    "40003": Trouble.CONNECTION_LOST,
    "57P01": Trouble.CONNECTION_LOST,
    "57P02": Trouble.CONNECTION_LOST,
    "57P03": Trouble.CONNECTION_LOST,
    "42P01": Trouble.SCHEMA_MISSING,
    "25006": Trouble.UNAVAILABLE,
}
WITHOUT_STATE: Mapping[type[Exception], Trouble] = {
    psycopg.Error: Trouble.OTHER,
    psycopg.InterfaceError: Trouble.OTHER,
    psycopg.DatabaseError: Trouble.OTHER,
    psycopg.DataError: Trouble.BAD_VALUE,
    psycopg.OperationalError: Trouble.CONNECTION_LOST,
    psycopg.errors.ConnectionTimeout: Trouble.CONNECTION_LOST,
    psycopg.errors.CancellationTimeout: Trouble.CONNECTION_LOST,
    psycopg.errors.PipelineAborted: Trouble.CONNECTION_LOST,
    psycopg.IntegrityError: Trouble.OTHER,
    psycopg.InternalError: Trouble.OTHER,
    psycopg.ProgrammingError: Trouble.OTHER,
    psycopg.transaction.OutOfOrderTransactionNesting: Trouble.OTHER,
    psycopg.NotSupportedError: Trouble.OTHER,
}
OF_ADBC: Mapping[type[Exception], Trouble] = {
    adbc.Error: Trouble.OTHER,
    adbc.InterfaceError: Trouble.OTHER,
    adbc.DatabaseError: Trouble.OTHER,
    adbc.DataError: Trouble.OTHER,
    adbc.OperationalError: Trouble.CONNECTION_LOST,
    adbc.IntegrityError: Trouble.OTHER,
    adbc.InternalError: Trouble.OTHER,
    adbc.ProgrammingError: Trouble.OTHER,
    adbc.NotSupportedError: Trouble.OTHER,
}
OF_SQLITE: Mapping[type[Exception], Trouble] = {
    sqlite3.Error: Trouble.OTHER,
    sqlite3.InterfaceError: Trouble.OTHER,
    sqlite3.DatabaseError: Trouble.OTHER,
    sqlite3.InternalError: Trouble.OTHER,
    sqlite3.OperationalError: Trouble.UNAVAILABLE,
    sqlite3.ProgrammingError: Trouble.OTHER,
    sqlite3.IntegrityError: Trouble.OTHER,
    sqlite3.DataError: Trouble.BAD_VALUE,
    sqlite3.NotSupportedError: Trouble.OTHER,
}
OF_SQLITE_MESSAGE: Mapping[str, Trouble] = {
    "database is locked": Trouble.BUSY,
    "database table is locked": Trouble.BUSY,
    "database schema is locked: main": Trouble.BUSY,
    "no such table: dl_tables": Trouble.SCHEMA_MISSING,
    "unable to open database file": Trouble.UNAVAILABLE,
    "attempt to write a readonly database": Trouble.UNAVAILABLE,
    "database or disk is full": Trouble.UNAVAILABLE,
    "disk I/O error": Trouble.UNAVAILABLE,
}
OF_DUCKDB: Mapping[type[Exception], Trouble] = {
    duckdb.Error: Trouble.OTHER,
    duckdb.DatabaseError: Trouble.OTHER,
    duckdb.FatalException: Trouble.OTHER,
    duckdb.InterruptException: Trouble.OTHER,
    duckdb.PermissionException: Trouble.OTHER,
    duckdb.SequenceException: Trouble.OTHER,
    duckdb.DependencyException: Trouble.OTHER,
    duckdb.DataError: Trouble.BAD_VALUE,
    duckdb.OutOfRangeException: Trouble.BAD_VALUE,
    duckdb.ConversionException: Trouble.BAD_VALUE,
    duckdb.TypeMismatchException: Trouble.BAD_VALUE,
    duckdb.OperationalError: Trouble.OTHER,
    duckdb.TransactionException: Trouble.BUSY,
    duckdb.OutOfMemoryException: Trouble.OTHER,
    duckdb.ConnectionException: Trouble.OTHER,
    duckdb.IOException: Trouble.UNAVAILABLE,
    duckdb.HTTPException: Trouble.UNAVAILABLE,
    duckdb.SerializationException: Trouble.OTHER,
    duckdb.IntegrityError: Trouble.OTHER,
    duckdb.ConstraintException: Trouble.OTHER,
    duckdb.InternalError: Trouble.OTHER,
    duckdb.InternalException: Trouble.OTHER,
    duckdb.ProgrammingError: Trouble.OTHER,
    duckdb.ParserException: Trouble.OTHER,
    duckdb.SyntaxException: Trouble.OTHER,
    duckdb.BinderException: Trouble.OTHER,
    duckdb.InvalidInputException: Trouble.OTHER,
    duckdb.InvalidTypeException: Trouble.OTHER,
    duckdb.CatalogException: Trouble.SCHEMA_MISSING,
    duckdb.NotSupportedError: Trouble.OTHER,
    duckdb.NotImplementedException: Trouble.OTHER,
}


def family(root: type[Exception]) -> Iterator[type[Exception]]:
    """A class and all that derive from it, without those that a driver keeps to itself."""
    if not root.__name__.startswith("_"):
        yield root
    for child in root.__subclasses__():
        yield from family(child)


def test_psycopg_errors_when_classified_then_as_listed():
    dialect = PostgresDialect(make_url("postgresql://host/db"))
    found = {error: dialect.classify(error("x")) for error in family(psycopg.Error)}
    expected = {error: expected_of_psycopg(error) for error in found}
    assert {error.__name__: trouble for error, trouble in found.items() if trouble is not expected[error]} == {}


def expected_of_psycopg(error: type[Exception]) -> Trouble | None:
    state = getattr(error, "sqlstate", None)
    if state is None:
        return WITHOUT_STATE.get(error)
    return OF_STATE.get(state) or OF_STATE_CLASS.get(state[:2])


def test_adbc_errors_when_classified_then_as_listed():
    dialect = PostgresDialect(make_url("postgresql://host/db"))
    found = {error: dialect.classify(make_adbc_error(error, state=None)) for error in family(adbc.Error)}
    assert found == OF_ADBC


@pytest.mark.parametrize(
    ("state", "expected"),
    [("42P01", Trouble.SCHEMA_MISSING), ("57P01", Trouble.CONNECTION_LOST), ("53200", Trouble.UNAVAILABLE)],
)
def test_adbc_error_when_it_has_a_state_then_classified_by_it(state: str, expected: Trouble):
    dialect = PostgresDialect(make_url("postgresql://host/db"))
    assert dialect.classify(make_adbc_error(adbc.ProgrammingError, state=state)) is expected


def make_adbc_error(error: type[Exception], state: str | None) -> Exception:
    status = {} if error is adbc.NotSupportedError else {"status_code": AdbcStatusCode.INTERNAL}
    return error("x", sqlstate=state, **status)  # type: ignore[call-arg]


def test_sqlite_errors_when_classified_then_as_listed():
    dialect = SqliteDialect(make_url("sqlite:///x.db"))
    assert {error: dialect.classify(error("x")) for error in family(sqlite3.Error)} == OF_SQLITE


@pytest.mark.parametrize("message", OF_SQLITE_MESSAGE)
def test_sqlite_operational_error_when_classified_then_by_its_message(message: str):
    dialect = SqliteDialect(make_url("sqlite:///x.db"))
    assert dialect.classify(sqlite3.OperationalError(message)) is OF_SQLITE_MESSAGE[message]


def test_duckdb_errors_when_classified_then_as_listed():
    dialect = DuckdbDialect(make_url("duckdb:///x.duckdb"))
    assert {error: dialect.classify(error("x")) for error in family(duckdb.Error)} == OF_DUCKDB


@pytest.mark.parametrize("url", ["postgresql://host/db", "sqlite:///x.db", "duckdb:///x.duckdb"])
@pytest.mark.parametrize(
    ("error", "expected", "retry"),
    [
        (sqlalchemy.exc.TimeoutError("pool"), CatalogUnavailable, Retry.LATER),
        (sqlalchemy.exc.NoResultFound("x"), CatalogError, Retry.NEVER),
        (sqlalchemy.exc.PendingRollbackError("x"), CatalogError, Retry.NEVER),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates"), InvalidAction, Retry.NEVER),
        (OverflowError("too large"), InvalidAction, Retry.NEVER),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_error_of_sqlalchemy_when_translated_then_is_ours(
    url: str, error: Exception, expected: type[TwinlogError], retry: Retry
):
    database = Database(url)
    with pytest.raises(expected) as caught, database._translated():
        raise error
    database.close()
    assert caught.value.retry is retry
    assert caught.value.__cause__ is error
    assert caught.value.hint


@pytest.mark.parametrize("during_commit", [False, True])
def test_lost_connection_when_translated_then_tells_whether_the_commit_may_have_landed(*, during_commit: bool):
    database = Database("postgresql://host/db")
    lost = sqlalchemy.exc.OperationalError(
        "COMMIT", None, psycopg.OperationalError("gone"), connection_invalidated=True
    )
    with pytest.raises(ConnectionLost) as caught, database._translated(during_commit=during_commit):
        raise lost
    database.close()
    assert caught.value.during_commit is during_commit


def test_error_of_ours_when_raised_then_passes_through():
    database = Database("sqlite:///x.db")
    mine = InvalidAction("mine")
    with pytest.raises(InvalidAction) as caught, database._translated():
        raise mine
    assert caught.value is mine

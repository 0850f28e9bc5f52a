"""The schema in code is the sum of the migrations."""

from collections.abc import Iterable
from typing import Any

from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import BigInteger, Boolean, Integer, Text, text

from tests.support.databases import migrate
from twinlog.catalog import migrations, schema
from twinlog.catalog.database import Database
from twinlog.catalog.dialects.base import Dialect

DUCKDB_TYPES = {Boolean: "BOOLEAN", BigInteger: "BIGINT", Integer: "INTEGER", Text: "VARCHAR"}

COMPARISON = {"compare_type": True, "compare_server_default": True, "version_table": migrations.VERSION_TABLE}


def compare(database: Database) -> list[Any]:
    """What Alembic would migrate. Comments are for readers of the code; no database needs them."""
    with database.read() as connection:
        context = MigrationContext.configure(connection, opts=COMPARISON)
        return [change for change in flatten(compare_metadata(context, schema.metadata)) if "comment" not in change[0]]


def flatten(changes: Iterable[Any]) -> Iterable[tuple[Any, ...]]:
    for change in changes:
        yield from change if isinstance(change, list) else [change]


def test_schema_when_compared_with_the_migrated_database_then_equal(database_url: str):
    database = Database(database_url)
    try:
        if database_url.startswith("duckdb"):
            assert duckdb_columns(database) == declared_columns()
            assert duckdb_indexes(database) == declared_indexes()
        else:
            assert compare(database) == []
    finally:
        database.close()


def test_comparison_when_something_is_missing_then_finds_it(empty_database_url: str):
    """The test above would pass for any schema if the comparison were blind."""
    migrate(empty_database_url, to=migrations.REVISIONS[0])
    database = Database(empty_database_url)
    try:
        if empty_database_url.startswith("duckdb"):
            assert duckdb_columns(database) != declared_columns()
        else:
            assert [change[0] for change in compare(database)] == ["add_table", "add_index"]
    finally:
        database.close()


def test_constraint_names_when_looked_up_in_the_error_map_then_exist(database_url: str):
    """A renamed key would turn "the name is taken" into an unknown error."""
    database = Database(database_url)
    try:
        unique = {str(key) for key in unique_keys(database.dialect)}
    finally:
        database.close()
    declared = {constraint for table in schema.metadata.sorted_tables for constraint in unique_names(table)}
    if database_url.startswith("postgresql"):
        assert unique <= declared
    elif database_url.startswith("sqlite"):
        columns = {f"{table.name}.{column.name}" for table in schema.metadata.sorted_tables for column in table.columns}
        assert unique <= columns
    else:
        names = {column.name for table in schema.metadata.sorted_tables for column in table.columns}
        assert {key.removeprefix('key "').rstrip(":") for key in unique} <= names


def unique_keys(dialect: Dialect) -> Iterable[str]:
    return dialect.unique_keys


def unique_names(table: Any) -> Iterable[str]:
    yield from (str(constraint.name) for constraint in table.constraints)
    yield from (str(index.name) for index in table.indexes if index.unique)


def duckdb_columns(database: Database) -> set[tuple[object, ...]]:
    statement = text(
        "SELECT table_name, column_name, data_type, is_nullable FROM information_schema.columns "
        f"WHERE table_name LIKE 'dl_%' AND table_name <> '{migrations.VERSION_TABLE}'"
    )
    with database.read() as connection:
        return {tuple(row) for row in connection.execute(statement)}


def declared_columns() -> set[tuple[object, ...]]:
    return {
        (table.name, column.name, DUCKDB_TYPES[type(column.type)], "YES" if column.nullable else "NO")
        for table in schema.metadata.sorted_tables
        for column in table.columns
    }


def duckdb_indexes(database: Database) -> set[tuple[object, ...]]:
    statement = text("SELECT table_name, index_name, is_unique FROM duckdb_indexes()")
    with database.read() as connection:
        return {tuple(row) for row in connection.execute(statement)}


def declared_indexes() -> set[tuple[object, ...]]:
    return {
        (table.name, index.name, bool(index.unique))
        for table in schema.metadata.sorted_tables
        for index in table.indexes
    }

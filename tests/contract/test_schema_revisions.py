"""Databases of another schema revision: refused with the way out, and left as they are."""

import pytest

import twinlog
from tests.support.builders import make_table
from tests.support.databases import Postgres, execute, migrate
from twinlog import Catalog
from twinlog.catalog import migrations
from twinlog.catalog.database import Database
from twinlog.errors import CatalogSchemaMismatch, Retry


def revision_of(url: str) -> str | None:
    database = Database(url)
    try:
        return migrations.current_revision(database)
    finally:
        database.close()


@pytest.mark.parametrize("revision", migrations.REVISIONS[:-1])
def test_schema_when_older_then_refused_with_the_command_that_migrates(empty_database_url: str, revision: str):
    migrate(empty_database_url, to=revision)
    with pytest.raises(CatalogSchemaMismatch) as caught:
        twinlog.connect(empty_database_url)
    error = caught.value
    assert revision in error.message
    assert migrations.HEAD in error.message
    assert "twinlog init" in str(error.hint)
    assert error.retry is Retry.NEVER
    assert revision_of(empty_database_url) == revision


def test_schema_when_newer_then_refused_with_the_command_that_upgrades(catalog: Catalog, database_url: str):
    execute(catalog, "UPDATE dl_schema_revision SET version_num = '9999'")
    catalog.close()
    with pytest.raises(CatalogSchemaMismatch) as caught:
        twinlog.connect(database_url)
    error = caught.value
    assert "9999" in error.message
    assert "upgrade" in str(error.hint)
    assert error.retry is Retry.NEVER
    assert revision_of(database_url) == "9999"


def test_schema_when_refused_then_no_connection_is_left(postgres: Postgres):
    url = postgres.create_database(migrated=False)
    migrate(url, to=migrations.REVISIONS[0])
    with pytest.raises(CatalogSchemaMismatch):
        twinlog.connect(url)
    assert postgres.has_no_connections(url)
    postgres.drop_database(url)


def test_schema_when_newer_then_is_not_migrated_either(catalog: Catalog, database_url: str):
    execute(catalog, "UPDATE dl_schema_revision SET version_num = '9999'")
    catalog.close()
    with pytest.raises(CatalogSchemaMismatch):
        migrate(database_url)
    assert revision_of(database_url) == "9999"


def test_schema_when_older_and_migrated_then_the_catalog_opens(empty_database_url: str):
    migrate(empty_database_url, to=migrations.REVISIONS[0])
    migrate(empty_database_url)
    with twinlog.connect(empty_database_url) as opened:
        make_table(opened)
        assert len(opened.list_tables()) == 1


def test_database_when_empty_then_gets_the_schema(empty_database_url: str):
    with twinlog.connect(empty_database_url) as opened:
        make_table(opened)
    assert revision_of(empty_database_url) == migrations.HEAD


def test_catalog_when_opened_again_then_has_what_was_committed(empty_database_url: str):
    with twinlog.connect(empty_database_url) as opened:
        make_table(opened)
    with twinlog.connect(empty_database_url) as opened:
        assert [head.name for head in opened.list_tables()] == ["sales"]


def test_schema_when_dropped_under_an_open_catalog_then_a_typed_error(catalog: Catalog):
    execute(catalog, "DROP TABLE dl_mirror_status")
    with pytest.raises(CatalogSchemaMismatch) as caught:
        make_table(catalog)
    assert "twinlog init" in str(caught.value.hint)

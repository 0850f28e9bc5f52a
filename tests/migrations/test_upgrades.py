"""Every earlier revision can be brought to the newest, with what it holds."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from sqlalchemy import Connection, text

import twinlog
from tests.support.builders import commit, make_add
from tests.support.databases import migrate, read_queue
from twinlog.catalog import migrations
from twinlog.catalog.database import Database
from twinlog.errors import CatalogSchemaMismatch, TwinlogError
from twinlog.protocol.actions import Add, Metadata, Protocol, Txn

METADATA = Metadata(
    id="id-1",
    schema_string='{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{}}]}',
    partition_columns=(),
    configuration={},
)
PROTOCOL = Protocol(min_reader_version=1, min_writer_version=2)
ADD = Add(
    path="old.parquet",
    partition_values={},
    size=5,
    modification_time=1,
    data_change=True,
    stats='{"numRecords":1}',
    extra={"future": 1},
)
TXN = Txn(app_id="app", app_version=1)

# A table with versions 0 to 2 as revision 0001 stored it. Written out, not built: the code moves on, old rows do not.
ROWS: list[tuple[str, dict[str, object]]] = [
    (
        "dl_tables",
        {
            "table_id": 1,
            "name": "sales",
            "location": "s3://lake/sales",
            "delta_id": "id-1",
            "version": 2,
            "last_commit_ms": 1_002,
            "metadata_version": 0,
            "protocol_version": 0,
            "created_ms": 1_000,
        },
    ),
    *(
        (
            "dl_table_versions",
            {
                "table_id": 1,
                "version": version,
                "commit_id": f"commit-{version}",
                "member": 0,
                "timestamp_ms": 1_000 + version,
                "operation": "WRITE",
                "is_blind_append": True,
                "num_adds": int(version == 1),
                "num_removes": 0,
                "num_cdc": 0,
                "num_txns": int(version == 1),
                "num_domains": 0,
                "has_metadata": version == 0,
                "has_protocol": version == 0,
                "bytes_added": 5,
                "commit_info": '{"timestamp":1,"operation":"WRITE"}',
            },
        )
        for version in range(3)
    ),
    (
        "dl_metadata_updates",
        {
            "table_id": 1,
            "version": 0,
            "ordinal": 1,
            "id": "id-1",
            "format": '{"provider":"parquet","options":{}}',
            "schema_string": METADATA.schema_string,
            "partition_columns": "[]",
            "configuration": "{}",
        },
    ),
    (
        "dl_protocol_updates",
        {"table_id": 1, "version": 0, "ordinal": 2, "min_reader_version": 1, "min_writer_version": 2},
    ),
    (
        "dl_add_files",
        {
            "table_id": 1,
            "version": 1,
            "ordinal": 1,
            "path": "old.parquet",
            "dv_id": "",
            "partition_values": "{}",
            "size": 5,
            "modification_time": 1,
            "data_change": True,
            "stats": '{"numRecords":1}',
            "removed_version": 2**63 - 1,
            "extra": '{"future":1}',
        },
    ),
    ("dl_txn_actions", {"table_id": 1, "version": 1, "ordinal": 2, "app_id": "app", "app_version": 1}),
]
QUEUE_ROWS: list[tuple[str, dict[str, object]]] = [
    (
        "dl_mirror_status",
        {"table_id": 1, "version": version, "artifact": "commit", "status": "PENDING", "enqueued_ms": 1_000 + version},
    )
    for version in range(3)
]


@contextmanager
def opened(url: str) -> Iterator[Database]:
    database = Database(url)
    try:
        yield database
    finally:
        database.close()


def fill(connection: Connection, revision: str) -> None:
    for table, row in ROWS + (QUEUE_ROWS if revision >= "0002" else []):
        values = ", ".join(f":{name}" for name in row)
        connection.execute(text(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({values})"), row)


@pytest.mark.parametrize("revision", migrations.REVISIONS)
def test_database_when_upgraded_from_each_revision_then_keeps_its_data(empty_database_url: str, revision: str):
    migrate(empty_database_url, to=revision)
    with opened(empty_database_url) as database, database.write() as connection:
        fill(connection, revision)
    migrate(empty_database_url)
    with twinlog.connect(empty_database_url) as catalog:
        table = catalog.table("sales")
        snapshot = table.snapshot()
        assert (snapshot.version, snapshot.metadata, snapshot.protocol) == (2, METADATA, PROTOCOL)
        assert snapshot.txns() == {"app": TXN}
        (found,) = table.changes(first=1, last=1)
        assert found.actions[1:] == (ADD, TXN)
        assert [record.commit_id for record in table.history()] == ["commit-2", "commit-1", "commit-0"]
        assert read_queue(catalog, "sales") == [(version, "commit", "PENDING") for version in range(3)]
        assert commit(catalog, make_add("new.parquet")).version == 3
        assert read_queue(catalog, "sales")[-1] == (3, "commit", "PENDING")


@pytest.mark.parametrize("revision", migrations.REVISIONS)
def test_migration_when_repeated_then_changes_nothing(empty_database_url: str, revision: str):
    for _ in range(2):
        migrate(empty_database_url, to=revision)
    with opened(empty_database_url) as database:
        assert migrations.current_revision(database) == revision


def test_migration_when_asked_for_an_earlier_revision_then_stays(database_url: str):
    migrate(database_url, to=migrations.REVISIONS[0])
    with opened(database_url) as database:
        assert migrations.current_revision(database) == migrations.HEAD


def test_migration_when_it_fails_then_the_database_is_as_it_was(empty_database_url: str):
    migrate(empty_database_url, to=migrations.REVISIONS[0])
    with opened(empty_database_url) as database, database.write() as connection:
        fill(connection, migrations.REVISIONS[0])
        # In the way of the next revision.
        connection.execute(text("CREATE TABLE dl_mirror_status (x INTEGER)"))
    with pytest.raises(TwinlogError):
        migrate(empty_database_url)
    with opened(empty_database_url) as database:
        assert migrations.current_revision(database) == migrations.REVISIONS[0]
        with database.read() as connection:
            assert connection.execute(text("SELECT count(*) FROM dl_table_versions")).scalar() == 3


def test_revision_when_unknown_then_refused(database_url: str):
    with opened(database_url) as database:
        with database.write() as connection:
            connection.execute(text("UPDATE dl_schema_revision SET version_num = 'somebody else'"))
        with pytest.raises(CatalogSchemaMismatch):
            migrations.upgrade(database)


def test_revisions_when_listed_then_are_one_line_of_numbers():
    assert list(migrations.REVISIONS) == [f"{number:04}" for number in range(1, len(migrations.REVISIONS) + 1)]

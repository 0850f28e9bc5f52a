"""A table with a long log, put together from rows instead of commits, in a catalog with many other tables."""

import uuid
from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyarrow as pa
from sqlalchemy import Connection, Table, update

from bench.context import Context
from bench.log_rows import LogTemplate, read_row, repeat
from bench.sizes import ADDS_PER_COMMIT
from bench.workload import BATCH_FILES, make_files
from bench.workspace import settle
from twinlog import Catalog
from twinlog.catalog import schema
from twinlog.catalog.database import Database

LARGE: Final = "large"

_NEIGHBOURS: Final = 5_000  # with a handful of tables, a planner rightly reads them whole
_FIRST_NEIGHBOUR: Final = 1_000_000  # out of the way of ids that the database hands out
_FIRST_ACTIONS: Final = (schema.table_versions, schema.metadata_updates, schema.protocol_updates, schema.mirror_status)


def build(context: Context, database: Database, label: str) -> None:
    """Make the large table: versions dense, commit ids unique, its head at the last version, everything enqueued.

    Raises:
        RuntimeError: twinlog does not see what was built.
    """
    sizes = context.sizes
    template = LogTemplate.record(database, LARGE)
    per_version = sizes.growth_files // sizes.growth_versions
    versions = range(2, sizes.growth_versions + 1)
    versions_per_batch = max(1, BATCH_FILES // per_version)
    starts = range(versions.start, versions.stop, versions_per_batch)
    chunks = (range(start, min(start + versions_per_batch, versions.stop)) for start in starts)
    with database.write() as connection:
        for chunk in context.track(chunks, label, total=len(starts)):
            _insert(database, connection, schema.table_versions, [template.version_batch(chunk)])
            _insert(database, connection, schema.mirror_status, [template.mirror_batch(chunk)])
            _insert(database, connection, schema.add_files, _adds(template, chunk, per_version))
        tables = schema.tables
        connection.execute(
            update(tables)
            .where(tables.c.table_id == template.table_id)
            .values(version=versions[-1], last_commit_ms=template.version["timestamp_ms"] + versions[-1])
        )
        _add_neighbours(database, connection, template.table_id)
    settle(database)
    _check(database, versions[-1], files=ADDS_PER_COMMIT + len(versions) * per_version)


def _insert(database: Database, connection: Connection, table: Table, batches: Iterable[pa.RecordBatch]) -> None:
    database.dialect.bulk_insert(connection, table, batches)


def _adds(template: LogTemplate, versions: range, per_version: int) -> Iterator[pa.RecordBatch]:
    yield template.add_batch(
        make_files(len(versions) * per_version),
        [version for version in versions for _ in range(per_version)],
        [ordinal for _ in versions for ordinal in range(1, per_version + 1)],
    )


def _add_neighbours(database: Database, connection: Connection, table_id: int) -> None:
    """Other tables with nothing but their first version."""
    ids = list(range(_FIRST_NEIGHBOUR, _FIRST_NEIGHBOUR + _NEIGHBOURS))
    delta_ids = [str(uuid.uuid4()) for _ in ids]
    changes: dict[str, list[Any]] = {
        "table_id": ids,
        "id": delta_ids,
        "delta_id": delta_ids,
        "commit_id": [str(uuid.uuid4()) for _ in ids],
        "name": [f"neighbour_{number}" for number in ids],
        "location": [f"s3://lake/neighbour_{number}" for number in ids],
    }
    row = read_row(connection, schema.tables, table_id=table_id)
    head = row | {"version": 0, "last_commit_ms": row["created_ms"]}
    batch = repeat(schema.tables, head, len(ids), **{key: changes[key] for key in changes if key in schema.tables.c})
    _insert(database, connection, schema.tables, [batch])
    for table in _FIRST_ACTIONS:
        row = read_row(connection, table, table_id=table_id, version=0)
        batch = repeat(table, row, len(ids), **{key: changes[key] for key in changes if key in table.c})
        _insert(database, connection, table, [batch])


def _check(database: Database, version: int, *, files: int) -> None:
    snapshot = Catalog(database).reader.snapshot(LARGE)
    found = sum(batch.num_rows for batch in snapshot.file_batches())
    if (snapshot.version, found) != (version, files):
        raise RuntimeError(f"built version {version} with {files} files, twinlog sees {snapshot.version} with {found}")

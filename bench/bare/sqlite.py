"""sqlite3 by hand, as durable as twinlog is."""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from sqlalchemy import make_url

from bench.bare.base import COUNT_SQL, BareDriver, insert_sql
from bench.log_rows import CommitRows
from twinlog.catalog import schema

_VERSION_SQL = insert_sql(schema.table_versions, "?")
_ADD_SQL = insert_sql(schema.add_files, "?")
_MIRROR_SQL = insert_sql(schema.mirror_status, "?")


class BareSqlite(BareDriver):
    def __init__(self, url: str) -> None:
        self._connection = sqlite3.connect(make_url(url).database or "", isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")

    def commit(self, rows: CommitRows) -> None:
        self._insert(rows, rows.adds)

    def bulk_commit(self, rows: CommitRows, adds: Iterable[pa.RecordBatch]) -> None:
        self._insert(rows, _tuples(adds))

    def _insert(self, rows: CommitRows, adds: Iterable[tuple[Any, ...]]) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        self._connection.execute(_VERSION_SQL, rows.version)
        self._connection.executemany(_ADD_SQL, adds)
        self._connection.execute(_MIRROR_SQL, rows.mirror)
        self._connection.execute("COMMIT")

    def count_adds(self) -> int:
        return int(self._connection.execute(COUNT_SQL).fetchone()[0])

    def close(self) -> None:
        self._connection.close()


def _tuples(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

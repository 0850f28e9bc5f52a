"""DuckDB's own module by hand: one statement for all rows, Arrow for many."""

from collections.abc import Iterable

import duckdb
import pyarrow as pa
from sqlalchemy import make_url

from bench.bare.base import COUNT_SQL, BareDriver, insert_sql
from bench.log_rows import CommitRows
from twinlog.catalog import schema

_VERSION_SQL = insert_sql(schema.table_versions, "?")
_MIRROR_SQL = insert_sql(schema.mirror_status, "?")


class BareDuckdb(BareDriver):
    def __init__(self, url: str) -> None:
        self._connection = duckdb.connect(make_url(url).database or "")

    def commit(self, rows: CommitRows) -> None:
        adds_sql = insert_sql(schema.add_files, "?", rows=len(rows.adds))
        self._connection.execute("BEGIN")
        self._connection.execute(_VERSION_SQL, rows.version)
        self._connection.execute(adds_sql, [value for row in rows.adds for value in row])
        self._connection.execute(_MIRROR_SQL, rows.mirror)
        self._connection.execute("COMMIT")

    def bulk_commit(self, rows: CommitRows, adds: Iterable[pa.RecordBatch]) -> None:
        names = ", ".join(column.name for column in schema.add_files.columns)
        self._connection.execute("BEGIN")
        self._connection.execute(_VERSION_SQL, rows.version)
        for batch in adds:
            self._connection.register("bench_batch", pa.Table.from_batches([batch]))
            self._connection.execute(f"INSERT INTO dl_add_files ({names}) SELECT {names} FROM bench_batch")
            self._connection.unregister("bench_batch")
        self._connection.execute(_MIRROR_SQL, rows.mirror)
        self._connection.execute("COMMIT")

    def count_adds(self) -> int:
        row = self._connection.execute(COUNT_SQL).fetchone()
        return int(row[0]) if row else 0

    def close(self) -> None:
        self._connection.close()

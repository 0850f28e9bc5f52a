"""psycopg by hand: executemany, which pipelines and prepares, and COPY."""

from collections.abc import Iterable
from io import BytesIO

import psycopg
import pyarrow as pa
import pyarrow.csv as pa_csv
from psycopg.abc import Buffer
from psycopg.copy import LibpqWriter
from psycopg.generators import copy_to
from sqlalchemy import make_url

from bench.bare.base import COUNT_SQL, BareDriver, insert_sql
from bench.log_rows import CommitRows
from twinlog.catalog import schema

_VERSION_SQL = insert_sql(schema.table_versions, "%s")
_ADD_SQL = insert_sql(schema.add_files, "%s")
_MIRROR_SQL = insert_sql(schema.mirror_status, "%s")
_COPY_SQL = (
    f"COPY dl_add_files ({', '.join(column.name for column in schema.add_files.columns)}) FROM STDIN (FORMAT csv)"
)

_PIECE_BYTES = 32 * 1024


class _FlushingWriter(LibpqWriter):
    """Waits for the server after every piece.

    Left alone, libpq collects whatever the server is too slow to take and moves it around in its buffer: about three
    times the client's CPU time, and memory that depends on how far the server lags behind.
    """

    def write(self, data: Buffer) -> None:
        view = memoryview(data)
        for start in range(0, len(view), _PIECE_BYTES):
            self.connection.wait(copy_to(self._pgconn, view[start : start + _PIECE_BYTES], flush=True))


class BarePostgres(BareDriver):
    def __init__(self, url: str) -> None:
        plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        self._connection = psycopg.connect(plain)

    def commit(self, rows: CommitRows) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(_VERSION_SQL, rows.version)
            cursor.executemany(_ADD_SQL, rows.adds)
            cursor.execute(_MIRROR_SQL, rows.mirror)
        self._connection.commit()

    def bulk_commit(self, rows: CommitRows, adds: Iterable[pa.RecordBatch]) -> None:
        options = pa_csv.WriteOptions(include_header=False)
        with self._connection.cursor() as cursor:
            cursor.execute(_VERSION_SQL, rows.version)
            with cursor.copy(_COPY_SQL, writer=_FlushingWriter(cursor)) as copy:
                for batch in adds:
                    buffer = BytesIO()
                    pa_csv.write_csv(batch, buffer, options)
                    copy.write(buffer.getbuffer())
            cursor.execute(_MIRROR_SQL, rows.mirror)
        self._connection.commit()

    def count_adds(self) -> int:
        row = self._connection.execute(COUNT_SQL).fetchone()
        return int(row[0]) if row else 0

    def close(self) -> None:
        self._connection.close()

"""Writing a share's actions as rows, in their order, few of them or millions."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
from sqlalchemy import Connection, RowMapping, Table

from twinlog.catalog import schema
from twinlog.catalog.dialects.base import Dialect, arrow_schema
from twinlog.catalog.heads import Place
from twinlog.catalog.live_files import FileKey
from twinlog.catalog.row_ids import RowIds
from twinlog.catalog.rows import TABLE_OF, to_row
from twinlog.catalog.shares import Share
from twinlog.catalog.spool import FileSpool
from twinlog.protocol.actions import Action, Add, Remove

# From here on a database's bulk path beats its executemany.
_BULK_ROWS: Final = 2_000

# Whatever a remove does not say is copied from the file that it removes.
_EXTENDED_FIELDS: Final = (
    "partition_values",
    "size",
    "tags",
    "base_row_id",
    "default_row_commit_version",
    "stats",
)


class ActionRows:
    """Writes the actions of one share at one place."""

    def __init__(self, connection: Connection, dialect: Dialect, place: Place) -> None:
        self._connection = connection
        self._dialect = dialect
        self._place = place

    def write(
        self,
        share: Share,
        *,
        row_ids: RowIds | None,
        retired: Mapping[FileKey, RowMapping],
        version_row: dict[str, Any],
        status_row: dict[str, Any],
    ) -> None:
        """Insert the commit: its version, all its actions, and its place in the mirror's queue.

        The version comes first: if the commit id is taken, that must be found before anything else is.

        Args:
            share: what to write.
            row_ids: numbers the rows of added files, where the table does that.
            retired: rows of the files that the share's removes took out.
            version_row: for `dl_table_versions`.
            status_row: for `dl_mirror_status`.
        """
        rows: dict[Table, list[dict[str, Any]]] = defaultdict(list)
        rows[schema.table_versions].append(version_row)
        for ordinal, action in enumerate(share.staged.ordered, start=1):
            numbered = row_ids.number(action) if row_ids and isinstance(action, Add) else action
            row = self._placed(numbered, ordinal)
            if isinstance(action, Remove):
                self._complete_remove(row, retired[row["path"], row["dv_id"]])
            rows[TABLE_OF[type(action)]].append(row)
        rows[schema.mirror_status].append(status_row)
        self._dialect.insert(self._connection, {table: few for table, few in rows.items() if len(few) < _BULK_ROWS})
        for table, many in rows.items():
            if len(many) >= _BULK_ROWS:
                self._bulk_insert(table, many)
        ordinal = len(share.staged.ordered)
        if share.spool:
            self._dialect.bulk_insert(
                self._connection, schema.add_files, self._spooled(share.spool, row_ids, first_ordinal=ordinal + 1)
            )
            ordinal += share.spool.num_files
        if row_ids:
            mark = self._placed(row_ids.mark(), ordinal + 1)
            self._dialect.insert(self._connection, {schema.domain_metadata: [mark]})

    def _placed(self, action: Action, ordinal: int) -> dict[str, Any]:
        row = to_row(action)
        row["table_id"] = self._place.table_id
        row["version"] = self._place.version
        row["ordinal"] = ordinal
        return row

    def _complete_remove(self, row: dict[str, Any], live: RowMapping) -> None:
        if row["deletion_timestamp"] is None:
            row["deletion_timestamp"] = self._place.timestamp_ms  # absent would mean: expired long ago
        if row["extended_file_metadata"] is None:
            row["extended_file_metadata"] = True
            for name in _EXTENDED_FIELDS:
                row[name] = live[name] if row[name] is None else row[name]

    def _bulk_insert(self, table: Table, rows: list[dict[str, Any]]) -> None:
        row_schema = arrow_schema(table.columns)
        batches = (
            pa.RecordBatch.from_pylist(rows[start : start + _BULK_ROWS], row_schema)
            for start in range(0, len(rows), _BULK_ROWS)
        )
        self._dialect.bulk_insert(self._connection, table, batches)

    def _spooled(self, spool: FileSpool, row_ids: RowIds | None, *, first_ordinal: int) -> Iterator[pa.RecordBatch]:
        ordinal = first_ordinal
        for spooled in spool.batches():
            rows = row_ids.number_batch(spooled) if row_ids else spooled
            count = rows.num_rows
            columns = {name: rows.column(name) for name in rows.schema.names if name != "num_records"}
            columns |= {
                "table_id": pa.repeat(pa.scalar(self._place.table_id, pa.int64()), count),
                "version": pa.repeat(pa.scalar(self._place.version, pa.int64()), count),
                "ordinal": pa.array(range(ordinal, ordinal + count), pa.int64()),
                "removed_version": pa.repeat(pa.scalar(schema.LIVE, pa.int64()), count),
            }
            ordinal += count
            yield pa.RecordBatch.from_pydict(columns)

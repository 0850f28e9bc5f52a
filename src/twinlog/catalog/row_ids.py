"""Row tracking: every new file gets the next free range of row ids, in the transaction that adds it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Self

import orjson
import pyarrow as pa
from sqlalchemy import Connection, RowMapping, select

from twinlog.catalog import schema
from twinlog.catalog.heads import Place
from twinlog.protocol.actions import ROW_TRACKING_DOMAIN, Add, DomainMetadata, JsonObject
from twinlog.protocol.codec import encode_json
from twinlog.protocol.staged import record_count


class RowIds:
    """Hands out row ids from the table's high-water mark on."""

    def __init__(self, *, next_id: int, version: int, known: Mapping[str, RowMapping]) -> None:
        self._next_id = next_id
        self._version = version
        self._known = known

    @classmethod
    def load(cls, connection: Connection, place: Place, known: Mapping[str, RowMapping]) -> Self:
        """Start after the mark that the table has; the row lock keeps others from doing so at the same time.

        Args:
            connection: in the commit's transaction.
            place: the commit's.
            known: rows of files that leave the table in this commit, by path. One that comes back keeps its row ids.
        """
        domains = schema.domain_metadata
        text = connection.execute(
            select(domains.c.configuration)
            .where(domains.c.table_id == place.table_id, domains.c.domain == ROW_TRACKING_DOMAIN)
            .order_by(domains.c.version.desc())
            .limit(1)
        ).scalar()
        mark = orjson.loads(text)["rowIdHighWaterMark"] if text else -1
        return cls(next_id=mark + 1, version=place.version, known=known)

    def number(self, add: Add) -> Add:
        """Give a file its range; one that has it already keeps it."""
        base, version = add.base_row_id, add.default_row_commit_version
        if base is None:
            base, version = self._of_known(add.path)
        count = record_count(add.stats) or 0
        if base is None:
            base, version = self._next_id, self._version
        self._next_id = max(self._next_id, base + count)
        return replace(add, base_row_id=base, default_row_commit_version=version)

    def number_batch(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The same for many files, as rows with a column `num_records`."""
        bases, versions = rows.column("base_row_id").to_pylist(), rows.column("default_row_commit_version").to_pylist()
        paths, counts = rows.column("path").to_pylist(), rows.column("num_records").to_pylist()
        for row, (path, count) in enumerate(zip(paths, counts, strict=True)):
            if bases[row] is None:
                bases[row], versions[row] = self._of_known(path)
            if bases[row] is None:
                bases[row], versions[row] = self._next_id, self._version
            self._next_id = max(self._next_id, bases[row] + count)
        numbered = _with_column(rows, "base_row_id", pa.array(bases, pa.int64()))
        return _with_column(numbered, "default_row_commit_version", pa.array(versions, pa.int64()))

    def _of_known(self, path: str) -> tuple[int | None, int | None]:
        row = self._known.get(path)
        return (row["base_row_id"], row["default_row_commit_version"]) if row else (None, None)

    def mark(self) -> DomainMetadata:
        """The action that records how far the ids have come."""
        configuration: JsonObject = {"rowIdHighWaterMark": self._next_id - 1, "domainName": ROW_TRACKING_DOMAIN}
        return DomainMetadata(
            domain=ROW_TRACKING_DOMAIN, configuration=encode_json(configuration).decode(), removed=False
        )


def _with_column(rows: pa.RecordBatch, name: str, column: pa.Array) -> pa.RecordBatch:
    index = rows.schema.get_field_index(name)
    return rows.set_column(index, rows.schema.field(index), column)

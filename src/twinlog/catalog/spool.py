"""Files to add, checked and set down on disk before the table is locked.

A spool can be read more than once, so a transaction can be repeated, and holds one batch in memory at a time.
"""

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Self

import pyarrow as pa
import pyarrow.compute as pc

from twinlog.catalog.arrow_files import ROWS_SCHEMA, small_batches, to_rows
from twinlog.catalog.requests import ArrowFiles
from twinlog.errors import InvalidAction
from twinlog.protocol.actions import Remove, dv_id
from twinlog.protocol.table_state import TableState


class FileSpool:
    """The added files of one table's commit, as rows without a place in the log."""

    def __init__(self, files: ArrowFiles, state: TableState, *, removes: Sequence[Remove] = ()) -> None:
        """Check and set down.

        Args:
            files: columns of `FILES_SCHEMA`.
            state: the table's, to check them against.
            removes: files that the same commit removes; none of them may be added.

        Raises:
            InvalidAction: names the first file that breaks a rule.
        """
        self._removed = {(remove.path, dv_id(remove)) for remove in removes}
        self.partition_types: Mapping[str, str] = state.partition_types
        self.num_files = 0
        self.num_bytes = 0
        self.num_unnumbered = 0
        self.has_data_change = False
        self.first_with_deletion_vector: str | None = None
        self.first_without_record_count: str | None = None
        self._file = tempfile.TemporaryFile(prefix="twinlog-spool-")  # noqa: SIM115 - closed by __exit__
        try:
            self._fill(files, state)
        except BaseException:
            self._file.close()
            raise

    def _fill(self, files: ArrowFiles, state: TableState) -> None:
        with pa.ipc.new_stream(self._file, ROWS_SCHEMA) as writer:
            for batch in small_batches(files):
                rows = to_rows(batch, state)
                self._check_not_removed(rows)
                self._count(rows)
                writer.write_batch(rows)
        if self.num_files == 0:
            raise InvalidAction(
                "the Arrow input holds no files", hint="a stream can be read once: make a new one for another attempt"
            )

    def _check_not_removed(self, rows: pa.RecordBatch) -> None:
        if not self._removed:
            return
        keys = zip(rows.column("path").to_pylist(), rows.column("dv_id").to_pylist(), strict=True)
        both = next((path for path, vector in keys if (path, vector) in self._removed), None)
        if both is not None:
            raise InvalidAction(
                f"{both!r} is both added and removed with the same deletion vector", hint="keep one of them"
            )

    def _count(self, rows: pa.RecordBatch) -> None:
        self.num_files += rows.num_rows
        self.num_unnumbered += rows.column("base_row_id").null_count
        self.num_bytes += pc.sum(rows.column("size")).as_py() or 0
        self.has_data_change = self.has_data_change or bool(pc.any(rows.column("data_change")).as_py())
        vectors = rows.column("deletion_vector")
        if self.first_with_deletion_vector is None and vectors.null_count < len(vectors):
            self.first_with_deletion_vector = rows.column("path").filter(pc.is_valid(vectors))[0].as_py()
        counts = rows.column("num_records")
        if self.first_without_record_count is None and counts.null_count:
            self.first_without_record_count = rows.column("path").filter(pc.is_null(counts))[0].as_py()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read the rows from the beginning."""
        self._file.seek(0)
        with pa.ipc.open_stream(self._file) as reader:
            yield from reader

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

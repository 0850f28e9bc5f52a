"""delta-rs as a peer: commits of the same files to a table in a folder, without the files."""

from collections.abc import Sequence
from pathlib import Path

from deltalake import DeltaTable
from deltalake import Schema as DeltaSchema
from deltalake.transaction import AddAction

from bench.workload import PARTITION_COLUMN, SCHEMA, DataFile

_SCHEMA = DeltaSchema.from_arrow(SCHEMA)


class DeltaRsTable:
    """A table and one handle of it, as a writer would keep it."""

    def __init__(self, folder: Path) -> None:
        self._table = DeltaTable.create(str(folder), _SCHEMA, partition_by=[PARTITION_COLUMN])

    def commit(self, actions: list[AddAction]) -> None:
        """Append files with the default hooks after the commit."""
        self._table.create_write_transaction([*actions], "append", _SCHEMA, partition_by=[PARTITION_COLUMN])

    def refresh(self) -> None:
        """Bring the handle up to date the cheapest way there is; a commit does not do so."""
        self._table.update_incremental()

    def seed(self, files: Sequence[DataFile]) -> None:
        """Give the table many files and a checkpoint, and open it anew."""
        self.commit(as_actions(files))
        self.refresh()
        self._table.create_checkpoint()
        self._table = DeltaTable(self._table.table_uri)


def as_actions(files: Sequence[DataFile]) -> list[AddAction]:
    """Files as delta-rs takes them."""
    return [
        AddAction(file.path, file.size, {PARTITION_COLUMN: file.day}, file.modification_time, True, file.stats)  # noqa: FBT003 - its signature
        for file in files
    ]

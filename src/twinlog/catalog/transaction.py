"""Reads and writes of several tables that land together or not at all.

Nothing is sent to the database before the end, and no SQL transaction is open meanwhile: what is read here is
remembered, and the commit is refused if somebody else's commit has changed it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from types import TracebackType
from typing import Any, Self, TypeAlias

import pyarrow as pa

from twinlog.catalog.arrow_files import small_batches
from twinlog.catalog.definition import property_changes
from twinlog.catalog.reader import SqlTxnLogReader
from twinlog.catalog.requests import ArrowFiles, Ratified, TableCommit, TableRead
from twinlog.catalog.snapshot import Snapshot
from twinlog.catalog.writer import SqlTxnLogWriter
from twinlog.errors import CommitRejected, InvalidAction, naming
from twinlog.protocol.actions import Action, Add, DeletionVector, JsonObject, Remove, StringMap
from twinlog.protocol.isolation import ReadSet
from twinlog.protocol.predicates import Predicate
from twinlog.protocol.schema import StructType

Removable: TypeAlias = str | Add | Remove


class TableTransaction:
    """One table's part of a transaction. Its first read pins the version that all its reads see."""

    def __init__(self, reader: SqlTxnLogReader, name: str) -> None:
        self.name = name
        self._reader = reader
        self._pinned: Snapshot | None = None
        self._predicates: list[Predicate] = []
        self._paths_read: set[str] = set()
        self._whole_table = False
        self._app_ids: set[str] = set()
        self._actions: list[Action] = []
        self._arrow: list[ArrowFiles] = []

    @property
    def version(self) -> int:
        """The version that this transaction reads."""
        return self._snapshot.version

    @property
    def schema(self) -> StructType:
        """The table's schema."""
        return self._snapshot.schema

    @property
    def properties(self) -> StringMap:
        """The table's properties."""
        return self._snapshot.properties

    def files(self, predicate: str | Predicate | None = None) -> pa.Table:
        """The active files that may hold matching rows. The commit fails if others add or remove such files."""
        if predicate is None:
            self._whole_table = True
            return self._snapshot.files()
        bound = self._snapshot.bound(predicate)
        self._predicates.append(bound)
        found = self._snapshot.files(bound)
        self._paths_read.update(found.column("path").to_pylist())
        return found

    def application_version(self, app_id: str) -> int | None:
        """The last transaction of an application. The commit fails if others move it."""
        self._app_ids.add(app_id)
        txn = self._snapshot.txns().get(app_id)
        return txn.app_version if txn else None

    def add(self, files: Add | Iterable[Add] | ArrowFiles) -> Self:
        """Add files: actions, or Arrow with the columns of `FILES_SCHEMA` (streamed, for large numbers)."""
        if isinstance(files, Add):
            self._actions.append(files)
        elif isinstance(files, pa.Table | pa.RecordBatch | pa.RecordBatchReader):
            self._arrow.append(files)
        else:
            self._add_each(iter(files))
        return self

    def remove(self, files: Removable | Iterable[Removable] | pa.Table, *, data_change: bool = True) -> Self:
        """Remove files: paths, actions, or rows of `files`. What a remove action repeats of its file is filled in."""
        if isinstance(files, pa.Table):
            self._actions += [_remove_row(row, data_change=data_change) for row in files.to_pylist()]
        else:
            given = [files] if isinstance(files, str | Add | Remove) else files
            self._actions += [_as_remove(file, data_change=data_change) for file in given]
        return self

    def stage(self, *actions: Action) -> Self:
        """Add actions of any kind."""
        self._actions += actions
        return self

    def set_properties(self, properties: Mapping[str, str], *, unset: Sequence[str] = ()) -> Self:
        """Change table properties, with the protocol that the new ones need."""
        with naming(self.name):
            self._actions += property_changes(self._snapshot.state, properties, unset)
        return self

    def _add_each(self, files: Iterator[Any]) -> None:
        for file in files:
            if isinstance(file, pa.RecordBatch):
                self._arrow.append(chain([file], files))
                return
            if not isinstance(file, Add):
                raise InvalidAction(f"cannot add a {type(file).__name__}", table=self.name, hint="give Add or Arrow")
            self._actions.append(file)

    @property
    def _snapshot(self) -> Snapshot:
        if self._pinned is None:
            self._pinned = self._reader.snapshot(self.name)
        return self._pinned

    def read(self) -> TableRead | None:
        """What the commit relies on of a table that it does not write; None if it was not read, or is written."""
        if self._pinned is None or self._actions or self._arrow:
            return None
        return TableRead(
            table=self.name,
            read_version=self._pinned.version,
            reads=self._read_set(),
            delta_id=self._pinned.metadata.id,
        )

    def _read_set(self) -> ReadSet:
        return ReadSet(
            predicates=tuple(self._predicates),
            files=frozenset(self._paths_read),
            whole_table=self._whole_table,
            app_ids=frozenset(self._app_ids),
        )

    def request(self, operation: str | None, parameters: JsonObject | None) -> TableCommit | None:
        """What is to be committed; None if nothing was staged."""
        if not self._actions and not self._arrow:
            return None
        return TableCommit(
            table=self.name,
            actions=tuple(self._actions),
            files=chain.from_iterable(map(small_batches, self._arrow)) if self._arrow else None,
            operation=operation,
            operation_parameters=parameters,
            read_version=self._pinned.version if self._pinned else None,
            delta_id=self._pinned.metadata.id if self._pinned else None,
            reads=self._read_set(),
        )


class Transaction:
    """Use as a context manager: commits at the end of the block, forgets everything if the block raises."""

    def __init__(
        self,
        reader: SqlTxnLogReader,
        writer: SqlTxnLogWriter,
        *,
        operation: str | None = None,
        operation_parameters: JsonObject | None = None,
        commit_id: str | None = None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._operation = operation
        self._operation_parameters = operation_parameters
        self._commit_id = commit_id
        self._tables: dict[str, TableTransaction] = {}
        self._result: Ratified | None = None
        self._is_over = False

    def table(self, name: str) -> TableTransaction:
        """This transaction's view of a table."""
        if name not in self._tables:
            self._tables[name] = TableTransaction(self._reader, name)
        return self._tables[name]

    @property
    def result(self) -> Ratified:
        """Where the commit landed.

        Raises:
            CommitRejected: it has not been committed, or had nothing to commit.
        """
        if self._result is None:
            raise CommitRejected("nothing was committed", hint="stage actions, and leave the block, first")
        return self._result

    def __enter__(self) -> Self:
        if self._is_over:
            raise CommitRejected("the transaction is over", hint="begin another one with `catalog.transaction()`")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_over = True
        if kind is not None:
            return
        staged = [table.request(self._operation, self._operation_parameters) for table in self._tables.values()]
        requests = [request for request in staged if request is not None]
        reads = [read for table in self._tables.values() if (read := table.read()) is not None]
        if requests:
            self._result = self._writer.commit(*requests, also_read=reads, commit_id=self._commit_id)


def _as_remove(file: Removable, *, data_change: bool) -> Remove:
    if isinstance(file, Remove):
        return file
    if isinstance(file, Add):
        return Remove(path=file.path, deletion_vector=file.deletion_vector, data_change=data_change)
    return Remove(path=file, data_change=data_change)


def _remove_row(row: Mapping[str, Any], *, data_change: bool) -> Remove:
    vector = row["deletion_vector"]
    return Remove(
        path=row["path"], deletion_vector=DeletionVector(**vector) if vector else None, data_change=data_change
    )

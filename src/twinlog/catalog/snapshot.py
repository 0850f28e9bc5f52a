"""A table at one version."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson
import pyarrow as pa
from sqlalchemy import ColumnElement, Select, and_, func, select

from twinlog.catalog import schema
from twinlog.catalog.arrow_files import FILES_SCHEMA, to_files
from twinlog.catalog.database import Database
from twinlog.catalog.heads import table_not_found
from twinlog.catalog.rows import from_row
from twinlog.errors import InvalidPredicate, naming
from twinlog.protocol.actions import DomainMetadata, Metadata, Protocol, StringMap, Txn
from twinlog.protocol.file_facts import FileFacts
from twinlog.protocol.predicate_binding import bind
from twinlog.protocol.predicate_parser import parse_predicate
from twinlog.protocol.predicates import Predicate, columns
from twinlog.protocol.pruning import may_match, needs_stats
from twinlog.protocol.schema import StructType
from twinlog.protocol.table_state import TableState

SNAPSHOT_FILES_SCHEMA: Final = FILES_SCHEMA.append(pa.field("version", pa.int64()))


@dataclass(frozen=True, slots=True)
class FileTotals:
    """How many files a snapshot has, and their size."""

    num_files: int
    num_bytes: int


class Snapshot:
    """A table at one version: what is in force there, and its active files."""

    def __init__(self, database: Database, state: TableState, *, table_id: int, table: str, version: int) -> None:
        self._database = database
        self._table_id = table_id
        self.state = state
        self.table = table
        self.version = version

    @property
    def protocol(self) -> Protocol:
        """What a client must understand."""
        return self.state.protocol

    @property
    def metadata(self) -> Metadata:
        """Identity, schema and properties."""
        return self.state.metadata

    @property
    def schema(self) -> StructType:
        """The table's schema."""
        return self.state.schema

    @property
    def properties(self) -> StringMap:
        """The table's properties."""
        return self.state.properties

    def txns(self) -> dict[str, Txn]:
        """The last transaction of each application."""
        return {txn.app_id: txn for txn in self._newest(Txn, schema.txn_actions.c.app_id)}

    def domains(self) -> dict[str, DomainMetadata]:
        """The domains that are set."""
        found = self._newest(DomainMetadata, schema.domain_metadata.c.domain)
        return {domain.domain: domain for domain in found if not domain.removed}

    def files(self, predicate: str | Predicate | None = None) -> pa.Table:
        """The active files, as one Arrow table (see `file_batches`)."""
        return pa.Table.from_batches(self.file_batches(predicate), SNAPSHOT_FILES_SCHEMA)

    def file_batches(self, predicate: str | Predicate | None = None) -> Iterator[pa.RecordBatch]:
        """The active files in batches, without those that cannot hold a row that matches.

        Args:
            predicate: such as "day = '2024-01-01' and amount > 10". Files are left out by their partition values
                and statistics; one that stays may still hold no matching row.

        Raises:
            InvalidPredicate: it does not parse, or names a column that the table does not have.
            TableNotFound: the table was dropped while it was being read.
        """
        prune = _Pruning(self.bound(predicate), self.state) if predicate is not None else None
        for rows in self._database.read_arrow(self._active_files()):
            kept = prune.kept(rows) if prune else rows
            if kept.num_rows:
                yield to_files(kept)
        self._check_still_there()

    def bound(self, predicate: str | Predicate) -> Predicate:
        """A predicate with its literals in the types of this table's columns.

        Raises:
            InvalidPredicate: it does not parse or does not fit the table.
        """
        with naming(self.table):
            if not isinstance(predicate, str | Predicate):
                raise InvalidPredicate(
                    f"not a predicate: {type(predicate).__name__}", hint='give text, such as "id > 5"'
                )
            parsed = parse_predicate(predicate) if isinstance(predicate, str) else predicate
            return bind(parsed, self.state.column_types)

    def totals(self) -> FileTotals:
        """Number and size of the active files, without listing them."""
        files = schema.add_files
        statement = select(func.count(), func.coalesce(func.sum(files.c.size), 0)).where(self._is_active())
        with self._database.read() as connection:
            num_files, num_bytes = connection.execute(statement).one()
        self._check_still_there()
        return FileTotals(int(num_files), int(num_bytes))

    def _active_files(self) -> Select[Any]:
        files = schema.add_files
        columns = [column for column in files.columns if column.name in SNAPSHOT_FILES_SCHEMA.names]
        return select(*columns).where(self._is_active())

    def _is_active(self) -> ColumnElement[bool]:
        files = schema.add_files
        return and_(
            files.c.table_id == self._table_id,
            files.c.removed_version > self.version,
            files.c.version + 0 <= self.version,  # an expression, or SQLite reads all history by the primary key
        )

    def _check_still_there(self) -> None:
        tables = schema.tables
        with self._database.read() as connection:
            if connection.execute(select(tables.c.name).where(tables.c.table_id == self._table_id)).first() is None:
                raise table_not_found(self.table)

    def _newest(self, action_type: type[Any], key: Any) -> list[Any]:  # noqa: ANN401 - a column and its action
        table = key.table
        here = (table.c.table_id == self._table_id, table.c.version <= self.version)
        newest = select(key, func.max(table.c.version).label("newest")).where(*here).group_by(key).subquery()
        statement = (
            select(table)
            .join(newest, and_(newest.c[key.name] == key, newest.c.newest == table.c.version))
            .where(table.c.table_id == self._table_id)
            .order_by(key)
        )
        with self._database.read() as connection:
            found = [from_row(action_type, row) for row in connection.execute(statement).mappings()]
        self._check_still_there()
        return found


class _Pruning:
    """Decides which files can hold a matching row, once for each partition and, where it must, for each file."""

    def __init__(self, predicate: Predicate, state: TableState) -> None:
        self._predicate = predicate
        self._state = state
        self._needs_stats = needs_stats(predicate, state.metadata.partition_columns)
        self._stats_types = {path: state.column_types[path] for path in columns(predicate)}
        self._partitions: dict[str, FileFacts | None] = {}

    def kept(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows that may match."""
        encoded = rows.column("partition_values").cast(pa.string()).dictionary_encode()
        facts = [self._partition_facts(text) for text in encoded.dictionary.to_pylist()]
        possible = pa.array([fact is not None for fact in facts], pa.bool_()).take(encoded.indices)
        if self._needs_stats:
            stats = rows.column("stats").to_pylist()
            possible = pa.array(
                [
                    fact is not None and may_match(self._predicate, self._with_stats(fact, text))
                    for fact, text in zip((facts[i] for i in encoded.indices.to_pylist()), stats, strict=True)
                ],
                pa.bool_(),
            )
        return rows.filter(possible)

    def _partition_facts(self, text: str) -> FileFacts | None:
        """What holds for all files of a partition; None if none of them can match."""
        if text not in self._partitions:
            facts = FileFacts.from_partition(
                orjson.loads(text), self._state.partition_column_types, self._state.physical_paths
            )
            self._partitions[text] = facts if may_match(self._predicate, facts) else None
        return self._partitions[text]

    def _with_stats(self, facts: FileFacts, stats: str) -> FileFacts:
        return facts.with_stats(stats, self._stats_types, self._state.physical_paths)

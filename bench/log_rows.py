"""Rows of the log as twinlog itself wrote them, repeated with other keys.

The peers insert the very rows that twinlog inserts, and the large log is made of them, so both follow the schema
wherever it goes.
"""

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import pyarrow as pa
from sqlalchemy import Connection, Table, select

from bench.sizes import ADDS_PER_COMMIT
from bench.workload import PARTITION_COLUMN, SCHEMA, TABLE, DataFile, as_adds, make_files
from twinlog import Catalog, TableCommit
from twinlog.catalog import schema
from twinlog.catalog.database import Database
from twinlog.catalog.dialects.base import arrow_schema

Row: TypeAlias = dict[str, Any]

COMMIT_TABLES = (schema.table_versions, schema.add_files, schema.mirror_status)


@dataclass(frozen=True, slots=True)
class CommitRows:
    """What one commit of adds leaves in the log; tuples in the order of the tables' columns."""

    version: tuple[Any, ...]
    adds: list[tuple[Any, ...]]
    mirror: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class LogTemplate:
    """The rows of one real commit of adds."""

    version: Row
    add: Row
    mirror: Row

    @classmethod
    def record(cls, database: Database, table: str = TABLE) -> Self:
        """Make a table with one commit, at version 1, and read back what that left."""
        catalog = Catalog(database)
        catalog.create_table(table, location=f"s3://lake/{table}", schema=SCHEMA, partition_by=[PARTITION_COLUMN])
        catalog.writer.commit(TableCommit(table=table, actions=as_adds(make_files(ADDS_PER_COMMIT))))
        table_id = catalog.reader.head(table).table_id
        with database.read() as connection:
            rows = [read_row(connection, source, table_id=table_id, version=1) for source in COMMIT_TABLES]
        return cls(*rows)

    @property
    def table_id(self) -> int:
        return int(self.version["table_id"])

    def commit(self, version: int, files: Sequence[DataFile]) -> CommitRows:
        """The rows of another commit of the same table."""
        return CommitRows(
            version=_ordered(schema.table_versions, self._version_row(version, files)),
            adds=[
                _ordered(schema.add_files, self.add | self._file_columns(file, version, ordinal))
                for ordinal, file in enumerate(files, start=1)
            ],
            mirror=_ordered(schema.mirror_status, self.mirror | {"version": version}),
        )

    def add_batch(self, files: Sequence[DataFile], versions: Sequence[int], ordinals: Iterable[int]) -> pa.RecordBatch:
        """Rows of added files as Arrow."""
        return repeat(
            schema.add_files,
            self.add,
            len(files),
            version=list(versions),
            ordinal=list(ordinals),
            path=[file.path for file in files],
            partition_values=[file.partition_json for file in files],
            size=[file.size for file in files],
            modification_time=[file.modification_time for file in files],
            stats=[file.stats for file in files],
        )

    def version_batch(self, versions: range) -> pa.RecordBatch:
        """Rows of versions as Arrow; each is one millisecond later than the one before."""
        commit_ids = [str(uuid.uuid4()) for _ in versions]
        first_ms = self.version["timestamp_ms"] + versions.start
        return repeat(
            schema.table_versions,
            self.version,
            len(versions),
            version=list(versions),
            commit_id=commit_ids,
            timestamp_ms=[first_ms + offset for offset in range(len(versions))],
            commit_info=[self._commit_info(commit_id) for commit_id in commit_ids],
        )

    def mirror_batch(self, versions: range) -> pa.RecordBatch:
        """Rows of the mirror's queue as Arrow."""
        return repeat(schema.mirror_status, self.mirror, len(versions), version=list(versions))

    def _version_row(self, version: int, files: Sequence[DataFile]) -> Row:
        commit_id = str(uuid.uuid4())
        return self.version | {
            "version": version,
            "commit_id": commit_id,
            "timestamp_ms": self.version["timestamp_ms"] + version,
            "num_adds": len(files),
            "commit_info": self._commit_info(commit_id),
        }

    def _commit_info(self, commit_id: str) -> str:
        return str(self.version["commit_info"]).replace(self.version["commit_id"], commit_id)

    def _file_columns(self, file: DataFile, version: int, ordinal: int) -> Row:
        return {
            "version": version,
            "ordinal": ordinal,
            "path": file.path,
            "partition_values": file.partition_json,
            "size": file.size,
            "modification_time": file.modification_time,
            "stats": file.stats,
        }


def read_row(connection: Connection, table: Table, *, table_id: int, version: int | None = None) -> Row:
    """A row of a table's log."""
    statement = select(table).where(table.c.table_id == table_id)
    if version is not None:
        statement = statement.where(table.c.version == version)
    row = connection.execute(statement.limit(1)).mappings().one()
    return dict(row)


def repeat(table: Table, row: Mapping[str, Any], count: int, **changed: Sequence[Any]) -> pa.RecordBatch:
    """A row many times as Arrow, with some columns of its own for each repetition."""
    row_schema = arrow_schema(table.columns)
    columns = [
        pa.array(changed[field.name], field.type)
        if field.name in changed
        else pa.repeat(pa.scalar(row[field.name], field.type), count)
        for field in row_schema
    ]
    return pa.RecordBatch.from_arrays(columns, schema=row_schema)


def _ordered(table: Table, row: Row) -> tuple[Any, ...]:
    return tuple(row[column.name] for column in table.columns)

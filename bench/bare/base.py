"""What a peer can do."""

from abc import ABC, abstractmethod
from collections.abc import Iterable

import pyarrow as pa
from sqlalchemy import Table

from bench.log_rows import CommitRows
from twinlog.catalog import schema


class BareDriver(ABC):
    """One connection of a driver."""

    @abstractmethod
    def commit(self, rows: CommitRows) -> None:
        """Insert a commit's rows in one transaction."""

    @abstractmethod
    def bulk_commit(self, rows: CommitRows, adds: Iterable[pa.RecordBatch]) -> None:
        """The same with very many adds, given as Arrow in place of those in `rows`."""

    @abstractmethod
    def count_adds(self) -> int:
        """How many adds the database holds."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection."""


def insert_sql(table: Table, mark: str, *, rows: int = 1) -> str:
    """INSERT with parameter marks for some rows."""
    names = ", ".join(column.name for column in table.columns)
    marks = ", ".join([mark] * len(table.columns))
    return f"INSERT INTO {table.name} ({names}) VALUES {', '.join([f'({marks})'] * rows)}"


COUNT_SQL = f"SELECT count(*) FROM {schema.add_files.name}"

"""What the demo shows: scenes, and the tables in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import orjson
import pyarrow as pa
from rich.console import RenderableType
from rich.table import Table as Grid
from rich.text import Text

from twinlog.catalog.catalog import Table
from twinlog.catalog.reader import CommitRecord
from twinlog.catalog.snapshot import Snapshot
from twinlog.cli.formats import iso_time, show_bytes
from twinlog.cli.output import Column, draw_table


@dataclass(frozen=True, slots=True)
class Check:
    """Something that must hold for the demo to be believed."""

    expectation: str
    holds: bool


@dataclass(frozen=True, slots=True)
class Scene:
    """One step: what it is about, what there is to see, and what must be true."""

    title: str
    story: str
    exhibits: tuple[RenderableType, ...]
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class Moment:
    """A table at one version, in numbers."""

    label: str
    snapshot: Snapshot
    committed_ms: int
    num_files: int
    num_records: int


_HISTORY: Final[Sequence[Column[CommitRecord]]] = (
    Column("version", lambda commit: str(commit.version), is_number=True),
    Column("committed", lambda commit: iso_time(commit.timestamp_ms)),
    Column("operation", lambda commit: commit.operation),
    Column("files added", lambda commit: str(commit.num_adds), is_number=True),
    Column("size", lambda commit: show_bytes(commit.bytes_added), is_number=True),
)
_TABLES: Final[Sequence[Column[Snapshot]]] = (
    Column("table", lambda snapshot: snapshot.table),
    Column("version", lambda snapshot: str(snapshot.version), is_number=True),
    Column(
        "protocol",
        lambda snapshot: f"({snapshot.protocol.min_reader_version}, {snapshot.protocol.min_writer_version})",
    ),
    Column("partitioned by", lambda snapshot: ", ".join(snapshot.metadata.partition_columns) or "nothing"),
    Column("columns", lambda snapshot: ", ".join(field.name for field in snapshot.schema.fields)),
)
_PRUNED: Final[Sequence[Column[tuple[str, str]]]] = (
    Column("file", lambda row: row[0]),
    Column("verdict", lambda row: row[1]),
)
_MOMENTS: Final[Sequence[Column[Moment]]] = (
    Column("state", lambda moment: moment.label),
    Column("version", lambda moment: str(moment.snapshot.version), is_number=True),
    Column("committed", lambda moment: iso_time(moment.committed_ms)),
    Column("files", lambda moment: str(moment.num_files), is_number=True),
    Column("orders", lambda moment: f"{moment.num_records:,}", is_number=True),
    Column("columns", lambda moment: str(len(moment.snapshot.schema.fields)), is_number=True),
)


def look_at(label: str, table: Table, *, version: int | None = None, time_ms: int | None = None) -> Moment:
    """Count what a table holds now, at a version or at a time."""
    history = {commit.version: commit for commit in table.history()}
    timestamp = None if time_ms is None else datetime.fromisoformat(iso_time(time_ms))
    snapshot = table.snapshot(version=version, timestamp=timestamp)
    files = snapshot.files()
    return Moment(
        label=label,
        snapshot=snapshot,
        committed_ms=history[snapshot.version].timestamp_ms,
        num_files=files.num_rows,
        num_records=count_records(files),
    )


def count_records(files: pa.Table) -> int:
    """Rows in these files, by their statistics."""
    return sum(orjson.loads(stats)["numRecords"] for stats in files.column("stats").to_pylist())


def draw_lines(*lines: str) -> Text:
    """Plain lines."""
    return Text("\n".join(lines))


def draw_history(commits: Sequence[CommitRecord]) -> Grid:
    """Commits of a table."""
    return draw_table(commits, _HISTORY)


def draw_snapshots(*snapshots: Snapshot) -> Grid:
    """Tables, or versions of one, with protocol and columns."""
    return draw_table(snapshots, _TABLES)


def draw_verdicts(verdicts: Sequence[tuple[str, str]]) -> Grid:
    """Files, and whether they must be read."""
    return draw_table(verdicts, _PRUNED)


def draw_moments(*moments: Moment) -> Grid:
    """A table at several versions, in numbers."""
    return draw_table(moments, _MOMENTS)

"""`twinlog files`: the active files of a table."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, Final

import pyarrow as pa
import typer

from twinlog.catalog.diagnosis import open_existing
from twinlog.catalog.snapshot import Snapshot
from twinlog.cli.documents import FileDocument
from twinlog.cli.failures import WrongUse
from twinlog.cli.formats import iso_time, show_bytes, show_count
from twinlog.cli.options import AsJson, CatalogUrl, TableName, choose_limit
from twinlog.cli.output import Column, Output
from twinlog.errors import TwinlogError
from twinlog.protocol.actions import NullableStringMap
from twinlog.protocol.predicates import Predicate
from twinlog.protocol.staged import record_count

_TEXT_LIMIT: Final = 100
_COLUMNS: Final[Sequence[Column[FileDocument]]] = (
    Column("path", lambda file: file.path),
    Column("partition", lambda file: _show_partition(file.partition_values)),
    Column("size", lambda file: show_bytes(file.size_bytes), is_number=True),
    Column("records", lambda file: "" if file.num_records is None else f"{file.num_records:,}", is_number=True),
    Column("added in", lambda file: str(file.added_version), is_number=True),
)


def files(
    name: TableName,
    catalog: CatalogUrl,
    version: Annotated[int | None, typer.Option(min=0, metavar="N", help="At this version instead of now.")] = None,
    timestamp: Annotated[
        str | None, typer.Option(metavar="ISO", help="At this time instead of now; UTC unless it says otherwise.")
    ] = None,
    where: Annotated[
        str | None, typer.Option(metavar="EXPR", help="Only files that can hold rows for which this is true.")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="First N files, 0 for all; by default 100 as text, all as JSON."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the active files of a table, now or at an earlier version or time."""
    moment = _parse_time(timestamp) if timestamp is not None else None
    if version is not None and moment is not None:
        raise WrongUse("--version and --timestamp exclude each other", hint="give one of them")
    output = Output(as_json=as_json)
    wanted = choose_limit(limit, as_json=as_json, text_limit=_TEXT_LIMIT)
    with open_existing(catalog) as opened:
        snapshot = opened.table(name).snapshot(version=version, timestamp=moment)
        listing = _Listing(snapshot.file_batches(_bound(snapshot, where)), limit=wanted)
        output.rows(listing, _COLUMNS)
    output.note(listing.summary(f"at version {snapshot.version}"))


def _bound(snapshot: Snapshot, where: str | None) -> Predicate | None:
    try:
        return None if where is None else snapshot.bound(where)
    except TwinlogError as error:
        error.table = error.table or snapshot.table
        raise


class _Listing:
    """The first files of a snapshot, and a count of all of them."""

    def __init__(self, batches: Iterable[pa.RecordBatch], *, limit: int | None) -> None:
        self._batches = batches
        self._limit = sys.maxsize if limit is None else limit
        self._shown = 0
        self._total = 0

    def __iter__(self) -> Iterator[FileDocument]:
        for batch in self._batches:
            self._total += batch.num_rows
            for row in batch.slice(0, self._limit - self._shown).to_pylist():
                self._shown += 1
                yield _document(row)

    def summary(self, place: str) -> str:
        """What was listed, once everything is."""
        if self._shown < self._total:
            return f"\n{self._shown:,} of {show_count(self._total, 'file')} {place}; --limit 0 shows all"
        count = f"{show_count(self._total, 'file')} {place}"
        return f"\n{count}" if self._total else count


def _document(row: dict[str, Any]) -> FileDocument:
    return FileDocument(
        path=row["path"],
        partition_values=dict(row["partition_values"]),
        size_bytes=row["size"],
        num_records=record_count(row["stats"]),
        added_version=row["version"],
        modified_at=iso_time(row["modification_time"]),
        stats=row["stats"],
        tags=None if row["tags"] is None else dict(row["tags"]),
        deletion_vector=row["deletion_vector"],
        base_row_id=row["base_row_id"],
        default_row_commit_version=row["default_row_commit_version"],
        clustering_provider=row["clustering_provider"],
    )


def _show_partition(values: NullableStringMap) -> str:
    return ", ".join(f"{name}={'null' if value is None else value}" for name, value in values.items())


def _parse_time(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise WrongUse(
            f"--timestamp {text!r} is not a time", hint="write it like 2026-03-01T12:00:00Z or 2026-03-01"
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

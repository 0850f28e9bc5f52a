"""`twinlog log`: a table's commits."""

from collections.abc import Sequence
from typing import Annotated, Final

import typer

from twinlog.catalog.diagnosis import open_existing
from twinlog.catalog.reader import CommitRecord
from twinlog.cli.documents import CommitLineDocument
from twinlog.cli.formats import iso_time, show_bytes, show_count
from twinlog.cli.options import AsJson, CatalogUrl, TableName, choose_limit
from twinlog.cli.output import Column, Output
from twinlog.protocol.codec import to_object

_TEXT_LIMIT: Final = 20
_COLUMNS: Final[Sequence[Column[CommitLineDocument]]] = (
    Column("version", lambda commit: str(commit.version), is_number=True),
    Column("committed", lambda commit: commit.committed_at),
    Column("operation", lambda commit: commit.operation),
    Column("added", lambda commit: str(commit.num_adds), is_number=True),
    Column("removed", lambda commit: str(commit.num_removes), is_number=True),
    Column("size added", lambda commit: show_bytes(commit.bytes_added), is_number=True),
    Column(
        "read version", lambda commit: "" if commit.read_version is None else str(commit.read_version), is_number=True
    ),
    Column("commit id", lambda commit: commit.commit_id),
)


def log(
    name: TableName,
    catalog: CatalogUrl,
    limit: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="Newest N commits, 0 for all; by default 20 as text, all as JSON."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a table's history, newest commit first."""
    output = Output(as_json=as_json)
    wanted = choose_limit(limit, as_json=as_json, text_limit=_TEXT_LIMIT)
    with open_existing(catalog) as opened:
        records = opened.table(name).history(limit=wanted)
    output.rows(map(_document, records), _COLUMNS)
    total = records[0].version + 1
    if len(records) < total:
        output.note(f"\n{len(records):,} of {show_count(total, 'commit')}; --limit 0 shows all")


def _document(record: CommitRecord) -> CommitLineDocument:
    return CommitLineDocument(
        version=record.version,
        committed_at=iso_time(record.timestamp_ms),
        operation=record.operation,
        num_adds=record.num_adds,
        num_removes=record.num_removes,
        num_cdc=record.num_cdc,
        bytes_added=record.bytes_added,
        commit_id=record.commit_id,
        read_version=record.read_version,
        is_blind_append=record.is_blind_append,
        commit_info=to_object(record.commit_info),
    )

"""`twinlog commit`: Delta actions from a file, for scripts and for trying things."""

import uuid
from typing import Annotated

import typer

from twinlog.catalog.catalog import Catalog
from twinlog.catalog.diagnosis import open_existing
from twinlog.catalog.requests import Ratified, TableCommit
from twinlog.cli.documents import CommittedDocument
from twinlog.cli.failures import WrongUse, interrupted, report
from twinlog.cli.formats import clean
from twinlog.cli.options import AsJson, CatalogUrl, TableName
from twinlog.cli.output import Output
from twinlog.errors import TwinlogError
from twinlog.protocol.actions import Action
from twinlog.protocol.codec import decode_lines


def commit(
    name: TableName,
    file: Annotated[
        typer.FileBinaryRead,
        typer.Option(metavar="FILE", help="Delta actions, one JSON object a line, as in _delta_log; - for stdin."),
    ],
    catalog: CatalogUrl,
    operation: Annotated[
        str | None, typer.Option(metavar="OP", help="Name of the operation; by default commitInfo's, or WRITE.")
    ] = None,
    read_version: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Version that the actions were derived from.")
    ] = None,
    commit_id: Annotated[
        str | None, typer.Option(metavar="ID", help="Repeat it when repeating a commit: it lands once.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Commit Delta actions to a table, all or nothing."""
    if commit_id == "":
        raise WrongUse(
            "--commit-id is empty, and would protect nothing", hint="give an id of your own, or leave it out"
        )
    actions = _read_actions(file, table=name)
    request = TableCommit(table=name, actions=actions, operation=operation, read_version=read_version)
    # Known before the database is, so that somebody who interrupts the commit can still find out how it ended.
    chosen_id = commit_id or str(uuid.uuid4())
    with open_existing(catalog) as opened:
        ratified = _ratify(opened, request, chosen_id, as_json=as_json)
    document = CommittedDocument(
        table=name, version=ratified.version, commit_id=ratified.commit_id, replayed=ratified.replayed
    )
    Output(as_json=as_json).answer(document, clean(_describe(document)))


def _read_actions(file: typer.FileBinaryRead, *, table: str) -> tuple[Action, ...]:
    try:
        actions = tuple(decode_lines(file))
    except TwinlogError as error:
        error.table = error.table or table
        raise
    if not actions:
        raise WrongUse(
            "there is nothing to commit: the input has no actions",
            hint='give one JSON object a line, such as {"add":{...}}',
        )
    return actions


def _ratify(catalog: Catalog, request: TableCommit, commit_id: str, *, as_json: bool) -> Ratified:
    try:
        return catalog.writer.commit(request, commit_id=commit_id)
    except KeyboardInterrupt:
        report(interrupted(request.table, commit_id), as_json=as_json)
        raise


def _describe(document: CommittedDocument) -> str:
    place = f"version {document.version} of {document.table}, commit id {document.commit_id}"
    return f"in the log already as {place}; nothing was done now" if document.replayed else f"committed {place}"

"""`twinlog init` and `twinlog doctor`: the database as a whole."""

from typing import Final

import typer
from rich.table import Table as Grid
from rich.text import Text

from twinlog.catalog import migrations
from twinlog.catalog.database import Database
from twinlog.catalog.diagnosis import Finding, Level, diagnose
from twinlog.cli.documents import DoctorDocument, FindingDocument, InitDocument
from twinlog.cli.failures import ExitCode
from twinlog.cli.formats import clean
from twinlog.cli.options import AsJson, CatalogUrl
from twinlog.cli.output import Output

_STYLES: Final = {Level.OK: "green", Level.WARNING: "yellow", Level.PROBLEM: "bold red"}


def init(catalog: CatalogUrl, as_json: AsJson = False) -> None:
    """Create the catalog's schema in a database, or migrate it to the newest revision."""
    database = Database(catalog)
    try:
        before = migrations.current_revision(database)
        migrations.upgrade(database)
    finally:
        database.close()
    document = InitDocument(
        catalog=database.display_url,
        from_revision=before,
        to_revision=migrations.HEAD,
        changed=before != migrations.HEAD,
    )
    Output(as_json=as_json).answer(document, _describe(document))


def _describe(document: InitDocument) -> str:
    if document.from_revision is None:
        return f"created the catalog at {document.catalog}, revision {document.to_revision}"
    if not document.changed:
        return f"the catalog at {document.catalog} is at revision {document.to_revision} already; nothing to do"
    return f"migrated {document.catalog} from revision {document.from_revision} to {document.to_revision}"


def doctor(catalog: CatalogUrl, as_json: AsJson = False) -> None:
    """Check everything that twinlog needs of the database, and say what to do about each problem."""
    findings = diagnose(catalog)
    is_healthy = all(finding.level is not Level.PROBLEM for finding in findings)
    document = DoctorDocument(ok=is_healthy, findings=tuple(map(_document, findings)))
    verdict = "ready" if is_healthy else "not ready: see the next steps above"
    Output(as_json=as_json).answer(document, _draw(findings), Text(f"\n{verdict}", style="bold"))
    if not is_healthy:
        raise typer.Exit(ExitCode.FAILURE)


def _document(finding: Finding) -> FindingDocument:
    return FindingDocument(check=finding.check, level=finding.level.value, message=finding.message, hint=finding.hint)


def _draw(findings: list[Finding]) -> Grid:
    grid = Grid.grid(padding=(0, 2))
    for _ in range(2):
        grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for finding in findings:
        grid.add_row(Text(finding.level.value, style=_STYLES[finding.level]), finding.check, clean(finding.message))
        if finding.hint:
            grid.add_row("", "", f"next: {clean(finding.hint)}")
    return grid

"""The findings as a table for people and as JSON for comparisons."""

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.findings import Finding

_VERDICTS = {True: "[green]pass[/]", False: "[red]FAIL[/]", None: "[dim]info[/]"}


def print_table(console: Console, findings: Sequence[Finding]) -> None:
    """One line for each finding, twinlog's number beside the peer's."""
    table = Table(title="twinlog beside its peers (medians of interleaved runs)", title_justify="left")
    for name in ("benchmark", "case", "measure"):
        table.add_column(name, overflow="fold")
    for name in ("twinlog", "peer", "value", "required"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    previous = ""
    for finding in findings:
        if previous not in ("", finding.benchmark):
            table.add_section()
        table.add_row(
            finding.benchmark if finding.benchmark != previous else "",
            finding.case,
            finding.measure,
            finding.ours,
            finding.peer,
            f"{finding.value:.4g}{' ' + finding.unit if finding.unit else ''}",
            str(finding.bound) if finding.bound else "",
            _VERDICTS[finding.passed] if finding.is_plausible else "[yellow]noise[/]",
        )
        previous = finding.benchmark
    console.print(table)


def write_record(path: Path, findings: Iterable[Finding], *, machine: dict[str, Any], is_quick: bool) -> None:
    """Everything that was measured."""
    record = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "quick": is_quick,
        "machine": machine,
        "findings": [finding.to_json() for finding in findings],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")

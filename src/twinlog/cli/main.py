"""The `twinlog` program: wiring only."""

import io
import sys
from importlib.metadata import version as package_version
from typing import Annotated

import typer

from twinlog.cli import commits, database, demo, files, history, tables
from twinlog.cli.failures import Program

app = typer.Typer(
    cls=Program,
    help="A SQL database as the authoritative transaction log of Delta Lake tables.",
    epilog="Exit codes: 0 done, 1 findings or failure, 2 wrong use, 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"twinlog {package_version('twinlog')}")
        raise typer.Exit


@app.callback()
def _program(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    pass


app.command(epilog="Example: twinlog demo --dir /tmp/demo")(demo.demo)
app.command()(database.init)
app.command()(database.doctor)
app.add_typer(tables.app, name="table")
app.command(epilog="Example: twinlog log sales --limit 5")(history.log)
app.command(epilog="""Example: twinlog files sales --where "day = '2026-03-01' and amount > 100" """.strip())(
    files.files
)
app.command(epilog="Example: twinlog commit sales --file actions.jsonl --operation MERGE --read-version 7")(
    commits.commit
)


def run() -> None:
    """Entry point of the installed script."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that is not UTF-8 must not stop an answer
    app()

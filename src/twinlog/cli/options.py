"""Arguments and options that several commands share."""

import sys
from typing import Annotated, TypeAlias

import typer

from twinlog.cli.failures import WrongUse


def _check_name(name: str) -> str:
    """Refuse a name that is not text: it comes as surrogates, which no database can look up."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raise WrongUse(f"NAME is not UTF-8: {name!r}", hint="check the terminal's locale") from None
    return name


def choose_limit(given: int | None, *, as_json: bool, text_limit: int) -> int | None:
    """How many rows to show, None for all: as text a screenful unless told otherwise, as JSON everything."""
    if given is None:
        return None if as_json else text_limit
    return min(given, sys.maxsize) or None


CatalogUrl: TypeAlias = Annotated[
    str,
    typer.Option(
        "--catalog",
        envvar="TWINLOG_CATALOG",
        show_envvar=True,
        metavar="URL",
        help="Database of the catalog: postgresql://user@host/db, sqlite:///file.db or duckdb:///file.duckdb.",
    ),
]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line, instead of text.")]
TableName: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", callback=_check_name, help="Name of the table.")]

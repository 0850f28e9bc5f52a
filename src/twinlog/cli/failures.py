"""How a command ends when it does not end well: what is printed, and the exit code.

Exit codes: 0 done, 1 findings or failure, 2 wrong use, 130 interrupted. An expected failure is a message and the next
step on standard error, never a traceback.
"""

import sys
import traceback
from enum import IntEnum
from typing import Any, Final

import typer
from rich.text import Text
from typer.core import TyperGroup

from twinlog.cli.documents import FailureDocument
from twinlog.cli.formats import clean, redact
from twinlog.cli.output import make_console, write_json
from twinlog.errors import Retry, TwinlogError


class ExitCode(IntEnum):
    """What the shell learns."""

    DONE = 0
    FAILURE = 1
    WRONG_USE = 2
    INTERRUPTED = 130


_ABORTED: Final = FailureDocument(
    error="Aborted", message="aborted: nothing was changed", table=None, version=None, hint=None, retry="never"
)


class WrongUse(typer.TyperException):
    """The command line cannot be carried out as it is written."""

    exit_code = ExitCode.WRONG_USE

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class Program(TyperGroup):
    """The whole command line; turns whatever its commands raise into output and an exit code."""

    def main(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - as its base class has it
        """Run, report and exit."""
        given = kwargs.get("args")
        words = list(sys.argv[1:] if given is None else given)
        kwargs |= {"args": words, "prog_name": "twinlog", "standalone_mode": False}
        as_json = "--json" in words
        try:
            code = super().main(*args, **kwargs)
        except typer.Abort:
            code = ExitCode.FAILURE
            report(_ABORTED, as_json=as_json)
        except typer.TyperException as error:
            code = error.exit_code
            report(_wrong_use(error), as_json=as_json)
        except TwinlogError as error:
            code = ExitCode.FAILURE
            report(_expected(error), as_json=as_json)
        except Exception as error:  # noqa: BLE001 - the last one who can report it
            code = ExitCode.FAILURE
            report(_defect(error, as_json=as_json), as_json=as_json)
        sys.exit(code or ExitCode.DONE)


def report(failure: FailureDocument, *, as_json: bool) -> None:
    """Print a failure on standard error, without passwords."""
    if as_json:
        write_json(sys.stderr, failure)
        return
    if not failure.message:
        return  # no command was given, and the help that is shown then says it all
    console = make_console(sys.stderr)
    place = f"table {failure.table!r}" if failure.table else ""
    if failure.version is not None:
        place = f"{place} version {failure.version}".strip()
    console.print(Text(f"twinlog: {place}: " if place else "twinlog: ", style="bold red"), end="")
    console.print(clean(failure.message))
    if failure.hint:
        console.print(Text("next: ", style="bold"), end="")
        console.print(clean(failure.hint))


def interrupted(table: str, commit_id: str) -> FailureDocument:
    """A commit that was interrupted while the database was working on it."""
    return FailureDocument(
        error="KeyboardInterrupt",
        message="interrupted: the commit may or may not have landed",
        table=table,
        version=None,
        hint=f"repeat it with --commit-id {commit_id}: it lands once",
        retry=Retry.CHECK_FIRST.value,
    )


def _expected(error: TwinlogError) -> FailureDocument:
    return FailureDocument(
        error=type(error).__name__,
        message=_printable(error.message),
        table=_printable(error.table) if error.table else None,
        version=error.version,
        hint=_printable(error.hint) if error.hint else None,
        retry=error.retry.value,
    )


def _wrong_use(error: typer.TyperException) -> FailureDocument:
    context = getattr(error, "ctx", None)
    help_command = f"{context.command_path} --help" if context else "twinlog --help"
    message = error.format_message()
    return FailureDocument(
        error="WrongUse",
        message=_printable(message[:1].lower() + message[1:]).rstrip("."),
        table=None,
        version=None,
        hint=_printable(getattr(error, "hint", None) or f"`{help_command}` shows how it is used"),
        retry=Retry.NEVER.value,
    )


def _defect(error: Exception, *, as_json: bool) -> FailureDocument:
    if not as_json:
        sys.stderr.write(redact("".join(traceback.format_exception(error))))
    return FailureDocument(
        error=type(error).__name__,
        message=_printable(f"unexpected {type(error).__name__}: {error}"),
        table=None,
        version=None,
        hint=f"this is a defect of twinlog; report it with the traceback{' that is printed without --json' * as_json}",
        retry=Retry.NEVER.value,
    )


def _printable(text: str) -> str:
    # Arguments that are not UTF-8 come as surrogates, which neither JSON nor a terminal can show.
    return redact(text.encode("utf-8", "backslashreplace").decode())

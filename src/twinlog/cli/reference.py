"""The reference page of the command line, made from the program itself."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Final, get_args, get_origin, get_type_hints

import orjson
import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from twinlog.cli.documents import (
    CommitLineDocument,
    CommittedDocument,
    CreatedDocument,
    DemoDocument,
    DoctorDocument,
    DroppedDocument,
    FailureDocument,
    FileDocument,
    InitDocument,
    TableDocument,
    TableLineDocument,
)
from twinlog.cli.main import app

DOCUMENTS: Final[Mapping[str, type[Any]]] = {
    "demo": DemoDocument,
    "init": InitDocument,
    "doctor": DoctorDocument,
    "log": CommitLineDocument,
    "files": FileDocument,
    "commit": CommittedDocument,
    "table create": CreatedDocument,
    "table list": TableLineDocument,
    "table show": TableDocument,
    "table drop": DroppedDocument,
}
LISTINGS: Final = frozenset({"log", "files", "table list"})

_INTRODUCTION: Final = """\
`twinlog` works on the catalog that `--catalog` or the environment variable `TWINLOG_CATALOG` names: an SQLAlchemy-style
URL such as `postgresql://user@host/db`, `sqlite:///file.db` (relative) or `sqlite:////folder/file.db` (absolute), or
`duckdb:///file.duckdb`. `twinlog init` creates a catalog; the other commands need one that exists, so that a mistyped
URL creates nothing. `twinlog --version` prints the version, `--help` after any command how it is used.

## Output

Text is for people and may change. Where standard output is not a terminal it has no colours, and nothing is wrapped or
cut. `--json` is for programs: every object is one line of UTF-8 on standard output. A command that lists prints an
object for each thing, as it goes, and nothing if there is none; the others print one object. Fields may be added;
those below keep their names and meanings. A field without a value is null, never absent. Times are ISO 8601 in UTC
with milliseconds, sizes are bytes.

## Exit codes

| code | meaning |
| --- | --- |
| 0 | done |
| 1 | failed, or found a problem (`doctor`, `demo`) |
| 2 | wrong use: an unknown option, a missing argument, an empty input |
| 130 | interrupted |

## Failures

A failure is a message and the next step on standard error; standard output has what was printed before it, usually
nothing. With `--json` it is one object on standard error. Passwords are never shown."""

_TYPE_NAMES: Final[Mapping[Any, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    orjson.Fragment: "object",
}


def reference() -> str:
    """The text of the page, without its title."""
    parts = [_INTRODUCTION, _fields_table(FailureDocument)]
    for path, command in walk_commands():
        parts += _command_parts(path, command)
    return "\n\n".join(parts)


def walk_commands() -> Iterator[tuple[str, TyperCommand]]:
    """Every command with the words that call it, in the order of the help."""
    yield from _walk(typer.main.get_command(app), ())


def _walk(command: object, words: tuple[str, ...]) -> Iterator[tuple[str, TyperCommand]]:
    if isinstance(command, TyperGroup):
        for name, child in command.commands.items():
            yield from _walk(child, (*words, name))
    elif isinstance(command, TyperCommand):
        yield " ".join(words), command


def _command_parts(path: str, command: TyperCommand) -> Iterator[str]:
    yield f"## `twinlog {path}`"
    yield command.help or ""
    yield f"```\n{_usage(path, command)}\n```"
    rows = [_parameter_row(parameter) for parameter in command.params if parameter.name != "help"]
    yield _markdown_table(("parameter", "meaning"), rows)
    if command.epilog:
        yield f"Example: `{command.epilog.removeprefix('Example: ')}`"
    count = "an object for each one" if path in LISTINGS else "one object"
    yield f"With `--json`, {count}:"
    yield _fields_table(DOCUMENTS[path])


def _usage(path: str, command: TyperCommand) -> str:
    arguments = [str(it.metavar) for it in command.params if isinstance(it, TyperArgument)]
    options = [_usage_of(it) for it in command.params if isinstance(it, TyperOption) and it.name != "help"]
    return " ".join(["twinlog", path, *arguments, *options])


def _usage_of(option: TyperOption) -> str:
    text = option.opts[0] if option.is_flag else f"{option.opts[0]} {option.metavar}"
    return text if option.required and not option.envvar else f"[{text}]{'...' if option.multiple else ''}"


def _parameter_row(parameter: object) -> tuple[str, str]:
    if isinstance(parameter, TyperArgument):
        return f"`{parameter.metavar}`", parameter.help or ""
    if not isinstance(parameter, TyperOption):
        raise TypeError(f"neither an argument nor an option: {parameter!r}")
    name = parameter.opts[0] if parameter.is_flag else f"{parameter.opts[0]} {parameter.metavar}"
    remarks = [parameter.help or ""]
    if parameter.envvar:
        remarks.append(f"Default: the environment variable `{parameter.envvar}`.")
    elif parameter.required:
        remarks.append("Required.")
    return f"`{name}`", " ".join(remarks)


def _fields_table(document: type[Any]) -> str:
    rows = [(f"`{path}`", type_name, meaning) for path, type_name, meaning in list_fields(document)]
    return _markdown_table(("field", "type", "meaning"), rows)


def list_fields(document: type[Any], prefix: str = "") -> Iterator[tuple[str, str, str]]:
    """Path, type and meaning of every field of a document, and of the documents inside it."""
    hints = get_type_hints(document, include_extras=True)
    for field in dataclasses.fields(document):
        annotation, meaning = get_args(hints[field.name])
        yield f"{prefix}{field.name}", _type_name(annotation), meaning
        inner = get_args(annotation)[0] if get_origin(annotation) is tuple else annotation
        if dataclasses.is_dataclass(inner) and isinstance(inner, type):
            yield from list_fields(inner, f"{prefix}{field.name}[].")


def _type_name(annotation: Any) -> str:  # noqa: ANN401 - any type hint
    origin = get_origin(annotation)
    if origin is UnionType:
        names = [_type_name(part) for part in get_args(annotation) if part is not NoneType]
        return " or ".join([*names, "null"])
    if origin is tuple:
        item = get_args(annotation)[0]
        return "list of objects" if dataclasses.is_dataclass(item) else f"list of {_type_name(item)}s"
    if origin is not None:
        return "object"
    return _TYPE_NAMES[annotation]


def _markdown_table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", r"\|")

"""What the reference says is what the program does."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import add_line
from tests.cli.program import Cli
from twinlog.cli.reference import DOCUMENTS, LISTINGS, reference, walk_commands

FIELD = re.compile(r"^\| `(?P<path>[a-z_\[\].]+)` \|", re.MULTILINE)
COMMANDS = [path for path, _ in walk_commands()]


def documented_fields(path: str) -> set[str]:
    section = reference().split(f"## `twinlog {path}`\n")[1].split("\n## ")[0]
    return set(FIELD.findall(section.split("With `--json`")[1]))


def found_fields(document: dict[str, Any], prefix: str = "") -> set[str]:
    """Paths of the fields of a document, through lists of objects."""
    paths = set()
    for name, value in document.items():
        paths.add(prefix + name)
        if isinstance(value, list):
            for item in value:
                paths |= found_fields(item, f"{prefix}{name}[].") if isinstance(item, dict) else set()
    return paths


def run_once(cli: Cli, path: str, schema_file: Path) -> list[dict[str, Any]]:
    options = {
        "table create": ["other", "--location", "s3://lake/other", "--schema", str(schema_file)],
        "table show": ["sales"],
        "table drop": ["sales", "--yes"],
        "log": ["sales"],
        "files": ["sales"],
        "commit": ["sales", "--file", "-"],
    }
    return cli.objects(*path.split(), *options.get(path, []), stdin=add_line(3) if path == "commit" else "")


def test_every_command_is_documented():
    assert set(COMMANDS) == set(DOCUMENTS)
    assert set(DOCUMENTS) >= LISTINGS


@pytest.mark.parametrize("path", COMMANDS)
def test_json_has_the_documented_fields(cli: Cli, sales: str, schema_file: Path, path: str):
    documents = run_once(cli, path, schema_file)
    assert len(documents) == 1 or path in LISTINGS
    always_empty = {"txns[].", "domains[]."}
    for document in documents:
        expected = {it for it in documented_fields(path) if not it.startswith(tuple(always_empty))}
        assert found_fields(document) == expected


@pytest.mark.parametrize("path", COMMANDS)
def test_command_has_json_a_sentence_of_help_and_described_parameters(path: str):
    command = dict(walk_commands())[path]
    assert re.fullmatch(r"[A-Z][^.\n]*\.", command.help or "")
    assert "--json" in {name for parameter in command.params for name in parameter.opts}
    assert all(getattr(parameter, "help", None) for parameter in command.params)


@pytest.mark.parametrize("path", ["", "table", *COMMANDS])
def test_help_names_the_command(cli: Cli, path: str):
    assert f"Usage: twinlog {path}".rstrip() in cli.done(*path.split(), "--help")

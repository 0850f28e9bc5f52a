"""Exit codes and error output, of any command."""

from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner

from tests.cli.program import Cli
from twinlog.catalog.reader import SqlTxnLogReader

UNREACHABLE = "postgresql://user:s3cret@127.0.0.1:1/lake"
ON_A_CATALOG = [
    ["init"],
    ["table", "list"],
    ["table", "show", "x"],
    ["table", "drop", "x", "--yes"],
    ["log", "x"],
    ["files", "x"],
]


@pytest.mark.parametrize("command", ON_A_CATALOG, ids=" ".join)
def test_unreachable_database_is_a_message_with_a_next_step_and_no_password(cli: Cli, command: list[str]):
    result = cli(*command, "--catalog", UNREACHABLE)
    assert (result.exit_code, result.stdout) == (1, "")
    message, hint = result.stderr.splitlines()
    assert message.startswith("twinlog: no connection to postgresql://user:***@127.0.0.1:1/lake")
    assert hint == "next: run `twinlog doctor`"


def test_unreachable_database_as_json_has_the_documented_fields(cli: Cli):
    failure = cli.failure("table", "list", "--catalog", UNREACHABLE)
    assert list(failure) == ["error", "message", "table", "version", "hint", "retry"]
    assert (failure["error"], failure["retry"]) == ("ConnectionLost", "later")
    assert "s3cret" not in str(failure)


@pytest.mark.parametrize(
    "words",
    [
        ["table", "list", "postgresql://u:s3cret@h/d"],
        ["log", "x", "--catalog", "postgresql://u@127.0.0.1:1/d?password=s3cret"],
        ["doctor", "--catalog", "postgresql://u@127.0.0.1:1/d?sslmode=disable&password=s3cret"],
        ["doctor", "--catalog", "postgresql://u:p@s3cret@127.0.0.1:1/d"],
        ["doctor", "--catalog", "postgresql://u:p@s3cret/@127.0.0.1:1/d"],
        ["doctor", "--catalog", "postgresql://u:p/s3cret@127.0.0.1:1/d"],
        ["table", "list", "postgresql://u:p/s3cret@h/d"],
        ["table", "list", "--catalog", "postgres://u:s3cret@h/d"],
    ],
)
def test_password_is_never_shown(cli: Cli, words: list[str]):
    for result in (cli(*words), cli(*words, as_json=True)):
        assert result.exit_code in {1, 2}
        assert "s3cret" not in result.output


@pytest.mark.parametrize("command", ON_A_CATALOG[1:], ids=" ".join)
def test_catalog_that_does_not_exist_is_not_created(cli: Cli, tmp_path: Path, command: list[str]):
    failure = cli.failure(*command, "--catalog", f"sqlite:///{tmp_path}/typo.db")
    assert failure["error"] == "CatalogSchemaMismatch"
    assert "twinlog init" in failure["hint"]
    assert not (tmp_path / "typo.db").exists()


@pytest.mark.parametrize(
    "words",
    [["nope"], ["table", "nope"], ["log"], ["log", "a", "b"], ["log", "a", "--nope"], ["commit", "x"]],
    ids=" ".join,
)
def test_wrong_use_exits_2_and_names_the_help(cli: Cli, words: list[str]):
    result = cli(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    message, hint = result.stderr.splitlines()
    assert message.startswith("twinlog: ")
    assert hint.startswith("next: `twinlog ")
    assert "--help" in hint
    assert cli.failure(*words, exit_code=2)["error"] == "WrongUse"


def test_no_catalog_named_is_wrong_use():
    result = Cli(CliRunner(env={"TWINLOG_CATALOG": None}))("table", "list")
    assert result.exit_code == 2
    assert "--catalog" in result.stderr
    assert "TWINLOG_CATALOG" in result.stderr


def test_table_name_that_is_not_utf8_is_wrong_use(cli: Cli):
    assert "'caf\\udce9'" in cli.failure("log", "caf\udce9", exit_code=2)["message"]


def test_defect_is_reported_as_one(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    def fail(_reader: object) -> None:
        raise ZeroDivisionError("at postgresql://u:s3cret@h/d")

    monkeypatch.setattr(SqlTxnLogReader, "list_tables", fail)
    result = cli("table", "list")
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert "this is a defect of twinlog" in result.stderr
    assert "s3cret" not in result.stderr
    assert cli.failure("table", "list")["error"] == "ZeroDivisionError"


def test_interrupt_exits_130(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    def interrupt(_reader: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SqlTxnLogReader, "list_tables", interrupt)
    result = cli("table", "list")
    assert (result.exit_code, result.stdout) == (130, "")
    assert "Traceback" not in result.stderr


def test_error_lines_are_not_wrapped(cli: Cli):
    name = "n" * 500
    result = cli("log", name)
    assert f"table '{name}'" in result.stderr
    assert len(result.stderr.splitlines()) == 2
    assert orjson.loads(cli("log", name, as_json=True).stderr)["table"] == name

"""`twinlog table create | list | show | drop`."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from tests.cli.conftest import SCHEMA
from tests.cli.program import Cli
from twinlog.catalog.catalog import Catalog
from twinlog.cli import output
from twinlog.protocol.actions import DomainMetadata, Txn


def test_create_when_schema_is_valid_then_prints_the_table(cli: Cli, schema_file: Path):
    created = cli.object(
        "table", "create", "sales", "--location", "s3://lake/sales/", "--schema", schema_file, "--partition-by", "day"
    )
    assert created.pop("delta_id")
    assert created == {
        "name": "sales",
        "version": 0,
        "location": "s3://lake/sales",
        "min_reader_version": 1,
        "min_writer_version": 7,
        "features": ["appendOnly", "inCommitTimestamp", "invariants"],
    }


def test_create_takes_schema_from_stdin_and_all_options(cli: Cli, tmp_path: Path):
    text = cli.done(
        *("table", "create", "sales", "--location", tmp_path / "sales", "--schema", "-", "--partition-by", "day, id"),
        *("--property", "delta.appendOnly=true", "--property", "owner=a=b", "--description", "what we sold"),
        stdin=orjson.dumps(SCHEMA),
    )
    assert text == f"created table sales at version 0, protocol (1, 7), location {tmp_path}/sales\n"
    shown = cli.object("table", "show", "sales")
    assert shown["partition_columns"] == ["day", "id"]
    assert shown["properties"] == {
        "delta.appendOnly": "true",
        "delta.enableInCommitTimestamps": "true",
        "owner": "a=b",
    }
    assert shown["description"] == "what we sold"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--property", "novalue"], "not of the form K=V"),
        (["--property", "a=1", "--property", "a=2"], "given twice"),
        (["--partition-by", "a,,b"], "empty name"),
        (["--schema", "no-such-file.json"], "--schema"),
        (["--schema", "."], "--schema"),
    ],
)
def test_create_when_an_option_is_malformed_then_wrong_use(cli: Cli, schema_file: Path, options: list[str], words: str):
    line = ["table", "create", "sales", "--location", "s3://lake/x", "--schema", str(schema_file), *options]
    error = cli.failure(*line, exit_code=2)
    assert error["error"] == "WrongUse"
    assert words in error["message"]
    assert error["hint"]
    assert cli.objects("table", "list") == []


@pytest.mark.parametrize(
    ("schema", "error"),
    [(b"{", "InvalidSchema"), (b'"long"', "InvalidSchema"), (b"\xff\xfe", "InvalidSchema")],
)
def test_create_when_schema_is_wrong_then_fails(cli: Cli, schema: bytes, error: str):
    line = ["table", "create", "sales", "--location", "s3://lake/x", "--schema", "-"]
    failure = cli.failure(*line, stdin=schema)
    assert (failure["error"], failure["table"]) == (error, "sales")


def test_create_when_name_is_taken_then_fails(cli: Cli, sales: str, schema_file: Path):
    error = cli.failure("table", "create", sales, "--location", "s3://other", "--schema", schema_file)
    assert error == {
        "error": "TableAlreadyExists",
        "message": "the name is taken",
        "table": sales,
        "version": None,
        "hint": "choose another name, or use the table that has it",
        "retry": "never",
    }


def test_list_when_there_are_no_tables_then_says_so(cli: Cli):
    assert cli.objects("table", "list") == []
    assert "no tables" in cli.done("table", "list")


def test_list_names_tables_with_their_heads(cli: Cli, sales: str):
    (line,) = cli.objects("table", "list")
    assert (line["name"], line["version"], line["location"]) == (sales, 2, "s3://lake/sales")
    assert line["created_at"] < line["committed_at"]
    titles, row = cli.done("table", "list").splitlines()
    assert titles.split() == ["name", "version", "last", "commit", "location"]
    assert row.split() == ["sales", "2", line["committed_at"], "s3://lake/sales"]


def test_list_when_a_value_is_long_or_strange_then_shows_it_whole_and_harmless(cli: Cli, schema_file: Path):
    location = f"s3://lake/{'x' * 3000}"
    cli.done("table", "create", "[red]täble[/red]", "--location", location, "--schema", schema_file)
    text = cli.done("table", "list")
    assert "[red]täble[/red]" in text
    assert location in text
    assert "\x1b" not in text


def test_show_when_table_has_everything_then_shows_everything(
    cli: Cli, sales: str, open_catalog: Callable[[], Catalog]
):
    with open_catalog() as catalog:
        catalog.table(sales).set_properties({"delta.feature.domainMetadata": "supported"})
        with catalog.transaction() as txn:
            table = txn.table(sales)
            table.stage(Txn(app_id="loader", app_version=7, last_updated=1_700_000_000_123))
            table.stage(DomainMetadata(domain="my.app", configuration='{"a":\x1b[31m1}', removed=False))
    shown = cli.object("table", "show", sales)
    assert shown["version"] == 4
    assert shown["schema"] == SCHEMA
    assert (shown["num_files"], shown["size_bytes"]) == (2, 3000)
    assert shown["txns"] == [{"app_id": "loader", "version": 7, "updated_at": "2023-11-14T22:13:20.123Z"}]
    assert shown["domains"] == [{"domain": "my.app", "configuration": '{"a":\x1b[31m1}'}]
    assert "domainMetadata" in shown["features"]
    text = cli.done("table", "show", sales)
    for part in (
        "s3://lake/sales",
        "reader 1, writer 7",
        "2 files, 2.9 KiB",
        "id: long, not null",
        "day: date, partition column",
        "items: array\n└── element: struct, not null\n    └── sku: string",
        "loader",
        r'{"a":\x1b[31m1}',
    ):
        assert part in text


def test_show_when_table_is_missing_then_fails_with_a_hint(cli: Cli):
    result = cli("table", "show", "nope")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr == (
        "twinlog: table 'nope': no such table\nnext: `twinlog table list` shows the tables there are\n"
    )


def test_drop_when_confirmed_by_option_then_tells_what_is_lost(cli: Cli, sales: str):
    assert cli.object("table", "drop", sales, "--yes") == {"name": sales, "unpublished_versions": 3}
    assert cli.failure("table", "drop", sales, "--yes")["error"] == "TableNotFound"


def test_drop_when_nobody_can_be_asked_then_refuses(cli: Cli, sales: str):
    error = cli.failure("table", "drop", sales, exit_code=2)
    assert error["hint"] == "add --yes"
    assert len(cli.objects("table", "list")) == 1


@dataclasses.dataclass
class Answer:
    typed: str
    exit_code: int
    tables_left: int


@pytest.mark.parametrize("answer", [Answer("y\n", 0, 0), Answer("n\n", 1, 1), Answer("", 1, 1)], ids=str)
def test_drop_when_somebody_is_there_then_asks(cli: Cli, sales: str, monkeypatch: pytest.MonkeyPatch, answer: Answer):
    monkeypatch.setattr(output, "can_ask", lambda: True)
    result = cli("table", "drop", sales, stdin=answer.typed)
    assert result.exit_code == answer.exit_code
    assert "Drop table sales with its 3 versions?" in result.output
    assert ("3 unpublished versions lost" in result.stdout) is (answer.exit_code == 0)
    assert ("nothing was changed" in result.stderr) is (answer.exit_code == 1)
    assert len(cli.objects("table", "list")) == answer.tables_left

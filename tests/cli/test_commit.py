"""`twinlog commit`."""

from pathlib import Path

import orjson
import pytest

from tests.cli.conftest import add_line
from tests.cli.program import Cli
from twinlog.catalog.writer import SqlTxnLogWriter


def test_commit_from_a_file_lands(cli: Cli, sales: str, tmp_path: Path):
    actions = tmp_path / "actions.jsonl"
    actions.write_text(add_line(3) + "\n" + '{"remove":{"path":"part-1.parquet","dataChange":true}}\n')
    committed = cli.object("commit", sales, "--file", actions, "--operation", "MERGE", "--read-version", "2")
    assert committed.pop("commit_id")
    assert committed == {"table": sales, "version": 3, "replayed": False}
    newest = cli.objects("log", sales)[0]
    assert (newest["operation"], newest["read_version"], newest["num_removes"]) == ("MERGE", 2, 1)


def test_commit_when_repeated_with_its_id_then_lands_once(cli: Cli, sales: str):
    line = ["commit", sales, "--file", "-", "--commit-id", "load-1"]
    first = cli.done(*line, stdin=add_line(3))
    second = cli.done(*line, stdin=add_line(3))
    assert first == "committed version 3 of sales, commit id load-1\n"
    assert second == "in the log already as version 3 of sales, commit id load-1; nothing was done now\n"
    assert cli.object(*line, stdin=add_line(3)) == {
        "table": sales,
        "version": 3,
        "commit_id": "load-1",
        "replayed": True,
    }


@pytest.mark.parametrize("stdin", ["", "\n  \n"])
def test_commit_when_input_is_empty_then_wrong_use(cli: Cli, sales: str, stdin: str):
    error = cli.failure("commit", sales, "--file", "-", stdin=stdin, exit_code=2)
    assert "nothing to commit" in error["message"]
    assert error["hint"]


def test_commit_when_its_id_is_empty_then_wrong_use(cli: Cli, sales: str):
    error = cli.failure("commit", sales, "--file", "-", "--commit-id", "", stdin=add_line(3), exit_code=2)
    assert "--commit-id" in error["message"]


@pytest.mark.parametrize(
    ("stdin", "error"),
    [
        (add_line(3) + "nonsense\n", "CorruptLog"),
        ('{"add":{"path":"a"}}', "InvalidAction"),
        ('{"remove":{"path":"not-there","dataChange":true}}', "CommitRejected"),
        (add_line(3).replace("part-3", "part 3"), "InvalidAction"),
    ],
)
def test_commit_when_actions_are_wrong_then_fails_and_changes_nothing(cli: Cli, sales: str, stdin: str, error: str):
    failure = cli.failure("commit", sales, "--file", "-", stdin=stdin)
    assert (failure["error"], failure["table"], failure["retry"]) == (error, sales, "never")
    assert len(cli.objects("log", sales)) == 3


def test_commit_when_a_line_is_broken_then_names_the_line(cli: Cli, sales: str):
    result = cli("commit", sales, "--file", "-", stdin=add_line(3) + "nonsense\n")
    assert result.exit_code == 1
    assert result.stderr.startswith("twinlog: table 'sales': line 2: ")


def test_commit_when_somebody_removed_the_same_file_then_conflicts(cli: Cli, sales: str):
    remove = '{"remove":{"path":"part-1.parquet","dataChange":true}}'
    cli.done("commit", sales, "--file", "-", "--read-version", "2", stdin=remove)
    failure = cli.failure("commit", sales, "--file", "-", "--read-version", "2", stdin=remove)
    assert failure["error"] == "ConcurrentDeleteDelete"
    assert (failure["version"], failure["retry"]) == (3, "after_rebase")


def test_commit_when_interrupted_then_tells_how_to_find_out(cli: Cli, sales: str, monkeypatch: pytest.MonkeyPatch):
    def interrupt(*_requests: object, **_options: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SqlTxnLogWriter, "commit", interrupt)
    result = cli("commit", sales, "--file", "-", "--commit-id", "load-1", stdin=add_line(3), as_json=True)
    assert (result.exit_code, result.stdout) == (130, "")
    failure = orjson.loads(result.stderr)
    assert failure["retry"] == "check_first"
    assert "--commit-id load-1" in failure["hint"]

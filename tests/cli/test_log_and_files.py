"""`twinlog log` and `twinlog files`."""

from collections.abc import Callable

import pyarrow as pa
import pytest

from tests.cli.program import Cli
from twinlog.catalog.catalog import Catalog


def paths(cli: Cli, *options: str) -> list[str]:
    return sorted(file["path"] for file in cli.objects("files", "sales", *options))


def test_log_lists_commits_newest_first(cli: Cli, sales: str):
    newest, middle, oldest = cli.objects("log", sales)
    assert [commit["version"] for commit in (newest, middle, oldest)] == [2, 1, 0]
    assert newest["committed_at"] > middle["committed_at"] > oldest["committed_at"]
    assert oldest["operation"] == "CREATE TABLE"
    assert (newest["num_adds"], newest["num_removes"], newest["bytes_added"]) == (1, 0, 2000)
    assert newest["is_blind_append"] is True
    assert newest["commit_info"]["txnId"] == newest["commit_id"]


def test_log_text_has_a_line_for_each_commit(cli: Cli, sales: str):
    titles, *lines = cli.done("log", sales).splitlines()
    assert titles.split()[0] == "version"
    assert [line.split()[0] for line in lines] == ["2", "1", "0"]


def test_log_when_limited_then_says_how_many_there_are(cli: Cli, sales: str):
    assert [commit["version"] for commit in cli.objects("log", sales, "--limit", "1")] == [2]
    assert "1 of 3 commits; --limit 0 shows all" in cli.done("log", sales, "--limit", "1")
    for everything in ("0", str(10**30)):
        assert "of 3 commits" not in cli.done("log", sales, "--limit", everything)
        assert "2 files at version 2" in cli.done("files", sales, "--limit", everything)


def test_files_lists_active_files(cli: Cli, sales: str):
    first, second = sorted(cli.objects("files", sales), key=lambda file: str(file["path"]))
    stats = first.pop("stats")
    assert '"numRecords":10' in stats
    assert first == {
        "path": "part-1.parquet",
        "partition_values": {"day": "2026-03-01"},
        "size_bytes": 1000,
        "num_records": 10,
        "added_version": 1,
        "modified_at": "2023-11-14T22:13:20.000Z",
        "tags": None,
        "deletion_vector": None,
        "base_row_id": None,
        "default_row_commit_version": None,
        "clustering_provider": None,
    }
    assert second["added_version"] == 2


def test_files_text_has_a_line_for_each_file(cli: Cli, sales: str):
    lines = cli.done("files", sales).splitlines()
    assert sorted(line.split() for line in lines[1:3]) == [
        ["part-1.parquet", "day=2026-03-01", "1000", "B", "10", "1"],
        ["part-2.parquet", "day=2026-03-02", "2.0", "KiB", "20", "2"],
    ]
    assert lines[-1] == "2 files at version 2"


def test_files_at_a_version_or_time_shows_the_files_of_then(cli: Cli, sales: str):
    first_commit = cli.objects("log", sales)[1]["committed_at"]
    assert paths(cli, "--version", "1") == ["part-1.parquet"]
    assert paths(cli, "--timestamp", first_commit) == ["part-1.parquet"]
    assert paths(cli, "--timestamp", first_commit.removesuffix("Z")) == ["part-1.parquet"]
    assert paths(cli, "--version", "0") == []
    assert cli.done("files", sales, "--version", "0") == "0 files at version 0\n"


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("day = '2026-03-02'", ["part-2.parquet"]),
        ("id < 2", ["part-1.parquet"]),
        ("id > 5", []),
    ],
)
def test_files_where_keeps_files_that_may_match(cli: Cli, sales: str, where: str, expected: list[str]):
    assert paths(cli, "--where", where) == expected


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--where", "nope = 1"], "InvalidPredicate"),
        (["--where", "id ="], "InvalidPredicate"),
        (["--version", "99"], "VersionNotFound"),
        (["--timestamp", "1999-12-31"], "VersionNotFound"),
    ],
)
def test_files_when_asked_for_what_is_not_there_then_fails(cli: Cli, sales: str, options: list[str], error: str):
    failure = cli.failure("files", sales, *options)
    assert (failure["error"], failure["table"]) == (error, sales)


@pytest.mark.parametrize(
    "options",
    [
        ["--version", "1", "--timestamp", "2026-01-01"],
        ["--timestamp", "yesterday"],
        ["--version", "-1"],
        ["--version", "one"],
        ["--limit", "-1"],
    ],
)
def test_files_when_options_make_no_sense_then_wrong_use(cli: Cli, sales: str, options: list[str]):
    assert cli.failure("files", sales, *options, exit_code=2)["error"] == "WrongUse"


def test_files_when_there_are_many_then_text_limits_itself_and_json_does_not(
    cli: Cli, sales: str, open_catalog: Callable[[], Catalog]
):
    count = 1_200
    names = [f"many-{number:04d}.parquet" for number in range(count)]
    batch = pa.table(
        {
            "path": names,
            "partition_values": pa.array([[("day", None)]] * count, pa.map_(pa.string(), pa.string())),
            "size": [1] * count,
            "modification_time": [0] * count,
        }
    )
    with open_catalog() as catalog, catalog.transaction() as txn:
        txn.table(sales).add(batch)
    text = cli.done("files", sales)
    assert "100 of 1,202 files at version 3; --limit 0 shows all" in text
    assert len(text.splitlines()) == 1 + 100 + 2
    everything = cli.done("files", sales, "--limit", "0")
    assert all(name in everything for name in names)
    assert everything.count("partition") == 1
    assert "day=null" in everything
    assert len(cli.objects("files", sales)) == count + 2
    assert len(cli.objects("files", sales, "--limit", "7")) == 7

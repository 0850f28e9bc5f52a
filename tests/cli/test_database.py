"""`twinlog init` and `twinlog doctor`."""

import sqlite3
from pathlib import Path

import pytest

from tests.cli.program import Cli
from twinlog.catalog import diagnosis, migrations
from twinlog.catalog.database import Database
from twinlog.catalog.diagnosis import Level, judge_clock

UNREACHABLE = "postgresql://user:s3cret@127.0.0.1:1/lake"


def test_init_when_database_is_new_then_creates_the_catalog(cli: Cli, tmp_path: Path):
    url = f"sqlite:///{tmp_path}/new.db"
    first = cli.object("init", "--catalog", url)
    again = cli.object("init", "--catalog", url)
    head = migrations.HEAD
    assert first == {"catalog": url, "from_revision": None, "to_revision": head, "changed": True}
    assert again == {"catalog": url, "from_revision": head, "to_revision": head, "changed": False}


def test_init_when_schema_is_older_then_says_from_and_to(cli: Cli, tmp_path: Path):
    url = f"sqlite:///{tmp_path}/old.db"
    database = Database(url)
    migrations.upgrade(database, to=migrations.REVISIONS[0])
    database.close()
    refused = cli.failure("table", "list", "--catalog", url)
    assert refused["error"] == "CatalogSchemaMismatch"
    assert "twinlog init" in refused["hint"]
    text = cli.done("init", "--catalog", url)
    assert f"from revision {migrations.REVISIONS[0]} to {migrations.HEAD}" in text
    assert cli.done("table", "list", "--catalog", url)


def test_init_when_run_twice_then_says_that_there_is_nothing_to_do(cli: Cli):
    assert "nothing to do" in cli.done("init")


def test_init_when_folder_is_missing_then_fails(cli: Cli, tmp_path: Path):
    assert cli.failure("init", "--catalog", f"sqlite:///{tmp_path}/no/such.db")["error"] == "ConfigurationError"


def test_doctor_when_all_is_well_then_every_check_is_ok(cli: Cli):
    document = cli.object("doctor")
    assert document["ok"] is True
    assert {finding["check"]: finding["level"] for finding in document["findings"]} == dict.fromkeys(
        ["file", "connection", "journal", "clock", "schema", "write"], "ok"
    )
    text = cli.done("doctor")
    assert "SQLite 3." in text
    assert text.rstrip().endswith("ready")


def test_doctor_leaves_the_database_as_it_is(cli: Cli, catalog_url: str):
    cli.done("doctor")
    with sqlite3.connect(catalog_url.removeprefix("sqlite:///")) as connection:
        assert connection.execute("select count(*) from dl_mirror_status").fetchone() == (0,)
    connection.close()


def test_doctor_when_file_is_missing_then_creates_none_and_names_init(cli: Cli, tmp_path: Path):
    result = cli("doctor", "--catalog", f"sqlite:///{tmp_path}/missing.db")
    assert result.exit_code == 1
    assert "does not exist" in result.stdout
    assert "next: run `twinlog init`" in result.stdout
    assert not (tmp_path / "missing.db").exists()


def test_doctor_when_schema_is_missing_then_checks_that_it_can_be_created(cli: Cli, tmp_path: Path):
    (tmp_path / "empty.db").touch()
    result = cli("doctor", "--catalog", f"sqlite:///{tmp_path}/empty.db")
    assert result.exit_code == 1
    assert "holds no catalog" in result.stdout
    assert "tables can be created" in result.stdout
    assert "next: run `twinlog init`" in cli("doctor", "--catalog", f"sqlite:///{tmp_path}/empty.db").stdout


@pytest.mark.parametrize(
    ("url", "check"),
    [("foo://bar", "address"), (UNREACHABLE, "connection"), ("sqlite:////", "file")],
)
def test_doctor_when_database_cannot_be_used_then_is_a_problem_with_a_next_step(cli: Cli, url: str, check: str):
    result = cli("doctor", "--catalog", url)
    assert result.exit_code == 1
    assert check in result.stdout
    assert "next:" in result.stdout
    assert "s3cret" not in result.output


def test_doctor_when_file_is_not_a_database_then_is_a_problem(cli: Cli, tmp_path: Path):
    (tmp_path / "text.db").write_text("not a database, but long enough to have a header of one\n" * 20)
    result = cli("doctor", "--catalog", f"sqlite:///{tmp_path}/text.db")
    assert result.exit_code == 1
    assert "problem  connection" in result.stdout


def test_doctor_works_on_duckdb(cli: Cli, tmp_path: Path):
    url = f"duckdb:///{tmp_path}/lake.duckdb"
    cli.done("init", "--catalog", url)
    assert "DuckDB" in cli.done("doctor", "--catalog", url)


@pytest.mark.parametrize(
    ("ahead_s", "level", "word"),
    [
        (0.2, Level.OK, "within"),
        (-4.9, Level.OK, "within"),
        (61.0, Level.WARNING, "ahead"),
        (-9, Level.WARNING, "behind"),
    ],
)
def test_clock_difference_when_above_a_few_seconds_then_warns(ahead_s: float, level: Level, word: str):
    finding = judge_clock(ahead_s)
    assert finding.level is level
    assert word in finding.message


def test_doctor_when_there_are_only_warnings_then_succeeds(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(diagnosis, "CLOCK_TOLERANCE_S", -1.0)
    assert "warning  clock" in cli.done("doctor")


def test_doctor_when_writing_is_forbidden_then_is_a_problem(cli: Cli, catalog_url: str):
    with sqlite3.connect(catalog_url.removeprefix("sqlite:///")) as connection:
        connection.execute(
            "create trigger refuse before insert on dl_mirror_status begin select raise(abort, 'read-only'); end"
        )
    connection.close()
    result = cli("doctor")
    assert result.exit_code == 1
    assert "problem  write" in result.stdout
    assert "next:" in result.stdout

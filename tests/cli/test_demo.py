"""`twinlog demo`."""

import dataclasses
import tempfile
from pathlib import Path

import orjson
import pytest

from tests.cli.program import Cli
from twinlog.cli.demo_story import Story


def test_demo_tells_its_scenes_and_every_check_holds(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    text = cli.done("demo")
    assert "WRONG" not in text
    assert "checks hold" in text
    for word in ("One commit over two tables", "Time travel", "ConcurrentAppend: version 10", "replayed: True"):
        assert word in text
    assert "publishing is not part of this version" in text
    assert not list(tmp_path.glob("twinlog-demo-*"))


def test_demo_when_given_a_folder_then_keeps_a_catalog_that_the_other_commands_read(cli: Cli, tmp_path: Path):
    folder = tmp_path / "new" / "demo"
    document = cli.object("demo", "--dir", folder)
    assert (document["ok"], document["published"]) == (True, False)
    assert all(check["ok"] for scene in document["scenes"] for check in scene["checks"])
    assert [table["name"] for table in cli.objects("table", "list", "--catalog", document["catalog"])] == [
        "daily_totals",
        "orders",
    ]
    again = cli.failure("demo", "--dir", folder, exit_code=2)
    assert "exists already" in again["message"]


def test_demo_when_folder_cannot_be_made_then_wrong_use(cli: Cli, tmp_path: Path):
    (tmp_path / "file").touch()
    assert cli.failure("demo", "--dir", tmp_path / "file" / "demo", exit_code=2)["error"] == "WrongUse"


def test_demo_when_an_expectation_fails_then_says_so_and_fails(cli: Cli, monkeypatch: pytest.MonkeyPatch):
    first_scene = Story._create_tables

    def spoil(story: Story):
        scene = first_scene(story)
        return dataclasses.replace(scene, checks=tuple(dataclasses.replace(it, holds=False) for it in scene.checks))

    monkeypatch.setattr(Story, "_create_tables", spoil)
    result = cli("demo")
    assert result.exit_code == 1
    assert "WRONG" in result.stdout
    assert "2 of " in result.stdout
    broken = cli("demo", as_json=True)
    assert broken.exit_code == 1
    assert orjson.loads(broken.stdout)["ok"] is False

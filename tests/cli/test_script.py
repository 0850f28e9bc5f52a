"""The installed script, as a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from tests.cli.conftest import SCHEMA
from twinlog.catalog.shares import ENGINE_INFO


@pytest.fixture
def script() -> Path:
    path = Path(sys.executable).with_name("twinlog")
    if not path.exists():
        pytest.skip("twinlog is not installed beside this Python")
    return path


def run(script: Path, *words: str, url: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    env = os.environ | {"TWINLOG_CATALOG": url}
    return subprocess.run([script, *words], env=env, input=stdin, capture_output=True, check=False, timeout=60)


def test_script_creates_a_table_and_fails_properly(script: Path, catalog_url: str):
    line = ["table", "create", "sales", "--location", "s3://lake/sales", "--schema", "-", "--partition-by", "day"]
    created = run(script, *line, url=catalog_url, stdin=orjson.dumps(SCHEMA))
    assert (created.returncode, created.stderr) == (0, b"")
    assert b"\x1b" not in created.stdout
    failed = run(script, "commit", "sales", "--file=-", url=catalog_url, stdin=b"nonsense")
    assert (failed.returncode, failed.stdout) == (1, b"")
    assert failed.stderr.startswith(b"twinlog: table 'sales': line 1: ")


def test_script_prints_its_version(script: Path, catalog_url: str):
    result = run(script, "--version", url=catalog_url)
    assert result.stdout.decode() == ENGINE_INFO.replace("/", " ") + "\n"

"""The benchmarks run, and record every ratio that they are there for. How fast it is, is theirs to say."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

RATIOS = {
    *(f"small_commit: {system}, disk: rate / bare driver's" for system in ("PostgreSQL", "SQLite", "DuckDB")),
    *(
        f"vs_delta_rs: {system}, disk, empty table: rate / delta-rs, {handle} handle"
        for system in ("PostgreSQL", "SQLite")
        for handle in ("refreshed", "stale")
    ),
    *(
        f"bulk_commit: {system} adds: {measure}"
        for system in ("PostgreSQL, 4,000", "SQLite, 4,000", "DuckDB, 1,000")
        for measure in ("time / bare bulk insert's", "memory beyond the idle process")
    ),
    *(
        f"growth: {system}, 200 versions, 4,000 files: {measure}"
        for system in ("PostgreSQL", "SQLite")
        for measure in (
            "commit time / empty table beside it",
            "commit time / empty database",
            "queries to open a snapshot",
            "whole tables read by them",
            "time to open / empty table's",
        )
    ),
}


@pytest.mark.slow
def test_quick_run_records_every_ratio(tmp_path: Path):
    out = tmp_path / "record.json"
    command = [sys.executable, "-m", "bench", "--quick", "--out", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr  # 1: at these sizes a requirement need not be met
    record = json.loads(out.read_text(encoding="utf-8"))
    findings = {finding["key"]: finding for finding in record["findings"]}
    assert findings.keys() >= RATIOS
    assert all(finding["value"] >= 0 for finding in findings.values())
    assert record["quick"] is True
    assert record["machine"]["cores"] >= 1
    assert record["machine"]["postgres"]["fsync"] == "on"


@pytest.mark.slow
def test_unknown_benchmark_is_a_wrong_use():
    command = [sys.executable, "-m", "bench", "nothing"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "small_commit" in done.stderr

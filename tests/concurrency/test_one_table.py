"""Many writers of one table: dense versions, every commit once, no error that a caller sees but true conflicts."""

import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

import twinlog
from tests.concurrency.writers import SCHEMA, TABLE, Appender, Report, append_many, take_row_ids
from tests.crash.audit import audit
from tests.support.builders import ROW_TRACKING_PROPERTIES, make_table, paths_of
from tests.support.processes import Child, let_them_meet, running, soak_seeds
from twinlog import Catalog

COMMITS = 2_000
CONFLICTS_OF_READERS = {"ConcurrentAppend", "ConcurrentDeleteRead"}


def shares(total: int, writers: int) -> list[int]:
    return [total // writers + (position < total % writers) for position in range(writers)]


def check(catalog: Catalog, reports: Sequence[Report], *, commits: int) -> None:
    """Compare the log with what the writers were told."""
    outcomes = [outcome for report in reports for outcome in report.outcomes]
    errors = Counter((outcome.kind, outcome.error) for outcome in outcomes if outcome.error)
    assert {kind for kind, _ in errors} <= {"read_everything"}, [o for o in outcomes if o.error][:3]
    assert {error for _, error in errors} <= CONFLICTS_OF_READERS
    landed = {outcome.commit_id: outcome.versions[TABLE] for outcome in outcomes if outcome.versions is not None}
    assert len([commit_id for commit_id in landed if not commit_id.endswith("-all")]) == commits
    assert not any(outcome.replayed for outcome in outcomes)
    records = catalog.table(TABLE).history()
    assert {record.commit_id: record.version for record in records[:-1]} == landed
    assert [record.version for record in records] == list(range(len(landed), -1, -1))
    files = catalog.table(TABLE).snapshot().files()
    assert paths_of(files) == sorted(path for report in reports for path in report.files)
    audit(catalog)


def watch(catalog: Catalog, children: Sequence[Child]) -> dict[int, list[str]]:
    """Snapshots of the table while it is being written to: the paths at each version seen."""
    seen: dict[int, list[str]] = {}
    while any(child.is_running() for child in children):
        snapshot = catalog.table(TABLE).snapshot()
        seen[snapshot.version] = paths_of(snapshot.files())
        time.sleep(0.1)
    return seen


def run_writers(url: str, *, writers: int, commits: int, seed: int) -> None:
    with twinlog.connect(url) as catalog:
        make_table(catalog, TABLE, schema=SCHEMA, partition_by=["writer"])
        counts = shares(commits, writers)
        with running([Child(append_many, url, f"w{i}", count, seed) for i, count in enumerate(counts)]) as children:
            let_them_meet(children)
            seen = watch(catalog, children)
            reports = [child.result() for child in children]
        check(catalog, reports, commits=commits)
        for version, paths in list(seen.items())[::10]:
            assert paths_of(catalog.table(TABLE).snapshot(version=version).files()) == paths


@pytest.mark.slow
@pytest.mark.parametrize("seed", soak_seeds())
@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_postgresql_when_32_processes_commit_2000_times_then_each_lands_once(database_url: str, seed: int):
    run_writers(database_url, writers=32, commits=COMMITS, seed=seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", soak_seeds())
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_sqlite_when_8_processes_commit_2000_times_then_each_lands_once(database_url: str, seed: int):
    run_writers(database_url, writers=8, commits=COMMITS, seed=seed)


@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
def test_table_when_a_few_processes_commit_then_each_commit_lands_once(database_url: str):
    run_writers(database_url, writers=4, commits=60, seed=-1)


@pytest.mark.slow
@pytest.mark.parametrize("seed", soak_seeds())
@pytest.mark.parametrize("catalogs", ["shared", "own"])
def test_threads_when_they_commit_to_one_table_then_each_commit_lands_once(
    database_url: str,
    catalogs: str,
    seed: int,
):
    with twinlog.connect(database_url) as catalog:
        make_table(catalog, TABLE, schema=SCHEMA, partition_by=["writer"])

        def write(name: str, count: int) -> Report:
            if catalogs == "shared":
                appender = Appender(catalog, name, seed)
                appender.run(count)
                return appender.report
            with twinlog.connect(database_url) as own:
                appender = Appender(own, name, seed)
                appender.run(count)
                return appender.report

        with ThreadPoolExecutor(8) as pool:
            names = [f"t{i}" for i in range(8)]
            reports = list(pool.map(write, names, shares(240, 8)))
        check(catalog, reports, commits=240)


@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
def test_row_ids_when_several_processes_append_then_no_two_files_share_any(database_url: str):
    with twinlog.connect(database_url) as catalog:
        make_table(catalog, TABLE, properties=ROW_TRACKING_PROPERTIES)
        with running([Child(take_row_ids, database_url, f"w{i}", 12) for i in range(4)]) as children:
            let_them_meet(children)
            reports = [child.result() for child in children]
        assert [outcome for report in reports for outcome in report.outcomes if outcome.error] == []
        snapshot = catalog.table(TABLE).snapshot()
        files = sorted(snapshot.files().to_pylist(), key=lambda file: file["base_row_id"])
        next_id = 0
        for file in files:
            assert file["base_row_id"] == next_id
            assert file["default_row_commit_version"] == file["version"]
            next_id += int(file["stats"].partition('"numRecords": ')[2].partition(",")[0])
        assert f'"rowIdHighWaterMark":{next_id - 1},' in snapshot.domains()["delta.rowTracking"].configuration
        audit(catalog)

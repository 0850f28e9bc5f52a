"""A writer that is killed around COMMIT leaves all of its commit or nothing."""

import signal

import pytest

from tests.crash.victims import (
    BULK_FILES,
    JOBS,
    POINTS,
    commit_and_crash,
    create_and_crash,
    inspect,
    migrate_and_crash,
    prepare,
    repeat,
)
from tests.support.processes import Child, run_alone

pytestmark = pytest.mark.slow

NEW_PATHS = {"small": {"new", "newer"}, "several tables": {"new", "newer"}}
LANDED = "after COMMIT"


def new_paths(job: str) -> set[str]:
    return NEW_PATHS.get(job) or {f"many-{number}" for number in range(BULK_FILES)}


def crash(function, *arguments) -> None:
    with Child(function, *arguments) as victim:
        assert victim.exit_code() == -signal.SIGKILL


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("job", JOBS)
def test_commit_when_its_process_is_killed_then_all_or_nothing_and_a_repetition_lands_once(
    database_url: str, job: str, point: str
):
    tables = JOBS[job][1]
    before = run_alone(prepare, database_url)
    crash(commit_and_crash, database_url, job, point)

    found = run_alone(inspect, database_url)
    if point == LANDED:
        assert found.landed
        assert found.landed.versions == dict.fromkeys(tables, 2)
        assert {found.heads[table].version for table in tables} == {2}
        assert all(found.paths[table] == new_paths(job) for table in tables)
    else:
        assert found.landed is None
        assert found.heads == before
        assert found.paths == {"a": {"old"}, "b": {"old"}}

    other, first, second, after = run_alone(repeat, database_url, job)
    next_version = 3 if point == LANDED else 2
    assert other.versions == dict.fromkeys(tables, next_version)
    assert first.versions == second.versions == dict.fromkeys(tables, 2 if point == LANDED else 3)
    assert (first.replayed, second.replayed) == (point == LANDED, True)
    assert {after.heads[table].version for table in tables} == {3}
    assert all(after.paths[table] == new_paths(job) | {"unrelated"} for table in tables)


@pytest.mark.parametrize("point", POINTS)
def test_table_when_its_creator_is_killed_then_created_whole_or_not_at_all(database_url: str, point: str):
    run_alone(prepare, database_url)
    crash(create_and_crash, database_url, point)
    found = run_alone(inspect, database_url, ["created"])
    assert ("created" in found.heads) == (point == LANDED)


@pytest.mark.parametrize("point", [point for point in POINTS if point != "after the version row"])
def test_schema_when_its_migration_is_killed_then_a_new_process_brings_it_up(empty_database_url: str, point: str):
    crash(migrate_and_crash, empty_database_url, point)
    heads = run_alone(prepare, empty_database_url)
    assert {name: head.version for name, head in heads.items()} == {"a": 1, "b": 1}

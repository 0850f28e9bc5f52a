"""Commits over several tables: all or nothing on each, no deadlock surfaces, disjoint ones never meet."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import update

import twinlog
from tests.concurrency.writers import (
    Outcome,
    append_to_pairs,
    append_whatever_happens,
    read_whatever_happens,
    rewrite_my_table,
    write_if_the_other_is_empty,
)
from tests.crash.audit import audit
from tests.support.builders import commit, make_add, make_table
from tests.support.processes import Child, let_them_meet, running, soak_seeds
from twinlog import Catalog, Snapshot, TableCommit
from twinlog.catalog import schema
from twinlog.errors import TableNotFound

# Created in this order, so that table ids and names are sorted differently.
TABLES = ["d", "b", "e", "a", "c"]


def check_all_or_nothing(catalog: Catalog, outcomes: Sequence[Outcome]) -> None:
    audit(catalog)
    places: dict[str, dict[str, int]] = {}
    paths = set()
    for name in TABLES:
        table = catalog.table(name)
        for record in table.history()[:-1]:
            places.setdefault(record.commit_id, {})[name] = record.version
        paths |= set(table.snapshot().files().column("path").to_pylist())
    told = {outcome.commit_id: dict(outcome.versions) for outcome in outcomes if outcome.versions}
    assert places == told
    assert all(len(versions) == 2 for versions in places.values())
    assert paths == {f"{commit_id}-{name}" for commit_id, versions in places.items() for name in versions}


@pytest.mark.slow
@pytest.mark.parametrize("seed", soak_seeds())
@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
def test_pairs_when_several_processes_commit_to_random_ones_then_all_or_nothing_and_no_deadlock(
    database_url: str, seed: int
):
    with twinlog.connect(database_url) as catalog:
        for name in TABLES:
            make_table(catalog, name)
        children = [Child(append_to_pairs, database_url, f"w{i}", TABLES, 40, seed) for i in range(6)]
        with running(children):
            let_them_meet(children)
            outcomes = [outcome for child in children for outcome in child.result().outcomes]
        refused = [outcome for outcome in outcomes if outcome.error]
        assert {(outcome.kind, outcome.error) for outcome in refused} <= {("reader", "ConcurrentAppend")}, refused[:3]
        assert len([outcome for outcome in outcomes if outcome.kind == "blind"]) >= 6 * 26
        check_all_or_nothing(catalog, outcomes)


def test_pairs_when_threads_commit_to_random_ones_then_all_or_nothing(catalog: Catalog):
    for name in TABLES:
        make_table(catalog, name)

    def write(writer: int) -> list[Outcome]:
        outcomes = []
        for number in range(10):
            commit_id = f"t{writer}-{number}"
            pair = [TABLES[(writer + number) % 5], TABLES[(writer + number * 2 + 1 + (number % 5 == 4)) % 5]]
            requests = [TableCommit(table=name, actions=[make_add(f"{commit_id}-{name}")]) for name in pair]
            ratified = catalog.writer.commit(*requests, commit_id=commit_id)
            outcomes.append(Outcome(commit_id, "blind", ratified.versions))
        return outcomes

    with ThreadPoolExecutor(4) as pool:
        outcomes = [outcome for outcomes in pool.map(write, range(4)) for outcome in outcomes]
    check_all_or_nothing(catalog, outcomes)


@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
def test_transactions_when_each_writes_what_the_other_has_read_then_only_one_of_them_lands(database_url: str):
    rounds = 25
    with twinlog.connect(database_url) as catalog:
        for name in ("a", "b"):
            make_table(catalog, name)
        children = [
            Child(write_if_the_other_is_empty, database_url, rounds, *tables) for tables in (("a", "b"), ("b", "a"))
        ]
        with running(children):
            for _ in range(rounds):
                let_them_meet(children)
            one, other = (child.result() for child in children)
        assert [first and second for first, second in zip(one, other, strict=True)] == [False] * rounds
        heads = audit(catalog)
        assert (heads["a"].version, heads["b"].version) == (sum(one), sum(other))


@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
def test_disjoint_tables_when_each_process_rewrites_its_own_then_nobody_conflicts(database_url: str):
    with twinlog.connect(database_url) as catalog:
        for name in TABLES:
            make_table(catalog, name)
        with running([Child(rewrite_my_table, database_url, name, 12) for name in TABLES]) as children:
            let_them_meet(children)
            outcomes = [outcome for child in children for outcome in child.result().outcomes]
        assert [outcome for outcome in outcomes if outcome.error] == []
        assert {name: head.version for name, head in audit(catalog).items()} == dict.fromkeys(TABLES, 12)


@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
def test_table_when_dropped_and_made_anew_under_its_writers_then_each_commit_is_in_one_of_them_or_refused(
    database_url: str,
):
    with twinlog.connect(database_url) as catalog:
        make_table(catalog, "a")
        children = [Child(append_whatever_happens, database_url, f"w{i}", "a") for i in range(3)]
        seen: list[str] = []
        with running(children):
            let_them_meet(children)
            for _ in range(6):
                _wait_for_version(catalog, "a", 4)
                catalog.drop_table("a")
                audit(catalog)
                make_table(catalog, "a")
            for child in children:
                child.send("stop")
            outcomes = [outcome for child in children for outcome in child.result().outcomes]
        assert {outcome.error for outcome in outcomes} <= {None, "TableNotFound"}
        landed = {outcome.commit_id: outcome.versions for outcome in outcomes if outcome.versions}
        for record in catalog.table("a").history()[:-1]:
            assert landed[record.commit_id] == {"a": record.version}
            seen.append(record.commit_id)
        assert len(set(seen)) == len(seen)
        assert audit(catalog)["a"].version == len(seen)


@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
def test_table_when_dropped_and_made_anew_under_its_readers_then_they_find_it_or_are_told(database_url: str):
    with twinlog.connect(database_url) as catalog:
        make_table(catalog, "a")
        children = [Child(read_whatever_happens, database_url, "a") for _ in range(3)]
        with running(children):
            let_them_meet(children)
            for _ in range(20):
                commit(catalog, make_add(), table="a")
                catalog.drop_table("a")
                make_table(catalog, "a")
            for child in children:
                child.send("stop")
            results = [child.result() for child in children]
        assert all(worked for worked, _ in results)
        assert [error for _, errors in results for error in errors if not error.startswith("TableNotFound: ")] == []


@pytest.mark.parametrize("read", [Snapshot.files, Snapshot.txns, Snapshot.domains])
def test_snapshot_when_its_table_has_been_dropped_then_told_and_not_found_empty(
    catalog: Catalog, read: Callable[[Snapshot], object]
):
    snapshot = make_table(catalog, "a").snapshot()
    catalog.drop_table("a")
    with pytest.raises(TableNotFound):
        read(snapshot)


def _wait_for_version(catalog: Catalog, table: str, version: int) -> None:
    pause = threading.Event()
    for _ in range(1_200):
        if catalog.reader.head(table).version >= version:
            return
        pause.wait(0.05)
    pytest.fail(f"the writers never got {table} to version {version}")


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_table_when_another_one_is_locked_by_a_commit_then_does_not_wait(catalog: Catalog, other_catalog: Catalog):
    make_table(catalog, "a")
    make_table(catalog, "b")
    with catalog._database.write() as connection:
        connection.execute(update(schema.tables).where(schema.tables.c.name == "a").values(version=0))
        done = threading.Thread(target=commit, args=(other_catalog, make_add()), kwargs={"table": "b"}, daemon=True)
        done.start()
        done.join(60)
        assert not done.is_alive(), "a commit to one table waits for a commit to another"
    assert {name: head.version for name, head in audit(catalog).items()} == {"a": 0, "b": 1}


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_outcome_when_asked_while_a_commit_takes_the_same_tables_then_they_do_not_deadlock(
    catalog: Catalog, other_catalog: Catalog
):
    for name in ("z", "a"):  # a commit locks in this order: the order of the ids
        make_table(catalog, name)
    lock = update(schema.tables).values(version=schema.tables.c.version)
    with ThreadPoolExecutor(1) as pool:
        with catalog._database.write() as connection:
            connection.execute(lock.where(schema.tables.c.name == "z"))
            asked = pool.submit(other_catalog.writer.outcome, "some commit", tables=["z", "a"])
            _wait_for_a_blocked_backend(catalog)
            connection.execute(lock.where(schema.tables.c.name == "a"))
        assert asked.result(timeout=60) is None


def _wait_for_a_blocked_backend(catalog: Catalog) -> None:
    pause = threading.Event()
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    for _ in range(600):
        with catalog._database.engine.connect() as connection:
            if connection.exec_driver_sql(waiting).scalar():
                return
        pause.wait(0.05)
    pytest.fail("nobody waits for a lock")

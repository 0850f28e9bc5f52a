"""Processes that find nothing there and all begin at once: with the schema, and with a table."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import twinlog
from tests.crash.audit import audit
from tests.support.builders import commit, make_add, make_table
from tests.support.processes import Child, let_them_meet, running
from twinlog.errors import TableAlreadyExists

PROCESSES = 6
ROUNDS = 8


def connect_and_commit(link: Any, url: str, name: str) -> int:
    link.meet()
    with twinlog.connect(url) as catalog:
        make_table(catalog, name)
        return commit(catalog, make_add(), table=name).version


def create_the_same_tables(link: Any, url: str, names: list[str]) -> list[str]:
    """Gives the names of the tables that it was the one to create."""
    created = []
    with twinlog.connect(url) as catalog:
        for name in names:
            link.meet()
            try:
                make_table(catalog, name)
            except TableAlreadyExists:
                continue
            created.append(name)
    return created


@pytest.mark.parametrize("empty_database_url", ["postgresql"], indirect=True)
def test_empty_postgresql_when_many_connect_at_once_then_all_find_the_schema(empty_database_url: str):
    check_first_connections(empty_database_url)


def test_empty_sqlite_when_many_connect_at_once_then_all_find_the_schema(tmp_path: Path):
    for number in range(3):
        check_first_connections(f"sqlite:///{tmp_path / f'{number}.db'}")


def check_first_connections(url: str) -> None:
    names = [f"t{number}" for number in range(PROCESSES)]
    with running([Child(connect_and_commit, url, name) for name in names]) as children:
        let_them_meet(children)
        assert [child.result() for child in children] == [1] * PROCESSES
    with twinlog.connect(url) as catalog:
        assert {name: head.version for name, head in audit(catalog).items()} == dict.fromkeys(names, 1)


@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
def test_table_when_several_processes_create_it_at_once_then_one_does_and_the_others_are_told(database_url: str):
    names = [f"t{number}" for number in range(ROUNDS)]
    children = [Child(create_the_same_tables, database_url, names) for _ in range(4)]
    with running(children):
        for _ in names:
            let_them_meet(children)
        created = Counter(name for child in children for name in child.result())
    assert created == Counter(names)
    with twinlog.connect(database_url) as catalog:
        assert {name: head.version for name, head in audit(catalog).items()} == dict.fromkeys(names, 0)

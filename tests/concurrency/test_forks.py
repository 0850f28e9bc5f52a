"""A process that forks with an open catalog: parent and children must not share connections."""

import multiprocessing

from tests.support.builders import commit, make_add, make_table
from twinlog import Catalog

CHILDREN, COMMITS = 4, 10


def test_catalog_when_used_after_a_fork_then_every_commit_lands_once(catalog: Catalog, database_url: str):
    if database_url.startswith("duckdb"):
        return  # one process only, by its nature: a second one is refused the file
    make_table(catalog)
    catalog.table("sales").snapshot().files()  # fills every pool before the fork
    children = [multiprocessing.get_context("fork").Process(target=write, args=(catalog, n)) for n in range(CHILDREN)]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
    assert [child.exitcode for child in children] == [0] * CHILDREN
    head = catalog.table("sales").head().version
    assert head == CHILDREN * COMMITS
    assert catalog.table("sales").snapshot().files().num_rows == head
    assert commit(catalog, make_add("after")).version == head + 1


def write(catalog: Catalog, child: int) -> None:
    for number in range(COMMITS):
        commit(catalog, make_add(f"{child}-{number}"))

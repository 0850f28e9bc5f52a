"""A file is a path with a deletion vector: what may be live together, and what replaces what."""

from random import Random

import pyarrow as pa
import pytest

from tests.support.builders import (
    DV_PROPERTIES,
    actions_of,
    commit,
    make_add,
    make_dv,
    make_files,
    make_remove,
    make_stats,
    make_table,
    paths_of,
)
from tests.support.databases import refusal
from twinlog import Catalog, Table
from twinlog.errors import CommitRejected, InvalidAction, UnsupportedFeature

STATS = make_stats(10)


def vectored(catalog: Catalog) -> Table:
    table = make_table(catalog, properties=DV_PROPERTIES)
    commit(catalog, make_add("a"), make_add("b"))
    return table


def vectors(table: Table, version: int | None = None) -> dict[str, str | None]:
    rows = table.snapshot(version=version).files().to_pylist()
    return {row["path"]: row["deletion_vector"] and row["deletion_vector"]["path_or_inline_dv"] for row in rows}


def test_deletion_vector_when_it_replaces_none_then_one_file_is_left(catalog: Catalog):
    table = vectored(catalog)
    commit(catalog, make_remove("a"), make_add("a", deletion_vector=make_dv(1)))
    assert vectors(table) == {"a": make_dv(1).path_or_inline_dv, "b": None}
    assert vectors(table, 1) == {"a": None, "b": None}


def test_deletion_vector_when_it_replaces_another_then_one_file_is_left(catalog: Catalog):
    table = vectored(catalog)
    commit(catalog, make_remove("a"), make_add("a", deletion_vector=make_dv(1)))
    commit(catalog, make_add("a", deletion_vector=make_dv(2)), make_remove("a", deletion_vector=make_dv(1)))
    assert vectors(table) == {"a": make_dv(2).path_or_inline_dv, "b": None}
    assert vectors(table, 2) == {"a": make_dv(1).path_or_inline_dv, "b": None}
    commit(catalog, make_remove("a", deletion_vector=make_dv(2)), make_add("a"))
    assert vectors(table) == {"a": None, "b": None}


def test_deletion_vectors_of_a_path_when_two_would_be_live_then_refused(catalog: Catalog, subtests: pytest.Subtests):
    vectored(catalog)
    commit(catalog, make_remove("a"), make_add("a", deletion_vector=make_dv(1)))
    requests = {
        "none beside one": {"actions": [make_add("a")]},
        "one beside none": {"actions": [make_add("b", deletion_vector=make_dv(1))]},
        "one beside another": {"actions": [make_add("a", deletion_vector=make_dv(2))]},
        "arrow beside one": {"files": make_files(["a"])},
    }
    for case, request in requests.items():
        with subtests.test(case), refusal(catalog, InvalidAction, table="sales"):
            commit(catalog, *request.get("actions", ()), files=request.get("files"))


def test_remove_when_of_another_deletion_vector_then_refused(catalog: Catalog, subtests: pytest.Subtests):
    vectored(catalog)
    commit(catalog, make_remove("a"), make_add("a", deletion_vector=make_dv(1)))
    for case, remove in {
        "none": make_remove("a"),
        "other": make_remove("a", deletion_vector=make_dv(2)),
        "too much": make_remove("b", deletion_vector=make_dv(1)),
    }.items():
        with subtests.test(case), refusal(catalog, CommitRejected, table="sales"):
            commit(catalog, remove)


def test_deletion_vectors_when_they_differ_in_offset_then_are_two(catalog: Catalog):
    table = vectored(catalog)
    first = make_dv(1)
    moved = type(first)(
        storage_type="u", path_or_inline_dv=first.path_or_inline_dv, offset=99, size_in_bytes=36, cardinality=2
    )
    commit(catalog, make_remove("a"), make_add("a", deletion_vector=first))
    commit(catalog, make_remove("a", deletion_vector=first), make_add("a", deletion_vector=moved))
    (row,) = [row for row in table.snapshot().files().to_pylist() if row["path"] == "a"]
    assert row["deletion_vector"]["offset"] == 99


def test_deletion_vector_when_the_table_has_not_the_feature_then_refused(catalog: Catalog, subtests: pytest.Subtests):
    make_table(catalog)
    with subtests.test("action"), refusal(catalog, UnsupportedFeature, table="sales"):
        commit(catalog, make_add("a", deletion_vector=make_dv()))
    with subtests.test("arrow"), refusal(catalog, UnsupportedFeature, table="sales"):
        commit(catalog, files=make_files(["a"], stats=STATS, deletion_vector=make_dv()))


def test_file_when_added_again_while_live_then_is_replaced(catalog: Catalog):
    table = make_table(catalog)
    commit(catalog, make_add("a", size=1), make_add("b", size=1))
    landed = commit(catalog, make_add("a", size=2))
    assert landed.version == 2
    assert actions_of(table, 2) == (make_add("a", size=2),)
    assert sizes(table, 1) == {"a": 1, "b": 1}
    assert sizes(table, 2) == {"a": 2, "b": 1}


def test_file_when_added_again_as_arrow_while_live_then_is_replaced(catalog: Catalog):
    table = make_table(catalog)
    commit(catalog, make_add("a", size=1), make_add("b", size=1))
    commit(catalog, files=make_files(["a", "c"], size=2))
    commit(catalog, make_add("b", size=3), files=make_files(["c"], size=3))
    assert sizes(table, 2) == {"a": 2, "b": 1, "c": 2}
    assert sizes(table, 3) == {"a": 2, "b": 3, "c": 3}


def test_file_when_added_again_under_a_name_like_a_key_then_is_replaced(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch
):
    table = make_table(catalog)
    path = "x/commit_id: y, name: z, location: w".replace(" ", "%20")
    commit(catalog, make_add(path, size=1))
    give_up_after(monkeypatch, attempts=5)
    commit(catalog, make_add(path, size=2))
    assert sizes(table) == {path: 2}


def test_file_when_removed_and_added_again_later_then_is_live(catalog: Catalog):
    table = make_table(catalog)
    for _ in range(3):
        commit(catalog, make_add("a"))
        commit(catalog, make_remove("a"))
    commit(catalog, make_add("a", size=7))
    assert sizes(table) == {"a": 7}
    assert [paths_of(table.snapshot(version=version).files()) for version in range(1, 8)] == [
        ["a"],
        [],
        ["a"],
        [],
        ["a"],
        [],
        ["a"],
    ]


def test_file_when_in_two_tables_then_each_has_its_own(catalog: Catalog):
    for name in ("a", "b"):
        make_table(catalog, name)
        commit(catalog, make_add("same"), table=name)
    commit(catalog, make_remove("same"), table="a")
    assert catalog.table("a").snapshot().files().num_rows == 0
    assert catalog.table("b").snapshot().files().num_rows == 1


def test_paths_when_they_differ_in_case_or_encoding_then_are_different_files(catalog: Catalog):
    table = make_table(catalog)
    paths = ["a", "A", "%61", "ä", "a%CC%88", "a\u0308"]
    commit(catalog, *(make_add(path) for path in paths))
    commit(catalog, make_remove("a"))
    assert paths_of(table.snapshot().files()) == sorted(paths[1:])


def test_many_files_when_replaced_at_once_then_each_is_live_once(catalog: Catalog):
    table = make_table(catalog)
    paths = [f"{number}.parquet" for number in range(1_200)]
    commit(catalog, files=make_files(paths, size=1))
    commit(catalog, files=pa.concat_tables([make_files(paths[:600], size=2), make_files(["new.parquet"], size=2)]))
    assert sizes(table) == dict.fromkeys(paths, 1) | dict.fromkeys([*paths[:600], "new.parquet"], 2)


def test_path_when_longer_than_a_database_can_index_then_lands_or_is_refused(catalog: Catalog):
    table = make_table(catalog)
    path = Random(1).randbytes(4_000).hex()
    if catalog.url.startswith("postgresql"):
        with refusal(catalog, InvalidAction, table="sales"):
            commit(catalog, make_add(path))
    else:
        commit(catalog, make_add(path))
        assert sizes(table) == {path: 1_000}


def sizes(table: Table, version: int | None = None) -> dict[str, int]:
    return {row["path"]: row["size"] for row in table.snapshot(version=version).files().to_pylist()}


def give_up_after(monkeypatch: pytest.MonkeyPatch, *, attempts: int) -> None:
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        assert len(pauses) < attempts, "the commit is repeated without end"

    monkeypatch.setattr("twinlog.catalog.writer.time.sleep", pause)

"""Files committed as Arrow: many of them, from any kind of Arrow source, held to the same rules as actions."""

from collections.abc import Iterator
from dataclasses import replace

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
from twinlog import FILES_SCHEMA, Catalog, TableCommit
from twinlog.errors import InvalidAction, TableNotFound
from twinlog.protocol.actions import Add, Txn

ODD_TEXT = "a\"b'c\\d\te, ünï 😀 \\. \\N NULL"


def test_many_files_when_committed_then_all_are_there(catalog: Catalog):
    table = make_table(catalog, partition_by=["day"])
    count = 20_000
    days = [None if number % 7 == 0 else f"2024-01-0{number % 7}" for number in range(count)]
    files = pa.table(
        {
            "path": [f"day={day}/{number}.parquet" for number, day in enumerate(days)],
            "partition_values": pa.array([[("day", day)] for day in days], pa.map_(pa.string(), pa.string())),
            "size": pa.array(range(count), pa.int64()),
            "modification_time": pa.repeat(5, count),
            "stats": pa.array([make_stats(number) for number in range(count)]),
        }
    )
    landed = commit(catalog, files=files)
    record = table.history()[0]
    assert (landed.version, record.num_adds, record.bytes_added) == (1, count, sum(range(count)))
    assert record.is_blind_append
    found = table.snapshot().files().sort_by("size")
    assert found.column("path").to_pylist() == files.column("path").to_pylist()
    assert found.column("stats").to_pylist() == files.column("stats").to_pylist()
    assert [dict(values)["day"] for values in found.column("partition_values").to_pylist()] == days
    assert found.column("data_change").to_pylist() == [True] * count
    assert len(table.snapshot().files("day = '2024-01-03'")) == days.count("2024-01-03")


def sources(paths: list[str]) -> dict[str, object]:
    table = make_files(paths)
    chunks = pa.concat_tables([make_files(paths[:1]), make_files([]), make_files(paths[1:])])
    narrow = table.select(["modification_time", "path", "size"])
    large = table.cast(pa.schema([("path", pa.large_string()), *list(FILES_SCHEMA)[1:]]))
    smaller = table.set_column(2, "size", table.column("size").cast(pa.int32()))
    encoded = table.set_column(0, "path", table.column("path").dictionary_encode())

    def batches() -> Iterator[pa.RecordBatch]:
        yield from chunks.to_batches()

    return {
        "table": table,
        "chunked table": chunks,
        "batch": table.combine_chunks().to_batches()[0],
        "sliced batch": make_files(["before", *paths, "after"]).to_batches()[0].slice(1, len(paths)),
        "reader": pa.RecordBatchReader.from_batches(table.schema, table.to_batches()),
        "list of batches": chunks.to_batches(),
        "generator of batches": batches(),
        "batches of different columns": [*make_files(paths[:1]).to_batches(), *narrow.slice(1).to_batches()],
        "fewer columns in another order": narrow,
        "large strings": large,
        "smaller numbers": smaller,
        "dictionary": encoded,
        "files of a snapshot": table.append_column("version", pa.repeat(7, len(paths))),
    }


def test_files_when_from_any_arrow_source_then_land(catalog: Catalog, subtests: pytest.Subtests):
    paths = ["a.parquet", "b.parquet", "c.parquet"]
    for kind, source in sources(paths).items():
        with subtests.test(kind):
            table = make_table(catalog, kind)
            catalog.writer.commit(TableCommit(table=kind, files=source))
            assert [add.path for add in actions_of(table, 1) if isinstance(add, Add)] == paths
            assert actions_of(table, 1) == tuple(make_add(path, stats=None) for path in paths)


def test_files_when_they_have_every_field_then_read_back_equal(catalog: Catalog):
    table = make_table(catalog, properties=DV_PROPERTIES)
    expected = [
        make_add(
            f"{number}.parquet",
            tags=[None, {}, {"a": None, "b": ODD_TEXT}][number],
            stats=make_stats(1, name=("", ODD_TEXT)),
            deletion_vector=[make_dv(), None, replace(make_dv(2), offset=None)][number],
            base_row_id=[0, None, 2**40][number],
            default_row_commit_version=[1, None, 0][number],
            clustering_provider=[None, "", ODD_TEXT][number],
            extra=[{}, {"future": {"deep": [1, None, ODD_TEXT]}}, {"x": 1}][number],
        )
        for number in range(3)
    ]
    commit(catalog, *expected)
    copy = make_table(catalog, "copy", properties=DV_PROPERTIES)
    catalog.writer.commit(TableCommit(table="copy", files=table.snapshot().files().sort_by("path")))
    assert actions_of(copy, 1) == tuple(expected)


def test_text_when_it_looks_like_the_end_of_a_copy_then_kept(catalog: Catalog):
    table = make_table(catalog)
    text = "first\n\\.\nlast\r\n"
    commit(catalog, files=make_files(["a"], clustering_provider=text))
    assert table.snapshot().files().column("clustering_provider").to_pylist() == [text]


def test_files_when_committed_beside_actions_then_come_after_them(catalog: Catalog):
    table = make_table(catalog)
    commit(catalog, make_add("old"))
    commit(catalog, make_remove("old"), Txn(app_id="a", app_version=1), make_add("first"), files=make_files(["second"]))
    assert [type(action).__name__ for action in actions_of(table, 2)] == ["Remove", "Txn", "Add", "Add"]
    assert paths_of(table.snapshot().files()) == ["first", "second"]


def test_stream_when_empty_then_refused(catalog: Catalog):
    make_table(catalog)
    with refusal(catalog, InvalidAction, table="sales"):
        commit(catalog, files=make_files([]))


def changed(files: pa.Table, name: str, values: object, data_type: pa.DataType | None = None) -> pa.Table:
    index = files.schema.get_field_index(name)
    return files.set_column(index, name, pa.array(values, data_type))


def bad_files() -> dict[str, tuple[type[Exception], object]]:
    two = make_files(["good", "bad"])
    doubled = make_files(["good", "bad", "bad"])
    return {
        "duplicate path": (InvalidAction, doubled),
        "duplicate path in another batch": (InvalidAction, iter([*two.to_batches(), *two.slice(1).to_batches()])),
        "path that is not a URI": (InvalidAction, make_files(["good", "bad path"])),
        "empty path": (InvalidAction, make_files(["good", ""])),
        "path with NUL": (InvalidAction, make_files(["good", "bad\0"])),
        "path that is null": (InvalidAction, changed(two, "path", ["good", None])),
        "missing size": (InvalidAction, two.drop_columns(["size"])),
        "size that is null": (InvalidAction, changed(two, "size", [1, None])),
        "negative size": (InvalidAction, changed(two, "size", [1, -1])),
        "size that is text": (InvalidAction, changed(two, "size", ["1", "bad"])),
        "size that is a fraction": (InvalidAction, changed(two, "size", [1.0, 1.5])),
        "data change that is text": (InvalidAction, changed(two, "data_change", ["yes", "bad"])),
        "path that is a number": (InvalidAction, changed(two, "path", [[1], [2]])),
        "unknown column": (InvalidAction, two.append_column("bad", pa.array([1, 2]))),
        "partition of an unpartitioned table": (
            InvalidAction,
            make_files(["bad"], partition_values={"day": "2024-01-01"}),
        ),
        "partition values that are null": (InvalidAction, make_files(["bad"], partition_values=None)),
        "stats that are not JSON": (InvalidAction, changed(two, "stats", [None, "bad"], pa.string())),
        "stats with NaN": (InvalidAction, changed(two, "stats", [None, '{"minValues":{"id":NaN}}'], pa.string())),
        "stats that are a list": (InvalidAction, changed(two, "stats", [None, "[]"], pa.string())),
        "extra that is not JSON": (InvalidAction, changed(two, "extra", [None, "bad"], pa.string())),
        "extra that is not an object": (InvalidAction, changed(two, "extra", [None, "[1]"], pa.string())),
        "extra with NaN": (InvalidAction, changed(two, "extra", [None, '{"x":NaN}'], pa.string())),
        "extra with a known field": (InvalidAction, changed(two, "extra", [None, '{"size":1}'], pa.string())),
        "NUL in text": (InvalidAction, changed(two, "clustering_provider", [None, "bad\0"], pa.string())),
        "nothing that is Arrow": (InvalidAction, [{"path": "bad"}]),
        "a number": (InvalidAction, 7),
    }


def test_files_when_one_is_bad_then_the_whole_commit_is_refused(catalog: Catalog, subtests: pytest.Subtests):
    make_table(catalog)
    for case, (error, files) in bad_files().items():
        with subtests.test(case), refusal(catalog, error, table="sales"):  # type: ignore[arg-type]
            commit(catalog, make_add("beside"), files=files)


def test_partition_values_when_they_do_not_fit_then_refused_and_the_file_is_named(
    catalog: Catalog, subtests: pytest.Subtests
):
    make_table(catalog, partition_by=["day"])
    good = make_files(["good"], partition_values={"day": "2024-01-01"})
    for case, values in {
        "no key": {},
        "other key": {"name": "x"},
        "key in another case": {"Day": "2024-01-01"},
        "key too many": {"day": "2024-01-01", "name": "x"},
        "value of another type": {"day": "today"},
    }.items():
        files = pa.concat_tables([good, make_files(["bad"], partition_values=values)])
        with subtests.test(case), refusal(catalog, InvalidAction, table="sales") as caught:
            commit(catalog, files=files)
        with subtests.test(f"{case}: named"):
            assert "'bad'" in caught.value.message


def test_file_when_added_both_as_action_and_as_arrow_then_refused(catalog: Catalog):
    make_table(catalog)
    with refusal(catalog, InvalidAction, table="sales"):
        commit(catalog, make_add("same"), files=make_files(["other", "same"]))


def test_file_when_removed_by_an_action_and_added_as_arrow_then_refused(catalog: Catalog):
    make_table(catalog)
    commit(catalog, make_add("same"))
    with refusal(catalog, InvalidAction, table="sales"):
        commit(catalog, make_remove("same"), files=make_files(["same"]))


def test_file_with_a_deletion_vector_when_it_has_no_record_count_then_refused(catalog: Catalog):
    make_table(catalog, properties=DV_PROPERTIES)
    with refusal(catalog, InvalidAction, table="sales"):
        commit(catalog, make_add("a", stats=None, deletion_vector=make_dv()))
    with refusal(catalog, InvalidAction, table="sales"):
        commit(catalog, files=make_files(["a"], stats=None, deletion_vector=make_dv()))


def test_deletion_vector_when_malformed_then_refused(catalog: Catalog):
    make_table(catalog, properties=DV_PROPERTIES)
    for vector in (replace(make_dv(), storage_type="x"), replace(make_dv(), path_or_inline_dv="short")):
        with refusal(catalog, InvalidAction, table="sales"):
            commit(catalog, files=make_files(["a"], stats=make_stats(1), deletion_vector=vector))


def test_files_when_the_table_is_unknown_then_not_found(catalog: Catalog):
    with refusal(catalog, TableNotFound, table="nope"):
        commit(catalog, files=make_files(["a"]), table="nope")

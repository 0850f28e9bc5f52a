"""`files(predicate)`: files that cannot hold a matching row are left out, all others stay."""

import json

import pytest

from tests.support.builders import commit, make_add, make_daily_add, make_files, make_stats, make_table, paths_of
from twinlog import Catalog, Snapshot, Table
from twinlog.errors import InvalidPredicate
from twinlog.protocol.predicates import Comparison, Op
from twinlog.protocol.schema import DecimalType, PrimitiveType, StructField, StructType

WIDE = StructType(
    (
        StructField("id", PrimitiveType("long")),
        StructField("price", DecimalType(10, 2)),
        StructField("name", PrimitiveType("string")),
        StructField("at", PrimitiveType("timestamp")),
        StructField("place", StructType((StructField("zip", PrimitiveType("string")),))),
        StructField("day", PrimitiveType("date")),
        StructField("region", PrimitiveType("string")),
    )
)


def kept(snapshot: Snapshot, predicate: str) -> str:
    return "".join(paths_of(snapshot.files(predicate)))


def partitioned(catalog: Catalog) -> Snapshot:
    table = make_table(catalog, schema=WIDE, partition_by=["day", "region"])
    rows = {
        "a": ("2024-01-01", "north"),
        "b": ("2024-01-01", "south"),
        "c": ("2024-01-02", "north"),
        "d": ("2024-01-02", None),
        "e": (None, None),
    }
    commit(
        catalog,
        *(make_add(path, partition_values={"day": day, "region": region}) for path, (day, region) in rows.items()),
    )
    return table.snapshot()


def test_files_when_partitions_cannot_match_then_are_left_out(catalog: Catalog, subtests: pytest.Subtests):
    snapshot = partitioned(catalog)
    for predicate, expected in {
        "day = '2024-01-01'": "ab",
        "day = '2024-01-01' and region = 'north'": "a",
        "day = '2024-01-01' or region = 'north'": "abc",
        "day != '2024-01-01'": "cd",
        "not day = '2024-01-01'": "cd",
        "day > '2024-01-01'": "cd",
        "day >= '2024-01-01' and day <= '2024-01-02'": "abcd",
        "day between '2024-01-02' and '2024-01-09'": "cd",
        "day in ('2024-01-02', '2025-01-01')": "cd",
        "day not in ('2024-01-02')": "ab",
        "region is null": "de",
        "region is not null": "abc",
        "day is null and region is null": "e",
        "region = 'nowhere'": "",
        "region = 'north' and id = 5": "ac",
        "id = 5": "abcde",
        "true": "abcde",
        "false": "",
    }.items():
        with subtests.test(predicate):
            assert kept(snapshot, predicate) == expected


def with_stats(catalog: Catalog) -> Table:
    table = make_table(catalog, schema=WIDE)
    stats = {
        "a": make_stats(10, id=(1, 10), name=("a", "m"), price=(1.5, 9.99)),
        "b": make_stats(10, id=(11, 20), name=("n", "z"), price=(10.0, 20.0)),
        "c": json.dumps({"numRecords": 5, "nullCount": {"id": 5, "place": {"zip": 0}}}),
        "d": json.dumps(
            {
                "numRecords": 5,
                "minValues": {"id": 5, "place": {"zip": "10000"}, "at": "2024-01-01T00:00:00.000Z"},
                "maxValues": {"id": 5, "place": {"zip": "20000"}, "at": "2024-01-02T00:00:00.000Z"},
                "nullCount": {"id": 2, "place": {"zip": 0}, "at": 0},
            }
        ),
        "e": None,
        "f": "{}",
        "g": '{"minValues":{"id":"not a number"},"maxValues":7}',
    }
    commit(catalog, *(make_add(path, stats=text) for path, text in stats.items()))
    return table


def test_files_when_statistics_cannot_match_then_are_left_out(catalog: Catalog, subtests: pytest.Subtests):
    snapshot = with_stats(catalog).snapshot()
    for predicate, expected in {
        "id = 5": "adefg",
        "id = 15": "befg",
        "id > 10": "befg",
        "id < 1": "efg",
        "id in (3, 17)": "abefg",
        "id is null": "cdefg",
        "id is not null": "abdefg",
        "not id = 5": "abefg",
        "name = 'b' and id < 100": "adefg",
        "price > 9.99": "bcdefg",
        "price = 9.99": "acdefg",
        "place.zip = '30000'": "abcefg",
        "place.zip is null": "abefg",
        "at > '2024-01-03T00:00:00Z'": "abcefg",
        "id = 5 and name = 'x'": "defg",
        "id = 1 or id = 20": "abefg",
    }.items():
        with subtests.test(predicate):
            assert kept(snapshot, predicate) == expected


def test_files_when_the_predicate_is_a_value_then_same_as_its_text(catalog: Catalog):
    snapshot = with_stats(catalog).snapshot()
    built = Comparison(("id",), Op.EQ, 15)
    assert paths_of(snapshot.files(built)) == paths_of(snapshot.files("id = 15"))
    assert paths_of(snapshot.files(snapshot.bound("id = 15"))) == paths_of(snapshot.files("id = 15"))


@pytest.mark.parametrize("mode", ["name", "id"])
def test_files_when_columns_are_mapped_then_pruned_by_physical_names(catalog: Catalog, mode: str):
    table = make_table(catalog, schema=WIDE, partition_by=["day"], properties={"delta.columnMapping.mode": mode})
    physical = {
        field.name: str(field.metadata["delta.columnMapping.physicalName"]) for field in table.snapshot().schema.fields
    }
    commit(
        catalog,
        make_add(
            "a", partition_values={physical["day"]: "2024-01-01"}, stats=make_stats(1, **{physical["id"]: (1, 5)})
        ),
        make_add(
            "b", partition_values={physical["day"]: "2024-01-01"}, stats=make_stats(1, **{physical["id"]: (6, 9)})
        ),
        make_add("c", partition_values={physical["day"]: None}, stats=make_stats(1, id=(6, 9))),
    )
    snapshot = table.snapshot()
    assert kept(snapshot, "day = '2024-01-01'") == "ab"
    assert kept(snapshot, "day is null") == "c"
    assert kept(snapshot, "id > 5") == "bc"
    assert kept(snapshot, "day = '2024-01-01' and id > 5") == "b"


def test_columns_when_mapped_and_named_physically_then_unknown(catalog: Catalog):
    table = make_table(catalog, properties={"delta.columnMapping.mode": "name"})
    physical = table.snapshot().schema.fields[0].metadata["delta.columnMapping.physicalName"]
    with pytest.raises(InvalidPredicate):
        table.snapshot().files(f"`{physical}` = 1")


def test_files_at_an_old_version_when_filtered_then_of_that_version(catalog: Catalog):
    table = make_table(catalog, partition_by=["day"])
    commit(catalog, make_daily_add("2024-01-01", "a"))
    commit(catalog, make_daily_add("2024-01-01", "b"), make_daily_add("2024-01-02", "c"))
    assert kept(table.snapshot(version=1), "day = '2024-01-01'") == "a"
    assert kept(table.snapshot(), "day = '2024-01-01'") == "ab"


def test_file_batches_when_filtered_then_hold_what_files_holds(catalog: Catalog):
    snapshot = partitioned(catalog)
    batches = list(snapshot.file_batches("day = '2024-01-02'"))
    assert sorted(path for batch in batches for path in batch.column("path").to_pylist()) == ["c", "d"]
    assert list(snapshot.file_batches("region = 'nowhere'")) == []
    assert snapshot.files("region = 'nowhere'").schema == snapshot.files().schema


def test_many_files_when_filtered_then_only_matching_ones_come(catalog: Catalog):
    table = make_table(catalog, partition_by=["day"])
    for day in (1, 2, 3):
        files = make_files((f"{day}-{n}" for n in range(400)), partition_values={"day": f"2024-01-0{day}"})
        commit(catalog, files=files)
    found = table.snapshot().files("day = '2024-01-02'").column("path").to_pylist()
    assert len(found) == 400
    assert all(path.startswith("2-") for path in found)


def test_predicate_when_wrong_then_refused_with_the_table_named(catalog: Catalog, subtests: pytest.Subtests):
    snapshot = make_table(catalog, schema=WIDE).snapshot()
    for predicate in ("nope = 1", "id =", "id = 'text'", "place = 1", "day = 'never'", "id = 1 id = 2", ""):
        with subtests.test(predicate):
            with pytest.raises(InvalidPredicate) as caught:
                snapshot.files(predicate)
            assert caught.value.table == "sales"
            assert caught.value.hint

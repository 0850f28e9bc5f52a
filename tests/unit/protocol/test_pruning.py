from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.data_files import DataFile, to_json
from tests.support.predicate_cases import DATA_TYPES, PARTITION_TYPES, TYPES, cases
from tests.support.sql_semantics import evaluate
from twinlog.protocol.file_facts import FileFacts
from twinlog.protocol.predicate_binding import bind
from twinlog.protocol.predicate_parser import parse_predicate
from twinlog.protocol.predicates import (
    ALWAYS,
    ColumnPath,
    Comparison,
    IsNull,
    Op,
    Predicate,
    columns,
)
from twinlog.protocol.pruning import may_match, needs_stats, partition_only

MAPPED = {path: tuple(f"col-{name}" for name in path) for path in TYPES}
UNMAPPED = {path: path for path in TYPES}


def facts_of(file: DataFile, physical: dict[ColumnPath, ColumnPath], lost_stats: set[str]) -> FileFacts:
    partition_types = {path: name for path, name in PARTITION_TYPES.items() if path in file.rows[0]}
    data_types = {path: name for path, name in DATA_TYPES.items() if path in file.rows[0]}
    stats = {key: value for key, value in file.stats(data_types, physical).items() if key not in lost_stats}
    values = file.partition_values(partition_types, physical)
    return FileFacts.from_partition(values, partition_types, physical).with_stats(to_json(stats), data_types, physical)


mappings = st.sampled_from([MAPPED, UNMAPPED])
lost: st.SearchStrategy[set[str]] = st.just(set()) | st.sets(
    st.sampled_from(["numRecords", "minValues", "maxValues", "nullCount"]), max_size=2
)


@settings(max_examples=1000, deadline=None)
@given(cases(), mappings, lost)
def test_a_file_with_a_matching_row_is_never_skipped(
    case: tuple[Predicate, DataFile], physical: dict[ColumnPath, ColumnPath], lost_stats: set[str]
) -> None:
    predicate, file = case
    if any(evaluate(predicate, row) for row in file.live):
        assert may_match(predicate, facts_of(file, physical, lost_stats))


@settings(max_examples=300, deadline=None)
@given(cases({("id",): "long"}))
def test_a_file_of_one_value_is_skipped_exactly_when_it_does_not_match(case: tuple[Predicate, DataFile]) -> None:
    predicate, file = case
    single = DataFile(file.rows[:1], file.rows[:1])
    assert may_match(predicate, facts_of(single, UNMAPPED, set())) == (evaluate(predicate, single.rows[0]) is True)


@settings(deadline=None)
@given(cases(PARTITION_TYPES), mappings)
def test_partition_values_alone_decide_partition_predicates(
    case: tuple[Predicate, DataFile], physical: dict[ColumnPath, ColumnPath]
) -> None:
    predicate, file = case
    assert may_match(predicate, facts_of(file, physical, set())) == (evaluate(predicate, file.rows[0]) is True)


@settings(deadline=None)
@given(cases())
def test_partition_only_is_true_wherever_the_predicate_is(case: tuple[Predicate, DataFile]) -> None:
    predicate, file = case
    names = [path[0] for path in PARTITION_TYPES]
    weakened = partition_only(predicate, names)
    assert columns(weakened) <= set(PARTITION_TYPES)
    for row in file.rows:
        if evaluate(predicate, row):
            assert evaluate(weakened, row)
        if not needs_stats(predicate, names):
            assert evaluate(weakened, row) == evaluate(predicate, row)


def bound(text: str) -> Predicate:
    return bind(parse_predicate(text), TYPES)


def matches(text: str, stats: dict[str, Any] | str | None) -> bool:
    stats_text = to_json(stats) if isinstance(stats, dict) else stats
    return may_match(bound(text), FileFacts({}).with_stats(stats_text, DATA_TYPES))


def stats_of(column: str, low: Any, high: Any, *, nulls: int = 0, records: int = 10) -> dict[str, Any]:
    return {
        "numRecords": records,
        "minValues": {column: low},
        "maxValues": {column: high},
        "nullCount": {column: nulls},
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id = 4", False),
        ("id = 5", True),
        ("id < 5", False),
        ("id <= 5", True),
        ("id > 9", False),
        ("id >= 9", True),
        ("id IN (1, 2)", False),
        ("id IN (1, 7)", True),
        ("id BETWEEN 10 AND 20", False),
        ("NOT id >= 5", False),
        ("NOT id BETWEEN 0 AND 20", False),
        ("NOT (id < 5 OR id > 9)", True),
        ("id IS NULL", False),
        ("id IS NOT NULL", True),
        ("id = NULL", False),
        ("NOT id = NULL", False),
        ("id NOT IN (1, NULL)", False),
        ("id IN (NULL)", False),
        ("id = 7 AND id = 20", False),
        ("id = 20 OR name = 'x'", True),
        ("id = NULL OR id = 7", True),
        ("id != 5", True),
        ("NOT id = 7", True),
        ("id NOT IN (5, 9)", True),
        ("id = 5.5", True),
        ("id < 4.5", False),
        ("TRUE", True),
        ("FALSE", False),
    ],
)
def test_range_statistics_skip_what_they_can(text: str, expected: bool) -> None:  # noqa: FBT001
    assert matches(text, stats_of("id", 5, 9)) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id = 1", False),
        ("NOT id = 1", False),
        ("id IN (1, 2)", False),
        ("id IS NULL", True),
        ("id IS NOT NULL", False),
    ],
)
def test_column_of_nulls_matches_only_null_tests(text: str, expected: bool) -> None:  # noqa: FBT001
    assert matches(text, {"numRecords": 3, "minValues": {}, "maxValues": {}, "nullCount": {"id": 3}}) is expected


@pytest.mark.parametrize(
    "stats",
    [
        None,
        "",
        "{",
        "[]",
        "7",
        "null",
        '{"minValues":7,"maxValues":[],"nullCount":"x"}',
        '{"minValues":{"id":null},"maxValues":{"id":null},"nullCount":{"id":null}}',
        '{"minValues":{"id":"9"},"maxValues":{"id":"9"}}',
        '{"minValues":{"id":true},"maxValues":{"id":true}}',
        '{"minValues":{"id":9.0},"maxValues":{"id":9.0}}',
        '{"minValues":{"id":{"x":9}},"maxValues":{"id":[9]}}',
        '{"numRecords":true,"nullCount":{"id":1}}',
        '{"numRecords":3,"nullCount":{"id":1}}',
        '{"numRecords":2,"nullCount":{"id":2},"minValues":{"id":1}}',
        '{"numRecords":1e999,"nullCount":{"id":2}}',
        "[" * 100_000,
    ],
)
def test_statistics_that_cannot_be_used_skip_nothing(stats: str | None) -> None:
    assert matches("id = 1", stats)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("score > 1e300", 0.0, "NaN"),
        ("score < -5", "-Infinity", 1.0),
        ("score > 5", 0.0, True),
        ("name > 'z'", "a", 5),
        ("born = '2024-01-01'", "2024-02-30", "never"),
        ("born = '2024-01-01'", "0044-03-15 BC", 20240101),
        ("at = '2024-01-01'", "2025-01-01T00:00:00.000", "2025-01-01T00:00:00.000"),
        ("at > '2024-01-01'", "2023-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"),
        ("local = '2024-01-01'", "2025-01-01T00:00:00.000Z", "2025-01-01T00:00:00.000Z"),
        ("price = 1", "5.00", "6.00"),
    ],
)
def test_bounds_of_a_wrong_type_are_unknown(text: str, low: Any, high: Any) -> None:
    column = next(iter(columns(bound(text))))[0]
    assert matches(text, stats_of(column, low, high))


def test_truncated_timestamp_maximum_covers_the_rest_of_its_millisecond() -> None:
    stats = stats_of("at", "2024-01-01T00:00:00.000Z", "2024-01-01T00:00:00.123Z")
    assert matches("at > '2024-01-01T00:00:00.123400'", stats)
    assert not matches("at > '2024-01-01T00:00:00.124'", stats)


def test_timestamp_bounds_with_an_offset_are_instants() -> None:
    stats = stats_of("at", "2024-01-01T00:00:00.000-08:00", "2024-01-01T01:00:00.000-08:00")
    assert not matches("at < '2024-01-01T08:00:00Z'", stats)
    assert matches("at = '2024-01-01T08:30:00Z'", stats)


def test_old_timestamp_bounds_allow_for_offsets_cut_to_minutes() -> None:
    stats = stats_of("at", "1850-01-01T01:12:00.000+01:12", "1850-01-01T01:12:00.000+01:12")
    assert matches("at = '1849-12-31T23:59:48Z'", stats)
    assert not matches("at = '1849-12-31T23:58:00Z'", stats)


def test_decimal_bounds_are_exact() -> None:
    stats = stats_of("price", Decimal("123456789012345678.90"), Decimal("123456789012345678.91"))
    assert not matches("price = 123456789012345678.92", stats)
    assert matches("price = 123456789012345678.91", stats)


def test_float_bounds_allow_for_32_bit_rounding() -> None:
    stats = to_json(stats_of("x", 0.1, 0.1))
    for type_name in ("float", "double"):
        facts = FileFacts({}).with_stats(stats, {("x",): type_name})
        as_double_of_float32 = Comparison(("x",), Op.EQ, 0.10000000149011612)
        assert may_match(as_double_of_float32, facts)
        assert not may_match(Comparison(("x",), Op.EQ, 0.11), facts)


def test_strings_are_compared_by_code_point() -> None:
    stats = stats_of("name", "a", "\uffff")
    assert not matches("name = '😀'", stats)
    assert matches("name = 'é'", stats)


def test_nested_columns_are_found_by_their_physical_path() -> None:
    stats = {"minValues": {"c1": {"c2": "b"}}, "maxValues": {"c1": {"c2": "c"}}}
    path, physical = ("address", "zip"), ("c1", "c2")
    facts = FileFacts({}).with_stats(to_json(stats), {path: "string"}, {path: physical})
    assert not may_match(bound("address.zip = 'a'"), facts)
    assert may_match(bound("address.zip = 'b'"), facts)


@pytest.mark.parametrize(
    ("values", "text", "expected"),
    [
        ({"day": "2024-01-01"}, "day = '2024-01-01'", True),
        ({"day": "2024-01-01"}, "day != '2024-01-01'", False),
        ({"day": None}, "day IS NULL", True),
        ({"day": None}, "day != '2024-01-01'", False),
        ({"day": ""}, "day IS NOT NULL", False),
        ({"day": "not a date"}, "day = '2024-01-01'", True),
        ({"day": "not a date"}, "day IS NULL", True),
        ({}, "day = '2024-01-01'", True),
        ({"region": ""}, "region = ''", True),
        ({"region": ""}, "region IS NULL", True),
        ({"region": ""}, "region = 'x'", False),
    ],
)
def test_partition_values_are_read_as_the_protocol_says(
    values: dict[str, str | None],
    text: str,
    expected: bool,  # noqa: FBT001
) -> None:
    assert may_match(bound(text), FileFacts.from_partition(values, PARTITION_TYPES)) is expected


def test_partition_value_that_is_not_a_number_is_still_not_null() -> None:
    facts = FileFacts.from_partition({"x": "NaN"}, {("x",): "double"})
    assert may_match(Comparison(("x",), Op.GT, 1.0), facts)
    assert not may_match(IsNull(("x",)), facts)


def test_partition_values_go_before_statistics() -> None:
    types: dict[ColumnPath, str] = {("bucket",): "integer"}
    facts = FileFacts.from_partition({"bucket": "1"}, types).with_stats(to_json(stats_of("bucket", 2, 2)), types)
    assert may_match(bound("bucket = 1"), facts)


def test_needs_stats_only_when_a_data_column_is_read() -> None:
    names = ("day", "address")
    assert not needs_stats(bound("day = '2024-01-01' OR day IS NULL"), names)
    assert needs_stats(bound("day = '2024-01-01' AND id = 1"), names)
    assert needs_stats(bound("address.zip = 'x'"), names)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("day = '2024-01-01' AND id = 1", "day = '2024-01-01'"),
        ("day = '2024-01-01' OR id = 1", "TRUE"),
        ("NOT (day = '2024-01-01' OR id = 1)", "NOT day = '2024-01-01'"),
        ("NOT (day = '2024-01-01' AND id = 1)", "TRUE"),
        ("id = 1", "TRUE"),
        ("NOT id = 1", "TRUE"),
        ("FALSE AND id = 1", "FALSE"),
        ("FALSE OR day IS NULL", "day IS NULL"),
    ],
)
def test_partition_only_keeps_what_partitions_can_tell(text: str, expected: str) -> None:
    assert str(partition_only(bound(text), ["day"])) == expected


def test_partition_only_without_partitions_keeps_every_file() -> None:
    assert partition_only(bound("id = 1 AND name IS NULL"), ()) == ALWAYS

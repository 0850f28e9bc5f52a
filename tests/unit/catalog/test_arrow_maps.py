"""Maps of strings between Arrow and JSON text."""

import json
from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twinlog.catalog.arrow_maps import MAP_TYPE, json_to_maps, maps_to_json
from twinlog.errors import InvalidAction

Row = dict[str, str | None] | None

texts = st.text(max_size=5) | st.sampled_from(['"', "\\", "\\u0000", "\x00", "\x1f\x7f", "é😀", "{}", "null", ""])
values = st.none() | texts
rows_of_one_shape = st.lists(texts, max_size=3, unique=True).flatmap(
    lambda keys: st.lists(st.fixed_dictionaries(dict.fromkeys(keys, values)), max_size=6)
)
rows_of_any_shape = st.lists(st.none() | st.dictionaries(texts, values, max_size=3), max_size=6)
all_rows = rows_of_one_shape | rows_of_any_shape


def to_arrow(rows: Sequence[Row]) -> pa.MapArray:
    return pa.array([None if row is None else list(row.items()) for row in rows], MAP_TYPE)


def to_python(column: pa.MapArray) -> list[Row]:
    return [None if entries is None else dict(entries) for entries in column.to_pylist()]


def parsed(column: pa.StringArray) -> list[Row]:
    return [None if text is None else json.loads(text) for text in column.to_pylist()]


@given(all_rows)
def test_maps_when_written_as_json_then_mean_the_same(rows: list[Row]):
    column = maps_to_json(to_arrow(rows))
    assert column.type == pa.string()
    assert parsed(column) == rows


@given(all_rows)
def test_maps_when_written_and_parsed_then_equal(rows: list[Row]):
    assert to_python(json_to_maps(maps_to_json(to_arrow(rows)))) == rows


@given(all_rows, st.integers(0, 6), st.integers(0, 6))
def test_slice_of_maps_when_written_then_only_the_slice(rows: list[Row], offset: int, length: int):
    column = to_arrow(rows).slice(offset, length)
    assert parsed(maps_to_json(column)) == rows[offset : offset + length]
    assert to_python(json_to_maps(maps_to_json(to_arrow(rows)).slice(offset, length))) == rows[offset : offset + length]


@given(st.lists(st.none() | st.dictionaries(texts, values, max_size=3), min_size=1, max_size=6), st.data())
def test_maps_when_filtered_or_taken_then_only_those(rows: list[Row], data: st.DataObject):
    indices = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=6))
    column = to_arrow(rows).take(pa.array(indices, pa.int64()))
    assert parsed(maps_to_json(column)) == [rows[index] for index in indices]


@given(all_rows)
def test_json_when_written_then_canonical(rows: list[Row]):
    for row, text in zip(rows, maps_to_json(to_arrow(rows)).to_pylist(), strict=True):
        assert text is None or text == one_by_one(row)


def one_by_one(row: Row) -> str | None:
    """The same map by itself among maps of other shapes, so that no shortcut applies."""
    text: str | None = maps_to_json(to_arrow([row, {"another": "shape", "of": "map"}, None])).to_pylist()[0]
    return text


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], []),
        ([{}], ["{}"]),
        ([{}, {}], ["{}", "{}"]),
        ([None], [None]),
        ([{}, None], ["{}", None]),
        ([{"a": None}], ['{"a":null}']),
        ([{"a": "null"}], ['{"a":"null"}']),
        ([{"a": ""}, {"a": None}], ['{"a":""}', '{"a":null}']),
        ([{"b": "1", "a": "2"}, {"b": "3", "a": None}], ['{"b":"1","a":"2"}', '{"b":"3","a":null}']),
        ([{"a": "1"}, {"b": "1"}], ['{"a":"1"}', '{"b":"1"}']),
        ([{"a": "1"}, {"a": "1", "b": "2"}], ['{"a":"1"}', '{"a":"1","b":"2"}']),
        ([{'q"': "b\\s"}], ['{"q\\"":"b\\\\s"}']),
        ([{"c": "\x1b/\x7fé"}], ['{"c":"\\u001B/\x7fé"}']),
    ],
)
def test_maps_when_written_then_in_this_spelling(rows: list[Row], expected: list[str | None]):
    assert maps_to_json(to_arrow(rows)).to_pylist() == expected


@pytest.mark.parametrize("others", [[], [[("b", "1")]]], ids=["alone", "beside-another-shape"])
def test_map_when_it_has_a_key_twice_then_refused(others: list[list[tuple[str, str]]]):
    column = pa.array([[("a", "1"), ("a", "2")], *others], MAP_TYPE)
    with pytest.raises(InvalidAction, match="twice"):
        maps_to_json(column)


def test_json_when_null_then_a_null_map():
    assert to_python(json_to_maps(pa.array([None, "{}", '{"a":null}'], pa.string()))) == [None, {}, {"a": None}]


def test_json_when_there_is_none_then_an_empty_column():
    assert json_to_maps(pa.array([], pa.string())).type == MAP_TYPE

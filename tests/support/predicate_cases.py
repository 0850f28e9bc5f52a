"""Random files together with predicates that have something to say about them."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from tests.support.data_files import HIGHEST, DataFile
from twinlog.protocol.predicates import And, ColumnPath, Comparison, In, IsNull, Not, Op, Or, Predicate

PARTITION_TYPES: dict[ColumnPath, str] = {("day",): "date", ("region",): "string", ("bucket",): "integer"}
DATA_TYPES: dict[ColumnPath, str] = {
    ("id",): "long",
    ("name",): "string",
    ("price",): "decimal(20,2)",
    ("score",): "double",
    ("at",): "timestamp",
    ("local",): "timestamp_ntz",
    ("born",): "date",
    ("address", "zip"): "string",
}
TYPES = PARTITION_TYPES | DATA_TYPES

_NEW_YEAR = datetime(2024, 1, 1, tzinfo=UTC)
_INSTANTS = [
    *(_NEW_YEAR + timedelta(microseconds=offset) for offset in (-1001, -1, 0, 1, 999, 1000)),
    datetime(1850, 6, 1, tzinfo=UTC),
    datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=-8))),
]
_VALUES: dict[str, list[Any]] = {
    "date": [date(2024, 1, day) for day in (1, 2, 3)],
    "string": ["a", "ab", "aba", "ab~", "ab\x7f", "abé", "ab😀", f"ab{HIGHEST}", f"ab{HIGHEST}a", "é", "😀"],
    "integer": [-1, 0, 1],
    "long": [-1, 0, 1, 2**53, 2**53 + 1],
    "decimal(20,2)": [Decimal(text) for text in ("-0.01", "0", "0.10", "123456789012345678.91")],
    "double": [-1.5, -0.0, 0.0, 0.1, 0.30000000000000004, 1e300],
    "timestamp": _INSTANTS,
    "timestamp_ntz": [moment.replace(tzinfo=None) for moment in _INSTANTS],
}


@st.composite
def cases(draw: st.DrawFn, types: dict[ColumnPath, str] = TYPES) -> tuple[Predicate, DataFile]:
    """A file with one or two columns, some of its rows deleted, and a predicate with literals near its values."""
    paths = draw(st.lists(st.sampled_from(sorted(types)), min_size=1, max_size=2, unique=True))
    partition = {path: _value(draw, path) for path in paths if path in PARTITION_TYPES}
    rows = [
        partition | {path: _value(draw, path) for path in paths if path in DATA_TYPES}
        for _ in range(draw(st.integers(1, 3)))
    ]
    kept = [draw(st.integers(0, 4)) > 0 for _ in rows]
    file = DataFile(rows, [row for row, keep in zip(rows, kept, strict=True) if keep])
    literals = {
        path: _VALUES[types[path]] + [row[path] for row in rows if row[path] == row[path]] * 2 for path in paths
    }
    return _predicate(draw, literals, depth=2), file


def _value(draw: st.DrawFn, path: ColumnPath) -> Any:
    not_a_number = [float("nan")] if TYPES[path] == "double" else []
    return draw(st.sampled_from([*_VALUES[TYPES[path]], *not_a_number, None]))


def _predicate(draw: st.DrawFn, literals: dict[ColumnPath, list[Any]], *, depth: int) -> Predicate:
    shape = draw(st.integers(0, 5)) if depth else 0
    if shape in {1, 2}:
        return Not(_predicate(draw, literals, depth=depth - 1))
    if shape in {3, 4}:
        operands = tuple(_predicate(draw, literals, depth=depth - 1) for _ in range(2))
        return And(operands) if shape == 3 else Or(operands)
    return _atom(draw, literals)


def _atom(draw: st.DrawFn, literals: dict[ColumnPath, list[Any]]) -> Predicate:
    path = draw(st.sampled_from(sorted(literals)))
    literal = st.sampled_from(literals[path])
    shape = draw(st.integers(0, 6))
    if shape == 0:
        return IsNull(path)
    if shape == 1:
        return In(path, tuple(draw(st.lists(literal | st.none(), min_size=1, max_size=3))))
    return Comparison(path, draw(st.sampled_from(Op)), draw(literal))

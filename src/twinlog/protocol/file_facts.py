"""What is known about the values in a data file, from its partition values and its statistics.

Everything here errs towards not knowing: a bound is kept only if no value of the file can lie beyond it, and text that
cannot be read (a foreign writer's, or of a type the column no longer has) counts as absent, never as an error.
"""

import json
import math
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

import orjson

from twinlog.errors import InvalidAction
from twinlog.protocol.actions import PartitionValues
from twinlog.protocol.partition_values import decode_partition_value
from twinlog.protocol.predicates import ColumnPath

PhysicalPaths: TypeAlias = Mapping[ColumnPath, ColumnPath]
# A column's bounds, and the literals bound to it, are of one ordered type; which one is known only at run time.
Bound: TypeAlias = Any

SAME_NAMES: Final[PhysicalPaths] = MappingProxyType({})

# Statistics cut timestamps down to the millisecond.
_TRUNCATION: Final = timedelta(milliseconds=1)
# Zones had offsets with seconds until 1972; writers have cut those to whole minutes.
_OFFSET_ERROR: Final = timedelta(minutes=1)
_LAST_YEAR_OF_ODD_OFFSETS: Final = 1972


class ColumnFacts(NamedTuple):
    """The possible values of one column: a closed range (`None`: open on that side), and whether nulls occur."""

    low: Bound = None
    high: Bound = None
    may_be_null: bool = True
    may_have_value: bool = True


UNKNOWN: Final = ColumnFacts()
_ALL_NULL: Final = ColumnFacts(may_have_value=False)


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Facts by logical column path; a column without an entry is unknown.

    Facts from partition values are shared by all files of a partition, so build them once and add statistics per file.
    """

    by_column: Mapping[ColumnPath, ColumnFacts]

    @classmethod
    def from_partition(
        cls, values: PartitionValues, types: Mapping[ColumnPath, str], physical_paths: PhysicalPaths = SAME_NAMES
    ) -> "FileFacts":
        """The facts that hold for every file of a partition.

        Args:
            values: The action's `partitionValues`, by physical name.
            types: Wire names of the partition columns, by logical path.
            physical_paths: Physical by logical path, for the columns where they differ.
        """
        return cls(
            {
                path: _from_partition_value(values[name], type_name)
                for path, type_name in types.items()
                if (name := physical_paths.get(path, path)[0]) in values
            }
        )

    def with_stats(
        self, stats: str | None, types: Mapping[ColumnPath, str], physical_paths: PhysicalPaths = SAME_NAMES
    ) -> "FileFacts":
        """These facts and those in a file's statistics.

        Args:
            stats: The action's `stats`.
            types: Wire names by logical path of the columns to look up: those the predicate reads, not the whole
                schema, because this runs once per file.
            physical_paths: Physical by logical path, for the columns where they differ.
        """
        parsed = _parse(stats, types) if stats else None
        if parsed is None:
            return self
        found = {
            path: _from_stats(parsed, physical_paths.get(path, path), type_name)
            for path, type_name in types.items()
            if path not in self.by_column
        }
        return FileFacts({**self.by_column, **found})


def _from_partition_value(text: str | None, type_name: str) -> ColumnFacts:
    if text is None:
        return _ALL_NULL
    if not text:
        # Null to the protocol, an empty string to some readers of a string column.
        return ColumnFacts("", "") if type_name == "string" else _ALL_NULL
    try:
        value = decode_partition_value(text, type_name)
    except InvalidAction:
        return UNKNOWN
    low, high = _spread(_READERS[type_name], value) if isinstance(value, float) else (value, value)
    return ColumnFacts(low, high, may_be_null=False)


def _parse(stats: str, types: Mapping[ColumnPath, str]) -> dict[str, object] | None:
    try:
        # Only the slower parser keeps the digits of a decimal.
        exact = "decimal" in "".join(types.values())
        parsed = json.loads(stats, parse_float=Decimal) if exact else orjson.loads(stats)
    except (ValueError, ArithmeticError, RecursionError):
        return None
    return parsed if isinstance(parsed, dict) else None


def _from_stats(stats: Mapping[str, object], path: ColumnPath, type_name: str) -> ColumnFacts:
    read = _READERS.get(type_name.partition("(")[0], _unreadable)
    low, _ = _spread(read, _leaf(stats.get("minValues"), path))
    _, high = _spread(read, _leaf(stats.get("maxValues"), path))
    null_count, record_count = _leaf(stats.get("nullCount"), path), stats.get("numRecords")
    if type(null_count) is not int:
        return ColumnFacts(low, high)
    # Of a null count only "none" and "all" can be used: with a deletion vector anything between says nothing.
    all_null = type(record_count) is int and null_count == record_count and low is None and high is None
    return ColumnFacts(low, high, may_be_null=null_count != 0, may_have_value=not all_null)


def _leaf(node: object, path: ColumnPath) -> object:
    for name in path:
        if not isinstance(node, dict):
            return None
        node = node.get(name)
    return node


def _spread(read: "_Reader", printed: object) -> tuple[Bound, Bound]:
    """The lowest and highest value that a printed bound may stand for."""
    if printed is None:
        return None, None
    try:
        return read(printed)
    except (ValueError, TypeError, OverflowError):
        return None, None


def _unreadable(_printed: object) -> tuple[Bound, Bound]:
    return None, None


def _integer(printed: object) -> tuple[Bound, Bound]:
    if type(printed) is not int:
        raise TypeError
    return printed, printed


def _string(printed: object) -> tuple[Bound, Bound]:
    # A cut maximum carries a tie-breaker that keeps it above the values it was cut from.
    if not isinstance(printed, str):
        raise TypeError
    return printed, printed


def _decimal(printed: object) -> tuple[Bound, Bound]:
    number = Decimal(printed) if type(printed) is int else printed
    if not isinstance(number, Decimal) or not number.is_finite():
        raise TypeError
    return number, number


def _finite(printed: object) -> float:
    if isinstance(printed, bool) or not isinstance(printed, int | float | Decimal):
        raise TypeError
    number = float(printed)
    if not math.isfinite(number):
        raise ValueError
    return number


def _float(printed: object) -> tuple[Bound, Bound]:
    # Engines disagree whether a literal is rounded to 32 bits before it is compared: take in all that round to this.
    number = _finite(printed)
    slack = abs(number) * 2.0**-23 + 2.0**-149
    return number - slack, number + slack


def _double(printed: object) -> tuple[Bound, Bound]:
    # In a file older than the column's widening from float, the number was printed with the digits 32 bits need.
    number = narrow = _finite(printed)
    with suppress(OverflowError):
        (narrow,) = struct.unpack("f", struct.pack("f", number))
    return min(number, narrow), max(number, narrow)


def _date(printed: Any) -> tuple[Bound, Bound]:  # noqa: ANN401 - whatever the JSON held
    day = date.fromisoformat(printed)
    return day, day


def _timestamp(printed: Any) -> tuple[Bound, Bound]:  # noqa: ANN401 - whatever the JSON held
    moment = datetime.fromisoformat(printed)
    if moment.tzinfo is None:
        raise ValueError
    slack = _OFFSET_ERROR if moment.year <= _LAST_YEAR_OF_ODD_OFFSETS else timedelta(0)
    return moment - slack, moment + slack + _TRUNCATION


def _timestamp_without_zone(printed: Any) -> tuple[Bound, Bound]:  # noqa: ANN401 - whatever the JSON held
    moment = datetime.fromisoformat(printed)
    if moment.tzinfo is not None:
        raise ValueError
    return moment, moment + _TRUNCATION


_Reader: TypeAlias = Callable[[Any], tuple[Bound, Bound]]
_READERS: Final[Mapping[str, _Reader]] = {
    "byte": _integer,
    "short": _integer,
    "integer": _integer,
    "long": _integer,
    "float": _float,
    "double": _double,
    "decimal": _decimal,
    "string": _string,
    "date": _date,
    "timestamp": _timestamp,
    "timestamp_ntz": _timestamp_without_zone,
}

"""Give a predicate's literals the types of the columns they are compared with.

Comparison is by value, not by spelling: a whole decimal against a `long` becomes an int, text against a `date`
becomes a date. A literal that could only be compared by converting the column is refused, because engines disagree
on that conversion and a file would be skipped on one reading and needed on another.
"""

import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from difflib import get_close_matches
from typing import Final

from twinlog.errors import InvalidAction, InvalidPredicate
from twinlog.protocol.partition_values import decode_partition_value
from twinlog.protocol.predicates import (
    And,
    ColumnPath,
    Comparison,
    In,
    IsNull,
    LiteralValue,
    Not,
    Or,
    Predicate,
    path_text,
)

_LONG_RANGE: Final = range(-(2**63), 2**63)


def bind(predicate: Predicate, types: Mapping[ColumnPath, str]) -> Predicate:
    """The predicate with every literal converted to its column's type.

    Args:
        predicate: A filter, parsed or built; binding it again changes nothing.
        types: Wire names (`long`, `decimal(10,2)`) by logical column path.

    Raises:
        InvalidPredicate: A column that is not in `types`, or a literal that is not comparable with its column.
    """
    match predicate:
        case And(operands):
            return And(tuple(bind(operand, types) for operand in operands))
        case Or(operands):
            return Or(tuple(bind(operand, types) for operand in operands))
        case Not(operand):
            return Not(bind(operand, types))
        case IsNull(column):
            _type_of(column, types)
            return predicate
        case Comparison(column, op, literal):
            return Comparison(column, op, _converted(literal, column, _type_of(column, types)))
        case In(column, literals):
            type_name = _type_of(column, types)
            return In(column, tuple(_converted(literal, column, type_name) for literal in literals))


def _type_of(column: ColumnPath, types: Mapping[ColumnPath, str]) -> str:
    type_name = types.get(column)
    if type_name is None:
        known = {path_text(path).lower(): path_text(path) for path in types}
        close = [known[match] for match in get_close_matches(path_text(column).lower(), known)]
        raise InvalidPredicate(
            f"no column {path_text(column)}",
            hint=f"did you mean {' or '.join(close)}?" if close else f"the columns are {', '.join(known.values())}",
        )
    return type_name


def _converted(literal: LiteralValue, column: ColumnPath, type_name: str) -> LiteralValue:
    if literal is None:
        return None
    convert = _CONVERTERS.get(type_name.partition("(")[0])
    if convert is None:
        raise InvalidPredicate(f"column {path_text(column)} of type {type_name} can only be tested with IS NULL")
    try:
        return convert(literal, type_name)
    except (ValueError, TypeError, ArithmeticError, InvalidAction):
        raise InvalidPredicate(
            f"{literal!r} cannot be compared with column {path_text(column)} of type {type_name}"
        ) from None


def _number(literal: LiteralValue, type_name: str) -> int | float | Decimal:
    value = decode_partition_value(literal, type_name) if isinstance(literal, str) else literal
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise TypeError
    if not math.isfinite(value):
        raise ValueError
    return value


def _integer(literal: LiteralValue, type_name: str) -> int | float | Decimal:
    value = _number(literal, type_name)
    # A fraction stays: no integer equals it, and the order is still exact.
    return int(value) if _LONG_RANGE.start <= value < _LONG_RANGE.stop and value == math.floor(value) else value


def _floating(literal: LiteralValue, type_name: str) -> float:
    value = float(_number(literal, type_name))
    if math.isinf(value):
        raise OverflowError
    return value


def _decimal(literal: LiteralValue, type_name: str) -> Decimal:
    return Decimal(_number(literal, type_name))


def _string(literal: LiteralValue, _type_name: str) -> str:
    if not isinstance(literal, str):
        raise TypeError
    return literal


def _boolean(literal: LiteralValue, type_name: str) -> bool:
    value = decode_partition_value(literal, type_name) if isinstance(literal, str) else literal
    if not isinstance(value, bool):
        raise TypeError
    return value


def _date(literal: LiteralValue, _type_name: str) -> date:
    if isinstance(literal, date) and not isinstance(literal, datetime):
        return literal
    return date.fromisoformat(_string(literal, "string"))


def _timestamp(literal: LiteralValue, _type_name: str) -> datetime:
    moment = literal if isinstance(literal, datetime) else datetime.fromisoformat(_string(literal, "string"))
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _timestamp_without_zone(literal: LiteralValue, _type_name: str) -> datetime:
    moment = literal if isinstance(literal, datetime) else datetime.fromisoformat(_string(literal, "string"))
    if moment.tzinfo is not None:
        raise ValueError
    return moment


_CONVERTERS: Final[Mapping[str, Callable[[LiteralValue, str], LiteralValue]]] = {
    "byte": _integer,
    "short": _integer,
    "integer": _integer,
    "long": _integer,
    "float": _floating,
    "double": _floating,
    "decimal": _decimal,
    "string": _string,
    "boolean": _boolean,
    "date": _date,
    "timestamp": _timestamp,
    "timestamp_ntz": _timestamp_without_zone,
}

"""Partition values: Python values to the strings of `partitionValues`, and back.

Writing has one spelling per value (Delta-Spark's); reading takes every spelling the protocol allows. Type names are
those of the schema JSON (`long`, `decimal(10,2)`). Null and the empty string are the same thing to the protocol.
"""

import ctypes
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Context, Decimal, DecimalException, Inexact, InvalidOperation
from typing import Final, TypeAlias, TypeVar

from twinlog.errors import InvalidAction

PartitionValue: TypeAlias = bool | int | float | Decimal | date | datetime | str | bytes

_T = TypeVar("_T")

_INTEGER_BITS: Final[Mapping[str, int]] = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_DECIMAL_TYPE: Final = re.compile(r"decimal\(([0-9]{1,2}),([0-9]{1,2})\)")
_EXACT: Final = Context(prec=38, traps=[Inexact, InvalidOperation])

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_FINITE: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_NOT_FINITE: Final = re.compile(r"[+-]?(?:NaN|Inf(?:inity)?)", re.IGNORECASE)
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DATETIME: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?")

# Outside this range Java's toString goes over to scientific notation.
_PLAIN_FROM: Final = 1e-3
_PLAIN_BELOW: Final = 1e7
_FLOAT32_DIGITS: Final = 9


def encode_partition_value(value: PartitionValue | None, data_type_name: str) -> str | None:
    """Spell a value for `partitionValues`; null for `None` and for an empty string.

    Raises:
        InvalidAction: The value does not belong to the type, or the type cannot partition a table.
    """
    if value is None:
        return None
    try:
        return _encoder(data_type_name)(value) or None
    except (ValueError, ArithmeticError) as error:
        raise InvalidAction(f"{value!r} cannot be a partition value of type {data_type_name}: {error}") from error


def decode_partition_value(text: str | None, data_type_name: str) -> PartitionValue | None:
    """Read a value of `partitionValues`. A timestamp without a zone is taken as UTC.

    Raises:
        InvalidAction: The text is not a value of the type, or the type cannot partition a table.
    """
    if not text:
        return None
    try:
        return _decoder(data_type_name)(text)
    except (ValueError, ArithmeticError) as error:
        raise InvalidAction(f"{text!r} is not a partition value of type {data_type_name}: {error}") from error


def _encoder(data_type_name: str) -> Callable[[PartitionValue], str]:
    if bits := _INTEGER_BITS.get(data_type_name):
        return lambda value: str(_in_range(_expect(value, int), bits))
    if size := _DECIMAL_TYPE.fullmatch(data_type_name):
        return lambda value: f"{_fit_decimal(_expect(value, Decimal), int(size[1]), int(size[2])):f}"
    return _known(_ENCODERS, data_type_name)


def _decoder(data_type_name: str) -> Callable[[str], PartitionValue]:
    if bits := _INTEGER_BITS.get(data_type_name):
        return lambda text: _in_range(int(_matching(_INTEGER, text)), bits)
    if size := _DECIMAL_TYPE.fullmatch(data_type_name):
        return lambda text: _fit_decimal(Decimal(_matching(_FINITE, text)), int(size[1]), int(size[2]))
    return _known(_DECODERS, data_type_name)


def _known(table: Mapping[str, _T], data_type_name: str) -> _T:
    if data_type_name not in table:
        raise InvalidAction(f"a table cannot be partitioned by a column of type {data_type_name}")
    return table[data_type_name]


def _expect(value: PartitionValue, kind: type[_T]) -> _T:
    # A bool is an int and a datetime is a date to Python, not to Delta.
    lookalike = (kind is int and isinstance(value, bool)) or (kind is date and isinstance(value, datetime))
    if lookalike or not isinstance(value, kind):
        raise ValueError(f"expected {kind.__name__}, got {type(value).__name__}")
    return value


def _matching(pattern: re.Pattern[str], text: str) -> str:
    if not pattern.fullmatch(text):
        raise ValueError("unknown spelling")
    return text


def _in_range(number: int, bits: int) -> int:
    limit = 1 << (bits - 1)
    if not -limit <= number < limit:
        raise ValueError(f"does not fit {bits} bits")
    return number


def _fit_decimal(number: Decimal, precision: int, scale: int) -> Decimal:
    try:
        fitted = _EXACT.quantize(number, Decimal((0, (1,), -scale)))
    except DecimalException:
        raise ValueError("has too many digits") from None
    if not fitted.is_finite() or (fitted and fitted.adjusted() >= precision - scale):
        raise ValueError("has too many digits before the point or is not a number")
    return fitted or fitted.copy_abs()


def _to_float32(number: float) -> float:
    rounded = ctypes.c_float(number).value
    if math.isinf(rounded) and not math.isinf(number):
        raise ValueError("does not fit 32 bits")
    return rounded


def _shortest_float32(number: float) -> float:
    """The double with the fewest decimal digits that is this number once rounded to 32 bits."""
    rounded = _to_float32(number)
    candidates = (float(f"{rounded:.{digits}g}") for digits in range(1, _FLOAT32_DIGITS + 1))
    return next((short for short in candidates if ctypes.c_float(short).value == rounded), rounded)


def _java_text(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0 or _PLAIN_FROM <= abs(number) < _PLAIN_BELOW:
        return repr(number)
    exact = Decimal(repr(number))
    digits = "".join(map(str, exact.as_tuple().digits)).rstrip("0")
    return f"{'-' if number < 0 else ''}{digits[0]}.{digits[1:] or '0'}E{exact.adjusted()}"


def _parse_float(text: str) -> float:
    if _NOT_FINITE.fullmatch(text):
        return float(text)
    number = float(_matching(_FINITE, text))
    if math.isinf(number):
        raise ValueError("does not fit 64 bits")
    return number


def _encode_timestamp(value: PartitionValue) -> str:
    moment = _expect(value, datetime)
    if moment.tzinfo is None:
        raise ValueError("a timestamp needs a time zone")
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _encode_timestamp_ntz(value: PartitionValue) -> str:
    moment = _expect(value, datetime)
    if moment.tzinfo is not None:
        raise ValueError("a timestamp_ntz has no time zone")
    return moment.isoformat(sep=" ")


def _parse_datetime(text: str) -> datetime:
    return datetime.fromisoformat(_matching(_DATETIME, text))


def _parse_boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError("expected true or false")
    return text == "true"


_ENCODERS: Final[Mapping[str, Callable[[PartitionValue], str]]] = {
    "string": lambda value: _expect(value, str),
    "boolean": lambda value: str(_expect(value, bool)).lower(),
    "float": lambda value: _java_text(_shortest_float32(_expect(value, float))),
    "double": lambda value: _java_text(_expect(value, float)),
    "date": lambda value: _expect(value, date).isoformat(),
    "timestamp": _encode_timestamp,
    "timestamp_ntz": _encode_timestamp_ntz,
    "binary": lambda value: _expect(value, bytes).decode("utf-8"),
}

_DECODERS: Final[Mapping[str, Callable[[str], PartitionValue]]] = {
    "string": str,
    "boolean": _parse_boolean,
    "float": lambda text: _to_float32(_parse_float(text)),
    "double": _parse_float,
    "date": lambda text: date.fromisoformat(_matching(_DATE, text)),
    "timestamp": lambda text: _parse_datetime(text.removesuffix("Z")).replace(tzinfo=UTC),
    "timestamp_ntz": _parse_datetime,
    "binary": lambda text: text.encode("utf-8"),
}

"""Actions to and from newline JSON.

Encoding is canonical: the same value always gives the same bytes, in the reference writer's key order, compact,
raw UTF-8, absent fields left out, unknown keys last. Decoding accepts what real writers emit (blank lines, spaces,
explicit nulls, any key order) and refuses values of the wrong type.
"""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import orjson

from twinlog.errors import CorruptLog, InvalidAction
from twinlog.protocol.actions import (
    Action,
    Add,
    Cdc,
    CheckpointMetadata,
    CommitInfo,
    DomainMetadata,
    JsonValue,
    Metadata,
    Protocol,
    Remove,
    Sidecar,
    Txn,
    UnknownAction,
)
from twinlog.protocol.fields import FieldSpec, Kind, specs_of

ENVELOPE_TYPES: Final[Mapping[str, type[Any]]] = {
    "txn": Txn,
    "add": Add,
    "remove": Remove,
    "metaData": Metadata,
    "protocol": Protocol,
    "cdc": Cdc,
    "checkpointMetadata": CheckpointMetadata,
    "sidecar": Sidecar,
    "domainMetadata": DomainMetadata,
    "commitInfo": CommitInfo,
}
ENVELOPE_KEYS: Final[Mapping[type[Any], str]] = {cls: key for key, cls in ENVELOPE_TYPES.items()}

_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1
# The strict parser turns integers beyond 64 bits into floats; such lines are read once more by one that does not.
_LONG_NUMBER = re.compile(rb"[0-9]{19}")
_ESCAPES = re.compile(rb"\\(?:u00[0-9a-f]{2}|.)")


def encode_commit(actions: Iterable[Action]) -> bytes:
    """Render a whole commit file: one action a line, each line ended by LF."""
    return b"".join(encode_action(action) + b"\n" for action in actions)


def encode_action(action: Action) -> bytes:
    """Render one line, without its LF."""
    if isinstance(action, UnknownAction):
        return encode_json({action.kind: action.body})
    return encode_json({ENVELOPE_KEYS[type(action)]: to_object(action)})


def to_object(value: Any) -> dict[str, JsonValue]:  # noqa: ANN401 - any action or struct of `actions`
    """The JSON object of an action or nested struct."""
    result: dict[str, Any] = {}
    for spec in specs_of(type(value)):
        item = getattr(value, spec.name)
        if item is not None:
            result[spec.key] = to_object(item) if spec.kind is Kind.STRUCT else item
    if value.extra:
        result.update(value.extra)
    return result


def check_json(value: object, *, where: str) -> None:
    """Hold a free-form value to what JSON can say.

    Raises:
        InvalidAction: it holds NaN, an infinity, or something that is not JSON; the encoder would write null for some.
    """
    match value:
        case float() if not math.isfinite(value):
            raise InvalidAction(f"{where} holds {value}, which JSON cannot say", hint="write it as a string or omit it")
        case None | bool() | int() | float() | str():
            return
        case list() | tuple():
            for item in value:
                check_json(item, where=where)
        case Mapping() if all(isinstance(key, str) for key in value):
            for key, item in value.items():
                check_json(item, where=f"{where}.{key}")
        case _:
            raise InvalidAction(f"{where} holds a {type(value).__name__}, which is not JSON")


def encode_json(value: JsonValue) -> bytes:
    """Render JSON as the reference writer does: compact, raw UTF-8, upper-case hex in control escapes."""
    try:
        text = orjson.dumps(value)
    except (TypeError, ValueError) as error:
        raise InvalidAction(f"cannot be written as JSON: {error}") from error
    if b"null" in text:
        check_json(value, where="the value")  # the encoder writes null for NaN and infinities
    return _ESCAPES.sub(_upper_hex, text) if b"\\u00" in text else text


def _upper_hex(match: re.Match[bytes]) -> bytes:
    escape = match.group()
    return b"\\u" + escape[2:].upper() if len(escape) > 2 else escape  # noqa: PLR2004 - `\\uXXXX`, not `\\n`


def decode_commit(data: bytes) -> list[Action]:
    """Parse a commit file.

    Raises:
        CorruptLog: a line is not one JSON object holding one action.
        InvalidAction: a known field is missing or has a value of the wrong type.
    """
    return list(decode_lines(data.split(b"\n")))


def decode_lines(lines: Iterable[bytes]) -> Iterator[Action]:
    """Parse lines one by one; blank lines are passed over. Errors name the line."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield decode_action(line)
        except (CorruptLog, InvalidAction) as error:
            raise type(error)(f"line {number}: {error.message}", hint=error.hint) from error


def decode_action(line: bytes) -> Action:
    """Parse one line."""
    try:
        envelope = orjson.loads(line)
        if _LONG_NUMBER.search(line):
            envelope = json.loads(line)
    except (ValueError, RecursionError) as error:
        has_nan = b"NaN" in line or b"Infinity" in line
        hint = "write NaN and infinities as strings or omit them" if has_nan else None
        raise CorruptLog(f"not valid JSON: {error}", hint=hint) from error
    if not isinstance(envelope, dict):
        raise CorruptLog(f"expected an object with one action, found {_describe(envelope)}")
    present = [key for key, body in envelope.items() if body is not None]
    if len(present) != 1:
        raise CorruptLog(f"expected one action, found {', '.join(present) or 'none'}")
    kind = present[0]
    cls = ENVELOPE_TYPES.get(kind)
    return from_object(cls, envelope[kind], where=kind) if cls else UnknownAction(kind=kind, body=envelope[kind])


def from_object(cls: type[Any], body: object, *, where: str) -> Any:  # noqa: ANN401 - an instance of cls
    """Build an action or nested struct from its JSON object.

    Raises:
        InvalidAction: a required field is missing or a known field has a value of the wrong type.
    """
    if not isinstance(body, dict):
        raise InvalidAction(f"{where} must be an object, not {_describe(body)}")
    rest = dict(body)
    values: dict[str, Any] = {}
    for spec in specs_of(cls):
        item = rest.pop(spec.key, None)
        if item is not None:
            values[spec.name] = _checked(spec, item, where=f"{where}.{spec.key}")
        elif spec.required:
            raise InvalidAction(f"{where}.{spec.key} is missing")
    return cls(**values, extra=rest)


def check_types(action: Action) -> None:
    """Hold an action that was built in Python to the types a decoded one has.

    Raises:
        InvalidAction: a field has a value of the wrong type.
    """
    if isinstance(action, UnknownAction):
        raise InvalidAction(f"unknown action {action.kind!r}", hint="remove the line, or upgrade twinlog")
    if type(action) not in ENVELOPE_KEYS:
        raise InvalidAction(f"a {type(action).__name__} is not a Delta action")
    _check_fields(action, where=ENVELOPE_KEYS[type(action)])


def _check_fields(value: Any, *, where: str) -> None:  # noqa: ANN401 - any action or struct of `actions`
    if value.extra:
        check_extra(type(value), value.extra, where=where)
    for spec in specs_of(type(value)):
        item = getattr(value, spec.name)
        if item is None:
            if spec.required:
                raise InvalidAction(f"{where}.{spec.key} is missing")
        elif spec.struct is not None:
            if type(item) is not spec.struct:
                raise InvalidAction(f"{where}.{spec.key} must be a {spec.struct.__name__}, not {_describe(item)}")
            _check_fields(item, where=f"{where}.{spec.key}")
        elif not _CHECKS[spec.kind](item):
            raise _wrong_type(spec, item, where=f"{where}.{spec.key}")
        elif spec.kind is Kind.OBJECT:
            check_json(item, where=f"{where}.{spec.key}")
        elif spec.kind is Kind.STRING:
            _check_text(item, where=f"{where}.{spec.key}")


def check_extra(action_type: type, extra: object, *, where: str) -> None:
    """Hold the unknown fields of an action to what they may be.

    Raises:
        InvalidAction: they are not a JSON object, or one of them has the name of a known field.
    """
    if not isinstance(extra, Mapping):
        raise InvalidAction(f"the unknown fields of {where} must be an object, not {_describe(extra)}")
    shadowed = sorted(spec.key for spec in specs_of(action_type) if spec.key in extra)
    if shadowed:
        raise InvalidAction(f"{where}.{shadowed[0]} is given twice: as a known and as an unknown field")
    check_json(extra, where=where)


def _check_text(text: str, *, where: str) -> None:
    if "\0" in text:
        raise InvalidAction(f"{where} contains a NUL character", hint="remove the character")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise InvalidAction(f"{where} is not valid Unicode: {error.reason}", hint="remove the character") from error


def _checked(spec: FieldSpec, item: object, *, where: str) -> object:
    if spec.kind is Kind.STRUCT and spec.struct is not None:
        return from_object(spec.struct, item, where=where)
    if not _CHECKS[spec.kind](item):
        raise _wrong_type(spec, item, where=where)
    return tuple(item) if isinstance(item, list) else item


def _wrong_type(spec: FieldSpec, item: object, *, where: str) -> InvalidAction:
    return InvalidAction(f"{where} must be {_EXPECTED[spec.kind]}, not {_describe(item)}")


def _is_map(item: object, *, nullable: bool) -> bool:
    return isinstance(item, Mapping) and all(
        isinstance(key, str) and (isinstance(value, str) or (nullable and value is None)) for key, value in item.items()
    )


_CHECKS: Final = {
    Kind.STRING: lambda item: isinstance(item, str),
    Kind.INTEGER: lambda item: type(item) is int and _INT64_MIN <= item <= _INT64_MAX,
    Kind.BOOLEAN: lambda item: isinstance(item, bool),
    Kind.STRING_MAP: lambda item: _is_map(item, nullable=False),
    Kind.NULLABLE_STRING_MAP: lambda item: _is_map(item, nullable=True),
    Kind.STRING_LIST: lambda item: isinstance(item, list | tuple) and all(isinstance(part, str) for part in item),
    Kind.OBJECT: lambda item: isinstance(item, Mapping),
}
_EXPECTED: Final = {
    Kind.STRING: "a string",
    Kind.INTEGER: "a 64-bit integer",
    Kind.BOOLEAN: "true or false",
    Kind.STRING_MAP: "an object of strings",
    Kind.NULLABLE_STRING_MAP: "an object of strings and nulls",
    Kind.STRING_LIST: "a list of strings",
    Kind.OBJECT: "an object",
}


def _describe(item: object) -> str:
    if item is None:
        return "null"
    if isinstance(item, int | float) and not isinstance(item, bool):
        return f"the number {item}"
    names = {bool: "a boolean", str: "a string", list: "a list", tuple: "a list", dict: "an object"}
    return names.get(type(item), type(item).__name__)

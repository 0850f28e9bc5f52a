"""A table's schema as values, read from and written to Spark's StructType JSON (`schemaString`).

Reading keeps what it does not know (type names, object types, field metadata), so that imported tables survive a
round trip. What a table we create may look like is decided in `schema_rules`.
"""

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from twinlog.errors import InvalidSchema
from twinlog.protocol.actions import JsonObject, JsonValue

FieldPath: TypeAlias = tuple[str, ...]

# Whatever is parsed can also be walked and written within Python's stack; readers give up far below this.
MAX_NESTING: Final = 100

_DECIMAL: Final = re.compile(r"decimal\(\s*([0-9]{1,9})\s*,\s*(-?[0-9]{1,9})\s*\)")


@dataclass(frozen=True, slots=True)
class PrimitiveType:
    """A type that is only a name; names this version does not know are kept."""

    name: str


@dataclass(frozen=True, slots=True)
class DecimalType:
    """An exact number with a fixed count of digits."""

    precision: int
    scale: int

    @property
    def name(self) -> str:
        """The type's name in the schema text."""
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True, slots=True)
class ArrayType:
    """A list of values of one type."""

    element_type: "DataType"
    contains_null: bool


@dataclass(frozen=True, slots=True)
class MapType:
    """Values of one type under keys of another."""

    key_type: "DataType"
    value_type: "DataType"
    value_contains_null: bool


@dataclass(frozen=True, slots=True)
class OpaqueType:
    """A type object of a kind this version does not know (Spark's user-defined types), kept as it was read."""

    declaration: JsonObject


@dataclass(frozen=True, slots=True)
class StructField:
    """A named column, at the top level or inside a struct."""

    name: str
    data_type: "DataType"
    nullable: bool = True
    metadata: JsonObject = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StructType:
    """Named fields in order; also the type of a whole table."""

    fields: tuple[StructField, ...]

    def to_json(self) -> str:
        """The schema text in the reference writer's key order, without spaces."""
        return json.dumps(_type_to_json(self), separators=(",", ":"), ensure_ascii=False)


DataType: TypeAlias = PrimitiveType | DecimalType | ArrayType | MapType | OpaqueType | StructType


def parse_schema(text: str) -> StructType:
    """Read a schema text.

    Raises:
        InvalidSchema: The text is not JSON, or not the JSON of a struct; the message names the field.
    """
    try:
        value: JsonValue = json.loads(text, parse_constant=_refuse_constant)
        schema = _parse_type(value, ())
    except ValueError as exc:
        raise InvalidSchema(f"the schema is not JSON: {exc}") from exc
    except RecursionError as exc:
        raise InvalidSchema("the schema is nested too deep to be read") from exc
    if not isinstance(schema, StructType):
        raise InvalidSchema(
            f"a table's schema must be a struct, not {_shorten(value)}",
            hint='wrap the columns: {"type":"struct","fields":[...]}',
        )
    return schema


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def walk(schema: StructType) -> Iterator[tuple[FieldPath, StructField]]:
    """Every field at any depth, each before those inside it.

    A path goes through an array as `element` and through a map as `key` or `value`.
    """
    yield from _walk_fields(schema, ())


def walk_types(data_type: DataType, path: FieldPath = ()) -> Iterator[tuple[FieldPath, DataType]]:
    """A type and every type inside it, with the path at which each is used."""
    yield path, data_type
    for step, child in _children(data_type):
        yield from walk_types(child, (*path, step))


def show_path(path: FieldPath) -> str:
    """A field path for a message."""
    return f"field {'.'.join(path)!r}" if path else "the schema"


def _walk_fields(data_type: DataType, path: FieldPath) -> Iterator[tuple[FieldPath, StructField]]:
    if isinstance(data_type, StructType):
        for field in data_type.fields:
            here = (*path, field.name)
            yield here, field
            yield from _walk_fields(field.data_type, here)
        return
    for step, child in _children(data_type):
        yield from _walk_fields(child, (*path, step))


def _children(data_type: DataType) -> tuple[tuple[str, DataType], ...]:
    match data_type:
        case StructType(fields):
            return tuple((field.name, field.data_type) for field in fields)
        case ArrayType(element_type):
            return (("element", element_type),)
        case MapType(key_type, value_type):
            return (("key", key_type), ("value", value_type))
        case _:
            return ()


def _type_to_json(data_type: DataType) -> JsonValue:
    match data_type:
        case StructType(fields):
            return {"type": "struct", "fields": [_field_to_json(field) for field in fields]}
        case ArrayType(element_type, contains_null):
            return {"type": "array", "elementType": _type_to_json(element_type), "containsNull": contains_null}
        case MapType(key_type, value_type, value_contains_null):
            return {
                "type": "map",
                "keyType": _type_to_json(key_type),
                "valueType": _type_to_json(value_type),
                "valueContainsNull": value_contains_null,
            }
        case OpaqueType(declaration):
            return dict(declaration)
        case PrimitiveType() | DecimalType():
            return data_type.name


def _field_to_json(field: StructField) -> JsonValue:
    return {
        "name": field.name,
        "type": _type_to_json(field.data_type),
        "nullable": field.nullable,
        "metadata": dict(field.metadata),
    }


def _parse_type(value: JsonValue, path: FieldPath) -> DataType:
    if len(path) > MAX_NESTING:
        raise InvalidSchema(f"the schema is nested more than {MAX_NESTING} levels deep, at {path[0]!r}")
    if isinstance(value, str):
        return _parse_type_name(value)
    if not isinstance(value, Mapping):
        raise InvalidSchema(f"{show_path(path)}: not a type: {_shorten(value)}")
    match value:
        case {"type": "struct", "fields": list(fields)}:
            return StructType(tuple(_parse_field(field, path) for field in fields))
        case {"type": "array", "elementType": element_type, "containsNull": bool(contains_null)}:
            return ArrayType(_parse_type(element_type, (*path, "element")), contains_null)
        case {
            "type": "map",
            "keyType": key_type,
            "valueType": value_type,
            "valueContainsNull": bool(value_contains_null),
        }:
            return MapType(
                _parse_type(key_type, (*path, "key")),
                _parse_type(value_type, (*path, "value")),
                value_contains_null,
            )
        case {"type": str(kind)} if kind not in _EXPECTED_KEYS:
            return OpaqueType(value)
        case {"type": str(kind)}:
            raise InvalidSchema(f"{show_path(path)}: the {kind} type needs {_EXPECTED_KEYS[kind]}: {_shorten(value)}")
        case _:
            raise InvalidSchema(f"{show_path(path)}: not a type: {_shorten(value)}")


_EXPECTED_KEYS: Final = {
    "struct": "`fields` (a list)",
    "array": "`elementType` and `containsNull` (true or false)",
    "map": "`keyType`, `valueType` and `valueContainsNull` (true or false)",
}


def _parse_type_name(name: str) -> PrimitiveType | DecimalType:
    if decimal := _DECIMAL.fullmatch(name):
        return DecimalType(int(decimal[1]), int(decimal[2]))
    return PrimitiveType(name)


def _parse_field(value: JsonValue, parent: FieldPath) -> StructField:
    if not isinstance(value, Mapping) or not isinstance(name := value.get("name"), str):
        raise InvalidSchema(f"{show_path(parent)}: a field needs a `name` (text): {_shorten(value)}")
    path = (*parent, name)
    nullable = value.get("nullable")
    if "type" not in value or not isinstance(nullable, bool):
        raise InvalidSchema(f"{show_path(path)}: needs `type` and `nullable` (true or false): {_shorten(value)}")
    # Spark reads a field without metadata, and some writers leave it out.
    metadata = value.get("metadata")
    if metadata is None:
        metadata = {}
    if not isinstance(metadata, Mapping):
        raise InvalidSchema(f"{show_path(path)}: `metadata` must be an object: {_shorten(metadata)}")
    return StructField(name, _parse_type(value["type"], path), nullable, metadata)


def _shorten(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False)
    limit = 80
    return text if len(text) <= limit else f"{text[:limit]}..."

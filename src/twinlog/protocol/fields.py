"""What each action's fields are called in JSON and which values they take.

Read once from the dataclasses in `actions`, so that the JSON codec and the SQL rows follow the same declaration.
"""

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, fields
from enum import Enum, auto
from typing import Any, get_args

from twinlog.protocol.actions import (
    DeletionVector,
    Format,
    JsonObject,
    NullableStringMap,
    StringMap,
)


class Kind(Enum):
    """The shapes a field's value can have."""

    STRING = auto()
    INTEGER = auto()
    BOOLEAN = auto()
    STRING_MAP = auto()
    NULLABLE_STRING_MAP = auto()
    STRING_LIST = auto()
    OBJECT = auto()
    STRUCT = auto()


_KINDS: Mapping[object, Kind] = {
    str: Kind.STRING,
    int: Kind.INTEGER,
    bool: Kind.BOOLEAN,
    StringMap: Kind.STRING_MAP,
    NullableStringMap: Kind.NULLABLE_STRING_MAP,
    tuple[str, ...]: Kind.STRING_LIST,
    JsonObject: Kind.OBJECT,
    DeletionVector: Kind.STRUCT,
    Format: Kind.STRUCT,
}


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One field of an action: attribute, JSON key, shape, and whether the protocol requires it."""

    name: str
    key: str
    kind: Kind
    required: bool
    struct: type[Any] | None


_SPECS: dict[type, tuple[FieldSpec, ...]] = {}


def specs_of(action_type: type) -> tuple[FieldSpec, ...]:
    """The known fields of an action type in the reference writer's key order (`extra` is not one of them)."""
    specs = _SPECS.get(action_type)
    if specs is None:
        specs = tuple(_spec(field) for field in fields(action_type) if field.name != "extra")
        _SPECS[action_type] = specs
    return specs


def _spec(field: Field[Any]) -> FieldSpec:
    union = get_args(field.type)
    plain = union[0] if type(None) in union else field.type
    kind = _KINDS[plain]
    return FieldSpec(
        name=field.name,
        key=field.metadata.get("json_name", _camel_case(field.name)),
        kind=kind,
        required=field.default is MISSING and field.default_factory is MISSING,
        struct=plain if kind is Kind.STRUCT and isinstance(plain, type) else None,
    )


def _camel_case(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)

"""What the schema and the partition columns of a table we create must look like.

Imported tables are not held to these rules: their schema is what it is.
"""

from collections.abc import Sequence
from typing import Final

from twinlog.errors import InvalidSchema
from twinlog.protocol.schema import (
    DataType,
    DecimalType,
    FieldPath,
    OpaqueType,
    PrimitiveType,
    StructType,
    show_path,
    walk_types,
)

MAX_DECIMAL_PRECISION: Final = 38

PARTITION_TYPES: Final = frozenset(
    {
        "string",
        "long",
        "integer",
        "short",
        "byte",
        "float",
        "double",
        "boolean",
        "binary",
        "date",
        "timestamp",
        "timestamp_ntz",
    }
)
COLUMN_TYPES: Final = PARTITION_TYPES | {"variant"}
NULL_TYPES: Final = frozenset({"void", "null"})

_WIRE_NAMES: Final = {
    "bigint": "long",
    "bool": "boolean",
    "char": "string",
    "datetime": "timestamp",
    "dec": "decimal(precision,scale)",
    "decimal": "decimal(precision,scale)",
    "int": "integer",
    "numeric": "decimal(precision,scale)",
    "real": "float",
    "smallint": "short",
    "text": "string",
    "timestamp_ltz": "timestamp",
    "tinyint": "byte",
    "varchar": "string",
}


def check_schema(schema: StructType) -> None:
    """Refuse a schema that readers would trip over.

    Raises:
        InvalidSchema: An unknown or void type, a decimal out of range, or an empty or repeated column name.
    """
    for path, data_type in walk_types(schema):
        match data_type:
            case StructType():
                _check_names(data_type, path)
            case DecimalType():
                _check_decimal(data_type, path)
            case PrimitiveType(name):
                _check_type_name(name, path)
            case OpaqueType(declaration):
                raise InvalidSchema(
                    f"{show_path(path)}: {declaration.get('type')!r} is not a Delta type",
                    hint="use the type its values are stored as",
                )


def check_partition_columns(schema: StructType, columns: Sequence[str]) -> None:
    """Refuse partition columns that a reader could not find or a writer could not spell.

    Raises:
        InvalidSchema: A column that is missing, repeated or not of a primitive type, or no column left for data.
    """
    types = {field.name: field.data_type for field in schema.fields}
    for position, column in enumerate(columns):
        if column not in types:
            raise InvalidSchema(f"partition column {column!r} is not in the schema", hint=_spelling_hint(column, types))
        if column in columns[:position]:
            raise InvalidSchema(f"partition column {column!r} is listed twice", hint="list each column once")
        if not _can_partition(types[column]):
            raise InvalidSchema(
                f"partition column {column!r} has type {_kind(types[column])}, which has no partition value",
                hint="partition by a column of a primitive type",
            )
    if columns and len(columns) == len(schema.fields):
        raise InvalidSchema(
            "every column is a partition column, so the data files would be empty",
            hint="leave at least one column out of the partitioning",
        )


def _check_names(struct: StructType, path: FieldPath) -> None:
    seen: dict[str, str] = {}
    for field in struct.fields:
        if not field.name:
            raise InvalidSchema(f"{show_path(path)}: a column has an empty name", hint="give every column a name")
        # Spark resolves names without regard to case, so `a` and `A` cannot live in one struct.
        folded = field.name.lower()
        if folded in seen:
            raise InvalidSchema(
                f"{show_path(path)}: duplicate column name {field.name!r} (there is already {seen[folded]!r})",
                hint="column names must differ in more than case: rename one",
            )
        seen[folded] = field.name


def _check_decimal(decimal: DecimalType, path: FieldPath) -> None:
    if not 1 <= decimal.precision <= MAX_DECIMAL_PRECISION or not 0 <= decimal.scale <= decimal.precision:
        raise InvalidSchema(
            f"{show_path(path)}: {decimal.name} is out of range",
            hint=f"precision is 1 to {MAX_DECIMAL_PRECISION}, scale is 0 to the precision",
        )


def _check_type_name(name: str, path: FieldPath) -> None:
    if name in COLUMN_TYPES:
        return
    if name in NULL_TYPES:
        raise InvalidSchema(
            f"{show_path(path)}: a {name} column cannot be stored in data files",
            hint="give the column the type its values will have",
        )
    bare_name = name.lower().partition("(")[0].strip()
    wire_name = bare_name if bare_name in COLUMN_TYPES else _WIRE_NAMES.get(bare_name)
    raise InvalidSchema(
        f"{show_path(path)}: {name!r} is not a Delta type name",
        hint=f"write {wire_name!r}" if wire_name else f"use one of {', '.join(sorted(COLUMN_TYPES))}, decimal(p,s)",
    )


def _can_partition(data_type: DataType) -> bool:
    match data_type:
        case DecimalType():
            return True
        case PrimitiveType(name):
            return name in PARTITION_TYPES
        case _:
            return False


def _kind(data_type: DataType) -> str:
    if isinstance(data_type, PrimitiveType):
        return data_type.name
    return type(data_type).__name__.removesuffix("Type").lower()


def _spelling_hint(column: str, types: dict[str, DataType]) -> str:
    for name in types:
        if name.lower() == column.lower():
            return f"names are case-sensitive here: write {name!r}"
    return "partition by top-level columns of the table"

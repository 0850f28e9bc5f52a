"""Arrow schemas as Delta schemas."""

from collections.abc import Callable
from typing import Final

import pyarrow as pa
import pyarrow.types as pt

from twinlog.errors import InvalidSchema
from twinlog.protocol.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructField, StructType

_PRIMITIVES: Final[tuple[tuple[Callable[[pa.DataType], bool], str], ...]] = (
    (pt.is_boolean, "boolean"),
    (pt.is_int8, "byte"),
    (pt.is_int16, "short"),
    (pt.is_int32, "integer"),
    (pt.is_int64, "long"),
    (pt.is_float32, "float"),
    (pt.is_float64, "double"),
    (lambda t: pt.is_string(t) or pt.is_large_string(t) or pt.is_string_view(t), "string"),
    (lambda t: pt.is_binary(t) or pt.is_large_binary(t) or pt.is_binary_view(t), "binary"),
    (pt.is_date32, "date"),
    (lambda t: pt.is_timestamp(t) and t.tz is not None, "timestamp"),
    (lambda t: pt.is_timestamp(t) and t.tz is None, "timestamp_ntz"),
)


def from_arrow(schema: pa.Schema) -> StructType:
    """The Delta schema with the same columns.

    Raises:
        InvalidSchema: a column's type has no counterpart in Delta.
    """
    return StructType(tuple(_field(field, field.name) for field in schema))


def _field(field: pa.Field, path: str) -> StructField:
    return StructField(field.name, _data_type(field.type, path), nullable=field.nullable, metadata={})


def _data_type(arrow_type: pa.DataType, path: str) -> DataType:
    if pt.is_dictionary(arrow_type):
        return _data_type(arrow_type.value_type, path)
    if pt.is_struct(arrow_type):
        return StructType(tuple(_field(child, f"{path}.{child.name}") for child in arrow_type))
    if pt.is_map(arrow_type):
        return MapType(
            _data_type(arrow_type.key_type, f"{path}.key"),
            _data_type(arrow_type.item_type, f"{path}.value"),
            value_contains_null=arrow_type.item_field.nullable,
        )
    if pt.is_list(arrow_type) or pt.is_large_list(arrow_type) or pt.is_fixed_size_list(arrow_type):
        element = arrow_type.value_field
        return ArrayType(_data_type(element.type, f"{path}.element"), contains_null=element.nullable)
    if pt.is_decimal128(arrow_type):
        return DecimalType(arrow_type.precision, arrow_type.scale)
    name = next((name for matches, name in _PRIMITIVES if matches(arrow_type)), None)
    if name is None:
        raise InvalidSchema(f"{path}: Delta has no type for Arrow's {arrow_type}", hint="cast the column first")
    return PrimitiveType(name)

"""Arrow schemas as Delta schemas."""

import pyarrow as pa
import pytest

from twinlog.catalog.arrow_schema import from_arrow
from twinlog.errors import InvalidSchema
from twinlog.protocol.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructField, StructType
from twinlog.protocol.schema_rules import check_schema

CONVERSIONS: list[tuple[pa.DataType, str]] = [
    (pa.bool_(), "boolean"),
    (pa.int8(), "byte"),
    (pa.int16(), "short"),
    (pa.int32(), "integer"),
    (pa.int64(), "long"),
    (pa.float32(), "float"),
    (pa.float64(), "double"),
    (pa.string(), "string"),
    (pa.large_string(), "string"),
    (pa.string_view(), "string"),
    (pa.binary(), "binary"),
    (pa.large_binary(), "binary"),
    (pa.binary_view(), "binary"),
    (pa.date32(), "date"),
    (pa.timestamp("us", tz="UTC"), "timestamp"),
    (pa.timestamp("ms", tz="Europe/Berlin"), "timestamp"),
    (pa.timestamp("us"), "timestamp_ntz"),
    (pa.timestamp("s"), "timestamp_ntz"),
    (pa.dictionary(pa.int32(), pa.string()), "string"),
]
REFUSED: list[pa.DataType] = [
    pa.null(),
    pa.uint8(),
    pa.uint16(),
    pa.uint32(),
    pa.uint64(),
    pa.float16(),
    pa.time32("s"),
    pa.time64("us"),
    pa.duration("us"),
    pa.date64(),
    pa.binary(16),
    pa.decimal256(50, 2),
    pa.month_day_nano_interval(),
]


def convert(arrow_type: pa.DataType, *, nullable: bool = True) -> DataType:
    (field,) = from_arrow(pa.schema([pa.field("c", arrow_type, nullable=nullable)])).fields
    return field.data_type


@pytest.mark.parametrize(("arrow_type", "expected"), CONVERSIONS, ids=str)
def test_type_when_it_has_a_counterpart_then_becomes_it(arrow_type: pa.DataType, expected: str):
    assert convert(arrow_type) == PrimitiveType(expected)


@pytest.mark.parametrize(("arrow_type", "expected"), CONVERSIONS, ids=str)
def test_type_when_converted_then_may_be_created(arrow_type: pa.DataType, expected: str):
    check_schema(from_arrow(pa.schema([("c", arrow_type)])))


@pytest.mark.parametrize("arrow_type", [pa.decimal128(10, 2), pa.decimal128(38, 38), pa.decimal128(1, 0)], ids=str)
def test_decimal_when_converted_then_keeps_precision_and_scale(arrow_type: pa.DataType):
    assert convert(arrow_type) == DecimalType(arrow_type.precision, arrow_type.scale)


@pytest.mark.parametrize("arrow_type", REFUSED, ids=str)
def test_type_when_it_has_no_counterpart_then_refused_and_named(arrow_type: pa.DataType):
    with pytest.raises(InvalidSchema) as caught:
        from_arrow(pa.schema([("outer", pa.struct([("inner", pa.list_(arrow_type))]))]))
    assert "outer.inner.element" in caught.value.message
    assert str(arrow_type) in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    "list_of",
    [pa.list_, pa.large_list, lambda item: pa.list_(item, 3)],
    ids=["list", "large", "fixed"],
)
def test_list_when_converted_then_keeps_whether_elements_may_be_null(list_of):
    assert convert(list_of(pa.field("item", pa.int64(), nullable=False))) == ArrayType(
        PrimitiveType("long"), contains_null=False
    )
    assert convert(list_of(pa.int64())) == ArrayType(PrimitiveType("long"), contains_null=True)


def test_map_when_converted_then_keeps_whether_values_may_be_null():
    strict = pa.map_(pa.string(), pa.field("value", pa.int64(), nullable=False))
    assert convert(strict) == MapType(PrimitiveType("string"), PrimitiveType("long"), value_contains_null=False)
    assert convert(pa.map_(pa.string(), pa.int64())) == MapType(
        PrimitiveType("string"), PrimitiveType("long"), value_contains_null=True
    )


def test_struct_when_converted_then_keeps_order_and_nullability():
    inner = pa.struct([pa.field("b", pa.int8(), nullable=False), pa.field("a", pa.string())])
    assert convert(inner) == StructType(
        (
            StructField("b", PrimitiveType("byte"), nullable=False),
            StructField("a", PrimitiveType("string"), nullable=True),
        )
    )


def test_column_when_not_nullable_then_stays_so():
    (field,) = from_arrow(pa.schema([pa.field("c", pa.int64(), nullable=False)])).fields
    assert field == StructField("c", PrimitiveType("long"), nullable=False)


def test_schema_when_empty_then_an_empty_struct():
    assert from_arrow(pa.schema([])) == StructType(())

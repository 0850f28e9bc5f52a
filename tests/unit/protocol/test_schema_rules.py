import pytest

from tests.unit.protocol.corpora import corpus_tables, needs_corpora
from twinlog.errors import InvalidSchema
from twinlog.protocol.schema import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    OpaqueType,
    PrimitiveType,
    StructField,
    StructType,
    parse_schema,
)
from twinlog.protocol.schema_rules import check_partition_columns, check_schema

LONG = PrimitiveType("long")
STORABLE = (
    *("string", "long", "integer", "short", "byte", "float", "double", "boolean", "binary"),
    *("date", "timestamp", "timestamp_ntz"),
)


def columns(*names: str, data_type: DataType = LONG) -> StructType:
    return StructType(tuple(StructField(name, data_type) for name in names))


def positions(data_type: DataType) -> dict[str, StructType]:
    """The same type as a column, an element, a key, a value and a nested field, by the path a message must name."""
    return {
        "c": columns("c", data_type=data_type),
        "c.element": columns("c", data_type=ArrayType(data_type, contains_null=True)),
        "c.key": columns("c", data_type=MapType(data_type, LONG, value_contains_null=True)),
        "c.value": columns("c", data_type=MapType(LONG, data_type, value_contains_null=True)),
        "c.inner": columns("c", data_type=columns("inner", data_type=data_type)),
    }


def refusal(schema: StructType) -> InvalidSchema:
    with pytest.raises(InvalidSchema) as caught:
        check_schema(schema)
    return caught.value


@pytest.mark.parametrize("name", [*STORABLE, "variant"])
def test_known_type_when_anywhere_is_accepted(name):
    for schema in positions(PrimitiveType(name)).values():
        check_schema(schema)


@pytest.mark.parametrize(
    ("name", "wire_name"),
    [
        ("int", "integer"),
        ("INT", "integer"),
        ("bigint", "long"),
        ("smallint", "short"),
        ("tinyint", "byte"),
        ("bool", "boolean"),
        ("varchar(20)", "string"),
        ("numeric(3,1)", "decimal(precision,scale)"),
        ("decimal", "decimal(precision,scale)"),
        ("Timestamp", "timestamp"),
    ],
)
def test_ddl_type_name_when_anywhere_is_refused_with_the_wire_name(name, wire_name):
    for path, schema in positions(PrimitiveType(name)).items():
        error = refusal(schema)
        assert f"field {path!r}: {name!r} is not a Delta type name" == error.message
        assert error.hint == f"write {wire_name!r}"


def test_unknown_type_name_when_anywhere_is_refused_with_the_choices():
    error = refusal(columns("c", data_type=PrimitiveType("uuid")))
    assert "'uuid' is not a Delta type name" in error.message
    assert "boolean, byte, date" in (error.hint or "")


@pytest.mark.parametrize("name", ["void", "null"])
def test_void_when_anywhere_is_refused(name):
    for path, schema in positions(PrimitiveType(name)).items():
        assert refusal(schema).message == f"field {path!r}: a {name} column cannot be stored in data files"


def test_user_defined_type_when_anywhere_is_refused():
    assert (
        refusal(columns("c", data_type=OpaqueType({"type": "udt"}))).message == "field 'c': 'udt' is not a Delta type"
    )


@pytest.mark.parametrize(("precision", "scale"), [(1, 0), (1, 1), (38, 0), (38, 38), (10, 2)])
def test_decimal_when_in_range_is_accepted(precision, scale):
    check_schema(columns("c", data_type=DecimalType(precision, scale)))


@pytest.mark.parametrize(("precision", "scale"), [(0, 0), (39, 0), (10, 11), (10, -1)])
def test_decimal_when_out_of_range_is_refused(precision, scale):
    for path, schema in positions(DecimalType(precision, scale)).items():
        assert refusal(schema).message == f"field {path!r}: decimal({precision},{scale}) is out of range"


@pytest.mark.parametrize("names", [("a", "a"), ("Amount", "amount"), ("x", "É", "é")])
def test_column_names_when_repeated_in_any_case_are_refused(names):
    assert f"duplicate column name {names[-1]!r}" in refusal(columns(*names)).message
    for path, schema in positions(columns(*names)).items():
        assert refusal(schema).message.startswith(f"field {path!r}: duplicate column name")


def test_column_names_when_repeated_in_another_struct_are_accepted():
    check_schema(columns("a", "b", data_type=columns("a", "b")))


def test_column_name_when_empty_is_refused():
    assert refusal(columns("")).message == "the schema: a column has an empty name"
    assert refusal(columns("c", data_type=columns("x", ""))).message == "field 'c': a column has an empty name"


@pytest.mark.parametrize("data_type", [*map(PrimitiveType, STORABLE), DecimalType(10, 2)])
def test_partition_column_when_primitive_is_accepted(data_type):
    check_partition_columns(StructType((StructField("p", data_type), StructField("v", LONG))), ["p"])


@pytest.mark.parametrize(
    ("data_type", "kind"),
    [
        (columns("x"), "struct"),
        (ArrayType(LONG, contains_null=True), "array"),
        (MapType(LONG, LONG, value_contains_null=True), "map"),
        (PrimitiveType("variant"), "variant"),
        (PrimitiveType("void"), "void"),
        (PrimitiveType("geometry(4326)"), "geometry(4326)"),
        (OpaqueType({"type": "udt"}), "opaque"),
    ],
)
def test_partition_column_when_not_primitive_is_refused(data_type, kind):
    schema = StructType((StructField("p", data_type), StructField("v", LONG)))
    with pytest.raises(InvalidSchema, match="partition column 'p' has type") as caught:
        check_partition_columns(schema, ["p"])
    assert f"has type {kind}," in caught.value.message


@pytest.mark.parametrize(
    ("partition_by", "message", "hint"),
    [
        (["zip"], "partition column 'zip' is not in the schema", "top-level columns"),
        (["City"], "partition column 'City' is not in the schema", "write 'city'"),
        (["address.zip"], "partition column 'address.zip' is not in the schema", "top-level columns"),
        (["city", "day", "city"], "partition column 'city' is listed twice", "once"),
        (["city", "day", "v"], "every column is a partition column", "at least one"),
    ],
)
def test_partition_columns_when_impossible_are_refused(partition_by, message, hint):
    with pytest.raises(InvalidSchema) as caught:
        check_partition_columns(columns("city", "day", "v"), partition_by)
    assert message in caught.value.message
    assert hint in (caught.value.hint or "")


@pytest.mark.parametrize("partition_by", [[], ["day"], ["day", "city"]])
def test_partition_columns_when_possible_are_accepted(partition_by):
    check_partition_columns(columns("city", "day", "v"), partition_by)


def test_partition_columns_when_none_and_no_columns_are_accepted():
    check_partition_columns(StructType(()), [])


@needs_corpora
def test_real_tables_when_checked_pass():
    checked = 0
    for table in corpus_tables():
        for kind, body in table.actions():
            if kind == "metaData" and body.get("schemaString") is not None:
                schema = parse_schema(body["schemaString"])
                check_schema(schema)
                check_partition_columns(schema, body["partitionColumns"])
                checked += 1
    assert checked > 0

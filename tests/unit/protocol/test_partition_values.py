import ctypes
import json
import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.protocol.corpora import corpus_tables, needs_corpora
from twinlog.errors import InvalidAction
from twinlog.protocol.partition_values import decode_partition_value, encode_partition_value

CEST = timezone(timedelta(hours=2))

SPELLINGS = [
    ("plain", "string", "plain"),
    ("null", "string", "null"),
    (True, "boolean", "true"),
    (False, "boolean", "false"),
    (-128, "byte", "-128"),
    (32767, "short", "32767"),
    (0, "integer", "0"),
    (-(2**63), "long", "-9223372036854775808"),
    (1.0, "double", "1.0"),
    (-0.0, "double", "-0.0"),
    (0.001, "double", "0.001"),
    (0.00025, "double", "2.5E-4"),
    (9999999.0, "double", "9999999.0"),
    (1e7, "double", "1.0E7"),
    (-1e10, "double", "-1.0E10"),
    (123456789.123, "double", "1.23456789123E8"),
    (1.7976931348623157e308, "double", "1.7976931348623157E308"),
    (math.inf, "double", "Infinity"),
    (-math.inf, "float", "-Infinity"),
    (ctypes.c_float(0.1).value, "float", "0.1"),
    (ctypes.c_float(3.4028235e38).value, "float", "3.4028235E38"),
    (16777216.0, "float", "1.6777216E7"),
    (Decimal("1.50"), "decimal(10,2)", "1.50"),
    (Decimal("0E-7"), "decimal(10,7)", "0.0000000"),
    (Decimal("0.0"), "decimal(1,1)", "0.0"),
    (Decimal("-" + "9" * 38), "decimal(38,0)", "-" + "9" * 38),
    (date(1970, 1, 1), "date", "1970-01-01"),
    (date(1, 2, 3), "date", "0001-02-03"),
    (datetime(1970, 1, 1, 0, 0, 0, 123456, UTC), "timestamp", "1970-01-01T00:00:00.123456Z"),
    (datetime(2021, 9, 8, tzinfo=UTC), "timestamp", "2021-09-08T00:00:00.000000Z"),
    (datetime(1970, 1, 1), "timestamp_ntz", "1970-01-01 00:00:00"),  # noqa: DTZ001
    (datetime(1970, 1, 1, 0, 0, 0, 123456), "timestamp_ntz", "1970-01-01 00:00:00.123456"),  # noqa: DTZ001
    (b"\x01\x02\x03", "binary", "\x01\x02\x03"),
]


@pytest.mark.parametrize(("value", "data_type_name", "text"), SPELLINGS)
def test_value_has_the_spelling_of_the_reference_writer(value, data_type_name: str, text: str):
    assert encode_partition_value(value, data_type_name) == text
    assert decode_partition_value(text, data_type_name) == value


@pytest.mark.parametrize(
    ("value", "data_type_name", "text"),
    [
        (datetime(2021, 1, 1, 1, 30, tzinfo=CEST), "timestamp", "2020-12-31T23:30:00.000000Z"),
        (Decimal("1.5"), "decimal(10,2)", "1.50"),
        (Decimal("1E+3"), "decimal(10,0)", "1000"),
        (Decimal("-0.00"), "decimal(10,2)", "0.00"),
        (0.1, "float", "0.1"),
        (math.nan, "double", "NaN"),
        (None, "long", None),
        ("", "string", None),
        (b"", "binary", None),
    ],
)
def test_encode_normalises(value, data_type_name: str, text: str | None):
    assert encode_partition_value(value, data_type_name) == text


@pytest.mark.parametrize(
    ("text", "data_type_name", "value"),
    [
        (None, "date", None),
        ("", "timestamp", None),
        ("", "string", None),
        ("+7", "integer", 7),
        ("007", "long", 7),
        ("1", "double", 1.0),
        ("1e5", "double", 1e5),
        (".5", "float", 0.5),
        ("inf", "double", math.inf),
        ("-Infinity", "double", -math.inf),
        ("0", "decimal(5,2)", Decimal("0.00")),
        ("0E-7", "decimal(10,7)", Decimal("0.0000000")),
        ("2021-09-08 11:11:11", "timestamp", datetime(2021, 9, 8, 11, 11, 11, tzinfo=UTC)),
        ("2021-09-08 11:11:11.5", "timestamp", datetime(2021, 9, 8, 11, 11, 11, 500000, tzinfo=UTC)),
        ("2021-09-08T11:11:11Z", "timestamp", datetime(2021, 9, 8, 11, 11, 11, tzinfo=UTC)),
        ("2021-09-08 11:11:11.012", "timestamp_ntz", datetime(2021, 9, 8, 11, 11, 11, 12000)),  # noqa: DTZ001
    ],
)
def test_decode_takes_every_legal_spelling(text: str | None, data_type_name: str, value):
    assert decode_partition_value(text, data_type_name) == value


def test_decode_of_nan_is_nan():
    assert math.isnan(decode_partition_value("NaN", "double"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "data_type_name"),
    [
        ("True", "boolean"),
        ("1", "boolean"),
        ("128", "byte"),
        ("2147483648", "integer"),
        ("1_0", "long"),
        (" 1", "long"),
        ("\u0661", "long"),
        ("1.0", "long"),
        ("9" * 5000, "long"),
        ("1_0.0", "double"),
        ("1e999", "double"),
        ("1e39", "float"),
        ("one", "double"),
        ("1.555", "decimal(10,2)"),
        ("100", "decimal(4,2)"),
        ("NaN", "decimal(4,2)"),
        ("1e99999999999999999999", "decimal(4,2)"),
        ("20210908", "date"),
        ("2021-02-30", "date"),
        ("2021-W01-1", "date"),
        ("2021-09-08", "timestamp"),
        ("2021-09-08T11:11Z", "timestamp"),
        ("2021-09-08T11:11:11+02:00", "timestamp"),
        ("2021-09-08 11:11:11.1234567", "timestamp"),
        ("2021-09-08 11:11:11Z", "timestamp_ntz"),
        ("2021-09-08 25:00:00", "timestamp_ntz"),
        ("x", "array"),
        ("x", "variant"),
        ("1", "decimal"),
    ],
)
def test_decode_when_not_a_value_of_the_type_is_refused(text: str, data_type_name: str):
    with pytest.raises(InvalidAction, match="partition"):
        decode_partition_value(text, data_type_name)


@pytest.mark.parametrize(
    ("value", "data_type_name"),
    [
        (1, "string"),
        (True, "integer"),
        (1, "boolean"),
        (128, "byte"),
        ("1", "long"),
        (1e39, "float"),
        (Decimal("1.555"), "decimal(10,2)"),
        (Decimal("NaN"), "decimal(10,2)"),
        (Decimal("Infinity"), "decimal(10,2)"),
        (1.5, "decimal(10,2)"),
        (datetime(2021, 1, 1, tzinfo=UTC), "date"),
        (date(2021, 1, 1), "timestamp"),
        (datetime(2021, 1, 1), "timestamp"),  # noqa: DTZ001
        (datetime(1, 1, 1, tzinfo=CEST), "timestamp"),
        (datetime(2021, 1, 1, tzinfo=UTC), "timestamp_ntz"),
        (b"\xff", "binary"),
        ("x", "struct"),
    ],
)
def test_encode_when_the_value_does_not_fit_is_refused(value, data_type_name: str):
    with pytest.raises(InvalidAction, match="partition"):
        encode_partition_value(value, data_type_name)


typed_values = st.one_of(
    st.tuples(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.just("string")),
    st.tuples(st.booleans(), st.just("boolean")),
    st.tuples(st.integers(-(2**31), 2**31 - 1), st.just("integer")),
    st.tuples(st.integers(-(2**63), 2**63 - 1), st.just("long")),
    st.tuples(st.floats(allow_nan=False), st.just("double")),
    st.tuples(st.floats(allow_nan=False, width=32), st.just("float")),
    st.tuples(st.decimals(-(10**20), 10**20, places=4), st.just("decimal(38,4)")),
    st.tuples(st.dates(), st.just("date")),
    st.tuples(st.datetimes(timezones=st.just(UTC)), st.just("timestamp")),
    st.tuples(st.datetimes(), st.just("timestamp_ntz")),
    st.tuples(st.text(st.characters(exclude_categories=["Cs"]), min_size=1).map(str.encode), st.just("binary")),
)


@given(typed_values)
def test_encoded_value_decodes_to_the_same(typed_value):
    value, data_type_name = typed_value
    text = encode_partition_value(value, data_type_name)
    decoded = decode_partition_value(text, data_type_name)
    assert decoded == value
    assert type(decoded) is type(value)
    assert encode_partition_value(decoded, data_type_name) == text


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_float_text_is_no_longer_than_32_bits_need(number: float):
    text = encode_partition_value(number, "float") or ""
    assert sum(char.isdigit() for char in text.partition("E")[0].replace("-", "").strip("0.")) <= 9


@needs_corpora
def test_every_partition_value_of_the_real_tables_is_read():
    seen = set()
    for table in corpus_tables():
        if table.corrupt:
            continue
        actions = list(table.actions())
        schemas = [json.loads(body["schemaString"]) for kind, body in actions if kind == "metaData"]
        types = {_physical_name(field): field["type"] for schema in schemas for field in schema["fields"]}
        for kind, action in actions:
            if kind in ("add", "remove", "cdc"):
                for column, text in (action.get("partitionValues") or {}).items():
                    value = decode_partition_value(text, types[column])
                    assert (value is None) == (not text)
                    seen.add(type(value))
    assert {str, int, float, bool, Decimal, date, datetime, type(None)} <= seen


def _physical_name(field: dict[str, Any]) -> Any:
    return field["metadata"].get("delta.columnMapping.physicalName", field["name"])

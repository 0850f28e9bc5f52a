import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.strategies import KNOWN_ACTIONS, actions, json_values, unknown_fields
from twinlog.errors import CorruptLog, InvalidAction, TwinlogError
from twinlog.protocol.actions import Action, Add, Format, Metadata, Protocol, Txn, UnknownAction
from twinlog.protocol.codec import decode_action, decode_commit, encode_action, encode_commit, encode_json

LONG, TEXT, FLAG, MAP, VALUES, LIST, OBJECT = "long", "text", "flag", "map", "values", "list", "object"
VECTOR = {"storageType": TEXT, "pathOrInlineDv": TEXT, "offset": LONG, "sizeInBytes": LONG, "cardinality": LONG}

# Every action's keys in the order in which Delta-Spark writes them, with the type of each.
REFERENCE: dict[str, dict[str, Any]] = {
    "commitInfo": {
        "version": LONG,
        "inCommitTimestamp": LONG,
        "timestamp": LONG,
        "userId": TEXT,
        "userName": TEXT,
        "operation": TEXT,
        "operationParameters": OBJECT,
        "job": OBJECT,
        "notebook": OBJECT,
        "clusterId": TEXT,
        "readVersion": LONG,
        "isolationLevel": TEXT,
        "isBlindAppend": FLAG,
        "dataChange": FLAG,
        "operationMetrics": OBJECT,
        "userMetadata": TEXT,
        "tags": VALUES,
        "engineInfo": TEXT,
        "txnId": TEXT,
    },
    "metaData": {
        "id": TEXT,
        "name": TEXT,
        "description": TEXT,
        "format": {"provider": TEXT, "options": MAP},
        "schemaString": TEXT,
        "partitionColumns": LIST,
        "configuration": MAP,
        "createdTime": LONG,
    },
    "protocol": {"minReaderVersion": LONG, "minWriterVersion": LONG, "readerFeatures": LIST, "writerFeatures": LIST},
    "txn": {"appId": TEXT, "version": LONG, "lastUpdated": LONG},
    "add": {
        "path": TEXT,
        "partitionValues": VALUES,
        "size": LONG,
        "modificationTime": LONG,
        "dataChange": FLAG,
        "stats": TEXT,
        "tags": VALUES,
        "deletionVector": VECTOR,
        "baseRowId": LONG,
        "defaultRowCommitVersion": LONG,
        "clusteringProvider": TEXT,
    },
    "remove": {
        "path": TEXT,
        "deletionTimestamp": LONG,
        "dataChange": FLAG,
        "extendedFileMetadata": FLAG,
        "partitionValues": VALUES,
        "size": LONG,
        "tags": VALUES,
        "deletionVector": VECTOR,
        "baseRowId": LONG,
        "defaultRowCommitVersion": LONG,
        "stats": TEXT,
    },
    "cdc": {"path": TEXT, "partitionValues": VALUES, "size": LONG, "tags": VALUES, "dataChange": FLAG},
    "domainMetadata": {"domain": TEXT, "configuration": TEXT, "removed": FLAG},
    "checkpointMetadata": {"version": LONG, "tags": VALUES},
    "sidecar": {"path": TEXT, "sizeInBytes": LONG, "modificationTime": LONG, "tags": VALUES},
}
REQUIRED: dict[str, set[str]] = {
    "commitInfo": set(),
    "metaData": {"id", "partitionColumns", "configuration"},
    "protocol": {"minReaderVersion", "minWriterVersion"},
    "txn": {"appId", "version"},
    "add": {"path", "partitionValues", "size", "modificationTime", "dataChange"},
    "remove": {"path", "dataChange"},
    "cdc": {"path", "partitionValues", "size"},
    "domainMetadata": {"domain", "configuration", "removed"},
    "checkpointMetadata": {"version"},
    "sidecar": {"path", "sizeInBytes", "modificationTime"},
    "metaData.format": set(),
    "add.deletionVector": {"storageType", "pathOrInlineDv", "sizeInBytes", "cardinality"},
    "remove.deletionVector": {"storageType", "pathOrInlineDv", "sizeInBytes", "cardinality"},
}
SAMPLES: dict[str, Any] = {
    LONG: -(2**63),
    TEXT: "x",
    FLAG: False,
    MAP: {"k": "v"},
    VALUES: {"k": None, "l": ""},
    LIST: [],
    OBJECT: {"k": {"l": [None]}},
}
# What each type refuses, and how the message says what was found.
WRONG: dict[str, list[tuple[Any, str]]] = {
    LONG: [("1", "a string"), (1.5, "the number 1.5"), (True, "a boolean"), (2**63, f"the number {2**63}")],
    TEXT: [(1, "the number 1"), ({}, "an object"), (False, "a boolean")],
    FLAG: [(0, "the number 0"), ("true", "a string"), ([], "a list")],
    MAP: [({"k": None}, "an object"), ({"k": 1}, "an object"), ("", "a string"), ([], "a list")],
    VALUES: [({"k": 1}, "an object"), ({"k": True}, "an object"), ("", "a string")],
    LIST: [({}, "an object"), ([None], "a list"), (["a", 1], "a list"), ("a", "a string")],
    OBJECT: [([], "a list"), ("{}", "a string"), (1, "the number 1")],
}
EXPECTED = {
    LONG: "must be a 64-bit integer, not",
    TEXT: "must be a string, not",
    FLAG: "must be true or false, not",
    MAP: "must be an object of strings, not",
    VALUES: "must be an object of strings and nulls, not",
    LIST: "must be a list of strings, not",
    OBJECT: "must be an object, not",
}


def sample(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: sample(kind) if isinstance(kind, dict) else SAMPLES[kind] for key, kind in fields.items()}


def line(kind: str, body: object) -> bytes:
    return json.dumps({kind: body}).encode()


def decoded_body(action: Action) -> Any:
    (body,) = json.loads(encode_action(action)).values()
    return body


def places() -> list[tuple[str, str, Any]]:
    """Every field there is: the action, the path to the field, its type."""
    found = []
    for kind, fields in REFERENCE.items():
        for key, field_type in fields.items():
            found.append((kind, key, field_type))
            if isinstance(field_type, dict):
                found += [(kind, f"{key}.{inner}", inner_type) for inner, inner_type in field_type.items()]
    return found


def is_required(kind: str, path: str) -> bool:
    where, _, key = f"{kind}.{path}".rpartition(".")
    return key in REQUIRED[where]


def with_field(kind: str, path: str, *value: object) -> bytes:
    """A line with every field set, except that one field has another value, or none."""
    body = sample(REFERENCE[kind])
    holder = body
    *parents, key = path.split(".")
    for parent in parents:
        holder = holder[parent]
    del holder[key]
    holder.update(dict.fromkeys([key] * len(value), *value))
    return line(kind, body)


@given(actions)
def test_action_when_encoded_and_decoded_then_equal(action: Action):
    assert decode_action(encode_action(action)) == action


@given(actions)
def test_encoding_when_repeated_over_a_decoding_then_byte_for_byte_the_same(action: Action):
    encoded = encode_action(action)
    assert encode_action(decode_action(encoded)) == encoded


@given(st.lists(actions, max_size=4))
def test_commit_when_encoded_then_one_line_each_and_equal_after_decoding(commit: list[Action]):
    encoded = encode_commit(commit)
    assert encoded.count(b"\n") == len(commit)
    assert not encoded or encoded.endswith(b"\n")
    assert decode_commit(encoded) == commit


@given(actions, st.randoms(use_true_random=False))
def test_decoding_when_keys_come_in_another_order_with_spaces_then_equal(action: Action, random: Any):
    body = decoded_body(action)
    if isinstance(body, dict):
        shuffled = list(body.items())
        random.shuffle(shuffled)
        body = dict(shuffled)
    kind = next(iter(json.loads(encode_action(action))))
    assert decode_action(json.dumps({kind: body}, indent=1).replace("\n", " ").encode()) == action


def test_reference_tables_cover_every_action():
    assert KNOWN_ACTIONS.keys() == REFERENCE.keys()


@pytest.mark.parametrize("kind", REFERENCE)
def test_keys_when_every_field_is_set_then_in_the_reference_order(kind: str):
    body = sample(REFERENCE[kind])
    backwards = dict(reversed([("x-new", 1), *body.items()]))
    encoded = encode_action(decode_action(line(kind, backwards)))
    # One text comparison holds key order, nested key order, separators and the place of unknown fields.
    assert encoded.decode() == json.dumps({kind: body | {"x-new": 1}}, separators=(",", ":"))


@pytest.mark.parametrize(("kind", "path", "field_type"), places())
def test_field_when_of_the_wrong_type_then_refused_by_name(kind: str, path: str, field_type: Any):
    wrong = [([], "a list"), ("{}", "a string")] if isinstance(field_type, dict) else WRONG[field_type]
    expected = "must be an object, not" if isinstance(field_type, dict) else EXPECTED[field_type]
    for value, found in wrong:
        with pytest.raises(InvalidAction) as error:
            decode_action(with_field(kind, path, value))
        assert error.value.message == f"{kind}.{path} {expected} {found}"


@pytest.mark.parametrize("value", [-(2**63), 2**63 - 1])
def test_integer_when_at_the_edge_of_64_bits_then_kept(value: int):
    assert decode_action(line("txn", {"appId": "a", "version": value})) == Txn(app_id="a", app_version=value)


@pytest.mark.parametrize("value", [-(2**63) - 1, 2**63, 2**70])
def test_integer_when_beyond_64_bits_then_refused(value: int):
    with pytest.raises(InvalidAction, match=r"txn\.version must be a 64-bit integer, not the number"):
        decode_action(line("txn", {"appId": "a", "version": value}))


@pytest.mark.parametrize(("kind", "path"), [place[:2] for place in places() if not is_required(*place[:2])])
def test_optional_field_when_explicitly_null_then_the_same_as_absent(kind: str, path: str):
    absent = decode_action(with_field(kind, path))
    assert decode_action(with_field(kind, path, None)) == absent
    assert b"null" not in encode_action(absent).replace(b'"k":null', b"").replace(b"[null]", b"")


@pytest.mark.parametrize(("kind", "path"), [place[:2] for place in places() if is_required(*place[:2])])
def test_required_field_when_absent_or_null_then_named(kind: str, path: str):
    for given_line in (with_field(kind, path), with_field(kind, path, None)):
        with pytest.raises(InvalidAction) as error:
            decode_action(given_line)
        assert error.value.message == f"{kind}.{path} is missing"


def test_null_when_a_partition_value_then_kept():
    body = {"path": "f", "partitionValues": {"a": None, "b": "x"}, "size": 1, "modificationTime": 2, "dataChange": True}
    action = decode_action(line("add", body))
    assert isinstance(action, Add)
    assert action.partition_values == {"a": None, "b": "x"}
    assert b'"partitionValues":{"a":null,"b":"x"}' in encode_action(action)


def test_null_when_under_an_unknown_key_then_kept():
    action = decode_action(line("txn", {"appId": "a", "version": 1, "x-new": None}))
    assert encode_action(action) == b'{"txn":{"appId":"a","version":1,"x-new":null}}'


def test_null_when_in_operation_parameters_then_kept():
    encoded = b'{"commitInfo":{"operationParameters":{"description":null,"auto":false,"n":[1,{"k":null}]}}}'
    assert encode_action(decode_action(encoded)) == encoded


def test_feature_lists_when_empty_and_when_absent_then_kept_apart():
    empty = Protocol(min_reader_version=3, min_writer_version=7, reader_features=(), writer_features=())
    absent = Protocol(min_reader_version=3, min_writer_version=7)
    assert encode_action(empty) == (
        b'{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":[],"writerFeatures":[]}}'
    )
    assert encode_action(absent) == b'{"protocol":{"minReaderVersion":3,"minWriterVersion":7}}'
    assert decode_action(encode_action(empty)) == empty != absent == decode_action(encode_action(absent))


def test_maps_when_empty_then_written():
    metadata = Metadata(id="i", partition_columns=(), configuration={})
    assert encode_action(metadata) == (
        b'{"metaData":{"id":"i","format":{"provider":"parquet","options":{}},"partitionColumns":[],"configuration":{}}}'
    )


def test_format_when_partly_given_then_the_rest_is_parquet():
    action = decode_action(b'{"metaData":{"id":"i","format":{"x-f":1},"partitionColumns":[],"configuration":{}}}')
    assert isinstance(action, Metadata)
    assert action.format == Format(provider="parquet", options={}, extra={"x-f": 1})


@pytest.mark.parametrize("kind", REFERENCE)
@given(extra=unknown_fields)
def test_unknown_fields_when_present_then_kept_in_their_order(kind: str, extra: dict[str, Any]):
    body = sample(REFERENCE[kind])
    again = decoded_body(decode_action(line(kind, extra | body)))
    assert again == body | extra
    assert list(again) == [*body, *extra]


def test_unknown_action_when_decoded_then_kept_as_it_was():
    encoded = b'{"checkpointPreview":{"a":[1,2.5,null,"\\u001F"]}}'
    action = decode_action(encoded)
    assert action == UnknownAction(kind="checkpointPreview", body={"a": [1, 2.5, None, "\x1f"]})
    assert encode_action(action) == encoded


def reference_string(text: str) -> str:
    """A JSON string as Jackson writes it, character by character."""
    short = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
    escaped = (short.get(char, f"\\u{ord(char):04X}" if char < " " else char) for char in text)
    return f'"{"".join(escaped)}"'


# Pieces that look like escapes once they are joined, with real control characters among them.
PIECES = ["\\", "u00", "1f", "0b", "AB", "\x00", "\x0b", "\x1f", "\n", "\x7f", "/", '"', "é", "\u2028"]


@given(st.lists(st.sampled_from(PIECES)).map("".join))
def test_string_when_encoded_then_escaped_as_the_reference_writer_does(text: str):
    assert encode_json(text).decode() == reference_string(text)


@pytest.mark.parametrize(
    ("text", "encoded"),
    [
        pytest.param("\x1f\x0b", rb'"\u001F\u000B"', id="control characters in upper-case hex"),
        pytest.param("\b\t\n\f\r", rb'"\b\t\n\f\r"', id="short forms"),
        pytest.param("é\U0001f600\x7f\u2028", '"é\U0001f600\x7f\u2028"'.encode(), id="raw beyond ASCII"),
        pytest.param(r"\u001f", rb'"\\u001f"', id="backslash before u00 is text"),
        pytest.param("\\\x1f", rb'"\\\u001F"', id="backslash before a control character"),
        pytest.param("a/b<>&'", b'"a/b<>&\'"', id="nothing else is escaped"),
    ],
)
def test_string_when_it_holds_special_characters_then_these_bytes(text: str, encoded: bytes):
    assert encode_json(text) == encoded
    assert decode_action(b'{"txn":{"appId":' + encoded + b',"version":0}}') == Txn(app_id=text, app_version=0)


@given(json_values)
def test_json_when_encoded_then_compact_and_equal(value: Any):
    encoded = encode_json(value)
    assert json.loads(encoded) == value
    assert encode_json(json.loads(encoded)) == encoded


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_decoding_when_a_number_is_not_finite_then_refused_with_a_hint(number: str):
    with pytest.raises(CorruptLog, match="not valid JSON") as error:
        decode_action(f'{{"txn":{{"appId":"a","version":{number}}}}}'.encode())
    assert error.value.hint == "write NaN and infinities as strings or omit them"


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_encoding_when_a_number_is_not_finite_then_refused(number: float):
    with pytest.raises(InvalidAction):
        encode_json({"operationParameters": {"threshold": number}})


@pytest.mark.parametrize("value", [2**64, b"x", {1: "a"}, "\ud800", {1, 2}])
def test_encoding_when_json_has_no_such_value_then_refused(value: Any):
    with pytest.raises(InvalidAction, match="cannot be written as JSON"):
        encode_json(value)


@pytest.mark.parametrize("number", ["123456789012345678901234567890", "-9223372036854775809"])
def test_unknown_number_when_wider_than_64_bits_then_never_changed_silently(number: str):
    encoded = f'{{"txn":{{"appId":"a","version":1,"x-new":{number}}}}}'.encode()
    try:
        again = encode_action(decode_action(encoded))
    except TwinlogError:
        return
    assert again == encoded


@pytest.mark.parametrize("digits", ["", "1234567890", "123456789012345678901234567890"])
@pytest.mark.parametrize(
    "text",
    [
        b'{"txn":{"appId":"\\ud800","version":1,"x-new":"%b"}}',
        b'{"txn":{"appId":"\xff","version":1,"x-new":"%b"}}',
        b'{"txn":{"appId":"\x01","version":1,"x-new":"%b"}}',
        b'{"txn":{"appId":"a","version":1,"x-new":1e999,"x-newer":"%b"}}',
        b'{"txn":{"appId":"a","version":1,"x-new":[-Infinity,"%b"]}}',
        b'\xef\xbb\xbf{"txn":{"appId":"a","version":1,"x-new":"%b"}}',
        b'{"txn":{"appId":"a","version":1,"x-new":' + b"[" * 5_000 + b'"%b"' + b"]" * 5_000 + b"}}",
    ],
    ids=[
        "lone surrogate",
        "no UTF-8",
        "control character",
        "beyond a double",
        "infinity",
        "byte order mark",
        "too deep",
    ],
)
def test_line_when_not_json_then_refused_whatever_else_it_holds(text: bytes, digits: str):
    with pytest.raises(CorruptLog, match="not valid JSON"):
        decode_action(text % digits.encode())


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (b"{", CorruptLog, "not valid JSON"),
        (b'{"txn":{"appId":"a","version":1}} x', CorruptLog, "not valid JSON"),
        (b'{"txn":{"appId":"\\ud800","version":1}}', CorruptLog, "not valid JSON"),
        (b'{"txn":{"appId":"\xff","version":1}}', CorruptLog, "not valid JSON"),
        (b'[{"txn":1}]', CorruptLog, "expected an object with one action, found a list"),
        (b'"txn"', CorruptLog, "expected an object with one action, found a string"),
        (b"7", CorruptLog, "expected an object with one action, found the number 7"),
        (b"null", CorruptLog, "expected an object with one action, found null"),
        (b"true", CorruptLog, "expected an object with one action, found a boolean"),
        (b"{}", CorruptLog, "expected one action, found none"),
        (b'{"add":null}', CorruptLog, "expected one action, found none"),
        (b'{"add":{},"txn":{}}', CorruptLog, "expected one action, found add, txn"),
        (b'{"txn":[]}', InvalidAction, "txn must be an object, not a list"),
        (b'{"txn":"a"}', InvalidAction, "txn must be an object, not a string"),
    ],
)
def test_line_when_not_one_action_then_refused(text: bytes, kind: type[TwinlogError], message: str):
    with pytest.raises(kind) as error:
        decode_action(text)
    assert error.value.message.startswith(message)


def test_line_when_other_actions_are_null_then_the_one_that_is_not_counts():
    assert decode_action(b'{"add":null,"txn":{"appId":"a","version":1},"remove":null}') == Txn(
        app_id="a", app_version=1
    )


def test_commit_when_lines_are_blank_or_end_in_crlf_or_without_newline_then_read():
    text = b'\n{"txn":{"appId":"a","version":1}}\r\n\n  \t\r\n{"txn":{"appId":"b","version":2}}'
    assert decode_commit(text) == [Txn(app_id="a", app_version=1), Txn(app_id="b", app_version=2)]


def test_commit_when_empty_then_no_actions():
    assert decode_commit(b"") == []
    assert encode_commit([]) == b""


@pytest.mark.parametrize(
    ("bad", "kind", "message", "hint"),
    [
        (b'{"txn":{"appId":"a"}}', InvalidAction, "line 3: txn.version is missing", None),
        (b'{"txn":{"appId":1}}', InvalidAction, "line 3: txn.appId must be a string, not the number 1", None),
        (b"{}", CorruptLog, "line 3: expected one action, found none", None),
        (b"NaN", CorruptLog, "line 3: not valid JSON: ", "write NaN and infinities as strings or omit them"),
    ],
)
def test_commit_when_a_line_is_bad_then_the_error_names_it(
    bad: bytes, kind: type[TwinlogError], message: str, hint: str | None
):
    good = b'{"txn":{"appId":"a","version":1}}'
    with pytest.raises(kind) as error:
        decode_commit(b"\n".join([good, b"", bad, good]))
    assert error.value.message.startswith(message)
    assert error.value.hint == (hint or kind.usual_hint)

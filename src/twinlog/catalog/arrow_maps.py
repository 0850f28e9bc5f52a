"""Maps of strings between Arrow and canonical JSON text, without a Python object for each row.

Real tables repeat a few partition values and tags over millions of files, so JSON is written or parsed once for each
distinct value and spread over the rows by Arrow.
"""

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from twinlog.errors import InvalidAction
from twinlog.protocol.codec import encode_json

MAP_TYPE = pa.map_(pa.string(), pa.string())
_ENTRIES_TYPE = pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())]))


def maps_to_json(column: pa.MapArray) -> pa.StringArray:
    """JSON text of each map; null stays null."""
    rows = column.cast(_ENTRIES_TYPE)
    keys = _shared_keys(rows)
    if keys is None:
        return pa.array([_to_json(entries) for entries in column.to_pylist()], pa.string())
    items = rows.flatten().field(1)
    pieces: list[object] = ["{"]
    for position, key in enumerate(keys):
        values = items.take(pa.array(range(position, len(items), len(keys)), pa.int64()))
        pieces += ["," if position else "", encode_json(key).decode(), ":", _json_literals(values)]
    text = pc.binary_join_element_wise(*pieces, "}", "")
    if isinstance(text, pa.Scalar):
        return pa.array([text.as_py()] * len(column), pa.string())
    return text


def json_to_maps(column: pa.StringArray) -> pa.MapArray:
    """Parse JSON objects of strings into maps; null stays null."""
    encoded = column.dictionary_encode()
    parsed = [None if text is None else list(orjson.loads(text).items()) for text in encoded.dictionary.to_pylist()]
    return pa.array(parsed, MAP_TYPE).take(encoded.indices)


def _shared_keys(rows: pa.ListArray) -> list[str] | None:
    """The keys, if every row has the same ones in the same order and none is null."""
    lengths = pc.unique(pc.list_value_length(rows))
    if len(lengths) != 1 or not lengths[0].is_valid:
        return None
    keys = rows.flatten().field(0)
    first: list[str] = keys.slice(0, lengths[0].as_py()).to_pylist()
    expected = pa.array(first * len(rows), pa.string())
    return first if len(set(first)) == len(first) and keys.equals(expected) else None


def _json_literals(values: pa.StringArray) -> pa.StringArray:
    encoded = values.dictionary_encode(null_encoding="encode")
    literals = [encode_json(value).decode() for value in encoded.dictionary.to_pylist()]
    return pa.array(literals, pa.string()).take(encoded.indices)


def _to_json(entries: list[tuple[str, str | None]] | None) -> str | None:
    if entries is None:
        return None
    as_dict = dict(entries)
    if len(as_dict) != len(entries):
        raise InvalidAction(f"a map names the same key twice: {sorted(key for key, _ in entries)}")
    return encode_json(as_dict).decode()

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.protocol.corpora import corpus_tables, needs_corpora
from twinlog.errors import InvalidAction
from twinlog.protocol.actions import DeletionVector
from twinlog.protocol.deletion_vectors import check_deletion_vector, dv_file_path, z85_decode, z85_encode

# The three examples of the protocol document.
RELATIVE = DeletionVector(
    storage_type="u", path_or_inline_dv="ab^-aqEH.-t@S}K{vb[*k^", offset=4, size_in_bytes=40, cardinality=6
)
ABSOLUTE = DeletionVector(
    storage_type="p",
    path_or_inline_dv="s3://mytable/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin",
    offset=4,
    size_in_bytes=40,
    cardinality=6,
)
INLINE = DeletionVector(
    storage_type="i",
    path_or_inline_dv="wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
    size_in_bytes=40,
    cardinality=6,
)


def test_z85_matches_the_example_of_its_specification():
    assert z85_encode(bytes.fromhex("864FD26FB559F75B")) == "HelloWorld"
    assert z85_decode("HelloWorld") == bytes.fromhex("864FD26FB559F75B")


@given(st.binary())
def test_z85_round_trip_adds_only_padding(data: bytes):
    decoded = z85_decode(z85_encode(data))
    assert decoded == data + bytes(-len(data) % 4)


@pytest.mark.parametrize("text", ["Hell", "Hello_orld", "Hell;", "Hellö", "#####", "Hello\n"])
def test_z85_decode_when_not_z85_is_refused(text: str):
    with pytest.raises(ValueError, match=r"Z85|overflow"):
        z85_decode(text)


@pytest.mark.parametrize("root", ["s3://mytable", "s3://mytable/"])
def test_dv_file_path_of_a_relative_vector_is_below_the_root(root: str):
    assert dv_file_path(RELATIVE, root) == "s3://mytable/ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"


def test_dv_file_path_without_a_prefix_has_no_folder():
    dv = replace(RELATIVE, path_or_inline_dv="^-aqEH.-t@S}K{vb[*k^")
    assert dv_file_path(dv, "/t") == "/t/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"


def test_dv_file_path_of_an_absolute_vector_is_its_path():
    assert dv_file_path(ABSOLUTE, "/elsewhere") == ABSOLUTE.path_or_inline_dv


def test_dv_file_path_of_an_inline_vector_is_refused():
    with pytest.raises(InvalidAction, match="has no file"):
        dv_file_path(INLINE, "/t")


@given(st.uuids(), st.text("abcXYZ019", max_size=4))
def test_dv_file_path_holds_the_uuid_that_was_encoded(uuid: UUID, prefix: str):
    dv = replace(RELATIVE, path_or_inline_dv=prefix + z85_encode(uuid.bytes))
    check_deletion_vector(dv)
    assert dv_file_path(dv, "r") == "/".join(["r", *filter(None, [prefix]), f"deletion_vector_{uuid}.bin"])


@pytest.mark.parametrize("dv", [RELATIVE, ABSOLUTE, INLINE, replace(RELATIVE, offset=None)])
def test_check_when_well_formed_passes(dv: DeletionVector):
    check_deletion_vector(dv)


@pytest.mark.parametrize(
    ("dv", "changes", "problem"),
    [
        (RELATIVE, {"storage_type": "r"}, "storageType"),
        (RELATIVE, {"storage_type": ""}, "storageType"),
        (RELATIVE, {"offset": -1}, "offset"),
        (RELATIVE, {"offset": 2**31}, "offset"),
        (RELATIVE, {"size_in_bytes": -1}, "sizeInBytes"),
        (RELATIVE, {"size_in_bytes": 2**31}, "sizeInBytes"),
        (RELATIVE, {"cardinality": -1}, "cardinality"),
        (RELATIVE, {"extra": {"maxRowIndex": 9}}, "maxRowIndex"),
        (RELATIVE, {"path_or_inline_dv": "^-aqEH.-t@S}K{vb[*k"}, "20 characters"),
        (RELATIVE, {"path_or_inline_dv": "^-aqEH.-t@S}K{vb[*k~"}, "Z85"),
        (RELATIVE, {"path_or_inline_dv": "^-aqEH.-t@S}K{v#####"}, "Z85"),
        (RELATIVE, {"path_or_inline_dv": "..^-aqEH.-t@S}K{vb[*k^"}, "prefix"),
        (RELATIVE, {"path_or_inline_dv": "a/b^-aqEH.-t@S}K{vb[*k^"}, "prefix"),
        (ABSOLUTE, {"path_or_inline_dv": "deletion_vector.bin"}, "absolute URI"),
        (ABSOLUTE, {"path_or_inline_dv": "/deletion_vector.bin"}, "absolute URI"),
        (ABSOLUTE, {"path_or_inline_dv": "s3://my table/dv.bin"}, "percent-encoded"),
        (INLINE, {"offset": 0}, "offset"),
        (INLINE, {"size_in_bytes": 41}, "40 bytes"),
        (INLINE, {"path_or_inline_dv": "wi5b"}, "Z85"),
    ],
)
def test_check_when_malformed_is_refused(dv: DeletionVector, changes: dict[str, Any], problem: str):
    with pytest.raises(InvalidAction, match=problem):
        check_deletion_vector(replace(dv, **changes))


@needs_corpora
def test_every_deletion_vector_of_the_real_tables_is_valid_and_has_its_file():
    seen = set()
    for table in corpus_tables():
        for kind, action in table.actions():
            body = action.get("deletionVector") if kind in ("add", "remove") else None
            if body:
                dv = DeletionVector(
                    storage_type=body["storageType"],
                    path_or_inline_dv=body["pathOrInlineDv"],
                    offset=body.get("offset"),
                    size_in_bytes=body["sizeInBytes"],
                    cardinality=body["cardinality"],
                )
                check_deletion_vector(dv)
                assert table.log_only or (table.root / dv_file_path(dv, str(table.root))).is_file()
                seen.add(dv.unique_id)
    assert seen

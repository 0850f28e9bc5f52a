import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.protocol.corpora import CorpusTable, corpus_tables, needs_corpora
from twinlog.errors import InvalidAction
from twinlog.protocol.paths import (
    INVALID_PATH_PATTERN,
    check_path,
    decode_path,
    encode_path,
    hive_escape,
    partition_directory,
)

VALID = [
    "part-00000-cc5b0c6b.c000.snappy.parquet",
    "ts=10%253A00/f.parquet",
    "data=😈/größe.parquet",
    "a/b:c/d@e&f=g+h$i,j;k!l~m*n'o(p).parquet",
    "a//b",
    "./a:b",
    "...",
    "a..b/..c/d..",
    "/some/unqualified/absolute/path",
    "s3://bucket/key",
    "s3://bucket//key",
    "abfss://container@account.dfs.core.windows.net/a%20b",
    "file:/a",
    "file:///a",
    "x+y-.z:/q",
    "zero\u200bwidth",
]

INVALID = [
    "",
    "a b",
    "a\tb",
    "a\n",
    "a\x00b",
    "a\x7fb",
    "a\x85b",
    "a\u00a0b",
    "a\u2003b",
    "a\u3000b",
    *(f"a{char}b" for char in '"<>\\^`{|}[]#?'),
    "a%",
    "a%2",
    "a%zz/b",
    "%%41",
    "..",
    "../a",
    "a/../b",
    "a/..",
    "a/%2e%2E/b",
    "s3://bucket/../a",
    "http:foo",
    "part:1.parquet",
    "s3:",
    "s3://",
    "s3://bucket",
    ":a",
    "1a:b/c",
    "a=1:2/f",
    "é:b/c",
    "//host/a",
    "a/",
    "/",
]

# Half of the alphabet is what the rules are about, or a random text would hardly ever meet them.
path_texts = st.text(st.one_of(st.sampled_from("/:.%2eEfs3#? []é\u2003"), st.characters(exclude_categories=["Cs"])))
segments = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="/"), min_size=1).filter(
    lambda segment: segment != ".."
)
relative_paths = st.lists(segments, min_size=1, max_size=4).map("/".join)


def is_refused(path: str) -> bool:
    try:
        check_path(path)
    except InvalidAction:
        return True
    return False


@pytest.mark.parametrize("path", VALID)
def test_check_path_when_valid_passes(path: str):
    check_path(path)


@pytest.mark.parametrize("path", INVALID)
def test_check_path_when_invalid_is_refused(path: str):
    with pytest.raises(InvalidAction, match="path"):
        check_path(path)


def test_arrow_and_check_path_agree_on_the_examples():
    refused = pc.match_substring_regex(pa.array(VALID + INVALID), INVALID_PATH_PATTERN)
    assert refused.to_pylist() == [False] * len(VALID) + [True] * len(INVALID)


def test_arrow_and_check_path_agree_on_every_character():
    paths = [f"a{chr(code)}b" for code in range(0x11000) if not 0xD800 <= code < 0xE000]
    refused = pc.match_substring_regex(pa.array(paths), INVALID_PATH_PATTERN)
    assert refused.to_pylist() == [is_refused(path) for path in paths]


@given(st.lists(st.one_of(path_texts, relative_paths), min_size=1))
def test_arrow_and_check_path_agree(paths: list[str]):
    refused = pc.match_substring_regex(pa.array(paths), INVALID_PATH_PATTERN)
    assert refused.to_pylist() == [is_refused(path) for path in paths]


@given(relative_paths)
def test_encoded_path_is_valid_and_decodes_to_the_same(path: str):
    encoded = encode_path(path)
    check_path(encoded)
    assert decode_path(encoded) == path


@pytest.mark.parametrize(
    ("path", "encoded"),
    [
        ("a b", "a%20b"),
        ('%"#<>?[\\]^`{|}', "%25%22%23%3C%3E%3F%5B%5C%5D%5E%60%7B%7C%7D"),
        ("d/:@&=+$,;!~*'()-_.", "d/:@&=+$,;!~*'()-_."),
        ("größe/😈", "größe/😈"),
        ("a\u00a0b\x7f\x00", "a%C2%A0b%7F%00"),
        ("first:segment/second:segment", "first%3Asegment/second:segment"),
    ],
)
def test_encode_path_keeps_what_java_keeps(path: str, encoded: str):
    assert encode_path(path) == encoded


@pytest.mark.parametrize("path", ["a%C3%28", "%FF", "a%2", "a b"])
def test_decode_path_when_not_decodable_is_refused(path: str):
    with pytest.raises(InvalidAction, match="path"):
        decode_path(path)


@pytest.mark.parametrize(
    ("column", "value", "directory", "logged"),
    [
        ("ts", "10:00", "ts=10%3A00", "ts=10%253A00/f"),
        ("p", "a%percent", "p=a%25percent", "p=a%2525percent/f"),
        ("letter", "/%20%f", "letter=%2F%2520%25f", "letter=%252F%252520%2525f/f"),
        ("as_timestamp", "2021-09-08 11:11:11", "as_timestamp=2021-09-08 11%3A11%3A11", None),
        ("_2", "bar+%21", "_2=bar+%2521", "_2=bar+%252521/f"),
        ("data", "😈", "data=😈", "data=😈/f"),
        ("a=b", "c", "a%3Db=c", "a%253Db=c/f"),
        ("p", None, "p=__HIVE_DEFAULT_PARTITION__", "p=__HIVE_DEFAULT_PARTITION__/f"),
        ("p", "", "p=__HIVE_DEFAULT_PARTITION__", "p=__HIVE_DEFAULT_PARTITION__/f"),
    ],
)
def test_partition_directory_is_escaped_once_and_its_path_twice(column, value, directory, logged):
    assert partition_directory({column: value}) == directory
    assert logged is None or encode_path(f"{directory}/f") == logged


def test_partition_directory_keeps_the_order_of_columns():
    assert partition_directory({"b": "1", "a": None}) == "b=1/a=__HIVE_DEFAULT_PARTITION__"
    assert partition_directory({}) == ""


def test_hive_escape_covers_sparks_table():
    assert hive_escape("\x01\x1f\"#%'*/:=?\\\x7f{[]^") == "%01%1F%22%23%25%27%2A%2F%3A%3D%3F%5C%7F%7B%5B%5D%5E"
    assert hive_escape(" }|<>~+&é") == " }|<>~+&é"


@given(st.text(min_size=1))
def test_hive_escaped_value_is_one_directory_without_separators(value: str):
    assert not set(hive_escape(value)) & set("/:=\n")


@needs_corpora
@pytest.mark.parametrize("table", [table for table in corpus_tables() if not table.corrupt], ids=str)
def test_every_path_of_a_sound_real_table_passes_and_names_its_file(table: CorpusTable):
    actions = list(table.actions())
    paths = {kind: {body["path"] for each, body in actions if each == kind} for kind in ("add", "remove", "cdc")}
    for path in paths["add"] | paths["remove"] | paths["cdc"]:
        check_path(path)
    if not table.log_only:
        for path in (paths["add"] - paths["remove"]) | paths["cdc"]:
            assert (table.root / decode_path(path)).is_file(), path

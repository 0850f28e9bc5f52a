import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.protocol.corpora import corpus_tables, needs_corpora
from twinlog.protocol.lognames import (
    ChecksumFile,
    ClassicCheckpoint,
    CommitFile,
    CompactedCommits,
    LastCheckpointHint,
    LogFile,
    MultipartCheckpoint,
    SidecarFile,
    UuidCheckpoint,
    parse_log_name,
)

UUID = "80a083e8-7026-4e79-81be-64bd76c43a11"

EXAMPLES: list[tuple[LogFile, str]] = [
    (CommitFile(0), "00000000000000000000.json"),
    (CommitFile(2**63 - 1), "09223372036854775807.json"),
    (ChecksumFile(7), "00000000000000000007.crc"),
    (ClassicCheckpoint(10), "00000000000000000010.checkpoint.parquet"),
    (MultipartCheckpoint(4915, 20, 60), "00000000000000004915.checkpoint.0000000020.0000000060.parquet"),
    (UuidCheckpoint(3, UUID, "json"), f"00000000000000000003.checkpoint.{UUID}.json"),
    (UuidCheckpoint(3, UUID.upper(), "parquet"), f"00000000000000000003.checkpoint.{UUID.upper()}.parquet"),
    (SidecarFile(f"{UUID}.parquet"), f"_sidecars/{UUID}.parquet"),
    (CompactedCommits(4, 6), "00000000000000000004.00000000000000000006.compacted.json"),
    (LastCheckpointHint(), "_last_checkpoint"),
]

NOT_LOG_FILES = [
    "",
    "0.json",
    "000000000000000000000.json",
    "99999999999999999999.json",
    "0000000000000000000\u0663.json",
    "00000000000000000000.JSON",
    "00000000000000000000.json\n",
    "00000000000000000000.json.tmp",
    ".00000000000000000000.json.crc",
    f".00000000000000000000.json.{UUID}.tmp",
    f"00000000000000000000.{UUID}.json",
    f"_staged_commits/00000000000000000000.{UUID}.json",
    "00000000000000000000",
    "00000000000000000000.checkpoint",
    "00000000000000000000.checkpoint.parquet.tmp",
    "00000000000000000000.checkpoint.0000000001.0000000001.parquet",
    "00000000000000000000.checkpoint.0000000000.0000000002.parquet",
    "00000000000000000000.checkpoint.0000000003.0000000002.parquet",
    "00000000000000000000.checkpoint.1.2.parquet",
    "00000000000000000000.checkpoint.token.parquet",
    f"00000000000000000000.checkpoint.{UUID}.avro",
    f"00000000000000000000.checkpoint.{UUID}x.json",
    "00000000000000000005.00000000000000000005.compacted.json",
    "00000000000000000006.00000000000000000005.compacted.json",
    "_sidecars/",
    "_sidecars/.hidden.parquet",
    "_sidecars/a/b.parquet",
    "_sidecars/a.json",
    "_delta_log/00000000000000000000.json",
    "_last_checkpoint.tmp",
]

versions = st.integers(0, 2**63 - 1)
uuids = st.uuids().map(str)
log_files = st.one_of(
    st.builds(CommitFile, versions),
    st.builds(ClassicCheckpoint, versions),
    st.builds(ChecksumFile, versions),
    st.tuples(versions, st.integers(2, 2**31 - 1)).flatmap(
        lambda pair: st.builds(MultipartCheckpoint, st.just(pair[0]), st.integers(1, pair[1]), st.just(pair[1]))
    ),
    st.builds(UuidCheckpoint, versions, uuids, st.sampled_from(["json", "parquet"])),
    st.builds(SidecarFile, st.text("aZ9-_.%", min_size=1).map("s{}.parquet".format)),
    st.lists(versions, min_size=2, max_size=2, unique=True).map(lambda pair: CompactedCommits(min(pair), max(pair))),
    st.just(LastCheckpointHint()),
)


@pytest.mark.parametrize(("log_file", "name"), EXAMPLES)
def test_name_of_each_kind_is_the_protocols(log_file: LogFile, name: str):
    assert log_file.name == name
    assert parse_log_name(name) == log_file


@pytest.mark.parametrize("name", NOT_LOG_FILES)
def test_parse_of_anything_else_is_none(name: str):
    assert parse_log_name(name) is None


@given(log_files)
def test_name_parses_back_to_the_same_value(log_file: LogFile):
    assert parse_log_name(log_file.name) == log_file


@given(st.text("0123456789.-_abcdefcheckpointjsonparquet/\n", max_size=80))
def test_parsed_value_has_the_name_it_was_parsed_from(name: str):
    log_file = parse_log_name(name)
    assert log_file is None or log_file.name == name


@pytest.mark.parametrize(
    "build",
    [
        lambda: CommitFile(-1),
        lambda: ClassicCheckpoint(2**63),
        lambda: ChecksumFile(-1),
        lambda: MultipartCheckpoint(-1, 1, 2),
        lambda: MultipartCheckpoint(0, 3, 2),
        lambda: MultipartCheckpoint(0, 0, 2),
        lambda: MultipartCheckpoint(0, 1, 1),
        lambda: MultipartCheckpoint(0, 1, 2**31),
        lambda: UuidCheckpoint(-1, UUID, "json"),
        lambda: UuidCheckpoint(0, "not-a-uuid", "json"),
        lambda: UuidCheckpoint(0, UUID, "avro"),  # type: ignore[arg-type]
        lambda: SidecarFile("a/b.parquet"),
        lambda: SidecarFile(".parquet"),
        lambda: CompactedCommits(5, 5),
        lambda: CompactedCommits(-1, 5),
    ],
)
def test_value_without_a_name_is_refused(build):
    with pytest.raises(ValueError, match=r"not|no |cannot"):
        build()


# What engines leave beside the log; each is None on purpose.
FOREIGN = [
    re.compile(r"(_sidecars/)?\..*\.crc"),  # checksums of Hadoop's local file system
    re.compile(r"\.s3-optimization-[0-2]"),  # markers of Databricks
    re.compile(r"_staged_commits/[0-9]{20}\.[0-9a-f-]{36}\.json"),  # ratified by a catalog, not yet published
    re.compile(r"_trino_meta/extended_stats\.json"),
]


@needs_corpora
def test_every_file_of_the_real_logs_is_typed_or_known_to_be_foreign():
    kinds = set()
    for table in corpus_tables():
        for file in table.log.rglob("*"):
            name = file.relative_to(table.log).as_posix()
            if file.is_file():
                log_file = parse_log_name(name)
                is_foreign = any(pattern.fullmatch(name) for pattern in FOREIGN)
                assert (log_file is None) == is_foreign, file
                assert log_file is None or log_file.name == name
                kinds.add(type(log_file))
    assert kinds == {type(example) for example, _ in EXAMPLES} - {CompactedCommits} | {type(None)}

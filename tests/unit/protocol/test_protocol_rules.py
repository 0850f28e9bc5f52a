from typing import Any

import pytest

from tests.unit.protocol.corpora import corpus_tables, needs_corpora
from twinlog.errors import InvalidAction, UnsupportedFeature
from twinlog.protocol.actions import Protocol
from twinlog.protocol.known_features import FEATURES
from twinlog.protocol.protocol_rules import check_protocol, check_writable

WRITABLE = {
    *("appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns", "columnMapping"),
    *("identityColumns", "allowColumnDefaults", "deletionVectors", "rowTracking", "domainMetadata", "timestampNtz"),
    *("v2Checkpoint", "icebergCompatV1", "icebergCompatV2", "clustering", "variantType", "variantType-preview"),
    *("variantShredding", "variantShredding-preview", "typeWidening", "typeWidening-preview", "inCommitTimestamp"),
    *("vacuumProtocolCheck", "checkpointProtection", "materializePartitionColumns", "collations"),
    "collations-preview",
}
UNWRITABLE = {
    *("catalogManaged", "catalogOwned-preview", "coordinatedCommits-preview", "redirectReaderWriter-preview"),
    *("redirectWriterOnly-preview", "adaptiveMetadata-preview", "geospatial", "icebergCompatV3"),
    *("icebergWriterCompatV1", "icebergWriterCompatV3", "columnMappingUsageTracking", "timestampNanos"),
}


def protocol(
    reader: int, writer: int, readers: tuple[str, ...] | None = None, writers: tuple[str, ...] | None = None
) -> Protocol:
    return Protocol(
        min_reader_version=reader, min_writer_version=writer, reader_features=readers, writer_features=writers
    )


@pytest.mark.parametrize(
    "valid",
    [
        protocol(1, 1),
        protocol(1, 2),
        protocol(2, 5),
        protocol(2, 6),
        protocol(1, 7, writers=()),
        protocol(1, 7, writers=("appendOnly", "rowTracking", "not-known-yet")),
        protocol(2, 7, writers=("columnMapping",)),
        protocol(3, 7, (), ()),
        protocol(3, 7, ("columnMapping",), ("columnMapping", "appendOnly")),
        protocol(3, 7, ("deletionVectors", "not-known-yet"), ("not-known-yet", "deletionVectors")),
    ],
)
def test_protocol_when_consistent_is_accepted(valid):
    check_protocol(valid)


@pytest.mark.parametrize(
    ("invalid", "message"),
    [
        (protocol(0, 2), "minReaderVersion 0 is not a version from 1 to 3"),
        (protocol(4, 7, (), ()), "minReaderVersion 4 is not a version from 1 to 3"),
        (protocol(1, 0), "minWriterVersion 0 is not a version from 1 to 7"),
        (protocol(1, 8, writers=()), "minWriterVersion 8 is not a version from 1 to 7"),
        (protocol(3, 6, ()), "minReaderVersion 3 needs minWriterVersion 7, not 6"),
        (protocol(3, 7, None, ()), "minReaderVersion 3 needs readerFeatures"),
        (protocol(1, 7), "minWriterVersion 7 needs writerFeatures"),
        (protocol(1, 7, (), ()), "readerFeatures is only allowed with minReaderVersion 3, not 1"),
        (protocol(1, 2, writers=()), "writerFeatures is only allowed with minWriterVersion 7, not 2"),
        (protocol(3, 7, ("columnMapping",), ()), "'columnMapping' is in readerFeatures but not in writerFeatures"),
        (protocol(3, 7, ("future",), ()), "'future' is in readerFeatures but not in writerFeatures"),
        (protocol(3, 7, ("rowTracking",), ("rowTracking",)), "'rowTracking' concerns only writers"),
        (protocol(3, 7, (), ("deletionVectors",)), "'deletionVectors' concerns readers but is not in readerFeatures"),
        (protocol(3, 7, (), ("columnMapping",)), "'columnMapping' concerns readers but is not in readerFeatures"),
        (protocol(2, 7, None, ("v2Checkpoint",)), "'v2Checkpoint' concerns readers but is not in readerFeatures"),
        (protocol(1, 7, None, ("columnMapping",)), "'columnMapping' concerns readers but is not in readerFeatures"),
    ],
)
def test_protocol_when_contradictory_is_refused(invalid, message):
    with pytest.raises(InvalidAction) as caught:
        check_protocol(invalid)
    assert message in caught.value.message
    assert caught.value.hint


def test_features_when_split_by_what_twinlog_can_write_are_all_there():
    assert {name for name, feature in FEATURES.items() if feature.writable} == WRITABLE
    assert {name for name, feature in FEATURES.items() if not feature.writable} == UNWRITABLE


def test_table_when_all_its_features_are_writable_is_accepted():
    check_writable(protocol(1, 2))
    check_writable(protocol(2, 6))
    check_writable(protocol(3, 7, (), tuple(WRITABLE)))


@pytest.mark.parametrize("name", sorted(UNWRITABLE | {"liquid"}))
def test_table_when_a_feature_is_not_writable_is_refused(name):
    with pytest.raises(UnsupportedFeature) as caught:
        check_writable(protocol(1, 7, None, ("appendOnly", name)))
    assert f"{name!r} (" in caught.value.message
    assert "appendOnly" not in caught.value.message
    assert caught.value.hint


def test_table_when_several_features_are_not_writable_names_them_all():
    with pytest.raises(UnsupportedFeature) as caught:
        check_writable(protocol(3, 7, ("catalogManaged", "x"), ("catalogManaged", "x", "domainMetadata")))
    assert caught.value.message == (
        "twinlog cannot write a table with 'catalogManaged' (a writer must commit through the table's own catalog, with"
        " a transaction id), 'x' (unknown)"
    )


def parse_protocol(body: dict[str, Any]) -> Protocol:
    lists = [None if body.get(key) is None else tuple(body[key]) for key in ("readerFeatures", "writerFeatures")]
    return protocol(body["minReaderVersion"], body["minWriterVersion"], *lists)


@needs_corpora
def test_real_protocols_when_not_corrupt_on_purpose_are_accepted():
    seen = refused = 0
    for table in corpus_tables():
        for kind, body in table.actions():
            if kind != "protocol":
                continue
            seen += 1
            try:
                check_protocol(parse_protocol(body))
            except InvalidAction:
                assert str(table) == "deltalog-invalid-protocol-version"
                assert table.corrupt
                refused += 1
    assert seen > refused == 1

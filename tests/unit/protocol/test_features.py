from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.protocol.corpora import corpus_tables, needs_corpora
from twinlog.errors import UnsupportedFeature
from twinlog.protocol.actions import JsonObject, Protocol
from twinlog.protocol.features import (
    features_needed,
    legacy_features,
    missing_features,
    protocol_for,
    removed_features,
    supported_features,
    upgrade_protocol,
)
from twinlog.protocol.known_features import FEATURES, FeatureKind
from twinlog.protocol.protocol_rules import check_protocol
from twinlog.protocol.schema import ArrayType, PrimitiveType, StructField, StructType, parse_schema

PLAIN = StructType((StructField("c", PrimitiveType("long")),))
UP_TO_4 = {"appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns"}
LEGACY_READERS_AND_WRITERS = [(1, writer) for writer in range(1, 7)] + [(2, writer) for writer in range(1, 7)]


def versions(reader: int, writer: int) -> Protocol:
    return Protocol(min_reader_version=reader, min_writer_version=writer)


def listing(reader: int, *, readers: str | None = None, writers: str) -> Protocol:
    return Protocol(
        min_reader_version=reader,
        min_writer_version=7,
        reader_features=None if readers is None else tuple(readers.split()),
        writer_features=tuple(writers.split()),
    )


def column(type_name: str = "long", *, nullable: bool = True, metadata: JsonObject | None = None) -> StructType:
    return StructType((StructField("c", PrimitiveType(type_name), nullable=nullable, metadata=metadata or {}),))


@pytest.mark.parametrize(
    ("reader", "writer", "expected"),
    [
        (1, 1, set()),
        (1, 2, {"appendOnly", "invariants"}),
        (1, 3, {"appendOnly", "invariants", "checkConstraints"}),
        (1, 4, UP_TO_4),
        (1, 5, UP_TO_4),
        (2, 4, UP_TO_4),
        (2, 5, UP_TO_4 | {"columnMapping"}),
        (1, 6, UP_TO_4 | {"identityColumns"}),
        (2, 6, UP_TO_4 | {"columnMapping", "identityColumns"}),
    ],
)
def test_old_versions_when_asked_imply_their_features(reader, writer, expected):
    assert supported_features(versions(reader, writer)) == expected
    assert legacy_features(reader, writer) == expected


def test_listed_features_when_asked_are_all_that_is_supported():
    assert supported_features(listing(1, writers="")) == set()
    assert supported_features(listing(2, writers="columnMapping made-up")) == {"columnMapping", "made-up"}
    assert supported_features(listing(3, readers="x", writers="x y")) == {"x", "y"}


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ("", versions(1, 2)),
        ("appendOnly", versions(1, 2)),
        ("invariants appendOnly", versions(1, 2)),
        ("checkConstraints", versions(1, 3)),
        ("changeDataFeed", versions(1, 4)),
        ("generatedColumns", versions(1, 4)),
        ("columnMapping", versions(2, 5)),
        ("identityColumns", versions(1, 6)),
        ("identityColumns columnMapping", versions(2, 6)),
        ("inCommitTimestamp", listing(1, writers="appendOnly inCommitTimestamp invariants")),
        (
            "inCommitTimestamp changeDataFeed",
            listing(1, writers="appendOnly changeDataFeed inCommitTimestamp invariants"),
        ),
        (
            "inCommitTimestamp columnMapping",
            listing(2, writers="appendOnly columnMapping inCommitTimestamp invariants"),
        ),
        ("icebergCompatV2", listing(2, writers="appendOnly columnMapping icebergCompatV2 invariants")),
        ("rowTracking", listing(1, writers="appendOnly domainMetadata invariants rowTracking")),
        ("clustering", listing(1, writers="appendOnly clustering domainMetadata invariants")),
        (
            "deletionVectors",
            listing(3, readers="deletionVectors", writers="appendOnly deletionVectors invariants"),
        ),
        (
            "deletionVectors columnMapping",
            listing(
                3,
                readers="columnMapping deletionVectors",
                writers="appendOnly columnMapping deletionVectors invariants",
            ),
        ),
        (
            "variantShredding",
            listing(
                3,
                readers="variantShredding variantType",
                writers="appendOnly invariants variantShredding variantType",
            ),
        ),
        (
            "variantShredding-preview variantType-preview",
            listing(
                3,
                readers="variantShredding-preview variantType-preview",
                writers="appendOnly invariants variantShredding-preview variantType-preview",
            ),
        ),
        (
            "icebergWriterCompatV3",
            listing(
                2,
                writers="appendOnly columnMapping domainMetadata icebergCompatV3 icebergWriterCompatV3 invariants"
                " rowTracking",
            ),
        ),
    ],
)
def test_new_table_when_it_needs_features_gets_the_weakest_protocol(features, expected):
    assert protocol_for(features.split()) == expected


@pytest.mark.parametrize(
    ("current", "needed", "expected"),
    [
        (versions(1, 2), "", None),
        (versions(1, 2), "invariants", None),
        (versions(1, 1), "appendOnly", versions(1, 2)),
        (versions(1, 2), "changeDataFeed", versions(1, 4)),
        (versions(1, 6), "columnMapping", versions(2, 6)),
        (versions(2, 5), "identityColumns", versions(2, 6)),
        (versions(2, 3), "changeDataFeed", versions(2, 4)),
        (versions(1, 1), "domainMetadata", listing(1, writers="appendOnly domainMetadata invariants")),
        (
            versions(1, 4),
            "domainMetadata",
            listing(
                1,
                writers="appendOnly changeDataFeed checkConstraints domainMetadata generatedColumns invariants",
            ),
        ),
        (
            versions(2, 2),
            "domainMetadata",
            listing(2, writers="appendOnly columnMapping domainMetadata invariants"),
        ),
        (
            versions(2, 5),
            "timestampNtz",
            listing(
                3,
                readers="columnMapping timestampNtz",
                writers="appendOnly changeDataFeed checkConstraints columnMapping generatedColumns invariants"
                " timestampNtz",
            ),
        ),
        (listing(1, writers="z a"), "columnMapping", listing(2, writers="a columnMapping z")),
        (listing(1, writers="clustering"), "domainMetadata", listing(1, writers="clustering domainMetadata")),
        (listing(1, writers="clustering"), "clustering", listing(1, writers="clustering domainMetadata")),
        (
            listing(2, writers="columnMapping"),
            "v2Checkpoint",
            listing(3, readers="columnMapping v2Checkpoint", writers="columnMapping v2Checkpoint"),
        ),
        (listing(3, readers="", writers=""), "domainMetadata", listing(3, readers="", writers="domainMetadata")),
        (
            listing(3, readers="new-thing", writers="new-thing newer-thing"),
            "deletionVectors appendOnly",
            listing(
                3,
                readers="deletionVectors new-thing",
                writers="appendOnly deletionVectors new-thing newer-thing",
            ),
        ),
        (listing(3, readers="variantType-preview", writers="variantType-preview"), "variantType", None),
        (
            listing(3, readers="variantType-preview", writers="variantType-preview"),
            "variantShredding",
            listing(
                3,
                readers="variantShredding variantType-preview",
                writers="variantShredding variantType-preview",
            ),
        ),
    ],
)
def test_protocol_when_upgraded_adds_only_what_is_missing(current, needed, expected):
    assert upgrade_protocol(current, needed.split()) == expected


def test_protocol_when_upgraded_keeps_unknown_keys():
    for current, needed in ((versions(1, 2), "columnMapping"), (listing(1, writers=""), "rowTracking")):
        marked = Protocol(
            min_reader_version=current.min_reader_version,
            min_writer_version=current.min_writer_version,
            writer_features=current.writer_features,
            extra={"new": 1},
        )
        upgraded = upgrade_protocol(marked, [needed])
        assert upgraded is not None
        assert upgraded.extra == {"new": 1}


some_features = st.frozensets(st.sampled_from(sorted(FEATURES)))
valid_protocols = st.one_of(
    some_features.map(protocol_for),
    st.sampled_from([versions(*pair) for pair in LEGACY_READERS_AND_WRITERS]),
    st.builds(
        lambda shared, for_writers: listing(3, readers=" ".join(shared), writers=" ".join(shared | for_writers)),
        st.frozensets(st.sampled_from(["unknown-a", "deletionVectors", "columnMapping"])),
        st.frozensets(st.sampled_from(["unknown-b", "clustering", "invariants"])),
    ),
)


@given(some_features)
def test_any_features_when_turned_into_a_protocol_are_supported_and_valid(features):
    protocol = protocol_for(features)
    check_protocol(protocol)
    supported = supported_features(protocol)
    assert features <= supported
    assert {"appendOnly", "invariants"} <= supported
    assert all({r, f"{r}-preview"} & supported for name in features for r in FEATURES[name].requires)
    assert upgrade_protocol(protocol, features) is None


@given(valid_protocols, some_features)
def test_any_protocol_when_upgraded_is_valid_and_loses_nothing(current, needed):
    check_protocol(current)
    upgraded = upgrade_protocol(current, needed)
    final = upgraded or current
    check_protocol(final)
    assert removed_features(current, final) == set()
    assert final.min_reader_version >= current.min_reader_version
    assert final.min_writer_version >= current.min_writer_version
    assert all({name, f"{name}-preview"} & supported_features(final) for name in needed)
    assert upgrade_protocol(final, needed) is None
    if upgraded is not None:
        assert supported_features(upgraded) > supported_features(current)


def test_features_when_neither_supported_nor_previewed_are_missing():
    preview = listing(3, readers="variantType-preview", writers="variantType-preview")
    assert missing_features(preview, ["variantType", "variantType-preview"]) == set()
    assert missing_features(preview, ["variantShredding", "rowTracking"]) == {
        *("variantShredding", "rowTracking", "domainMetadata")
    }
    assert missing_features(versions(1, 4), ["changeDataFeed", "columnMapping"]) == {"columnMapping"}


def test_features_when_a_protocol_is_weakened_are_reported_as_removed():
    assert removed_features(versions(2, 5), versions(1, 3)) == {"columnMapping", "changeDataFeed", "generatedColumns"}
    assert removed_features(versions(1, 3), listing(1, writers="invariants")) == {"appendOnly", "checkConstraints"}
    assert removed_features(versions(1, 2), listing(1, writers="appendOnly invariants rowTracking")) == set()


@pytest.mark.parametrize(
    ("configuration", "expected"),
    [
        ({}, set()),
        ({"delta.appendOnly": "true"}, {"appendOnly"}),
        ({"delta.appendOnly": "TRUE"}, {"appendOnly"}),
        ({"delta.appendOnly": "false"}, set()),
        ({"delta.constraints.positive": "c > 0"}, {"checkConstraints"}),
        ({"delta.enableChangeDataFeed": "true"}, {"changeDataFeed"}),
        ({"delta.enableChangeDataCapture": "true"}, {"changeDataFeed"}),
        ({"delta.columnMapping.mode": "name"}, {"columnMapping"}),
        ({"delta.columnMapping.mode": "id"}, {"columnMapping"}),
        ({"delta.columnMapping.mode": "none"}, set()),
        ({"delta.enableDeletionVectors": "true"}, {"deletionVectors"}),
        ({"delta.enableRowTracking": "true"}, {"rowTracking", "domainMetadata"}),
        ({"delta.checkpointPolicy": "v2"}, {"v2Checkpoint"}),
        ({"delta.checkpointPolicy": "classic"}, set()),
        ({"delta.enableIcebergCompatV1": "true"}, {"icebergCompatV1", "columnMapping"}),
        ({"delta.enableIcebergCompatV2": "true"}, {"icebergCompatV2", "columnMapping"}),
        (
            {"delta.enableIcebergCompatV3": "true"},
            {"icebergCompatV3", "columnMapping", "rowTracking", "domainMetadata"},
        ),
        (
            {"delta.enableIcebergWriterCompatV1": "true"},
            {"icebergWriterCompatV1", "icebergCompatV2", "columnMapping"},
        ),
        ({"delta.enableVariantShredding": "true"}, {"variantShredding", "variantType"}),
        ({"delta.enableTypeWidening": "true"}, {"typeWidening"}),
        ({"delta.enableInCommitTimestamps": "true"}, {"inCommitTimestamp"}),
        ({"delta.requireCheckpointProtectionBeforeVersion": "20"}, {"checkpointProtection"}),
        ({"delta.requireCheckpointProtectionBeforeVersion": "0"}, set()),
        ({"delta.enableMaterializePartitionColumnsFeature": "true"}, {"materializePartitionColumns"}),
        (
            {"delta.coordinatedCommits.commitCoordinator-preview": "dynamodb"},
            {"coordinatedCommits-preview", "inCommitTimestamp", "vacuumProtocolCheck"},
        ),
        ({"delta.redirectReaderWriter-preview": "{}"}, {"redirectReaderWriter-preview"}),
        ({"delta.redirectWriterOnly-preview": "{}"}, {"redirectWriterOnly-preview"}),
    ],
)
def test_property_when_set_needs_its_feature(configuration, expected):
    assert features_needed(PLAIN, configuration) == expected


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (PLAIN, set()),
        (column("timestamp_ntz"), {"timestampNtz"}),
        (column("timestamp"), set()),
        (column("variant"), {"variantType"}),
        (column("geometry(4326)"), {"geospatial"}),
        (column("geography"), {"geospatial"}),
        (column(nullable=False), {"invariants"}),
        (column(metadata={"delta.invariants": "{}"}), {"invariants"}),
        (column(metadata={"delta.generationExpression": "a + 1"}), {"generatedColumns"}),
        (column(metadata={"delta.identity.start": 1, "delta.identity.step": 1}), {"identityColumns"}),
        (column(metadata={"CURRENT_DEFAULT": "7"}), {"allowColumnDefaults"}),
        (column(metadata={"delta.typeChanges": []}), {"typeWidening"}),
        (column("string", metadata={"__COLLATIONS": {"c": "ICU.de_DE"}}), {"collations", "domainMetadata"}),
        (column(metadata={"comment": "plain"}), set()),
    ],
)
def test_schema_when_it_uses_a_feature_needs_it_at_any_depth(schema, expected):
    inside_array = StructType((StructField("outer", ArrayType(schema, contains_null=True)),))
    assert features_needed(schema, {}) == expected
    assert features_needed(inside_array, {}) == expected


def test_requested_features_when_known_in_any_case_are_needed():
    assert features_needed(PLAIN, {}, requested=["ROWTRACKING", "v2Checkpoint"]) == {
        *("rowTracking", "domainMetadata", "v2Checkpoint")
    }


def test_requested_preview_when_the_schema_uses_the_type_is_enough():
    assert features_needed(column("variant"), {}, requested=["variantType-preview"]) == {"variantType-preview"}
    assert features_needed(column("variant"), {}, requested=["variantType", "variantType-preview"]) == {
        *("variantType", "variantType-preview")
    }


@pytest.mark.parametrize(
    ("name", "hint"), [("deletionVector", "did you mean 'deletionVectors'?"), ("zzz", "known features: adaptive")]
)
def test_requested_feature_when_unknown_is_refused_with_a_suggestion(name, hint):
    for ask in (
        lambda: features_needed(PLAIN, {}, requested=[name]),
        lambda: protocol_for([name]),
        lambda: upgrade_protocol(versions(1, 2), [name]),
    ):
        with pytest.raises(UnsupportedFeature) as caught:
            ask()
        assert repr(name) in caught.value.message
        assert (caught.value.hint or "").startswith(hint)


def test_known_features_when_listed_are_consistent():
    for name, feature in FEATURES.items():
        assert feature.name == name
        assert feature.duty
        assert set(feature.requires) <= FEATURES.keys()
        assert (feature.legacy_reader is None) or feature.kind is FeatureKind.READER_WRITER
    legacy = {name: (f.legacy_reader, f.legacy_writer) for name, f in FEATURES.items() if f.is_legacy}
    assert legacy == {
        "appendOnly": (None, 2),
        "invariants": (None, 2),
        "checkConstraints": (None, 3),
        "changeDataFeed": (None, 4),
        "generatedColumns": (None, 4),
        "columnMapping": (2, 5),
        "identityColumns": (None, 6),
    }


def test_features_of_readers_when_listed_are_those_of_the_protocol():
    assert {name for name, feature in FEATURES.items() if feature.kind is FeatureKind.READER_WRITER} == {
        *("columnMapping", "deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"),
        *("variantType", "variantType-preview", "variantShredding", "variantShredding-preview"),
        *("typeWidening", "typeWidening-preview", "catalogManaged", "catalogOwned-preview", "geospatial"),
        *("redirectReaderWriter-preview", "adaptiveMetadata-preview", "timestampNanos"),
    }


def parse_protocol(body: dict[str, Any]) -> Protocol:
    lists = [None if body.get(key) is None else tuple(body[key]) for key in ("readerFeatures", "writerFeatures")]
    return Protocol(
        min_reader_version=body["minReaderVersion"],
        min_writer_version=body["minWriterVersion"],
        reader_features=lists[0],
        writer_features=lists[1],
    )


@needs_corpora
def test_real_tables_when_their_metadata_is_read_need_no_upgrade():
    needed: set[str] = set()
    for table in corpus_tables():
        if table.corrupt:
            continue
        actions = list(table.actions())
        # Features are only ever added, so the longest list is the table's last.
        protocol = max(
            (parse_protocol(body) for kind, body in actions if kind == "protocol"),
            key=lambda protocol: len(supported_features(protocol)),
        )
        for kind, body in actions:
            if kind == "metaData":
                features = features_needed(parse_schema(body["schemaString"]), dict(body.get("configuration") or {}))
                assert upgrade_protocol(protocol, features) is None, str(table)
                needed |= features
    assert needed >= {
        *("checkConstraints", "generatedColumns", "columnMapping", "timestampNtz", "variantType", "typeWidening"),
        *("icebergCompatV2", "inCommitTimestamp", "changeDataFeed", "deletionVectors", "rowTracking", "v2Checkpoint"),
    }

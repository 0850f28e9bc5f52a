import pytest

from tests.unit.protocol.corpora import corpus_tables, needs_corpora
from twinlog.errors import InvalidAction
from twinlog.protocol.properties import (
    PropertyRequest,
    check_configuration,
    is_true,
    parse_interval_ms,
    split_properties,
)

SECOND = 1000
HOUR = 3600 * SECOND
DAY = 24 * HOUR


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [
        ("interval 30 days", 30 * DAY),
        ("30 days", 30 * DAY),
        ("interval 1 week", 7 * DAY),
        ("interval 2 weeks", 14 * DAY),
        ("  INTERVAL  1   Day ", DAY),
        ("1 day 12 hours", DAY + 12 * HOUR),
        ("interval 1 week 1 day 1 hour 1 minute 1 second 1 millisecond", 8 * DAY + HOUR + 61 * SECOND + 1),
        ("0 hours", 0),
        ("1.5 seconds", 1500),
        ("2500 microseconds", 2),
        ("999 microseconds", 0),
        ("1500 milliseconds", 1500),
        ("interval 125 minutes", 125 * 60 * SECOND),
    ],
)
def test_interval_when_of_fixed_length_is_milliseconds(text, expected_ms):
    assert parse_interval_ms(text) == expected_ms


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("interval 1 month", "a month has no fixed length"),
        ("2 years", "a year has no fixed length"),
        ("1 day 1 month", "a month has no fixed length"),
        ("", "not a list"),
        ("interval", "not a list"),
        ("30", "not a list"),
        ("days", "not a list"),
        ("-1 days", "not a list"),
        ("30days", "not a list"),
        ("1 day,2 hours", "not a list"),
        ("٣ days", "not a list"),
        ("1.5 days", "'1.5 days' is not understood"),
        ("1 fortnight", "'1 fortnight' is not understood"),
        ("1 day 2 s", "'2 s' is not understood"),
        ("9" * 5000 + " days", "not a list"),
    ],
)
def test_interval_when_not_of_fixed_length_is_refused(text, why):
    with pytest.raises(InvalidAction) as caught:
        parse_interval_ms(text)
    assert why in caught.value.message
    assert "interval 30 days" in (caught.value.hint or "")


@pytest.mark.parametrize(
    "key",
    [
        "delta.minReaderVersion",
        "delta.minWriterVersion",
        "delta.feature.deletionVectors",
        "delta.ignoreProtocolDefaults",
        "delta.MINREADERVERSION",
        "Delta.Feature.x",
    ],
)
def test_configuration_when_it_shapes_the_protocol_is_refused(key):
    with pytest.raises(InvalidAction, match="must not be stored") as caught:
        check_configuration({"delta.appendOnly": "true", key: "2"})
    assert repr(key) in caught.value.message


@pytest.mark.parametrize("value", [True, 10, None, ["a"], {"a": "b"}, b"true"])
def test_configuration_when_a_value_is_not_text_is_refused(value):
    with pytest.raises(InvalidAction, match="property 'mine' has a value of type"):
        check_configuration({"mine": value})
    with pytest.raises(InvalidAction, match="property 'mine' has a value of type"):
        split_properties({"mine": value})


@pytest.mark.parametrize(
    ("key", "good", "bad"),
    [
        ("delta.appendOnly", ["true", "false", "TRUE"], ["yes", "1", "", " true"]),
        ("delta.enableInCommitTimestamps", ["true", "false"], ["on"]),
        ("delta.enableChangeDataFeed", ["true", "false"], ["tru"]),
        ("delta.checkpoint.writeStatsAsStruct", ["true", "false"], ["struct"]),
        ("delta.checkpointInterval", ["1", "10", "100000"], ["0", "-1", "ten", "1.0", "", "1_0", "٣", "9" * 5000]),
        ("delta.isolationLevel", ["Serializable", "WriteSerializable"], ["SnapshotIsolation", "serializable", ""]),
        ("delta.columnMapping.mode", ["none", "name", "id"], ["ID", "on", ""]),
        ("delta.columnMapping.maxColumnId", ["0", "17"], ["-1", "x"]),
        ("delta.checkpointPolicy", ["classic", "v2"], ["v1", "V2"]),
        ("delta.logRetentionDuration", ["interval 30 days", "1 week"], ["1 month", "30", ""]),
        ("delta.deletedFileRetentionDuration", ["interval 0 hours"], ["interval 1 year"]),
        ("delta.setTransactionRetentionDuration", ["interval 7 days"], ["never"]),
        ("delta.dataSkippingNumIndexedCols", ["-1", "0", "32"], ["-2", "all"]),
        ("delta.requireCheckpointProtectionBeforeVersion", ["0", "12"], ["-1"]),
        ("delta.inCommitTimestampEnablementVersion", ["0", "3"], ["-1", "v3"]),
        ("delta.inCommitTimestampEnablementTimestamp", ["0", "1760000000000"], ["-1", "2025-10-09"]),
        ("delta.randomPrefixLength", ["1", "2"], ["0"]),
    ],
)
def test_known_property_when_its_value_is_impossible_is_refused(key, good, bad):
    for value in good:
        check_configuration({key: value})
        assert split_properties({key: value}).configuration == {key: value}
    for value in bad:
        for check in (check_configuration, split_properties):
            with pytest.raises(InvalidAction) as caught:
                check({key: value})
            assert caught.value.message.startswith(f"property {key!r} must be ")
            assert repr(value) in caught.value.message
            assert caught.value.hint


def test_unknown_property_when_given_is_kept():
    properties = {"delta.appendonly2": "perhaps", "delta.universalFormat.enabledFormats": "iceberg", "owner": "me"}
    check_configuration(properties)
    assert split_properties(properties).configuration == properties


def test_properties_when_split_are_stored_or_shape_the_protocol():
    assert split_properties(
        {
            "delta.enableDeletionVectors": "true",
            "delta.feature.allowColumnDefaults": "supported",
            "DELTA.FEATURE.rowTracking": "Enabled",
            "delta.minReaderVersion": "1",
            "delta.minwriterversion": "4",
            "delta.ignoreProtocolDefaults": "true",
            "owner": "me",
        }
    ) == PropertyRequest(
        configuration={"delta.enableDeletionVectors": "true", "owner": "me"},
        requested_features=frozenset({"allowColumnDefaults", "rowTracking"}),
        min_reader_version=1,
        min_writer_version=4,
    )


def test_properties_when_they_ask_for_the_highest_versions_are_accepted():
    request = split_properties({"delta.minReaderVersion": "3", "delta.minWriterVersion": "7"})
    assert (request.min_reader_version, request.min_writer_version) == (3, 7)


def test_properties_when_there_are_none_ask_for_nothing():
    assert split_properties({}) == PropertyRequest(
        configuration={}, requested_features=frozenset(), min_reader_version=1, min_writer_version=1
    )


def test_known_property_when_in_another_case_is_stored_in_its_own():
    assert split_properties({"delta.APPENDONLY": "true"}).configuration == {"delta.appendOnly": "true"}


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("delta.feature.rowTracking", "true", "property 'delta.feature.rowTracking' has value 'true'"),
        ("delta.minReaderVersion", "4", "property 'delta.minReaderVersion' must be a whole number from 1 to 3"),
        ("delta.minWriterVersion", "0", "property 'delta.minWriterVersion' must be a whole number from 1 to 7"),
        ("delta.minWriterVersion", "two", "property 'delta.minWriterVersion' must be a whole number from 1 to 7"),
        ("delta.ignoreProtocolDefaults", "x", "property 'delta.ignoreProtocolDefaults' must be true or false"),
    ],
)
def test_protocol_property_when_impossible_is_refused(key, value, message):
    with pytest.raises(InvalidAction) as caught:
        split_properties({key: value})
    assert message in caught.value.message


def test_is_true_when_set_in_any_case_holds():
    assert is_true({"k": "True"}, "k")
    assert not is_true({"k": "false"}, "k")
    assert not is_true({}, "k")


@needs_corpora
def test_real_configurations_when_checked_pass():
    keys: set[str] = set()
    for table in corpus_tables():
        for kind, body in table.actions():
            if kind == "metaData" and body.get("configuration") is not None:
                configuration = dict(body["configuration"])
                check_configuration(configuration)
                keys |= configuration.keys()
    assert {"delta.columnMapping.mode", "delta.checkpointInterval", "delta.enableInCommitTimestamps"} <= keys

"""Table properties: which may be stored, what values they take, and what a user's properties ask for.

Properties this version does not know are kept: other engines have many of their own.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias

from twinlog.errors import InvalidAction
from twinlog.protocol.actions import StringMap

FEATURE_PREFIX: Final = "delta.feature."
MIN_READER_VERSION: Final = "delta.minReaderVersion"
MIN_WRITER_VERSION: Final = "delta.minWriterVersion"
IGNORE_PROTOCOL_DEFAULTS: Final = "delta.ignoreProtocolDefaults"

_MICROSECONDS: Final = {
    "week": 7 * 24 * 3600 * 10**6,
    "day": 24 * 3600 * 10**6,
    "hour": 3600 * 10**6,
    "minute": 60 * 10**6,
    "second": 10**6,
    "millisecond": 1000,
    "microsecond": 1,
}
_INTERVAL_PART: Final = re.compile(r"([0-9]{1,18}(?:\.[0-9]{1,9})?)\s+([a-z]+?)s?(?:\s+|$)")
_WHOLE_NUMBER: Final = re.compile(r"-?[0-9]{1,18}")

# What a value must be, in words, when it is not; None when it is.
ValueCheck: TypeAlias = Callable[[str], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertyRequest:
    """A user's properties, taken apart: what is stored, and what only shapes the protocol."""

    configuration: StringMap
    requested_features: frozenset[str]
    min_reader_version: int
    min_writer_version: int


def is_true(configuration: StringMap, key: str) -> bool:
    """Whether a boolean property is switched on; a missing one is off."""
    return configuration.get(key, "").lower() == "true"


def parse_interval_ms(text: str) -> int:
    """The length of an interval such as `interval 30 days` or `1 day 12 hours`.

    Raises:
        InvalidAction: The text is not an interval of a fixed length.
    """
    rest = text.strip().lower().removeprefix("interval ").strip()
    total = Fraction(0)
    position = 0
    while position < len(rest) or not rest:
        part = _INTERVAL_PART.match(rest, position)
        if part is None:
            raise _bad_interval(text, "it is not a list of `<number> <unit>`")
        number, unit = part[1], part[2]
        if unit in {"month", "year"}:
            raise _bad_interval(text, f"a {unit} has no fixed length")
        if unit not in _MICROSECONDS or ("." in number and unit != "second"):
            raise _bad_interval(text, f"{part[0].strip()!r} is not understood")
        total += Fraction(number) * _MICROSECONDS[unit]
        position = part.end()
    return int(total / 1000)


def check_configuration(configuration: Mapping[str, object]) -> None:
    """Refuse a `metaData.configuration` that breaks readers, or holds a value a known property cannot have.

    Raises:
        InvalidAction: A key that belongs to the protocol action, a value that is not text, or an invalid value.
    """
    for key, value in configuration.items():
        if _shapes_protocol(key):
            raise InvalidAction(
                f"property {key!r} must not be stored in the table's configuration",
                hint="the protocol action holds versions and features; give this property only when creating a table",
            )
        _check_value(key, _as_text(key, value))


def split_properties(properties: Mapping[str, object]) -> PropertyRequest:
    """Take apart the properties given when a table is created.

    Known names are brought to their usual case, as Spark does.

    Raises:
        InvalidAction: A value that is not text, or that the property cannot have.
    """
    configuration: dict[str, str] = {}
    features: set[str] = set()
    versions = {MIN_READER_VERSION: 1, MIN_WRITER_VERSION: 1}
    for given_key, given_value in properties.items():
        key = _USUAL_CASE.get(given_key.lower(), given_key)
        value = _as_text(key, given_value)
        _check_value(key, value)
        if key.lower().startswith(FEATURE_PREFIX):
            features.add(_requested_feature(key, value))
        elif key in versions:
            versions[key] = int(value)
        elif key != IGNORE_PROTOCOL_DEFAULTS:
            configuration[key] = value
    return PropertyRequest(
        configuration=configuration,
        requested_features=frozenset(features),
        min_reader_version=versions[MIN_READER_VERSION],
        min_writer_version=versions[MIN_WRITER_VERSION],
    )


def _shapes_protocol(key: str) -> bool:
    folded = key.lower()
    return folded.startswith(FEATURE_PREFIX) or folded in {
        MIN_READER_VERSION.lower(),
        MIN_WRITER_VERSION.lower(),
        IGNORE_PROTOCOL_DEFAULTS.lower(),
    }


def _requested_feature(key: str, value: str) -> str:
    # `enabled` is the spelling of early Delta releases; Spark still takes it.
    if value.lower() not in {"supported", "enabled"}:
        raise InvalidAction(f"property {key!r} has value {value!r}", hint="the only value is 'supported'")
    return key[len(FEATURE_PREFIX) :]


def _as_text(key: str, value: object) -> str:
    if isinstance(value, str):
        return value
    raise InvalidAction(
        f"property {key!r} has a value of type {type(value).__name__}: {value!r}",
        hint="table properties are text: write 'true', '10', 'interval 7 days'",
    )


def _check_value(key: str, value: str) -> None:
    check = _CHECKS.get(key)
    expected = check(value) if check else None
    if expected:
        raise InvalidAction(
            f"property {key!r} must be {expected}, not {value!r}",
            hint="correct the value, or leave the property out to have the default",
        )


def _bad_interval(text: str, why: str) -> InvalidAction:
    return InvalidAction(
        f"{text!r} is not an interval: {why}", hint="write weeks, days, hours, minutes or seconds: 'interval 30 days'"
    )


def _one_of(*choices: str) -> ValueCheck:
    expected = f"one of {', '.join(choices)}"
    return lambda value: None if value in choices else expected


def _boolean(value: str) -> str | None:
    return None if value.lower() in {"true", "false"} else "true or false"


def _integer(low: int, high: int | None = None) -> ValueCheck:
    expected = f"a whole number from {low}" + (f" to {high}" if high else "")

    def check(value: str) -> str | None:
        fits = _WHOLE_NUMBER.fullmatch(value) and low <= int(value) and (high is None or int(value) <= high)
        return None if fits else expected

    return check


def _interval(value: str) -> str | None:
    try:
        parse_interval_ms(value)
    except InvalidAction:
        return "an interval of weeks, days, hours, minutes or seconds (months and years have no fixed length)"
    return None


_CHECKS: Final[Mapping[str, ValueCheck]] = {
    **dict.fromkeys(
        (
            "delta.appendOnly",
            "delta.checkpoint.writeStatsAsJson",
            "delta.checkpoint.writeStatsAsStruct",
            "delta.enableChangeDataCapture",
            "delta.enableChangeDataFeed",
            "delta.enableDeletionVectors",
            "delta.enableExpiredLogCleanup",
            "delta.enableFullRetentionRollback",
            "delta.enableIcebergCompatV1",
            "delta.enableIcebergCompatV2",
            "delta.enableIcebergCompatV3",
            "delta.enableIcebergWriterCompatV1",
            "delta.enableIcebergWriterCompatV3",
            "delta.enableInCommitTimestamps",
            "delta.enableMaterializePartitionColumnsFeature",
            "delta.enableRowTracking",
            "delta.enableTypeWidening",
            "delta.enableVariantShredding",
            IGNORE_PROTOCOL_DEFAULTS,
            "delta.randomizeFilePrefixes",
            "delta.rowTrackingSuspended",
        ),
        _boolean,
    ),
    **dict.fromkeys(
        (
            "delta.checkpointRetentionDuration",
            "delta.deletedFileRetentionDuration",
            "delta.logRetentionDuration",
            "delta.sampleRetentionDuration",
            "delta.setTransactionRetentionDuration",
        ),
        _interval,
    ),
    "delta.checkpointInterval": _integer(1),
    "delta.checkpointPolicy": _one_of("classic", "v2"),
    "delta.columnMapping.maxColumnId": _integer(0),
    "delta.columnMapping.mode": _one_of("none", "name", "id"),
    "delta.dataSkippingNumIndexedCols": _integer(-1),
    "delta.inCommitTimestampEnablementTimestamp": _integer(0),
    "delta.inCommitTimestampEnablementVersion": _integer(0),
    "delta.isolationLevel": _one_of("Serializable", "WriteSerializable"),
    MIN_READER_VERSION: _integer(1, 3),
    MIN_WRITER_VERSION: _integer(1, 7),
    "delta.randomPrefixLength": _integer(1),
    "delta.requireCheckpointProtectionBeforeVersion": _integer(0),
}
_USUAL_CASE: Final = {key.lower(): key for key in _CHECKS}

"""Whether a protocol action is well formed, and whether twinlog can write the table it describes."""

from twinlog.errors import InvalidAction, UnsupportedFeature
from twinlog.protocol.actions import Protocol
from twinlog.protocol.features import (
    COLUMN_MAPPING,
    COLUMN_MAPPING_READER,
    LISTING_READER,
    LISTING_WRITER,
    supported_features,
)
from twinlog.protocol.known_features import FEATURES, FeatureKind


def check_protocol(protocol: Protocol) -> None:
    """Refuse a protocol action whose versions and lists contradict each other.

    Features this version does not know are fine here; `check_writable` is about them.

    Raises:
        InvalidAction: A version out of range, a list without its version or the reverse, or a feature in the wrong
            lists.
    """
    reader, writer = protocol.min_reader_version, protocol.min_writer_version
    _check_version("minReaderVersion", reader, LISTING_READER)
    _check_version("minWriterVersion", writer, LISTING_WRITER)
    if reader == LISTING_READER and writer != LISTING_WRITER:
        raise InvalidAction(
            f"protocol: minReaderVersion {reader} needs minWriterVersion {LISTING_WRITER}, not {writer}",
            hint=f"set minWriterVersion to {LISTING_WRITER} and list the writer features",
        )
    _check_list("readerFeatures", protocol.reader_features, ("minReaderVersion", reader, LISTING_READER))
    _check_list("writerFeatures", protocol.writer_features, ("minWriterVersion", writer, LISTING_WRITER))
    for name in sorted(supported_features(protocol)):
        _check_placement(name, protocol)


def check_writable(protocol: Protocol) -> None:
    """Refuse a table whose features oblige its writers to something that twinlog does not do.

    Raises:
        UnsupportedFeature: Names every such feature.
    """
    refused = sorted(name for name in supported_features(protocol) if not _is_writable(name))
    if refused:
        raise UnsupportedFeature(
            f"twinlog cannot write a table with {', '.join(map(_describe, refused))}",
            hint="drop it with the engine that added it (ALTER TABLE ... DROP FEATURE), or try a newer twinlog",
        )


def _check_version(key: str, version: int, highest: int) -> None:
    if not 1 <= version <= highest:
        raise InvalidAction(
            f"protocol: {key} {version} is not a version from 1 to {highest}",
            hint="a table of a later protocol needs a newer twinlog",
        )


def _check_list(key: str, features: tuple[str, ...] | None, version_of_list: tuple[str, int, int]) -> None:
    version_key, version, listing_version = version_of_list
    if features is None and version == listing_version:
        raise InvalidAction(
            f"protocol: {version_key} {version} needs {key}", hint=f"add {key}, an empty list if there are none"
        )
    if features is not None and version != listing_version:
        raise InvalidAction(
            f"protocol: {key} is only allowed with {version_key} {listing_version}, not {version}",
            hint=f"leave {key} out, or raise {version_key}",
        )


def _check_placement(name: str, protocol: Protocol) -> None:
    for_readers = name in (protocol.reader_features or ())
    if for_readers and name not in (protocol.writer_features or ()):
        raise InvalidAction(
            f"protocol: feature {name!r} is in readerFeatures but not in writerFeatures", hint="list it in both"
        )
    feature = FEATURES.get(name)
    if feature is None:
        return
    if for_readers and feature.kind is FeatureKind.WRITER:
        raise InvalidAction(
            f"protocol: feature {name!r} concerns only writers but is in readerFeatures",
            hint="list it in writerFeatures only",
        )
    mapped_by_version = name == COLUMN_MAPPING and protocol.min_reader_version == COLUMN_MAPPING_READER
    if feature.kind is FeatureKind.READER_WRITER and not for_readers and not mapped_by_version:
        raise InvalidAction(
            f"protocol: feature {name!r} concerns readers but is not in readerFeatures",
            hint=f"list it in both, with minReaderVersion {LISTING_READER}",
        )


def _is_writable(name: str) -> bool:
    return name in FEATURES and FEATURES[name].writable


def _describe(name: str) -> str:
    return f"{name!r} (a writer must {FEATURES[name].duty})" if name in FEATURES else f"{name!r} (unknown)"

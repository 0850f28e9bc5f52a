"""Table features as sets: what a protocol supports, what a table's metadata needs, and how the two meet.

Protocols made here are the weakest that do the job, because a reader that does not know a version or a listed feature
refuses the whole table. The features themselves are in `known_features`, the rules for protocols in `protocol_rules`.
"""

import difflib
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final

from twinlog.errors import UnsupportedFeature
from twinlog.protocol.actions import Protocol, StringMap
from twinlog.protocol.known_features import FEATURES, PREVIEW_SUFFIX, FeatureKind
from twinlog.protocol.schema import PrimitiveType, StructType, walk, walk_types

LISTING_READER: Final = 3
LISTING_WRITER: Final = 7
COLUMN_MAPPING: Final = "columnMapping"
COLUMN_MAPPING_READER: Final = 2

# Writer version 2 implies these. A table that lists features must list them too, or Spark refuses it as soon as its
# metadata uses one (a NOT NULL column is an invariant).
BASE_FEATURES: Final = frozenset({"appendOnly", "invariants"})

_OF_TYPE: Final = {
    "geography": "geospatial",
    "geometry": "geospatial",
    "timestamp_ntz": "timestampNtz",
    "variant": "variantType",
}
_OF_FIELD_METADATA: Final = {
    "CURRENT_DEFAULT": "allowColumnDefaults",
    "__COLLATIONS": "collations",
    "delta.generationExpression": "generatedColumns",
    "delta.identity.start": "identityColumns",
    "delta.invariants": "invariants",
    "delta.typeChanges": "typeWidening",
}


def legacy_features(reader_version: int, writer_version: int) -> frozenset[str]:
    """The features that protocol versions without lists imply; none from writer version 7 on."""
    if writer_version >= LISTING_WRITER:
        return frozenset()
    return frozenset(
        name
        for name, feature in FEATURES.items()
        if feature.legacy_writer is not None
        and feature.legacy_writer <= writer_version
        and (feature.legacy_reader or 1) <= reader_version
    )


def supported_features(protocol: Protocol) -> frozenset[str]:
    """What the protocol supports, listed or implied."""
    listed = frozenset(protocol.reader_features or ()) | frozenset(protocol.writer_features or ())
    return listed | legacy_features(protocol.min_reader_version, protocol.min_writer_version)


def removed_features(before: Protocol, after: Protocol) -> frozenset[str]:
    """The features that a change of protocol would drop."""
    return supported_features(before) - supported_features(after)


def features_needed(schema: StructType, configuration: StringMap, *, requested: Iterable[str] = ()) -> frozenset[str]:
    """The features that a table's metadata makes necessary, with all that those require.

    Args:
        schema: The table's schema; types, NOT NULL and field metadata count.
        configuration: The table's properties.
        requested: Features asked for by name (`delta.feature.<name>`), in any case.

    Raises:
        UnsupportedFeature: A requested feature that does not exist.
    """
    asked = frozenset(_canonical_name(name) for name in requested)
    enabled = frozenset(name for name, feature in FEATURES.items() if feature.enabled_by(configuration))
    return _with_requirements(asked | _not_covered(enabled | frozenset(_used_by(schema)), asked))


def protocol_for(features: Iterable[str]) -> Protocol:
    """The weakest protocol of a new table that supports these features and all that they require.

    Raises:
        UnsupportedFeature: A feature that does not exist.
    """
    wanted = _with_requirements(features) | BASE_FEATURES
    if all(FEATURES[name].is_legacy for name in wanted):
        return _legacy_protocol(wanted)
    return _listing_protocol(wanted)


def missing_features(protocol: Protocol, needed: Iterable[str]) -> frozenset[str]:
    """What the protocol lacks of the needed features and their requirements; a preview is as good as its feature.

    Raises:
        UnsupportedFeature: A needed feature that does not exist.
    """
    have = supported_features(protocol)
    return _not_covered(_with_requirements(needed, present=have), have)


def upgrade_protocol(current: Protocol, needed: Iterable[str]) -> Protocol | None:
    """The protocol that adds what is needed to what there is; None when nothing is missing.

    Features implied by old versions become listed ones when lists become necessary, and nothing that `current`
    supports is dropped.

    Raises:
        UnsupportedFeature: A needed feature that does not exist.
    """
    missing = missing_features(current, needed)
    if not missing:
        return None
    if current.min_writer_version < LISTING_WRITER and all(FEATURES[name].is_legacy for name in missing):
        added = _legacy_protocol(missing)
        return replace(
            current,
            min_reader_version=max(current.min_reader_version, added.min_reader_version),
            min_writer_version=max(current.min_writer_version, added.min_writer_version),
        )
    wanted = supported_features(current) | missing
    if current.min_writer_version < LISTING_WRITER:
        wanted |= BASE_FEATURES
    if current.min_reader_version == COLUMN_MAPPING_READER:
        # Reader version 2 makes readers honour column mapping whatever the writer version: keep saying so.
        wanted |= {COLUMN_MAPPING}
    return _listing_protocol(wanted, current)


def _legacy_protocol(features: AbstractSet[str]) -> Protocol:
    return Protocol(
        min_reader_version=max(FEATURES[name].legacy_reader or 1 for name in features),
        min_writer_version=max(FEATURES[name].legacy_writer or 1 for name in features),
    )


def _listing_protocol(features: AbstractSet[str], current: Protocol | None = None) -> Protocol:
    shared = {name for name in features if name in FEATURES and FEATURES[name].kind is FeatureKind.READER_WRITER}
    if current and current.reader_features is not None:
        # Features this version does not know stay in the lists they came from.
        shared |= set(current.reader_features)
        reader_version = LISTING_READER
    elif shared <= {COLUMN_MAPPING}:
        reader_version = COLUMN_MAPPING_READER if shared else 1
    else:
        reader_version = LISTING_READER
    return Protocol(
        min_reader_version=reader_version,
        min_writer_version=LISTING_WRITER,
        reader_features=tuple(sorted(shared)) if reader_version == LISTING_READER else None,
        writer_features=tuple(sorted(features)),
        extra=current.extra if current else {},
    )


def _used_by(schema: StructType) -> Iterator[str]:
    for _, data_type in walk_types(schema):
        if isinstance(data_type, PrimitiveType):
            feature = _OF_TYPE.get(data_type.name.partition("(")[0])
            if feature:
                yield feature
    for _, field in walk(schema):
        if not field.nullable:
            yield "invariants"
        yield from (feature for key, feature in _OF_FIELD_METADATA.items() if key in field.metadata)


def _with_requirements(features: Iterable[str], *, present: AbstractSet[str] = frozenset()) -> frozenset[str]:
    complete = {_known_name(name) for name in features}
    pending = list(complete)
    while pending:
        for required in _not_covered(FEATURES[pending.pop()].requires, complete | present):
            complete.add(required)
            pending.append(required)
    return frozenset(complete)


def _not_covered(names: Iterable[str], present: AbstractSet[str]) -> frozenset[str]:
    """Those of the names that neither they nor their previews are there for."""
    return frozenset(name for name in names if name not in present and name + PREVIEW_SUFFIX not in present)


def _canonical_name(name: str) -> str:
    return next((known for known in FEATURES if known.lower() == name.lower()), name)


def _known_name(name: str) -> str:
    if name in FEATURES:
        return name
    similar = difflib.get_close_matches(name, FEATURES, n=1)
    raise UnsupportedFeature(
        f"{name!r} is not a table feature that twinlog knows",
        hint=f"did you mean {similar[0]!r}?" if similar else f"known features: {', '.join(sorted(FEATURES))}",
    )

"""Every table feature that the Delta protocol, its RFCs or the reference writers name.

A row says which lists the feature belongs to, which old protocol versions imply it, what else it needs, which table
property switches it on, and what it obliges a writer of the log to do. Duties that concern only rows or data files
(constraints, defaults, shredding) are kept by whoever writes the data; the log carries no trace of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from types import MappingProxyType
from typing import Final, TypeAlias

from twinlog.protocol.actions import StringMap
from twinlog.protocol.properties import is_true

CONSTRAINT_PREFIX: Final = "delta.constraints."
PREVIEW_SUFFIX: Final = "-preview"

PropertyTest: TypeAlias = Callable[[StringMap], bool]


class FeatureKind(Enum):
    """Who must understand a feature: everybody, or writers only."""

    READER_WRITER = "reader_writer"
    WRITER = "writer"


def _never(_configuration: StringMap) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A table feature; `writable` says whether twinlog can honour its duty in the commits it ratifies."""

    name: str
    kind: FeatureKind
    duty: str
    legacy_reader: int | None = None
    legacy_writer: int | None = None
    requires: tuple[str, ...] = ()
    enabled_by: PropertyTest = _never
    writable: bool = True

    @property
    def is_legacy(self) -> bool:
        """Whether a protocol without feature lists can express it."""
        return self.legacy_writer is not None


def _if_true(*keys: str) -> PropertyTest:
    return lambda configuration: any(is_true(configuration, key) for key in keys)


def _if_set(key: str) -> PropertyTest:
    return lambda configuration: key in configuration


def _if_equal(key: str, *values: str) -> PropertyTest:
    return lambda configuration: configuration.get(key, "").lower() in values


def _if_above_zero(key: str) -> PropertyTest:
    return lambda configuration: configuration.get(key, "0").strip("0") != ""


def _if_constrained(configuration: StringMap) -> bool:
    return any(key.lower().startswith(CONSTRAINT_PREFIX) for key in configuration)


def _legacy(name: str, writer: int, duty: str, enabled_by: PropertyTest = _never) -> Feature:
    return Feature(name=name, kind=FeatureKind.WRITER, legacy_writer=writer, duty=duty, enabled_by=enabled_by)


def _writer(name: str, duty: str, *requires: str, enabled_by: PropertyTest = _never) -> Feature:
    return Feature(name=name, kind=FeatureKind.WRITER, duty=duty, requires=requires, enabled_by=enabled_by)


def _both(name: str, duty: str, *requires: str, enabled_by: PropertyTest = _never) -> Feature:
    return Feature(name=name, kind=FeatureKind.READER_WRITER, duty=duty, requires=requires, enabled_by=enabled_by)


def _unwritable(feature: Feature) -> Feature:
    return replace(feature, writable=False)


def _preview(feature: Feature) -> Feature:
    # The property switches on the final feature; a preview is only ever listed by name.
    return replace(feature, name=feature.name + PREVIEW_SUFFIX, enabled_by=_never)


_VARIANT_TYPE = _both("variantType", "list it before the schema uses the variant type")
_VARIANT_SHREDDING = _both(
    "variantShredding",
    "nothing: only data files change",
    "variantType",
    enabled_by=_if_true("delta.enableVariantShredding"),
)
_TYPE_WIDENING = _both(
    "typeWidening",
    "record each type change in the field's metadata",
    enabled_by=_if_true("delta.enableTypeWidening"),
)
_COLLATIONS = _writer("collations", "keep the collations in field metadata", "domainMetadata")
_CATALOG_MANAGED = _both(
    "catalogManaged",
    "commit through the table's own catalog, with a transaction id",
    "inCommitTimestamp",
    "vacuumProtocolCheck",
)

_ALL: Final = (
    _legacy("appendOnly", 2, "remove no file as a data change", _if_true("delta.appendOnly")),
    _legacy("invariants", 2, "keep the invariants in field metadata; the data writer enforces them"),
    _legacy("checkConstraints", 3, "keep the constraints; the data writer enforces them", _if_constrained),
    _legacy(
        "changeDataFeed",
        4,
        "carry the cdc files of updates and deletes",
        _if_true("delta.enableChangeDataFeed", "delta.enableChangeDataCapture"),
    ),
    _legacy("generatedColumns", 4, "keep the expressions in field metadata; the data writer computes them"),
    Feature(
        name="columnMapping",
        kind=FeatureKind.READER_WRITER,
        legacy_reader=2,
        legacy_writer=5,
        duty="give every field an id and a physical name, and name columns in file actions by the latter",
        enabled_by=_if_equal("delta.columnMapping.mode", "name", "id"),
    ),
    _legacy("identityColumns", 6, "carry the new high-water mark in the metaData of the commit that adds rows"),
    _writer("allowColumnDefaults", "keep the defaults in field metadata"),
    _both(
        "deletionVectors",
        "treat path and deletion vector together as a file's identity",
        enabled_by=_if_true("delta.enableDeletionVectors"),
    ),
    _writer(
        "rowTracking",
        "give every added file its first row id and commit version, and raise the high-water mark",
        "domainMetadata",
        enabled_by=_if_true("delta.enableRowTracking"),
    ),
    _writer("domainMetadata", "keep the domains of others"),
    _both("timestampNtz", "list it before the schema uses timestamp_ntz"),
    _both("v2Checkpoint", "write no multi-part checkpoints", enabled_by=_if_equal("delta.checkpointPolicy", "v2")),
    _writer(
        "icebergCompatV1",
        "have numRecords in every add and no deletion vectors",
        "columnMapping",
        enabled_by=_if_true("delta.enableIcebergCompatV1"),
    ),
    _writer(
        "icebergCompatV2",
        "have numRecords in every add, no live deletion vectors, and ids for array elements and map entries",
        "columnMapping",
        enabled_by=_if_true("delta.enableIcebergCompatV2"),
    ),
    _unwritable(
        _writer(
            "icebergCompatV3",
            "as icebergCompatV2, with reserved field ids for row tracking",
            "columnMapping",
            "rowTracking",
            enabled_by=_if_true("delta.enableIcebergCompatV3"),
        )
    ),
    _unwritable(
        _writer(
            "icebergWriterCompatV1",
            "name every physical column after its id",
            "icebergCompatV2",
            enabled_by=_if_true("delta.enableIcebergWriterCompatV1"),
        )
    ),
    _unwritable(
        _writer(
            "icebergWriterCompatV3",
            "name every physical column after its id",
            "icebergCompatV3",
            enabled_by=_if_true("delta.enableIcebergWriterCompatV3"),
        )
    ),
    _writer("clustering", "keep the clustering domain, have no partition columns", "domainMetadata"),
    _VARIANT_TYPE,
    _preview(_VARIANT_TYPE),
    _VARIANT_SHREDDING,
    _preview(_VARIANT_SHREDDING),
    _TYPE_WIDENING,
    _preview(_TYPE_WIDENING),
    _writer(
        "inCommitTimestamp",
        "put commitInfo first, with a timestamp above the one before",
        enabled_by=_if_true("delta.enableInCommitTimestamps"),
    ),
    _both("vacuumProtocolCheck", "nothing: it binds whoever deletes data files"),
    _writer(
        "checkpointProtection",
        "leave checkpoints and history below the protected version alone",
        enabled_by=_if_above_zero("delta.requireCheckpointProtectionBeforeVersion"),
    ),
    _writer(
        "materializePartitionColumns",
        "nothing: only data files change",
        enabled_by=_if_true("delta.enableMaterializePartitionColumnsFeature"),
    ),
    _COLLATIONS,
    _preview(_COLLATIONS),
    _unwritable(_CATALOG_MANAGED),
    _unwritable(replace(_CATALOG_MANAGED, name="catalogOwned-preview")),
    _unwritable(
        _writer(
            "coordinatedCommits-preview",
            "commit through the table's commit coordinator",
            "inCommitTimestamp",
            "vacuumProtocolCheck",
            enabled_by=_if_set("delta.coordinatedCommits.commitCoordinator-preview"),
        )
    ),
    _unwritable(_both("geospatial", "understand geometry and geography values")),
    _unwritable(
        _both(
            "redirectReaderWriter-preview",
            "send readers and writers to another table",
            enabled_by=_if_set("delta.redirectReaderWriter-preview"),
        )
    ),
    _unwritable(
        _writer(
            "redirectWriterOnly-preview",
            "send writers to another table",
            enabled_by=_if_set("delta.redirectWriterOnly-preview"),
        )
    ),
    _unwritable(
        _both(
            "adaptiveMetadata-preview",
            "keep a tree of Iceberg manifests",
            *("catalogManaged", "rowTracking", "deletionVectors", "columnMapping"),
        )
    ),
    _unwritable(_writer("columnMappingUsageTracking", "record the first drop or rename of a column", "columnMapping")),
    _unwritable(_both("timestampNanos", "understand nanosecond timestamps", "timestampNtz")),
)

FEATURES: Final[Mapping[str, Feature]] = MappingProxyType({feature.name: feature for feature in _ALL})

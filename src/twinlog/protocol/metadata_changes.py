"""Which changes of a table's metadata leave a commit that was prepared before them valid.

Only changes that ask nothing of files already written are on the list: features switched on (never off) that the
rebase or the reader takes care of, and identity high-water marks.
"""

from collections.abc import Collection
from dataclasses import replace
from typing import Final

import orjson

from twinlog.protocol.actions import JsonValue, Metadata, StringMap
from twinlog.protocol.column_mapping import ID_KEY, NESTED_IDS_KEY, PHYSICAL_NAME_KEY
from twinlog.protocol.properties import is_true

_MAPPING_MODE: Final = "delta.columnMapping.mode"
_ENABLE_ROW_TRACKING: Final = "delta.enableRowTracking"
_HIGH_WATER_MARK: Final = "delta.identity.highWaterMark"

_SWITCHED_ON: Final = frozenset({_ENABLE_ROW_TRACKING, "delta.enableDeletionVectors", "delta.enableInCommitTimestamps"})
_SET_ONCE: Final = frozenset(
    {
        "delta.inCommitTimestampEnablementVersion",
        "delta.inCommitTimestampEnablementTimestamp",
        "io.unitycatalog.tableId",
    }
)
_OF_ROW_TRACKING: Final = frozenset(
    {"delta.rowTracking.materializedRowIdColumnName", "delta.rowTracking.materializedRowCommitVersionColumnName"}
)
_OF_MAPPING: Final = frozenset({_MAPPING_MODE, "delta.columnMapping.maxColumnId"})
_MAPPING_FIELD_KEYS: Final = frozenset(
    {ID_KEY, PHYSICAL_NAME_KEY, NESTED_IDS_KEY, "parquet.field.id", "parquet.field.nested.ids"}
)


def can_adopt(current: Metadata, winning: Metadata) -> bool:
    """Whether a commit prepared under `current` may take over `winning` as it is."""
    rest = replace(winning, configuration=current.configuration, schema_string=current.schema_string)
    old, new = current.configuration, winning.configuration
    return (
        rest == current
        and old.keys() <= new.keys()
        and all(_is_harmless(key, old, new) for key, value in new.items() if old.get(key) != value)
        and _same_schema(current, winning)
    )


def _is_harmless(key: str, old: StringMap, new: StringMap) -> bool:
    return (
        (key in _SWITCHED_ON and is_true(new, key))
        or (key in _SET_ONCE and key not in old)
        or (key in _OF_ROW_TRACKING and is_true(new, _ENABLE_ROW_TRACKING))
        or (key in _OF_MAPPING and _enables_name_mapping(old, new))
        or (key == "delta.checkpointPolicy" and new[key] == "v2")
    )


def _enables_name_mapping(old: StringMap, new: StringMap) -> bool:
    return old.get(_MAPPING_MODE, "none") == "none" and new.get(_MAPPING_MODE) == "name"


def _same_schema(current: Metadata, winning: Metadata) -> bool:
    if current.schema_string == winning.schema_string:
        return True
    if current.schema_string is None or winning.schema_string is None:
        return False
    ignored = {_HIGH_WATER_MARK}
    if _enables_name_mapping(current.configuration, winning.configuration):
        ignored |= _MAPPING_FIELD_KEYS
    old, new = orjson.loads(current.schema_string), orjson.loads(winning.schema_string)
    return _without(old, ignored) == _without(new, ignored)


def _without(schema: JsonValue, ignored: Collection[str]) -> JsonValue:
    """A schema's JSON less some keys of its fields' metadata."""
    match schema:
        case list():
            return [_without(item, ignored) for item in schema]
        case dict():
            return {
                key: {name: kept for name, kept in value.items() if name not in ignored}
                if key == "metadata" and isinstance(value, dict)
                else _without(value, ignored)
                for key, value in schema.items()
            }
        case _:
            return schema

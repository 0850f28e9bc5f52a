"""Data files as rows in memory, with the partition values and statistics that Delta-Spark would log for them."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from tests.support.sql_semantics import Row
from twinlog.protocol.partition_values import encode_partition_value
from twinlog.protocol.predicates import ColumnPath

PREFIX_LENGTH: Final = 2  # Spark cuts strings at 32 characters
HIGHEST: Final = "\U0010ffff"

Types = Mapping[ColumnPath, str]
PhysicalPaths = Mapping[ColumnPath, ColumnPath]


@dataclass(frozen=True, slots=True)
class DataFile:
    """The rows of a file; `live` are those that a deletion vector leaves."""

    rows: Sequence[Row]
    live: Sequence[Row]

    def partition_values(self, types: Types, physical: PhysicalPaths) -> dict[str, str | None]:
        first = self.rows[0]
        return {physical[path][0]: encode_partition_value(first[path], name) for path, name in types.items()}

    def stats(self, types: Types, physical: PhysicalPaths) -> dict[str, Any]:
        stats: dict[str, Any] = {"numRecords": len(self.rows), "minValues": {}, "maxValues": {}, "nullCount": {}}
        for path in types:
            values = sorted((row[path] for row in self.rows if row[path] is not None), key=_ordered)
            _put(stats["nullCount"], physical[path], len(self.rows) - len(values))
            if values:
                _put(stats["minValues"], physical[path], _printed_minimum(values[0]))
                _put(stats["maxValues"], physical[path], _printed_maximum(values[-1]))
        return stats | {"tightBounds": len(self.live) == len(self.rows)}


def to_json(stats: Mapping[str, Any]) -> str:
    """JSON text in which decimals are plain numbers."""
    marked = json.dumps(stats, default=lambda number: f"<{number}>", ensure_ascii=False)
    return marked.replace('"<', "").replace('>"', "")


def _printed_minimum(value: Any) -> Any:
    return value[:PREFIX_LENGTH] if isinstance(value, str) else _printed(value)


def _printed_maximum(value: Any) -> Any:
    """Strings are cut so that the result is still a maximum: its end sorts after the first character dropped."""
    if not isinstance(value, str):
        return _printed(value)
    kept = PREFIX_LENGTH
    while value[kept : kept + 1] == HIGHEST:
        kept += 1
    if kept >= len(value):
        return value
    return value[:kept] + ("\x7f" if value[kept] < "\x7f" else HIGHEST)


def _printed(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds")
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return value if isinstance(value, int | float | Decimal) else str(value)


def _ordered(value: Any) -> Any:
    return (math.isnan(value), value) if isinstance(value, float) else value


def _put(tree: dict[str, Any], path: ColumnPath, value: Any) -> None:
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = value

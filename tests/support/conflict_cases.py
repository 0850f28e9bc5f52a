"""Attempts and winners for conflict tests: one small table, and builders with defaults that never clash."""

import json
from collections.abc import Mapping
from typing import Any

from tests.support.conflict_model import MAPPING_KEYS, PROTOCOLS
from twinlog.protocol.actions import Metadata, Protocol
from twinlog.protocol.conflicts import Attempt, Winner
from twinlog.protocol.isolation import IsolationLevel, ReadSet
from twinlog.protocol.predicate_binding import bind
from twinlog.protocol.predicate_parser import parse_predicate
from twinlog.protocol.predicates import ColumnPath, Predicate
from twinlog.protocol.table_state import TableState

COLUMN_TYPES: dict[ColumnPath, str] = {("p",): "string", ("q",): "integer", ("v",): "long"}
PROTOCOL = PROTOCOLS[3][0]


def make_metadata(
    *,
    configuration: Mapping[str, str] | None = None,
    partition_columns: tuple[str, ...] = ("p", "q"),
    high_water_mark: int = 0,
    mapped: bool = False,
    **changes: Any,
) -> Metadata:
    fields = [_field(number, path[0], name, mapped=mapped) for number, (path, name) in enumerate(COLUMN_TYPES.items())]
    fields[2]["metadata"]["delta.identity.highWaterMark"] = high_water_mark
    values: dict[str, Any] = {
        "id": "table",
        "schema_string": json.dumps({"type": "struct", "fields": fields}),
        "partition_columns": partition_columns,
        "configuration": configuration or {},
    }
    return Metadata(**values | changes)


def make_attempt(
    *, read_protocol: Protocol = PROTOCOL, read_metadata: Metadata | None = None, **fields: Any
) -> Attempt:
    defaults: dict[str, Any] = {
        "read_version": 5,
        "read_state": TableState(read_protocol, read_metadata or make_metadata()),
        "reads": ReadSet(),
        "isolation_level": IsolationLevel.SERIALIZABLE,
        "is_blind_append": False,
    }
    return Attempt(**defaults | fields)


def make_winner(*, version: int = 6, **fields: Any) -> Winner:
    return Winner(**{"version": version, "is_blind_append": False} | fields)


def bound(text: str) -> Predicate:
    return bind(parse_predicate(text), COLUMN_TYPES)


def _field(number: int, name: str, type_name: str, *, mapped: bool) -> dict[str, Any]:
    mapping = dict(zip(sorted(MAPPING_KEYS), (number + 1, name), strict=True)) if mapped else {}
    return {"name": name, "type": type_name, "nullable": True, "metadata": mapping}

"""Actions to and from SQL rows.

Both directions follow the field declarations of `protocol.fields`: scalars are columns of the same name, everything
else is canonical JSON text.
"""

from collections.abc import Mapping
from typing import Any, Final

import orjson
from sqlalchemy import RowMapping, Table

from twinlog.catalog import schema
from twinlog.protocol.actions import (
    Action,
    Add,
    Cdc,
    DomainMetadata,
    Metadata,
    Protocol,
    Remove,
    Txn,
    dv_id,
)
from twinlog.protocol.codec import encode_json, from_object, to_object
from twinlog.protocol.fields import Kind, specs_of

TABLE_OF: Final[Mapping[type[Any], Table]] = {
    Add: schema.add_files,
    Remove: schema.remove_files,
    Cdc: schema.cdc_files,
    Metadata: schema.metadata_updates,
    Protocol: schema.protocol_updates,
    Txn: schema.txn_actions,
    DomainMetadata: schema.domain_metadata,
}

_SCALARS: Final = frozenset({Kind.STRING, Kind.INTEGER, Kind.BOOLEAN})


def to_row(action: Action) -> dict[str, Any]:
    """The columns of an action, without its place in the log."""
    row: dict[str, Any] = {}
    for spec in specs_of(type(action)):
        value = getattr(action, spec.name)
        if value is not None and spec.kind not in _SCALARS:
            value = encode_json(to_object(value) if spec.kind is Kind.STRUCT else value).decode()
        row[spec.name] = value
    extra = getattr(action, "extra", None)
    row["extra"] = encode_json(extra).decode() if extra else None
    if isinstance(action, Add | Remove):
        row["dv_id"] = dv_id(action)
    if isinstance(action, Add):
        row["removed_version"] = schema.LIVE
    return row


def from_row(action_type: type[Any], row: RowMapping | Mapping[str, Any]) -> Any:  # noqa: ANN401 - an instance of action_type
    """Rebuild an action from its columns; other columns of the row are passed over."""
    values: dict[str, Any] = {}
    for spec in specs_of(action_type):
        value = row[spec.name]
        if value is None:
            continue
        if spec.kind not in _SCALARS:
            value = orjson.loads(value)
            if spec.struct is not None:
                value = from_object(spec.struct, value, where=spec.key)
            elif spec.kind is Kind.STRING_LIST:
                value = tuple(value)
        values[spec.name] = value
    extra = row["extra"]
    return action_type(**values, extra=orjson.loads(extra) if extra else {})

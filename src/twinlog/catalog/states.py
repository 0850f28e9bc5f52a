"""Protocol and metadata of a table, loaded once for each version that changed them."""

from typing import Any

from sqlalchemy import Connection, FromClause, Select, Table, func, select

from twinlog.catalog import schema
from twinlog.catalog.rows import from_row
from twinlog.errors import TableNotFound
from twinlog.protocol.actions import Metadata, Protocol
from twinlog.protocol.table_state import TableState

_CAPACITY = 1_000


class TableStates:
    """A cache of table states. Rows of a ratified version never change, so entries never go stale."""

    def __init__(self) -> None:
        self._states: dict[tuple[int, int, int], TableState] = {}

    def load(
        self, connection: Connection, *, table_id: int, metadata_version: int, protocol_version: int
    ) -> TableState:
        """The state that these versions of metaData and protocol make."""
        state = self._states.get((table_id, metadata_version, protocol_version))
        return state or self._query(connection, table_id, _select_state(table_id, metadata_version, protocol_version))

    def load_at(self, connection: Connection, *, table_id: int, version: int) -> TableState:
        """The state in force at a version."""
        newest_metadata = _newest(schema.metadata_updates, table_id, version)
        newest_protocol = _newest(schema.protocol_updates, table_id, version)
        return self._query(connection, table_id, _select_state(table_id, newest_metadata, newest_protocol))

    def _query(self, connection: Connection, table_id: int, statement: Select[Any]) -> TableState:
        row = connection.execute(statement).mappings().first()
        if row is None:
            raise TableNotFound("the table was dropped a moment ago", hint="`twinlog table list` shows what there is")
        metadata = {name.removeprefix("m_"): value for name, value in row.items() if name.startswith("m_")}
        protocol = {name.removeprefix("p_"): value for name, value in row.items() if name.startswith("p_")}
        state = TableState(protocol=from_row(Protocol, protocol), metadata=from_row(Metadata, metadata))
        if len(self._states) >= _CAPACITY:
            self._states.clear()
        self._states[table_id, metadata["version"], protocol["version"]] = state
        return state


def _select_state(table_id: int, metadata_version: Any, protocol_version: Any) -> Select[Any]:  # noqa: ANN401 - a number, or a query for it
    metadata, protocol = schema.metadata_updates.alias(), schema.protocol_updates.alias()
    return select(*_prefixed(metadata, "m_"), *_prefixed(protocol, "p_")).where(
        metadata.c.table_id == table_id,
        metadata.c.version == metadata_version,
        protocol.c.table_id == metadata.c.table_id,
        protocol.c.version == protocol_version,
    )


def _prefixed(table: FromClause, prefix: str) -> list[Any]:
    return [column.label(prefix + column.name) for column in table.c]


def _newest(table: Table, table_id: int, version: int) -> Any:  # noqa: ANN401 - a scalar subquery
    return (
        select(func.max(table.c.version))
        .where(table.c.table_id == table_id, table.c.version <= version)
        .scalar_subquery()
    )

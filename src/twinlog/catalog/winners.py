"""The commits that came first, loaded only as far as the conflict check needs them."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import orjson
from sqlalchemy import Column, Connection, select

from twinlog.catalog import schema
from twinlog.catalog.rows import TABLE_OF, from_row
from twinlog.protocol.actions import Metadata, Protocol
from twinlog.protocol.conflicts import Needs, Winner


def load_winners(connection: Connection, *, table_id: int, after: int, before: int, needs: Needs) -> Iterator[Winner]:
    """The commits with after < version < before, in order."""
    versions = schema.table_versions
    place = (versions.c.table_id == table_id, versions.c.version > after, versions.c.version < before)
    rows = connection.execute(select(versions).where(*place).order_by(versions.c.version)).mappings().all()
    load = _Loader(connection, table_id, after, before)
    adds = load.values(schema.add_files.c.partition_values) if needs.adds else {}
    removes = load.values(schema.remove_files.c.path) if needs.removes else {}
    app_ids = load.values(schema.txn_actions.c.app_id) if any(row["num_txns"] for row in rows) else {}
    domains = load.values(schema.domain_metadata.c.domain) if any(row["num_domains"] for row in rows) else {}
    metadata = load.actions(Metadata) if any(row["has_metadata"] for row in rows) else {}
    protocols = load.actions(Protocol) if any(row["has_protocol"] for row in rows) else {}
    for row in rows:
        version = row["version"]
        yield Winner(
            version=version,
            is_blind_append=row["is_blind_append"],
            adds=[orjson.loads(text) for text in adds.get(version, ())],
            removes=frozenset(removes.get(version, ())),
            app_ids=frozenset(app_ids.get(version, ())),
            domains=frozenset(domains.get(version, ())),
            metadata=metadata.get(version),
            protocol=protocols.get(version),
            operation=row["operation"],
        )


class _Loader:
    def __init__(self, connection: Connection, table_id: int, after: int, before: int) -> None:
        self._connection = connection
        self._place = (table_id, after, before)

    def values(self, column: Column[Any]) -> dict[int, set[str]]:
        """Distinct values of a column for each version."""
        found: dict[int, set[str]] = defaultdict(set)
        table = column.table
        for version, value in self._connection.execute(
            select(table.c.version, column).where(*self._conditions(table)).distinct()
        ):
            found[version].add(value)
        return found

    def actions(self, action_type: type[Any]) -> dict[int, Any]:
        """The one action of a type for each version that has it."""
        table = TABLE_OF[action_type]
        rows = self._connection.execute(select(table).where(*self._conditions(table))).mappings()
        return {row["version"]: from_row(action_type, row) for row in rows}

    def _conditions(self, table: Any) -> tuple[Any, ...]:  # noqa: ANN401 - a table or alias of it
        table_id, after, before = self._place
        return (table.c.table_id == table_id, table.c.version > after, table.c.version < before)

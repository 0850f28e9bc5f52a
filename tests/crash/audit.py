"""Looks at the rows of a catalog, behind its back: every version is there whole, or not at all."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sqlalchemy import Connection, RowMapping, Table, func, select

from twinlog import Catalog
from twinlog.catalog import schema

ACTION_TABLES: Mapping[str, Table] = {
    "num_adds": schema.add_files,
    "num_removes": schema.remove_files,
    "num_cdc": schema.cdc_files,
    "num_txns": schema.txn_actions,
    "num_domains": schema.domain_metadata,
    "has_metadata": schema.metadata_updates,
    "has_protocol": schema.protocol_updates,
}


@dataclass(frozen=True, slots=True)
class Head:
    """Where a table is: its newest version, and how many rows the log holds for it in all."""

    version: int
    rows: int


def audit(catalog: Catalog) -> dict[str, Head]:
    """Fail if any version is there in part. Gives each table's head."""
    with catalog._database.engine.connect() as connection:
        heads = connection.execute(select(schema.tables)).mappings().all()
        _check_no_strays(connection, {row["table_id"] for row in heads})
        _check_commit_ids(connection)
        return {row["name"]: Head(row["version"], _check_table(connection, row)) for row in heads}


def _check_table(connection: Connection, head: RowMapping) -> int:
    versions = schema.table_versions
    in_order = select(versions).where(versions.c.table_id == head["table_id"]).order_by(versions.c.version)
    rows = connection.execute(in_order).mappings().all()
    assert [row["version"] for row in rows] == list(range(head["version"] + 1)), f"{head['name']}: versions not dense"
    times = [row["timestamp_ms"] for row in rows]
    assert all(earlier < later for earlier, later in pairwise(times)), f"{head['name']}: times do not increase"
    assert times[-1] == head["last_commit_ms"]
    for column, table in ACTION_TABLES.items():
        expected = {row["version"]: int(row[column]) for row in rows if row[column]}
        assert _counts(connection, table, head["table_id"]) == expected, f"{head['name']}: {table.name} differs"
    assert head["metadata_version"] == max(row["version"] for row in rows if row["has_metadata"])
    assert head["protocol_version"] == max(row["version"] for row in rows if row["has_protocol"])
    _check_ordinals(connection, head["table_id"], rows)
    _check_queue(connection, head["table_id"], rows)
    _check_removals(connection, head["table_id"])
    return len(rows) + sum(
        sum(_counts(connection, table, head["table_id"]).values()) for table in ACTION_TABLES.values()
    )


def _counts(connection: Connection, table: Table, table_id: int) -> dict[int, int]:
    statement = select(table.c.version, func.count()).where(table.c.table_id == table_id).group_by(table.c.version)
    return {version: count for version, count in connection.execute(statement)}  # noqa: C416 - rows to pairs


def _check_ordinals(connection: Connection, table_id: int, rows: Any) -> None:
    """The actions of a version are numbered from 1 without a gap, over all kinds."""
    highest: dict[int, int] = {}
    for table in ACTION_TABLES.values():
        statement = (
            select(table.c.version, func.min(table.c.ordinal), func.max(table.c.ordinal))
            .where(table.c.table_id == table_id)
            .group_by(table.c.version)
        )
        for version, lowest, last in connection.execute(statement):
            assert lowest >= 1
            highest[version] = max(highest.get(version, 0), last)
    totals = {row["version"]: sum(int(row[column]) for column in ACTION_TABLES) for row in rows}
    assert highest == {version: total for version, total in totals.items() if total}


def _check_queue(connection: Connection, table_id: int, rows: Any) -> None:
    """Every version waits to be published, since the moment it was ratified."""
    status = schema.mirror_status
    statement = select(status.c.version, status.c.artifact, status.c.status, status.c.enqueued_ms).where(
        status.c.table_id == table_id
    )
    queue = sorted(tuple(row) for row in connection.execute(statement))
    assert queue == [(row["version"], "commit", "PENDING", row["timestamp_ms"]) for row in rows]


def _check_removals(connection: Connection, table_id: int) -> None:
    """A file is gone from the version on that removes it, or that adds it again; and no other."""
    adds, removes = schema.add_files, schema.remove_files
    gone = select(adds.c.path, adds.c.dv_id, adds.c.removed_version).where(
        adds.c.table_id == table_id, adds.c.removed_version != schema.LIVE
    )
    retired = [tuple(row) for row in connection.execute(gone)]
    assert len(set(retired)) == len(retired)
    tombstones = {
        tuple(row)
        for row in connection.execute(
            select(removes.c.path, removes.c.dv_id, removes.c.version).where(removes.c.table_id == table_id)
        )
    }
    superseded = set(retired) - tombstones
    assert tombstones <= set(retired)
    if superseded:
        again = select(adds.c.path, adds.c.dv_id, adds.c.version).where(adds.c.table_id == table_id)
        assert superseded <= {tuple(row) for row in connection.execute(again)}


def _check_no_strays(connection: Connection, table_ids: set[int]) -> None:
    for table in (*ACTION_TABLES.values(), schema.table_versions, schema.mirror_status):
        assert set(connection.execute(select(table.c.table_id).distinct()).scalars()) <= table_ids


def _check_commit_ids(connection: Connection) -> None:
    """A commit over several tables has a member for each, counted from 0."""
    versions = schema.table_versions
    members: dict[str, list[int]] = {}
    for commit_id, member in connection.execute(select(versions.c.commit_id, versions.c.member)):
        members.setdefault(commit_id, []).append(member)
    assert [ids for ids in members.values() if sorted(ids) != list(range(len(ids)))] == []

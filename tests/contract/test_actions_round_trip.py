"""What is committed is read back equal: every action, field and unknown key, in the order given."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.support.builders import (
    actions_of,
    commit,
    make_daily_add,
    make_dv,
    make_remove,
    make_stats,
    make_table,
    paths_of,
)
from twinlog import Catalog
from twinlog.protocol.actions import Action, Add, Cdc, DeletionVector, DomainMetadata, JsonObject, Remove, Txn

PROPERTIES = {
    "delta.enableDeletionVectors": "true",
    "delta.enableChangeDataFeed": "true",
    "delta.feature.domainMetadata": "supported",
}
DAY = {"day": "2024-01-01"}
UNKNOWN: JsonObject = {"futureField": {"deep": [1, 2.5, None, True, "x"]}, "ключ": "值", "empty": {}}
ODD_TEXT = "tab\t newline\n quote\" backslash\\ slash/ del\x7f bell\x07 nul-escape\\u0000 ünïcödé 😀 '; DROP TABLE x --"

ADDS = {
    "least": make_daily_add("2024-01-01", stats=None),
    "null partition value": make_daily_add(None),
    "empty partition value": make_daily_add("", path="day=x/a.parquet"),
    "everything": make_daily_add(
        "2024-01-01",
        path="day=2024-01-01/%20b%C3%A9.parquet",
        size=2**62,
        modification_time=-1,
        data_change=False,
        stats=make_stats(3, name=("a", ODD_TEXT)),
        tags={"INSERTION_TIME": "1", "null": None, ODD_TEXT: ODD_TEXT},
        deletion_vector=make_dv(7),
        base_row_id=0,
        default_row_commit_version=5,
        clustering_provider="liquid",
        extra=UNKNOWN,
    ),
    "no tags and an empty map of tags": make_daily_add("2024-01-01", tags={}),
    "inline deletion vector": make_daily_add(
        "2024-01-01",
        deletion_vector=DeletionVector(
            storage_type="i", path_or_inline_dv="0rr91", size_in_bytes=4, cardinality=2**40, extra={"more": [1]}
        ),
    ),
    "absolute path": make_daily_add("2024-01-01", path="s3://elsewhere/a:b@c,d;e=f&g.parquet"),
    "non-ascii path": make_daily_add("2024-01-01", path="day=2024/日本😀.parquet"),
    "zero bytes": make_daily_add("2024-01-01", size=0),
    "odd text": make_daily_add("2024-01-01", clustering_provider=ODD_TEXT, stats='{ "numRecords" :\n1, "x":"\\u0000"}'),
}
OTHERS: dict[str, Action] = {
    "cdc": Cdc(path="_change_data/c.parquet", partition_values=DAY, size=7, tags={"a": None}, extra=UNKNOWN),
    "cdc with a null partition value": Cdc(path="_change_data/c.parquet", partition_values={"day": None}, size=0),
    "txn": Txn(app_id="app", app_version=2**63 - 1, last_updated=1, extra=UNKNOWN),
    "txn without a time": Txn(app_id=ODD_TEXT, app_version=-1),
    "domain": DomainMetadata(domain="my.domain", configuration=ODD_TEXT, removed=False, extra=UNKNOWN),
    "domain that is removed": DomainMetadata(domain="my.domain", configuration="", removed=True),
}
FULL_REMOVE = make_remove(
    "day=2024-01-01/a.parquet",
    deletion_timestamp=1,
    data_change=False,
    extended_file_metadata=True,
    partition_values=DAY,
    size=9,
    tags={},
    base_row_id=4,
    default_row_commit_version=1,
    stats='{"numRecords":9}',
    extra=UNKNOWN,
)


def round_trip(catalog: Catalog, name: str, *actions: Action, before: Sequence[Action] = ()) -> tuple[Action, ...]:
    table = make_table(catalog, name, partition_by=["day"], properties=PROPERTIES)
    if before:
        commit(catalog, *before, table=name)
    landed = commit(catalog, *actions, table=name)
    return actions_of(table, landed.version)


def test_add_when_read_back_then_equal(catalog: Catalog, subtests: pytest.Subtests):
    for case, add in ADDS.items():
        with subtests.test(case):
            assert round_trip(catalog, case, add) == (add,)


def test_cdc_txn_and_domain_when_read_back_then_equal(catalog: Catalog, subtests: pytest.Subtests):
    for case, action in OTHERS.items():
        with subtests.test(case):
            assert round_trip(catalog, case, action) == (action,)


def test_remove_when_it_says_everything_then_read_back_equal(catalog: Catalog):
    assert round_trip(catalog, "sales", FULL_REMOVE, before=[make_daily_add("2024-01-01")]) == (FULL_REMOVE,)


def test_remove_when_it_says_it_knows_nothing_then_nothing_is_filled_in(catalog: Catalog):
    bare = make_remove("day=2024-01-01/a.parquet", extended_file_metadata=False, deletion_timestamp=1)
    assert round_trip(catalog, "sales", bare, before=[make_daily_add("2024-01-01")]) == (bare,)


def test_remove_when_it_says_little_then_the_rest_comes_from_its_file(catalog: Catalog):
    file = make_daily_add(
        None, tags={"a": None}, deletion_vector=make_dv(), base_row_id=3, default_row_commit_version=1, size=77
    )
    short = make_remove(file.path, deletion_vector=make_dv(), extra={"why": "cleanup"})
    (remove,) = round_trip(catalog, "sales", short, before=[file])
    assert isinstance(remove, Remove)
    assert remove == Remove(
        path=file.path,
        deletion_timestamp=catalog.table("sales").history()[0].timestamp_ms,
        data_change=True,
        extended_file_metadata=True,
        partition_values=file.partition_values,
        size=file.size,
        tags=file.tags,
        deletion_vector=file.deletion_vector,
        base_row_id=file.base_row_id,
        default_row_commit_version=file.default_row_commit_version,
        stats=file.stats,
        extra={"why": "cleanup"},
    )


def test_metadata_and_protocol_when_read_back_then_equal(catalog: Catalog):
    table = make_table(catalog)
    snapshot = table.snapshot()
    metadata = replace(
        snapshot.metadata,
        name=None,
        description=ODD_TEXT,
        configuration={**snapshot.properties, "my.property": ODD_TEXT},
        created_time=None,
        extra=UNKNOWN,
    )
    protocol = replace(
        snapshot.protocol,
        writer_features=(*(snapshot.protocol.writer_features or ()), "domainMetadata"),
        extra={"future": 1},
    )
    commit(catalog, protocol, metadata, read_version=0)
    assert actions_of(table, 1) == (protocol, metadata)
    later = table.snapshot()
    assert (later.metadata, later.protocol) == (metadata, protocol)


def test_actions_when_of_all_kinds_then_keep_their_order(catalog: Catalog):
    old = make_daily_add("2024-01-02")
    actions = (
        OTHERS["txn"],
        FULL_REMOVE,
        ADDS["everything"],
        OTHERS["domain"],
        make_daily_add("2024-01-02", path="b.parquet"),
        OTHERS["cdc"],
        make_remove(old.path, extended_file_metadata=False, deletion_timestamp=0),
        Txn(app_id="second", app_version=1),
    )
    assert round_trip(catalog, "sales", *actions, before=[make_daily_add("2024-01-01"), old]) == actions


def test_commit_when_without_actions_then_is_a_version_of_its_own(catalog: Catalog):
    table = make_table(catalog)
    assert commit(catalog).version == 1
    assert actions_of(table, 1) == ()


def test_many_actions_when_read_back_then_equal_and_in_order(catalog: Catalog):
    table = make_table(catalog, partition_by=["day"], properties=PROPERTIES)
    adds = [
        make_daily_add(
            None if number % 3 == 0 else "2024-01-01",
            path=f"{number}.parquet",
            tags={} if number % 2 else {"n": str(number), "x": None},
            stats=None if number % 5 == 0 else make_stats(number),
            deletion_vector=make_dv(number) if number % 7 == 1 and number % 5 else None,
            clustering_provider="" if number % 2 else ODD_TEXT,
            extra={"n": number} if number % 4 == 0 else {},
        )
        for number in range(2_010)
    ]
    commit(catalog, Txn(app_id="a", app_version=1), *adds)
    assert actions_of(table, 1)[1:] == tuple(adds)
    removes = [
        make_remove(add.path, deletion_vector=add.deletion_vector, extended_file_metadata=False, deletion_timestamp=5)
        for add in adds[:510]
    ]
    commit(catalog, *removes)
    assert actions_of(table, 2) == tuple(removes)
    assert paths_of(table.snapshot().files()) == sorted(add.path for add in adds[510:])
    assert paths_of(table.snapshot(version=1).files()) == sorted(add.path for add in adds)


def test_files_of_a_snapshot_when_compared_with_the_adds_then_equal(catalog: Catalog):
    table = make_table(catalog, partition_by=["day"], properties=PROPERTIES)
    adds = {add.path: add for add in ADDS.values()}
    commit(catalog, *adds.values())
    files = table.snapshot().files()
    for row in files.to_pylist():
        add = adds.pop(row["path"])
        assert row["version"] == 1
        assert dict(row["partition_values"]) == add.partition_values
        assert (dict(row["tags"]) if row["tags"] is not None else None) == add.tags
        for name in ("size", "modification_time", "data_change", "stats", "base_row_id", "clustering_provider"):
            assert row[name] == getattr(add, name)
        vector = row["deletion_vector"]
        assert (vector and vector["cardinality"]) == (add.deletion_vector and add.deletion_vector.cardinality)
    assert adds == {}


def test_files_of_a_snapshot_when_added_to_another_table_then_equal_there(catalog: Catalog):
    source = make_table(catalog, "source", partition_by=["day"], properties=PROPERTIES)
    target = make_table(catalog, "target", partition_by=["day"], properties=PROPERTIES)
    adds = {add.path: add for add in ADDS.values()}
    commit(catalog, *adds.values(), table="source")
    with catalog.transaction() as txn:
        txn.table("target").add(source.snapshot().files())
    copied = {add.path: add for add in actions_of(target, 1) if isinstance(add, Add)}
    assert copied == adds

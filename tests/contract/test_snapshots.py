"""A table at its newest version, at a version, at a time: the same whenever it is read."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from sqlalchemy import event

from tests.support.builders import SCHEMA, commit, make_add, make_files, make_remove, make_table, paths_of
from tests.support.databases import execute
from twinlog import Catalog, Table
from twinlog.errors import ConfigurationError, TwinlogError, VersionNotFound
from twinlog.protocol.actions import DomainMetadata, Txn
from twinlog.protocol.schema import PrimitiveType, StructField, StructType

MILLISECOND = timedelta(milliseconds=1)
DOMAINS = {"delta.feature.domainMetadata": "supported"}


def at(timestamp_ms: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timestamp_ms * MILLISECOND


def make_history(catalog: Catalog) -> Table:
    """Version 1 adds a, 2 adds b, 3 removes a, 4 adds c."""
    table = make_table(catalog)
    for action in (make_add("a"), make_add("b"), make_remove("a"), make_add("c")):
        commit(catalog, action)
    return table


FILES_AT = {0: [], 1: ["a"], 2: ["a", "b"], 3: ["b"], 4: ["b", "c"]}


def test_snapshot_when_nothing_is_asked_for_then_is_of_the_newest_version(catalog: Catalog):
    snapshot = make_history(catalog).snapshot()
    assert snapshot.version == 4
    assert paths_of(snapshot.files()) == FILES_AT[4]


def test_snapshot_at_a_version_when_read_then_has_its_files(catalog: Catalog):
    table = make_history(catalog)
    assert {version: paths_of(table.snapshot(version=version).files()) for version in FILES_AT} == FILES_AT


def test_snapshot_at_a_time_when_read_then_is_of_the_last_commit_before_or_at_it(catalog: Catalog):
    table = make_history(catalog)
    # Times apart from each other; the last two cannot be told from their neighbours by a float of seconds.
    times = [1_000_000_000_000, 1_000_000_000_010, 1_000_000_000_020, 1_700_000_000_001, 1_700_000_001_001]
    for version, timestamp_ms in enumerate(times):
        execute(catalog, "UPDATE dl_table_versions SET timestamp_ms = :t WHERE version = :v", t=timestamp_ms, v=version)
    for version, timestamp_ms in enumerate(times):
        exact = at(timestamp_ms)
        assert table.snapshot(timestamp=exact).version == version
        assert table.snapshot(timestamp=exact + MILLISECOND - timedelta(microseconds=1)).version == version
        assert table.snapshot(timestamp=exact.astimezone(timezone(timedelta(hours=5, minutes=30)))).version == version
        if version:
            assert table.snapshot(timestamp=exact - timedelta(microseconds=1)).version == version - 1
    assert table.snapshot(timestamp=datetime.now(UTC)).version == 4


def test_snapshot_at_a_future_time_when_asked_for_then_refused_because_it_could_still_change(catalog: Catalog):
    table = make_history(catalog)
    with pytest.raises(VersionNotFound, match="lies in the future"):
        table.snapshot(timestamp=datetime.now(UTC) + timedelta(days=1))


def test_snapshot_at_every_commit_time_when_commits_came_fast_then_is_of_that_commit(catalog: Catalog):
    table = make_table(catalog)
    for _ in range(12):
        commit(catalog)
    for record in table.history():
        assert table.snapshot(timestamp=at(record.timestamp_ms)).version == record.version


WRONG_PLACES: dict[str, tuple[type[TwinlogError], Callable[[Table], dict[str, Any]]]] = {
    "before the first commit": (
        VersionNotFound,
        lambda table: {"timestamp": at(table.history()[-1].timestamp_ms) - MILLISECOND},
    ),
    "long before": (VersionNotFound, lambda _: {"timestamp": datetime.min.replace(tzinfo=UTC)}),
    "version ahead": (VersionNotFound, lambda _: {"version": 5}),
    "version below zero": (VersionNotFound, lambda _: {"version": -1}),
    "time without a zone": (ConfigurationError, lambda _: {"timestamp": datetime(2024, 1, 1)}),  # noqa: DTZ001
    "version and time": (ConfigurationError, lambda _: {"version": 1, "timestamp": datetime.now(UTC)}),
}


def test_snapshot_when_there_is_none_then_the_error_names_the_table_and_the_way_out(
    catalog: Catalog, subtests: pytest.Subtests
):
    table = make_history(catalog)
    for case, (expected, place) in WRONG_PLACES.items():
        with subtests.test(case):
            with pytest.raises(TwinlogError) as caught:
                table.snapshot(**place(table))
            assert type(caught.value) is expected
            assert caught.value.table == "sales" or expected is ConfigurationError
            assert caught.value.hint


def test_snapshot_when_later_commits_land_then_stays_the_same(catalog: Catalog, other_catalog: Catalog):
    table = make_table(catalog, properties=DOMAINS)
    commit(
        catalog,
        make_add("a"),
        make_add("b"),
        Txn(app_id="app", app_version=1),
        DomainMetadata(domain="d", configuration="1", removed=False),
    )
    snapshot = table.snapshot()
    before = (snapshot.files(), snapshot.txns(), snapshot.domains(), snapshot.metadata, snapshot.protocol)
    commit(other_catalog, make_remove("a"), make_add("c"), Txn(app_id="app", app_version=2))
    commit(other_catalog, DomainMetadata(domain="d", configuration="", removed=True))
    other_catalog.table("sales").set_properties({"delta.enableDeletionVectors": "true"})
    commit(other_catalog, make_add("b", size=5))
    after = (snapshot.files(), snapshot.txns(), snapshot.domains(), snapshot.metadata, snapshot.protocol)
    assert after[0].sort_by("path").equals(before[0].sort_by("path"))
    assert after[1:] == before[1:]


def test_file_batches_when_a_commit_lands_between_them_then_are_of_the_snapshot(
    catalog: Catalog, other_catalog: Catalog, monkeypatch: pytest.MonkeyPatch
):
    table = make_table(catalog)
    paths = {f"{number}" for number in range(5_000)}
    commit(catalog, files=make_files(paths))
    for dialect in ("sqlite", "duckdb"):
        monkeypatch.setattr(f"twinlog.catalog.dialects.{dialect}._BATCH_ROWS", 2_048)
    batches = table.snapshot().file_batches()
    first = next(batches)
    commit(other_catalog, make_remove("0"), make_remove("4999"), make_add("new"))
    rest = [path for batch in batches for path in batch.column("path").to_pylist()]
    assert sorted([*first.column("path").to_pylist(), *rest]) == sorted(paths)
    assert rest or catalog.url.startswith("postgresql")  # whose batches are larger
    assert set(paths_of(table.snapshot().files())) == paths - {"0", "4999"} | {"new"}


def test_txns_and_domains_when_read_at_a_version_then_are_of_that_version(catalog: Catalog):
    table = make_table(catalog, properties=DOMAINS)
    one, two = Txn(app_id="app", app_version=1), Txn(app_id="app", app_version=2)
    other = Txn(app_id="other", app_version=1)
    first = DomainMetadata(domain="d", configuration="1", removed=False)
    second = DomainMetadata(domain="d", configuration="2", removed=False)
    gone = DomainMetadata(domain="d", configuration="2", removed=True)
    commit(catalog, one, first)
    commit(catalog, two, other, second)
    commit(catalog, gone)
    commit(catalog, first)
    txns = [table.snapshot(version=version).txns() for version in range(5)]
    assert txns == [{}, {"app": one}, *[{"app": two, "other": other}] * 3]
    domains = [table.snapshot(version=version).domains() for version in range(5)]
    assert domains == [{}, {"d": first}, {"d": second}, {}, {"d": first}]


def test_metadata_and_protocol_when_read_at_a_version_then_are_of_that_version(catalog: Catalog):
    table = make_table(catalog, properties={"owner": "first"})
    commit(catalog, make_add())
    table.set_properties({"owner": "second", "delta.enableDeletionVectors": "true"})
    commit(catalog, make_add("b"))
    table.set_properties({"delta.checkpointPolicy": "v2"})
    owners = [table.snapshot(version=version).properties["owner"] for version in range(5)]
    assert owners == ["first", "first", "second", "second", "second"]
    features = [table.snapshot(version=version).protocol.reader_features for version in range(5)]
    assert features == [None, None, *[("deletionVectors",)] * 2, ("deletionVectors", "v2Checkpoint")]


def test_totals_when_compared_with_the_files_then_equal(catalog: Catalog):
    table = make_history(catalog)
    for version, paths in FILES_AT.items():
        totals = table.snapshot(version=version).totals()
        assert (totals.num_files, totals.num_bytes) == (len(paths), 1_000 * len(paths))


@pytest.mark.parametrize("place", [{}, {"version": 2}], ids=["newest", "version"])
def test_snapshot_when_opened_by_a_new_client_then_takes_two_queries(
    catalog: Catalog, other_catalog: Catalog, place: dict[str, Any]
):
    make_history(catalog)
    statements: list[str] = []

    def remember(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    event.listen(other_catalog._database.engine, "before_cursor_execute", remember)
    other_catalog.reader.snapshot("sales", **place)
    assert len([statement for statement in statements if statement.startswith("SELECT")]) <= 2


def test_schema_when_it_changed_then_each_version_has_its_own(catalog: Catalog):
    table = make_table(catalog)
    wider = StructType((*SCHEMA.fields, StructField("extra", PrimitiveType("string"))))
    commit(catalog, replace(table.snapshot().metadata, schema_string=wider.to_json()), read_version=0)
    assert table.snapshot(version=0).schema == SCHEMA
    assert table.snapshot(version=1).schema == wider
    assert table.snapshot().schema == wider

from collections.abc import Callable

import pytest

from tests.support.builders import SCHEMA, actions_of, commit, make_add, make_table
from tests.support.databases import execute, read_contents, refusal
from twinlog import Catalog
from twinlog.errors import TableAlreadyExists, TableNotFound
from twinlog.protocol.actions import DomainMetadata, Txn

DOMAINS = {"delta.feature.domainMetadata": "supported"}


def fill(catalog: Catalog, name: str) -> None:
    make_table(catalog, name, properties=DOMAINS)
    commit(
        catalog,
        make_add(f"{name}.parquet"),
        Txn(app_id="app", app_version=1),
        DomainMetadata(domain="d", configuration="{}", removed=False),
        table=name,
    )


def test_name_when_taken_then_refused(catalog: Catalog):
    make_table(catalog)
    with refusal(catalog, TableAlreadyExists, table="sales"):
        catalog.create_table("sales", location="s3://lake/other", schema=SCHEMA)


@pytest.mark.parametrize("location", ["s3://lake/sales", "s3://lake/sales/"])
def test_location_when_taken_then_refused(catalog: Catalog, location: str):
    make_table(catalog)
    with refusal(catalog, TableAlreadyExists, table="other") as caught:
        catalog.create_table("other", location=location, schema=SCHEMA)
    assert "location" in caught.value.message


def test_location_when_taken_and_spelled_like_a_key_then_the_error_is_about_the_location(catalog: Catalog):
    location = "s3://lake/name: x"
    catalog.create_table("sales", location=location, schema=SCHEMA)
    with refusal(catalog, TableAlreadyExists, table="other") as caught:
        catalog.create_table("other", location=location, schema=SCHEMA)
    assert "location" in caught.value.message


def test_names_when_they_differ_in_case_then_are_two_tables(catalog: Catalog):
    make_table(catalog, "sales")
    make_table(catalog, "Sales")
    assert {head.name for head in catalog.list_tables()} == {"sales", "Sales"}


def test_list_when_there_are_tables_then_in_the_order_of_their_names(catalog: Catalog):
    for name in ("b", "a", "B", "c10", "c9", "ä"):
        make_table(catalog, name)
    assert [head.name for head in catalog.list_tables()] == ["B", "a", "b", "c10", "c9", "ä"]


def test_list_when_there_are_no_tables_then_empty(catalog: Catalog):
    assert catalog.list_tables() == []


def test_head_when_table_has_moved_then_shows_it(catalog: Catalog):
    table = make_table(catalog)
    commit(catalog, make_add())
    table.set_properties({"owner": "me"})
    head = table.head()
    assert head == catalog.list_tables()[0] == catalog.reader.head("sales")
    assert (head.name, head.location) == ("sales", "s3://lake/sales")
    assert (head.version, head.metadata_version, head.protocol_version) == (2, 2, 0)
    assert head.last_commit_ms == table.history()[0].timestamp_ms


ASK_FOR_UNKNOWN: dict[str, Callable[[Catalog], object]] = {
    "table": lambda catalog: catalog.table("nope"),
    "drop": lambda catalog: catalog.drop_table("nope"),
    "head": lambda catalog: catalog.reader.head("nope"),
    "snapshot": lambda catalog: catalog.reader.snapshot("nope"),
    "history": lambda catalog: catalog.reader.history("nope"),
    "changes": lambda catalog: list(catalog.reader.changes("nope", first=0)),
    "commit": lambda catalog: commit(catalog, make_add(), table="nope"),
}


def test_table_when_unknown_then_not_found_everywhere(catalog: Catalog, subtests: pytest.Subtests):
    for case, ask in ASK_FOR_UNKNOWN.items():
        with subtests.test(case), refusal(catalog, TableNotFound, table="nope"):
            ask(catalog)


def test_drop_when_versions_are_unpublished_then_counts_them(catalog: Catalog):
    fill(catalog, "sales")
    commit(catalog, make_add("b.parquet"))
    execute(catalog, "UPDATE dl_mirror_status SET status = 'SUCCESS' WHERE version = 0")
    assert catalog.drop_table("sales") == 2


def test_drop_when_done_then_every_row_of_the_table_is_gone_and_no_other(catalog: Catalog):
    fill(catalog, "sales")
    before = read_contents(catalog)
    fill(catalog, "orders")
    catalog.drop_table("orders")
    assert read_contents(catalog) == before


def test_table_when_dropped_then_name_and_location_are_free(catalog: Catalog):
    fill(catalog, "sales")
    catalog.drop_table("sales")
    assert catalog.list_tables() == []
    assert make_table(catalog).head().version == 0


def test_table_when_dropped_and_created_again_then_has_nothing_of_the_old_one(catalog: Catalog):
    fill(catalog, "sales")
    old = catalog.table("sales").head()
    catalog.drop_table("sales")
    table = make_table(catalog, properties=DOMAINS | {"owner": "you"})
    assert table.head().table_id > old.table_id
    assert table.head().delta_id != old.delta_id
    assert [record.version for record in table.history()] == [0]
    commit(catalog, make_add("new.parquet"))
    snapshot = table.snapshot()
    assert snapshot.properties["owner"] == "you"
    assert snapshot.files().column("path").to_pylist() == ["new.parquet"]
    assert snapshot.txns() == {}
    assert snapshot.domains() == {}
    assert len(actions_of(table, 1)) == 1


@pytest.mark.parametrize("recreate", [False, True], ids=["dropped", "recreated"])
def test_snapshot_when_its_table_is_dropped_then_raises_rather_than_gives_nothing(
    catalog: Catalog, subtests: pytest.Subtests, *, recreate: bool
):
    fill(catalog, "sales")
    snapshot = catalog.table("sales").snapshot()
    catalog.drop_table("sales")
    if recreate:
        fill(catalog, "sales")
    for what in ("files", "totals", "txns", "domains"):
        with subtests.test(what), refusal(catalog, TableNotFound, table="sales"):
            getattr(snapshot, what)()


def test_file_batches_when_the_table_is_dropped_then_raises_at_the_end(catalog: Catalog):
    fill(catalog, "sales")
    batches = catalog.table("sales").snapshot().file_batches()
    catalog.drop_table("sales")
    with pytest.raises(TableNotFound):
        list(batches)


def test_table_when_dropped_by_another_client_then_not_found(catalog: Catalog, other_catalog: Catalog):
    fill(catalog, "sales")
    table = other_catalog.table("sales")
    table.snapshot().files()
    catalog.drop_table("sales")
    with refusal(other_catalog, TableNotFound, table="sales"):
        commit(other_catalog, make_add("b.parquet"))
    with pytest.raises(TableNotFound):
        table.snapshot()

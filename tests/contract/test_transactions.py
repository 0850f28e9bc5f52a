"""`catalog.transaction()`: lands at the end of the block, or not at all; what is read in it is held against others."""

import pyarrow as pa
import pytest

from tests.contract.rivals import MONDAY, READ_MONDAY, TUESDAY, WEDNESDAY
from tests.support.builders import (
    DV_PROPERTIES,
    SCHEMA,
    actions_of,
    commit,
    make_add,
    make_daily_add,
    make_dv,
    make_files,
    make_remove,
    make_table,
    paths_of,
)
from tests.support.databases import read_contents, refusal
from twinlog import Catalog, Transaction
from twinlog.errors import CommitRejected, ConcurrentAppend, InvalidAction, InvalidPredicate, TableNotFound
from twinlog.protocol.actions import Add, Remove, Txn


class Stop(Exception):
    """Raised by tests inside a transaction."""


def test_transaction_when_the_block_ends_then_every_table_has_moved(catalog: Catalog):
    for name in ("a", "b", "c"):
        make_table(catalog, name)
    with catalog.transaction(operation="MERGE", operation_parameters={"predicate": "[]"}, commit_id="my id") as txn:
        txn.table("a").add(make_add("a.parquet"))
        txn.table("b").add([make_add("b1.parquet"), make_add("b2.parquet")]).stage(Txn(app_id="x", app_version=1))
        txn.table("c")
    assert txn.result.commit_id == "my id"
    assert txn.result.versions == {"a": 1, "b": 1}
    assert catalog.table("c").head().version == 0
    for name in ("a", "b"):
        record = catalog.table(name).history()[0]
        assert (record.operation, record.commit_id) == ("MERGE", "my id")
        assert record.commit_info.operation_parameters == {"predicate": "[]"}


def test_transaction_when_the_block_raises_then_nothing_lands(catalog: Catalog):
    make_table(catalog)
    before = read_contents(catalog)
    with pytest.raises(Stop), catalog.transaction() as txn:
        raise_after_adding(txn)
    assert read_contents(catalog) == before
    with pytest.raises(CommitRejected):
        _ = txn.result


def raise_after_adding(txn: Transaction) -> None:
    txn.table("sales").add(make_add())
    raise Stop


def test_transaction_when_nothing_is_staged_then_there_is_no_commit_and_no_result(catalog: Catalog):
    table = make_table(catalog)
    with catalog.transaction() as txn:
        txn.table("sales").files()
    assert table.head().version == 0
    with pytest.raises(CommitRejected) as caught:
        _ = txn.result
    assert caught.value.hint


def test_transaction_when_still_open_then_nobody_sees_it(catalog: Catalog, other_catalog: Catalog):
    table = make_table(catalog)
    with catalog.transaction() as txn:
        txn.table("sales").add(make_add())
        assert table.head().version == 0
        assert commit(other_catalog, make_add("other.parquet")).version == 1
    assert txn.result.version == 2


def test_reads_in_a_transaction_when_others_commit_then_stay_at_the_first_version_read(catalog: Catalog):
    make_table(catalog)
    commit(catalog, make_add("old.parquet"), Txn(app_id="app", app_version=1))
    with catalog.transaction() as txn:
        table = txn.table("sales")
        assert table.version == 1
        commit(catalog, make_add("new.parquet"), Txn(app_id="app", app_version=2))
        assert table.version == 1
        assert paths_of(table.files()) == ["old.parquet"]
        assert table.application_version("app") == 1
        assert table.application_version("unknown") is None
        assert table.schema == SCHEMA
        assert table.properties == {"delta.enableInCommitTimestamps": "true"}


def test_reads_of_one_table_when_only_another_is_written_then_held_against_others_too(catalog: Catalog):
    source = make_table(catalog, "source")
    make_table(catalog, "target")
    with pytest.raises(ConcurrentAppend) as caught, catalog.transaction() as txn:
        read_source_and_write_target(catalog, txn)
    assert caught.value.table == source.name
    assert catalog.table("target").head().version == 0


def read_source_and_write_target(catalog: Catalog, txn: Transaction) -> None:
    txn.table("source").files()
    commit(catalog, make_add(), table="source")
    txn.table("target").add(make_add())


@pytest.mark.parametrize("by_predicate", [False, True], ids=["whole", "predicate"])
def test_append_when_nothing_was_read_then_is_blind(catalog: Catalog, *, by_predicate: bool):
    table = make_table(catalog, partition_by=["day"])
    with catalog.transaction() as txn:
        txn.table("sales").add(make_daily_add(MONDAY))
    assert table.history()[0].is_blind_append
    assert table.history()[0].read_version is None
    with catalog.transaction() as txn:
        txn.table("sales").files(READ_MONDAY if by_predicate else None)
        txn.table("sales").add(make_daily_add(TUESDAY))
    assert not table.history()[0].is_blind_append
    assert table.history()[0].read_version == 1


def test_files_when_removed_by_path_action_or_row_then_gone(catalog: Catalog):
    table = make_table(catalog, partition_by=["day"], properties=DV_PROPERTIES)
    with_dv = make_daily_add(MONDAY, "dv.parquet", deletion_vector=make_dv())
    commit(catalog, with_dv, *(make_daily_add(TUESDAY, f"{number}.parquet") for number in range(6)))
    with catalog.transaction() as txn:
        part = txn.table("sales")
        part.remove("0.parquet")
        part.remove(["1.parquet", make_daily_add(TUESDAY, "2.parquet")], data_change=False)
        part.remove(make_remove("3.parquet", data_change=False))
        part.remove(part.files(READ_MONDAY))
    assert paths_of(table.snapshot().files()) == ["4.parquet", "5.parquet"]
    removes = {remove.path: remove for remove in actions_of(table, 2) if isinstance(remove, Remove)}
    assert removes["dv.parquet"].deletion_vector == make_dv()
    assert {path: remove.data_change for path, remove in removes.items()} == {
        "0.parquet": True,
        "1.parquet": False,
        "2.parquet": False,
        "3.parquet": False,
        "dv.parquet": True,
    }


def test_files_when_added_as_actions_and_several_arrow_inputs_then_all_land_in_order(catalog: Catalog):
    table = make_table(catalog)
    arrow = make_files(["b.parquet", "c.parquet"])
    with catalog.transaction() as txn:
        part = txn.table("sales")
        part.add(arrow)
        part.add(make_add("a.parquet"))
        part.add(iter(make_files(["d.parquet"]).to_batches()))
        part.add(pa.RecordBatchReader.from_batches(arrow.schema, make_files(["e.parquet"]).to_batches()))
        part.add(make_files(["f.parquet"]).to_batches()[0])
    paths = [action.path for action in actions_of(table, 1) if isinstance(action, Add)]
    assert paths == ["a.parquet", "b.parquet", "c.parquet", "d.parquet", "e.parquet", "f.parquet"]


def test_add_when_given_something_else_then_refused(catalog: Catalog):
    make_table(catalog)
    with refusal(catalog, InvalidAction, table="sales"), catalog.transaction() as txn:
        txn.table("sales").add([make_remove()])


def test_files_when_the_predicate_is_wrong_then_refused(catalog: Catalog):
    make_table(catalog)
    for predicate in ("nope = 1", "id =", "id = 'text'"):
        with refusal(catalog, InvalidPredicate, table="sales"), catalog.transaction() as txn:
            txn.table("sales").files(predicate)


def test_table_when_unknown_then_refused(catalog: Catalog):
    make_table(catalog)
    with refusal(catalog, TableNotFound, table="nope"), catalog.transaction() as txn:
        txn.table("sales").add(make_add())
        txn.table("nope").add(make_add())


def test_properties_when_set_beside_files_then_land_together(catalog: Catalog):
    table = make_table(catalog, partition_by=["day"])
    with catalog.transaction() as txn:
        txn.table("sales").set_properties({"delta.enableDeletionVectors": "true"})
        txn.table("sales").add(make_daily_add(WEDNESDAY, deletion_vector=make_dv()))
    assert txn.result.version == 1
    assert len(actions_of(table, 1)) == 3

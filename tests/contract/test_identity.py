"""Tables, commits and transactions are told apart by what they are, not by what they are called."""

import pytest

from tests.support.builders import commit, make_add, make_remove, make_table, paths_of
from twinlog import Catalog, TableCommit
from twinlog.errors import CommitRejected, ConfigurationError, MetadataChanged, TableAlreadyExists
from twinlog.protocol.actions import Txn


def test_commit_id_when_its_first_table_was_dropped_then_still_lands_once(catalog: Catalog):
    for name in ("a", "b"):
        make_table(catalog, name)
    shares = [TableCommit(table=name, actions=[make_add("x")]) for name in ("a", "b")]
    catalog.writer.commit(*shares, commit_id="id")
    catalog.drop_table("a")

    again = catalog.writer.commit(shares[1], commit_id="id")

    assert (again.version, again.replayed) == (1, True)
    assert catalog.table("b").head().version == 1


def test_transaction_when_its_table_was_dropped_and_made_anew_then_conflicts(catalog: Catalog, other_catalog: Catalog):
    make_table(catalog)
    txn = catalog.transaction()
    txn.table("sales").files()
    other_catalog.drop_table("sales")
    make_table(other_catalog)
    txn.table("sales").add(make_add("of-the-old-table"))
    with pytest.raises(MetadataChanged, match="dropped"), txn:
        pass
    assert catalog.table("sales").head().version == 0


def test_transaction_when_over_then_cannot_be_used_again(catalog: Catalog):
    make_table(catalog)
    with catalog.transaction() as txn:
        txn.table("sales").add(make_add("x"))
    with pytest.raises(CommitRejected, match="is over"), txn:
        pass
    assert catalog.table("sales").head().version == 1


def test_application_transaction_when_older_than_the_log_then_answers_with_the_commit_that_is_there(catalog: Catalog):
    make_table(catalog)
    newer = commit(catalog, Txn(app_id="job", app_version=5), make_add("x"))

    skipped = commit(catalog, Txn(app_id="job", app_version=4), make_add("y"))

    assert (skipped.replayed, skipped.commit_id, skipped.version) == (True, newer.commit_id, newer.version)
    assert paths_of(catalog.table("sales").snapshot().files()) == ["x"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("s3://lake/x", "S3://lake//x/"),
        ("s3://lake/x", "s3a://lake/x"),
        ("/lake/x", "file:///lake/x"),
        ("/lake/x", "/lake/y/../x"),
    ],
)
def test_location_when_spelt_in_another_way_then_is_taken(catalog: Catalog, first: str, second: str):
    make_table(catalog, "a", location=first)
    with pytest.raises(TableAlreadyExists, match="another table has this location"):
        make_table(catalog, "b", location=second)


def test_location_when_a_url_lacks_a_slash_then_refused(catalog: Catalog):
    with pytest.raises(ConfigurationError, match="neither a URL nor a path"):
        make_table(catalog, location="s3:/lake/x")


def test_name_when_taken_together_with_its_location_then_the_name_is_named(catalog: Catalog):
    make_table(catalog, location="s3://lake/x")
    with pytest.raises(TableAlreadyExists, match="the name is taken"):
        make_table(catalog, location="s3://lake/x")


def test_many_removes_when_committed_then_all_are_gone(catalog: Catalog):
    make_table(catalog)
    names = [f"f-{number}" for number in range(1_200)]
    commit(catalog, *map(make_add, names))
    commit(catalog, *map(make_remove, names[:1_150]))
    assert paths_of(catalog.table("sales").snapshot().files()) == sorted(names[1_150:])

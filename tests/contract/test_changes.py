"""The log itself: the actions of each version, from one version to another."""

import pytest

from tests.support.builders import commit, make_add, make_remove, make_table
from twinlog import Catalog, Table
from twinlog.errors import VersionNotFound
from twinlog.protocol.actions import Add, CommitInfo, Metadata, Protocol, Remove


def make_history(catalog: Catalog) -> Table:
    table = make_table(catalog)
    commit(catalog, make_add("a"))
    commit(catalog, make_remove("a"), make_add("b"))
    commit(catalog)
    return table


def test_changes_when_asked_for_all_then_every_version_comes_in_order(catalog: Catalog):
    table = make_history(catalog)
    found = list(table.changes(first=0))
    assert [change.version for change in found] == [0, 1, 2, 3]
    assert [[type(action) for action in change.actions] for change in found] == [
        [CommitInfo, Metadata, Protocol],
        [CommitInfo, Add],
        [CommitInfo, Remove, Add],
        [CommitInfo],
    ]
    assert [change.timestamp_ms for change in found] == [record.timestamp_ms for record in reversed(table.history())]


def test_changes_when_a_range_is_asked_for_then_it_comes(catalog: Catalog):
    table = make_history(catalog)
    for first, last, expected in ((0, 0, [0]), (1, 2, [1, 2]), (3, 3, [3]), (2, None, [2, 3]), (3, None, [3])):
        assert [change.version for change in table.changes(first=first, last=last)] == expected


def test_changes_when_the_range_is_not_in_the_log_then_refused(catalog: Catalog, subtests: pytest.Subtests):
    table = make_history(catalog)
    for first, last in ((-1, 2), (0, 4), (4, None), (4, 4), (2, 1), (-1, -1)):
        with subtests.test(first=first, last=last):
            with pytest.raises(VersionNotFound) as caught:
                list(table.changes(first=first, last=last))
            assert caught.value.table == "sales"
            assert caught.value.hint


def test_changes_when_the_range_is_not_in_the_log_then_refused_before_the_first_is_asked_for(catalog: Catalog):
    table = make_history(catalog)
    with pytest.raises(VersionNotFound):
        next(table.changes(first=2, last=9))


def test_changes_when_commits_land_meanwhile_then_end_where_they_began_to(catalog: Catalog, other_catalog: Catalog):
    table = make_history(catalog)
    changes = table.changes(first=1)
    seen = [next(changes).version]
    commit(other_catalog, make_remove("b"))
    seen += [change.version for change in changes]
    assert seen == [1, 2, 3]


def test_changes_when_not_read_to_the_end_then_others_can_commit(catalog: Catalog, other_catalog: Catalog):
    table = make_history(catalog)
    changes = table.changes(first=0)
    next(changes)
    changes.close()  # type: ignore[attr-defined]
    assert commit(other_catalog, make_add("c")).version == 4
    assert commit(catalog, make_add("d")).version == 5


def test_changes_of_one_table_when_others_have_their_own_then_are_not_mixed(catalog: Catalog):
    make_history(catalog)
    other = make_table(catalog, "other")
    commit(catalog, make_add("only"), table="other")
    (found,) = other.changes(first=1)
    assert found.actions[1:] == (make_add("only"),)


def test_removed_file_when_its_version_is_read_again_then_its_add_is_unchanged(catalog: Catalog):
    table = make_history(catalog)
    (found,) = table.changes(first=1, last=1)
    assert found.actions[1:] == (make_add("a"),)

"""Files given as Arrow are held to the rules of add actions, and whatever is accepted can be read back."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.properties.commit_sequences import to_arrow
from tests.support.builders import (
    DV_PROPERTIES,
    ROW_TRACKING_PROPERTIES,
    make_add,
    make_dv,
    make_files,
    make_remove,
    make_table,
)
from twinlog import Catalog, TableCommit
from twinlog.errors import ProtocolError, TwinlogError

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

BAD_FILES: list[tuple[str, dict[str, str], dict[str, Any]]] = [
    ("a path that is no URI", {}, {"path": "a b"}),
    ("a path with NUL", {}, {"path": "a\0"}),
    ("a negative size", {}, {"size": -1}),
    ("stats that are not JSON", {}, {"stats": "{NaN}"}),
    ("stats that are no object", {}, {"stats": "[]"}),
    ("a partition that the table does not have", {}, {"partition_values": {"day": None}}),
    ("a malformed vector", DV_PROPERTIES, {"deletion_vector": make_dv(cardinality=-1)}),
    ("a vector without its feature", {}, {"deletion_vector": make_dv()}),
    ("a vector without a record count", DV_PROPERTIES, {"deletion_vector": make_dv(), "stats": None}),
    ("row tracking without a record count", ROW_TRACKING_PROPERTIES, {"stats": None}),
    ("a row id without its version", ROW_TRACKING_PROPERTIES, {"base_row_id": 7}),
    ("a row commit version without its id", ROW_TRACKING_PROPERTIES, {"default_row_commit_version": 7}),
    ("an unknown field that shadows a known one", {}, {"extra": {"path": "../b"}}),
    ("a path that is active with another vector", DV_PROPERTIES, {"path": "old", "deletion_vector": make_dv()}),
]


@pytest.mark.parametrize("way", ["action", "arrow"])
@pytest.mark.parametrize(
    ("properties", "changes"), [case[1:] for case in BAD_FILES], ids=[case[0] for case in BAD_FILES]
)
def test_file_when_it_breaks_a_rule_then_refused_either_way(
    catalog: Catalog, properties: dict[str, str], changes: dict[str, Any], way: str
):
    table = make_table(catalog, "t", properties=properties)
    catalog.writer.commit(TableCommit(table="t", actions=[make_add("old")]))
    good, bad = make_add("good"), make_add(**{"path": "bad", **changes})
    request = (
        TableCommit(table="t", actions=[good, bad])
        if way == "action"
        else TableCommit(table="t", files=to_arrow([good, bad]))
    )
    with pytest.raises(ProtocolError):
        catalog.writer.commit(request)
    assert table.head().version == 1


def test_files_when_one_of_them_is_also_removed_then_refused(catalog: Catalog):
    table = make_table(catalog, "t")
    catalog.writer.commit(TableCommit(table="t", actions=[make_add("old")]))
    request = TableCommit(table="t", actions=[make_remove("old")], files=make_files(["new", "old"]))
    with pytest.raises(ProtocolError):
        catalog.writer.commit(request)
    assert table.head().version == 1


@pytest.mark.parametrize("extra", ["{", "[1]", "7"])
def test_files_when_their_unknown_fields_are_no_json_object_then_refused(catalog: Catalog, extra: str):
    table = make_table(catalog, "t")
    with pytest.raises(ProtocolError):
        catalog.writer.commit(TableCommit(table="t", files=make_files(["a"], extra=extra)))
    assert table.head().version == 0


jsonish = st.sampled_from(['{"k":1}', "{}", '{"numRecords":1}', "[]", "null", "", "{", '{"path":"b"}', '{"a":NaN}'])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(extra=st.none() | jsonish, stats=st.none() | jsonish, tags=st.none() | st.just({"k": None}))
def test_files_when_accepted_then_the_log_can_be_read(catalog: Catalog, extra: Any, stats: Any, tags: Any):
    name = f"t{len(catalog.list_tables())}"
    table = make_table(catalog, name)
    try:
        catalog.writer.commit(TableCommit(table=name, files=make_files(["a"], extra=extra, stats=stats, tags=tags)))
    except TwinlogError:
        assert table.head().version == 0
        return
    (commit,) = table.changes(first=1)
    read = commit.actions[1]
    assert read == make_add("a", stats=stats, tags=tags, extra=getattr(read, "extra", None))

"""Actions to SQL rows and back."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Boolean, Integer, Text

from tests.support.builders import make_add, make_dv, make_remove
from tests.support.strategies import KNOWN_ACTIONS
from twinlog.catalog import schema
from twinlog.catalog.rows import TABLE_OF, from_row, to_row
from twinlog.protocol.actions import Action, CheckpointMetadata, CommitInfo, Metadata, Sidecar
from twinlog.protocol.codec import ENVELOPE_KEYS, ENVELOPE_TYPES

PLACE = {"table_id", "version", "ordinal"}
IN_ROWS = {kind: actions for kind, actions in KNOWN_ACTIONS.items() if ENVELOPE_TYPES[kind] in TABLE_OF}
PYTHON_TYPES = {Boolean: bool, Integer: int, Text: str}


def python_type(column: Any) -> type:
    return next(found for sql_type, found in PYTHON_TYPES.items() if isinstance(column.type, sql_type))


def test_kinds_of_action_when_listed_then_all_have_a_table_except_those_that_need_none():
    assert set(ENVELOPE_TYPES.values()) - TABLE_OF.keys() == {CommitInfo, CheckpointMetadata, Sidecar}
    assert IN_ROWS.keys() == {ENVELOPE_KEYS[kind] for kind in TABLE_OF}


@pytest.mark.parametrize("kind", IN_ROWS)
@given(data=st.data())
def test_action_when_turned_into_a_row_and_back_then_equal(kind: str, data: st.DataObject):
    action: Action = data.draw(IN_ROWS[kind])
    assert from_row(type(action), to_row(action)) == action


@pytest.mark.parametrize("kind", IN_ROWS)
@given(data=st.data())
def test_row_when_compared_with_its_table_then_fills_it(kind: str, data: st.DataObject):
    action: Action = data.draw(IN_ROWS[kind])
    table = TABLE_OF[type(action)]
    row = to_row(action)
    assert row.keys() == {column.name for column in table.columns} - PLACE
    for name, value in row.items():
        column = table.columns[name]
        assert value is None or type(value) is python_type(column)
        # Metadata of old writers may lack the schema; a commit of it is refused before it gets here.
        assert value is not None or column.nullable or (isinstance(action, Metadata) and name == "schema_string")


@pytest.mark.parametrize("kind", IN_ROWS)
@given(data=st.data())
def test_row_when_made_twice_then_the_same_text(kind: str, data: st.DataObject):
    action: Action = data.draw(IN_ROWS[kind])
    assert to_row(action) == to_row(from_row(type(action), to_row(action)))


@pytest.mark.parametrize("make", [make_add, make_remove])
def test_deletion_vector_when_in_a_row_then_its_id_is_a_column(make: Any):
    assert to_row(make())["dv_id"] == ""
    assert to_row(make(deletion_vector=make_dv()))["dv_id"] == make_dv().unique_id


def test_add_when_in_a_row_then_is_live():
    assert to_row(make_add())["removed_version"] == schema.LIVE


def test_columns_that_a_row_does_not_need_when_there_then_passed_over():
    row = to_row(make_add()) | {"table_id": 1, "version": 2, "ordinal": 3, "something": "else"}
    assert from_row(type(make_add()), row) == make_add()

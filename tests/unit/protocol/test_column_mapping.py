from collections.abc import Callable
from itertools import count

import pytest

from tests.unit.protocol.corpora import corpus_tables, needs_corpora
from twinlog.errors import InvalidSchema
from twinlog.protocol.column_mapping import assign_column_mapping, highest_column_id, physical_name
from twinlog.protocol.schema import ArrayType, MapType, PrimitiveType, StructField, StructType, parse_schema, walk

ID = "delta.columnMapping.id"
NAME = "delta.columnMapping.physicalName"
NESTED_IDS = "delta.columnMapping.nested.ids"

LONG = PrimitiveType("long")


def struct(*names: str) -> StructType:
    return StructType(tuple(StructField(name, LONG) for name in names))


SCHEMA = StructType(
    (
        StructField("a", LONG, nullable=False, metadata={"comment": "first"}),
        StructField("s", struct("x", "y")),
        StructField("l", ArrayType(struct("e"), contains_null=False)),
        StructField("m", MapType(struct("k"), ArrayType(struct("v"), contains_null=True), value_contains_null=True)),
        StructField("z", LONG),
    )
)


def numbered_names() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"col-{next(numbers)}"


def never() -> str:
    raise AssertionError("no name is needed")


def mapping_of(schema: StructType) -> dict[str, tuple[object, object]]:
    return {".".join(path): (field.metadata.get(ID), field.metadata.get(NAME)) for path, field in walk(schema)}


def test_new_table_when_mapped_numbers_every_nested_field_parents_first():
    mapped, max_id = assign_column_mapping(SCHEMA, max_id=0, fresh=True, new_name=numbered_names())
    assert mapping_of(mapped) == {
        "a": (1, "col-1"),
        "s": (2, "col-2"),
        "s.x": (3, "col-3"),
        "s.y": (4, "col-4"),
        "l": (5, "col-5"),
        "l.element.e": (6, "col-6"),
        "m": (7, "col-7"),
        "m.key.k": (8, "col-8"),
        "m.value.element.v": (9, "col-9"),
        "z": (10, "col-10"),
    }
    assert max_id == 10


def test_new_table_when_mapped_changes_nothing_else():
    mapped, _ = assign_column_mapping(SCHEMA, max_id=0, fresh=True, new_name=numbered_names())
    assert mapped.fields[0].metadata == {"comment": "first", ID: 1, NAME: "col-1"}
    assert mapped.fields[0].nullable is False
    assert mapped.fields[2].data_type == ArrayType(
        StructType((StructField("e", LONG, metadata={ID: 6, NAME: "col-6"}),)), contains_null=False
    )


def test_upgraded_table_when_mapped_keeps_names_as_physical_names():
    mapped, max_id = assign_column_mapping(SCHEMA, max_id=0, fresh=False, new_name=never)
    assert all(physical == path.rpartition(".")[2] for path, (_, physical) in mapping_of(mapped).items())
    assert max_id == 10


def test_mapped_table_when_mapped_again_stays_as_it_is():
    mapped, max_id = assign_column_mapping(SCHEMA, max_id=0, fresh=True, new_name=numbered_names())
    assert assign_column_mapping(mapped, max_id=max_id, fresh=True, new_name=never) == (mapped, max_id)


def test_added_column_when_a_higher_one_was_dropped_does_not_reuse_its_id():
    kept = StructField("a", LONG, metadata={ID: 1, NAME: "col-a"})
    schema = StructType((kept, StructField("b", LONG)))
    mapped, max_id = assign_column_mapping(schema, max_id=41, fresh=True, new_name=lambda: "col-b")
    assert mapping_of(mapped) == {"a": (1, "col-a"), "b": (42, "col-b")}
    assert max_id == 42


def test_dropped_column_when_nothing_is_added_leaves_the_highest_id():
    schema = StructType((StructField("a", LONG, metadata={ID: 1, NAME: "a"}),))
    assert assign_column_mapping(schema, max_id=9, fresh=True, new_name=never) == (schema, 9)


def test_new_ids_when_the_schema_has_higher_ones_start_above_them():
    nested = StructField(
        "l",
        ArrayType(LONG, contains_null=True),
        metadata={ID: 3, NAME: "l", NESTED_IDS: {"l.element": 8}},
    )
    mapped, max_id = assign_column_mapping(
        StructType((nested, StructField("b", LONG))), max_id=0, fresh=False, new_name=never
    )
    assert mapping_of(mapped)["b"] == (9, "b")
    assert max_id == 9


def test_half_mapped_field_when_mapped_gets_only_what_is_missing():
    schema = StructType((StructField("a", LONG, metadata={ID: 5}), StructField("b", LONG, metadata={NAME: "old"})))
    mapped, _ = assign_column_mapping(schema, max_id=0, fresh=True, new_name=lambda: "col-new")
    assert mapping_of(mapped) == {"a": (5, "col-new"), "b": (6, "old")}


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({ID: 1, NAME: "p"}, "field 's.b': column id 1 is already used by field 'a'"),
        ({ID: 2, NAME: "p"}, "field 's.b': column id 2 is already used by field 's'"),
        ({ID: "7", NAME: "p"}, "field 's.b': column id '7' is not a whole number"),
        ({ID: True, NAME: "p"}, "field 's.b': column id True is not a whole number"),
    ],
)
def test_column_id_when_unusable_is_refused(metadata, message):
    schema = StructType(
        (
            StructField("a", LONG, metadata={ID: 1, NAME: "a"}),
            StructField("s", StructType((StructField("b", LONG, metadata=metadata),)), metadata={ID: 2, NAME: "s"}),
        )
    )
    with pytest.raises(InvalidSchema) as caught:
        assign_column_mapping(schema, max_id=0, fresh=True, new_name=never)
    assert caught.value.message == message


def test_physical_name_when_a_sibling_has_it_is_refused():
    inner = StructType((StructField("old", LONG, metadata={ID: 1, NAME: "new"}), StructField("new", LONG)))
    with pytest.raises(InvalidSchema, match=r"field 's\.new': physical name 'new' is already used by 'old'"):
        assign_column_mapping(StructType((StructField("s", inner),)), max_id=1, fresh=False, new_name=never)


def test_physical_name_when_another_struct_has_it_is_accepted():
    schema = StructType((StructField("a", LONG), StructField("s", struct("a"))))
    mapped, _ = assign_column_mapping(schema, max_id=0, fresh=False, new_name=never)
    assert mapping_of(mapped)["s.a"] == (3, "a")


def test_physical_name_when_unmapped_is_the_name():
    assert physical_name(StructField("a", LONG)) == "a"
    assert physical_name(StructField("a", LONG, metadata={NAME: "col-1"})) == "col-1"


def test_highest_column_id_when_unmapped_is_zero():
    assert highest_column_id(SCHEMA) == 0


@needs_corpora
def test_real_mapped_tables_when_mapped_again_stay_as_they_are():
    modes = set()
    for table in corpus_tables():
        for kind, body in table.actions():
            configuration = dict(body.get("configuration") or {}) if kind == "metaData" else {}
            if configuration.get("delta.columnMapping.mode", "none") != "none":
                schema = parse_schema(body["schemaString"])
                max_id = int(configuration["delta.columnMapping.maxColumnId"])
                assert highest_column_id(schema) == max_id
                assert assign_column_mapping(schema, max_id=max_id, fresh=True, new_name=never) == (schema, max_id)
                modes.add(configuration["delta.columnMapping.mode"])
    assert modes == {"name", "id"}

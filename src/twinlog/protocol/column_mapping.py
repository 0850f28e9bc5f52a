"""Column mapping: the ids and physical names by which data files know a table's columns.

Both modes (`name` and `id`) need both on every field, nested ones included. The ids of array elements and map entries
that Iceberg compatibility adds (`delta.columnMapping.nested.ids`) are kept, and new ids stay above them.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from typing import Final

from twinlog.errors import InvalidSchema
from twinlog.protocol.schema import (
    ArrayType,
    DataType,
    FieldPath,
    MapType,
    StructField,
    StructType,
    show_path,
    walk,
    walk_types,
)

ID_KEY: Final = "delta.columnMapping.id"
PHYSICAL_NAME_KEY: Final = "delta.columnMapping.physicalName"
NESTED_IDS_KEY: Final = "delta.columnMapping.nested.ids"


def physical_name(field: StructField) -> str:
    """The field's name in data files, stats and partition values of a table with column mapping."""
    name = field.metadata.get(PHYSICAL_NAME_KEY)
    return name if isinstance(name, str) else field.name


def highest_column_id(schema: StructType) -> int:
    """The largest id in use anywhere in the schema; 0 when there is none.

    Raises:
        InvalidSchema: An id that is not a number.
    """
    return max((column_id for path, field in walk(schema) for column_id in _ids_of(path, field)), default=0)


def assign_column_mapping(
    schema: StructType, *, max_id: int, fresh: bool, new_name: Callable[[], str]
) -> tuple[StructType, int]:
    """Give every field that lacks them an id and a physical name.

    Args:
        schema: The schema to complete; what its fields already have is kept.
        max_id: The table's `delta.columnMapping.maxColumnId`, 0 for a new table. Ids are never reused.
        fresh: Whether the columns are new. The columns of an upgraded table keep their names as physical names,
            because its data files already use them.
        new_name: Makes a globally unique physical name, `col-<uuid>`.

    Returns:
        The completed schema and the table's new `maxColumnId`.

    Raises:
        InvalidSchema: Two fields would share an id or a physical name.
    """
    ids = count(max(max_id, highest_column_id(schema)) + 1)

    def complete(field: StructField) -> StructField:
        metadata = dict(field.metadata)
        if ID_KEY not in metadata:
            metadata[ID_KEY] = next(ids)
        if PHYSICAL_NAME_KEY not in metadata:
            metadata[PHYSICAL_NAME_KEY] = new_name() if fresh else field.name
        return replace(field, metadata=metadata)

    mapped = _with_each_field(schema, complete)
    _check_unique_ids(mapped)
    _check_unique_physical_names(mapped)
    return mapped, max(max_id, highest_column_id(mapped))


def _with_each_field(schema: StructType, change: Callable[[StructField], StructField]) -> StructType:
    def inside(data_type: DataType) -> DataType:
        match data_type:
            case StructType():
                return _with_each_field(data_type, change)
            case ArrayType(element_type, contains_null):
                return ArrayType(inside(element_type), contains_null)
            case MapType(key_type, value_type, value_contains_null):
                return MapType(inside(key_type), inside(value_type), value_contains_null)
            case _:
                return data_type

    changed = (change(field) for field in schema.fields)
    return StructType(tuple(replace(field, data_type=inside(field.data_type)) for field in changed))


def _ids_of(path: FieldPath, field: StructField) -> Iterator[int]:
    nested = field.metadata.get(NESTED_IDS_KEY)
    candidates = [field.metadata.get(ID_KEY), *(nested.values() if isinstance(nested, dict) else ())]
    for column_id in candidates:
        if column_id is None:
            continue
        if not isinstance(column_id, int) or isinstance(column_id, bool):
            raise InvalidSchema(f"{show_path(path)}: column id {column_id!r} is not a whole number")
        yield column_id


def _check_unique_ids(schema: StructType) -> None:
    owners: dict[int, FieldPath] = {}
    for path, field in walk(schema):
        for column_id in _ids_of(path, field):
            owner = owners.setdefault(column_id, path)
            if owner != path:
                raise InvalidSchema(
                    f"{show_path(path)}: column id {column_id} is already used by {show_path(owner)}",
                    hint=f"leave {ID_KEY!r} out of new columns' metadata; it is assigned",
                )


def _check_unique_physical_names(schema: StructType) -> None:
    for path, data_type in walk_types(schema):
        if not isinstance(data_type, StructType):
            continue
        owners: dict[str, str] = {}
        for field in data_type.fields:
            owner = owners.setdefault(physical_name(field), field.name)
            if owner != field.name:
                raise InvalidSchema(
                    f"{show_path((*path, field.name))}: physical name {physical_name(field)!r} is already used by"
                    f" {owner!r}",
                    hint=f"leave {PHYSICAL_NAME_KEY!r} out of new columns' metadata; it is assigned",
                )

"""A table as text: facts, the schema as a tree, and what else there is."""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import RenderableType
from rich.text import Text
from rich.tree import Tree

from twinlog.cli.documents import DomainDocument, TableDocument, TxnDocument
from twinlog.cli.formats import clean, show_bytes, show_count
from twinlog.cli.output import Column, draw_facts, draw_table, heading
from twinlog.protocol.schema import ArrayType, DataType, MapType, OpaqueType, StructField, StructType

_TXN_COLUMNS: Final[Sequence[Column[TxnDocument]]] = (
    Column("application", lambda txn: txn.app_id),
    Column("version", lambda txn: str(txn.version), is_number=True),
    Column("updated", lambda txn: txn.updated_at or ""),
)
_DOMAIN_COLUMNS: Final[Sequence[Column[DomainDocument]]] = (
    Column("domain", lambda domain: domain.domain),
    Column("configuration", lambda domain: domain.configuration),
)


def draw_table_document(table: TableDocument, schema: StructType) -> Iterator[RenderableType]:
    """The parts of the answer of `table show`; parts that would be empty are left out."""
    yield draw_facts(_facts(table))
    yield heading("schema")
    yield draw_schema(schema, table.partition_columns)
    if table.properties:
        yield heading("properties")
        yield draw_facts(sorted(table.properties.items()))
    if table.txns:
        yield heading("application transactions")
        yield draw_table(table.txns, _TXN_COLUMNS)
    if table.domains:
        yield heading("domains")
        yield draw_table(table.domains, _DOMAIN_COLUMNS)


def draw_schema(schema: StructType, partition_columns: tuple[str, ...] = ()) -> Tree:
    """A schema as a tree of fields."""
    tree = Tree("", hide_root=True)
    for field in schema.fields:
        remark = "partition column" if field.name in partition_columns else ""
        _grow_field(tree, field, remark)
    return tree


def _facts(table: TableDocument) -> Iterator[tuple[str, str]]:
    yield "table", table.name
    if table.description:
        yield "description", table.description
    yield "version", f"{table.version}, committed {table.committed_at}"
    yield "created", table.created_at
    yield "location", table.location
    yield "id", table.delta_id
    yield "protocol", f"reader {table.min_reader_version}, writer {table.min_writer_version}"
    yield "features", ", ".join(table.features) or "none"
    yield "partitioned by", ", ".join(table.partition_columns) or "nothing"
    yield "active files", f"{show_count(table.num_files, 'file')}, {show_bytes(table.size_bytes)}"


def _grow_field(tree: Tree, field: StructField, remark: str = "") -> None:
    _grow(tree, field.name, field.data_type, nullable=field.nullable, remark=remark)


def _grow(tree: Tree, name: str, data_type: DataType, *, nullable: bool, remark: str = "") -> None:
    label = Text.assemble((clean(name), "bold"), ": ", clean(_type_name(data_type)))
    for extra in filter(None, ("" if nullable else "not null", remark)):
        label.append(f", {extra}", style="dim")
    branch = tree.add(label)
    match data_type:
        case StructType(fields):
            for field in fields:
                _grow_field(branch, field)
        case ArrayType(element_type, contains_null):
            _grow(branch, "element", element_type, nullable=contains_null)
        case MapType(key_type, value_type, value_contains_null):
            _grow(branch, "key", key_type, nullable=False)
            _grow(branch, "value", value_type, nullable=value_contains_null)
        case _:
            pass


def _type_name(data_type: DataType) -> str:
    match data_type:
        case StructType():
            return "struct"
        case ArrayType():
            return "array"
        case MapType():
            return "map"
        case OpaqueType(declaration):
            return str(declaration.get("type"))
        case _:
            return data_type.name

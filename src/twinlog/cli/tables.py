"""`twinlog table create | list | show | drop`."""

import csv
from collections.abc import Sequence
from typing import Annotated, Final

import orjson
import typer

from twinlog.catalog.diagnosis import open_existing
from twinlog.catalog.reader import TableHead
from twinlog.catalog.snapshot import Snapshot
from twinlog.cli import output
from twinlog.cli.documents import (
    CreatedDocument,
    DomainDocument,
    DroppedDocument,
    TableDocument,
    TableLineDocument,
    TxnDocument,
)
from twinlog.cli.failures import WrongUse
from twinlog.cli.formats import clean, iso_time, show_count
from twinlog.cli.options import AsJson, CatalogUrl, TableName
from twinlog.cli.output import Column, Output
from twinlog.cli.table_view import draw_table_document
from twinlog.errors import InvalidSchema
from twinlog.protocol.actions import Txn

app = typer.Typer(help="Create, list, show and drop tables.", no_args_is_help=True)

_LIST_COLUMNS: Final[Sequence[Column[TableLineDocument]]] = (
    Column("name", lambda table: table.name),
    Column("version", lambda table: str(table.version), is_number=True),
    Column("last commit", lambda table: table.committed_at),
    Column("location", lambda table: table.location),
)


@app.command(
    epilog="Example: twinlog table create sales --location s3://lake/sales --schema sales.json --partition-by day "
    "--property delta.appendOnly=true"
)
def create(  # noqa: PLR0913, PLR0917 - the options of a command
    name: TableName,
    location: Annotated[str, typer.Option(metavar="LOC", help="Root of the table: s3://bucket/path or a folder.")],
    schema: Annotated[
        typer.FileBinaryRead, typer.Option(metavar="FILE", help="The schema as Spark's StructType JSON; - for stdin.")
    ],
    catalog: CatalogUrl,
    partition_by: Annotated[str, typer.Option(metavar="A,B", help="Partition columns, separated by commas.")] = "",
    properties: Annotated[
        list[str] | None, typer.Option("--property", metavar="K=V", help="A table property; may be repeated.")
    ] = None,
    description: Annotated[str | None, typer.Option(metavar="TEXT", help="Free text.")] = None,
    as_json: AsJson = False,
) -> None:
    """Create a table with the weakest protocol that its schema and properties need."""
    partition_columns = _split_names(partition_by)
    configuration = _split_properties(properties or [])
    text = _read_schema(schema, table=name)
    with open_existing(catalog) as opened:
        table = opened.create_table(
            name,
            location=location,
            schema=text,
            partition_by=partition_columns,
            properties=configuration,
            description=description,
        )
        head, snapshot = table.head(), table.snapshot(version=0)
    document = CreatedDocument(
        name=name,
        version=0,
        location=head.location,
        delta_id=head.delta_id,
        min_reader_version=snapshot.protocol.min_reader_version,
        min_writer_version=snapshot.protocol.min_writer_version,
        features=tuple(sorted(snapshot.state.features)),
    )
    protocol = f"({document.min_reader_version}, {document.min_writer_version})"
    Output(as_json=as_json).answer(
        document, clean(f"created table {name} at version 0, protocol {protocol}, location {head.location}")
    )


@app.command("list")
def list_(catalog: CatalogUrl, as_json: AsJson = False) -> None:
    """List the tables of the catalog."""
    with open_existing(catalog) as opened:
        heads = opened.list_tables()
    answer = Output(as_json=as_json)
    answer.rows(map(_line, heads), _LIST_COLUMNS)
    if not heads:
        answer.note("the catalog has no tables; next: twinlog table create --help")


@app.command()
def show(name: TableName, catalog: CatalogUrl, as_json: AsJson = False) -> None:
    """Show a table: protocol, schema, properties, active files, transactions and domains."""
    with open_existing(catalog) as opened:
        table = opened.table(name)
        head = table.head()
        snapshot = table.snapshot(version=head.version)
        document = _table_document(head, snapshot)
    Output(as_json=as_json).answer(document, *draw_table_document(document, snapshot.schema))


@app.command(epilog="Example: twinlog table drop sales --yes")
def drop(
    name: TableName,
    catalog: CatalogUrl,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Forget a table and its log; nothing in the store is touched."""
    if not yes and not output.can_ask():
        raise WrongUse("dropping a table needs a confirmation, and there is no terminal to ask on", hint="add --yes")
    with open_existing(catalog) as opened:
        head = opened.table(name).head()
        if not yes:
            question = f"Drop table {name} with its {show_count(head.version + 1, 'version')}? This cannot be undone."
            typer.confirm(clean(question), abort=True, err=True)
        unpublished = opened.drop_table(name)
    Output(as_json=as_json).answer(
        DroppedDocument(name=name, unpublished_versions=unpublished),
        clean(f"dropped table {name}; {show_count(unpublished, 'unpublished version')} lost"),
    )


def _split_names(text: str) -> list[str]:
    """Names separated by commas; a name with a comma goes in double quotes."""
    if not text:
        return []
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True))]
    if not all(names):
        raise WrongUse(f"--partition-by {text!r} has an empty name", hint="separate column names by single commas")
    return names


def _split_properties(pairs: list[str]) -> dict[str, str]:
    properties: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise WrongUse(
                f"--property {pair!r} is not of the form K=V", hint="for example --property delta.appendOnly=true"
            )
        if key in properties:
            raise WrongUse(f"--property {key} is given twice", hint="give each property once")
        properties[key] = value
    return properties


def _read_schema(file: typer.FileBinaryRead, *, table: str) -> str:
    try:
        return file.read().decode()
    except UnicodeDecodeError as error:
        raise InvalidSchema(f"the schema file is not UTF-8: {error}", table=table, hint="save it as UTF-8") from error


def _line(head: TableHead) -> TableLineDocument:
    return TableLineDocument(
        name=head.name,
        version=head.version,
        committed_at=iso_time(head.last_commit_ms),
        created_at=iso_time(head.created_ms),
        location=head.location,
        delta_id=head.delta_id,
    )


def _table_document(head: TableHead, snapshot: Snapshot) -> TableDocument:
    totals = snapshot.totals()
    domains = snapshot.domains().values()
    return TableDocument(
        name=head.name,
        version=snapshot.version,
        committed_at=iso_time(head.last_commit_ms),
        created_at=iso_time(head.created_ms),
        location=head.location,
        delta_id=head.delta_id,
        description=snapshot.metadata.description,
        min_reader_version=snapshot.protocol.min_reader_version,
        min_writer_version=snapshot.protocol.min_writer_version,
        features=tuple(sorted(snapshot.state.features)),
        schema=orjson.Fragment(snapshot.schema.to_json()),
        partition_columns=snapshot.metadata.partition_columns,
        properties=snapshot.properties,
        num_files=totals.num_files,
        size_bytes=totals.num_bytes,
        txns=tuple(map(_txn, snapshot.txns().values())),
        domains=tuple(DomainDocument(domain=it.domain, configuration=it.configuration) for it in domains),
    )


def _txn(txn: Txn) -> TxnDocument:
    updated_at = iso_time(txn.last_updated) if txn.last_updated is not None else None
    return TxnDocument(app_id=txn.app_id, version=txn.app_version, updated_at=updated_at)

"""The front door: a catalog of Delta tables in one database."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Final, Self

from sqlalchemy import delete, func, select

from twinlog.catalog import migrations, schema
from twinlog.catalog.database import Database
from twinlog.catalog.definition import SchemaLike, as_schema, create_parameters, first_actions
from twinlog.catalog.heads import table_not_found, wait_for_writers
from twinlog.catalog.reader import Commit, CommitRecord, SqlTxnLogReader, TableHead
from twinlog.catalog.requests import Ratified, TableCommit
from twinlog.catalog.snapshot import Snapshot
from twinlog.catalog.states import TableStates
from twinlog.catalog.transaction import Transaction
from twinlog.catalog.writer import ForeignCommitProbe, SqlTxnLogWriter
from twinlog.errors import ConfigurationError, naming
from twinlog.protocol.actions import JsonObject

_SAME_STORE: Final = {"s3a": "s3", "s3n": "s3"}


def connect(url: str, *, foreign_commit_probe: ForeignCommitProbe | None = None) -> "Catalog":
    """Open a catalog; a database without one gets it.

    Args:
        url: `postgresql://...`, `sqlite:///file.db` or `duckdb:///file.duckdb`.
        foreign_commit_probe: asked before each commit whether the store already holds the next version.

    Raises:
        ConfigurationError: the URL is not one of these.
        CatalogUnavailable: the database cannot be reached.
        CatalogSchemaMismatch: its schema is older or newer than this twinlog.
    """
    database = Database(url)
    try:
        migrations.prepare(database)
    except BaseException:
        database.close()
        raise
    return Catalog(database, foreign_commit_probe=foreign_commit_probe)


class Table:
    """A table of the catalog, by name."""

    def __init__(self, catalog: "Catalog", name: str) -> None:
        self._catalog = catalog
        self.name = name

    def head(self) -> TableHead:
        """Its row in the catalog."""
        return self._catalog.reader.head(self.name)

    def snapshot(self, *, version: int | None = None, timestamp: datetime | None = None) -> Snapshot:
        """The table at its newest version, at a version, or at a time."""
        return self._catalog.reader.snapshot(self.name, version=version, timestamp=timestamp)

    def history(self, *, limit: int | None = None) -> list[CommitRecord]:
        """Its commits, newest first."""
        return self._catalog.reader.history(self.name, limit=limit)

    def changes(self, *, first: int, last: int | None = None) -> Iterator[Commit]:
        """Every commit from one version to another, with its actions."""
        return self._catalog.reader.changes(self.name, first=first, last=last)

    def set_properties(self, properties: Mapping[str, str], *, unset: Sequence[str] = ()) -> Ratified:
        """Change properties in a commit of their own."""
        with self._catalog.transaction(operation="SET TBLPROPERTIES") as txn:
            txn.table(self.name).set_properties(properties, unset=unset)
        return txn.result


class Catalog:
    """Delta tables in one SQL database."""

    def __init__(self, database: Database, *, foreign_commit_probe: ForeignCommitProbe | None = None) -> None:
        states = TableStates()
        self._database = database
        self.reader = SqlTxnLogReader(database, states)
        self.writer = SqlTxnLogWriter(database, states, foreign_commit_probe=foreign_commit_probe)

    @property
    def url(self) -> str:
        """The database's address, without its password."""
        return self._database.display_url

    def create_table(
        self,
        name: str,
        *,
        location: str,
        schema: SchemaLike,
        partition_by: Sequence[str] = (),
        properties: Mapping[str, str] | None = None,
        description: str | None = None,
    ) -> Table:
        """Create a table with the weakest protocol that its schema and properties need.

        Args:
            name: unique in the catalog.
            location: root of the table in the store; unique too.
            schema: Arrow's, Spark's StructType JSON, or a `StructType` of ours.
            partition_by: columns of the schema.
            properties: Delta table properties. In-commit timestamps are on unless switched off here.
            description: free text.

        Raises:
            TableAlreadyExists: the name or the location is taken.
            ProtocolError: schema, partition columns or properties are not valid.
        """
        with naming(name):
            metadata, protocol = first_actions(
                _checked_name(name),
                as_schema(schema),
                partition_by=partition_by,
                properties=properties or {},
                description=description,
            )
            root = _full_location(location)
        request = TableCommit(
            table=name,
            actions=(metadata, protocol),
            operation="CREATE TABLE",
            operation_parameters=create_parameters(metadata),
        )
        self.writer.create(request, location=root)
        return Table(self, name)

    def table(self, name: str) -> Table:
        """A table that exists.

        Raises:
            TableNotFound: it is not in the catalog.
        """
        self.reader.head(name)
        return Table(self, name)

    def list_tables(self) -> list[TableHead]:
        """All tables, by name."""
        return self.reader.list_tables()

    def drop_table(self, name: str) -> int:
        """Forget a table and its log. Nothing in the store is touched.

        Returns:
            How many of its versions were not published yet, and now never will be.

        Raises:
            TableNotFound: it is not in the catalog.
        """
        status = schema.mirror_status
        with self._database.write() as connection:
            wait_for_writers(connection, [name])
            table_id = connection.execute(select(schema.tables.c.table_id).where(schema.tables.c.name == name)).scalar()
            if table_id is None:
                raise table_not_found(name)
            unpublished = connection.execute(
                select(func.count()).where(status.c.table_id == table_id, status.c.status != "SUCCESS")
            ).scalar_one()
            for table in schema.metadata.sorted_tables:
                connection.execute(delete(table).where(table.c.table_id == table_id))
        return int(unpublished)

    def transaction(
        self,
        *,
        operation: str | None = None,
        operation_parameters: JsonObject | None = None,
        commit_id: str | None = None,
    ) -> Transaction:
        """Reads and writes of several tables that land together when the `with` block ends."""
        return Transaction(
            self.reader,
            self.writer,
            operation=operation,
            operation_parameters=operation_parameters,
            commit_id=commit_id,
        )

    def close(self) -> None:
        """Close the connections to the database."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _checked_name(name: str) -> str:
    if not name or name != name.strip() or not name.isprintable():
        raise ConfigurationError(f"not a table name: {name!r}", hint="use printable text without blanks at its ends")
    return name


def _full_location(location: str) -> str:
    trimmed = location.rstrip("/")
    if not trimmed or not trimmed.isprintable():
        raise ConfigurationError("a table needs a location", hint="for example s3://bucket/table or a local folder")
    scheme, separator, rest = trimmed.partition("://")
    if separator and scheme.lower() != "file":
        store = _SAME_STORE.get(scheme.lower(), scheme.lower())
        return f"{store}://{re.sub('//+', '/', rest)}"
    if not separator and re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", trimmed):
        raise ConfigurationError(f"{location!r} is neither a URL nor a path", hint="a URL has :// after its scheme")
    # The catalog may be opened from any working directory, so a local path must not depend on this one.
    return os.path.abspath(rest if separator else trimmed)  # noqa: PTH100 - links are kept, `..` is not

"""twinlog: a SQL database as the authoritative transaction log of Delta Lake tables."""

from twinlog.catalog.arrow_files import FILES_SCHEMA
from twinlog.catalog.catalog import Catalog, Table, connect
from twinlog.catalog.reader import Commit, CommitRecord, SqlTxnLogReader, TableHead
from twinlog.catalog.requests import Ratified, TableCommit
from twinlog.catalog.snapshot import Snapshot
from twinlog.catalog.transaction import Transaction
from twinlog.catalog.writer import SqlTxnLogWriter
from twinlog.errors import TwinlogError
from twinlog.protocol.isolation import ReadSet

__all__ = [
    "FILES_SCHEMA",
    "Catalog",
    "Commit",
    "CommitRecord",
    "Ratified",
    "ReadSet",
    "Snapshot",
    "SqlTxnLogReader",
    "SqlTxnLogWriter",
    "Table",
    "TableCommit",
    "TableHead",
    "Transaction",
    "TwinlogError",
    "connect",
]

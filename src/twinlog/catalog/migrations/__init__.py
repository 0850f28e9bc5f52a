"""Versioned changes of the database schema, and the check that a database has the one we know."""

import threading
from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect

from twinlog.catalog.database import Database
from twinlog.errors import CatalogSchemaMismatch

_SCRIPTS: Final = ScriptDirectory(str(Path(__file__).parent))
REVISIONS: Final = tuple(script.revision for script in reversed(list(_SCRIPTS.walk_revisions())))
HEAD: Final = REVISIONS[-1]

# A name of our own: the database may be shared with an application that uses Alembic too.
VERSION_TABLE: Final = "dl_schema_revision"

_ALEMBIC: Final = threading.Lock()  # its context is global to the process


def current_revision(database: Database) -> str | None:
    """The revision the database is at; None if it holds no twinlog schema."""
    with database.read() as connection:
        return _revision(connection)


def upgrade(database: Database, *, to: str = HEAD) -> None:
    """Bring the schema to a revision, in one transaction. Does nothing when it is there already."""
    with database.write() as connection:
        database.dialect.lock_migrations(connection)
        revision = _revision(connection)
        _refuse_newer(revision, database)
        if revision is not None and REVISIONS.index(revision) >= REVISIONS.index(to):
            return
        config = Config()
        config.set_main_option("script_location", _SCRIPTS.dir)
        config.attributes["connection"] = connection
        config.attributes["version_table"] = VERSION_TABLE
        with _ALEMBIC:
            command.upgrade(config, to)


def prepare(database: Database) -> None:
    """Make a new database usable; leave one of our own as it is.

    Raises:
        CatalogSchemaMismatch: the schema is older (names the command that migrates it) or newer than this twinlog.
    """
    revision = current_revision(database)
    if revision is None:
        upgrade(database)
        return
    _refuse_newer(revision, database)
    if revision != HEAD:
        raise CatalogSchemaMismatch(
            f"the schema of {database.display_url} is at revision {revision}, this twinlog needs {HEAD}",
            hint="stop the writers, back up the database and run `twinlog init` on it",
        )


def _refuse_newer(revision: str | None, database: Database) -> None:
    if revision is not None and revision not in REVISIONS:
        raise CatalogSchemaMismatch(
            f"the schema of {database.display_url} is at revision {revision}, newer than this twinlog's {HEAD}",
            hint="upgrade twinlog (`pip install --upgrade twinlog`)",
        )


def _revision(connection: Connection) -> str | None:
    # Asked of the inspector first: on PostgreSQL a query on a missing table would spoil the transaction.
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE}).get_current_revision()

"""The whole error tree. Every failure a caller can see is one of these.

    TwinlogError
    ├─ ConfigurationError            a URL or setting that cannot work
    ├─ TableNotFound
    ├─ TableAlreadyExists
    ├─ VersionNotFound               a version or timestamp that the log does not hold
    ├─ InvalidPredicate              a filter that cannot be parsed or applied
    ├─ ProtocolError                 input that breaks Delta's rules, whatever the table's state
    │   ├─ CorruptLog                bytes that are not a Delta log
    │   ├─ InvalidAction
    │   ├─ InvalidSchema
    │   └─ UnsupportedFeature
    ├─ CommitError
    │   ├─ CommitConflict            did not land: somebody else's commit came first
    │   │   ├─ ConcurrentAppend
    │   │   ├─ ConcurrentDeleteRead
    │   │   ├─ ConcurrentDeleteDelete
    │   │   ├─ MetadataChanged
    │   │   ├─ ProtocolChanged
    │   │   └─ ConcurrentTransaction
    │   ├─ CommitRejected            did not land and never will as it is
    │   │   └─ ExternalWriterDetected
    │   └─ CommitOutcomeUnknown      may have landed: ask with the commit id
    └─ CatalogError
        ├─ CatalogUnavailable        the database cannot be reached
        │   ├─ CatalogBusy           other writers held it for too long
        │   └─ ConnectionLost        the connection broke in the middle of a transaction
        └─ CatalogSchemaMismatch     the database needs a migration, or a newer twinlog

A message says what failed, where and why; `hint` is the next step to take. Whether a retry can help is data on the
class (`retry`), so that no loop has to know the individual errors.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import ClassVar


class Retry(Enum):
    """What a caller may do after an error."""

    NEVER = "never"
    LATER = "later"
    AFTER_REBASE = "after_rebase"
    CHECK_FIRST = "check_first"


class TwinlogError(Exception):
    """Root of all errors: what failed, on which table and version, and the next step."""

    retry = Retry.NEVER
    usual_hint: ClassVar[str | None] = None

    def __init__(
        self,
        message: str,
        *,
        table: str | None = None,
        version: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.table = table
        self.version = version
        self.hint = hint or self.usual_hint

    def __str__(self) -> str:
        place = f"table {self.table!r}" if self.table else ""
        if self.version is not None:
            place = f"{place} version {self.version}".strip()
        text = f"{place}: {self.message}" if place else self.message
        return f"{text} (next: {self.hint})" if self.hint else text


@contextmanager
def naming(table: str) -> Iterator[None]:
    """Fill in the table of errors from code that could not know it."""
    try:
        yield
    except TwinlogError as error:
        error.table = error.table or table
        raise


class ConfigurationError(TwinlogError):
    """A URL or setting that cannot work."""


class TableNotFound(TwinlogError):
    """The catalog has no table of that name."""


class TableAlreadyExists(TwinlogError):
    """The name or the location is taken."""


class VersionNotFound(TwinlogError):
    """The log does not hold that version or reach that timestamp."""

    usual_hint = "`twinlog log TABLE` shows the versions there are and their times"


class InvalidPredicate(TwinlogError):
    """A filter that cannot be parsed or applied to this table."""

    usual_hint = "`twinlog table show TABLE` lists the columns and their types"


class ProtocolError(TwinlogError):
    """Input that breaks Delta's rules, whatever the table's state."""


class CorruptLog(ProtocolError):
    """Bytes that are not a Delta log."""

    usual_hint = "each line must be one JSON object that holds one action"


class InvalidAction(ProtocolError):
    """An action, or a set of actions, that the Delta protocol forbids."""

    usual_hint = "correct the action and commit again; nothing has changed"


class InvalidSchema(ProtocolError):
    """A schema, or partition columns, that the Delta protocol forbids."""

    usual_hint = "correct the schema; nothing has changed"


class UnsupportedFeature(ProtocolError):
    """A table feature that this writer cannot honour."""


class CommitError(TwinlogError):
    """A commit that was not (or perhaps not) ratified."""


class CommitConflict(CommitError):
    """A commit that came first changed what this one relied on; `version` is the winner's."""

    retry = Retry.AFTER_REBASE


class ConcurrentAppend(CommitConflict):
    """The winner added files that this commit's reads would have seen."""


class ConcurrentDeleteRead(CommitConflict):
    """The winner removed a file that this commit read."""


class ConcurrentDeleteDelete(CommitConflict):
    """The winner removed a file that this commit removes."""


class MetadataChanged(CommitConflict):
    """The winner changed the table's metadata."""


class ProtocolChanged(CommitConflict):
    """The winner changed the table's protocol."""


class ConcurrentTransaction(CommitConflict):
    """The winner wrote an application transaction or domain that this commit depends on."""


class CommitRejected(CommitError):
    """The table's state forbids this commit; repeating it cannot help."""


class ExternalWriterDetected(CommitRejected):
    """The next version already exists in the store: somebody wrote around the catalog."""


class CommitOutcomeUnknown(CommitError):
    """The answer to COMMIT was lost and the database could not be asked; `commit_id` settles it."""

    retry = Retry.CHECK_FIRST

    def __init__(self, message: str, *, commit_id: str, tables: tuple[str, ...], hint: str) -> None:
        super().__init__(message, table=", ".join(tables), hint=hint)
        self.commit_id = commit_id
        self.tables = tables


class CatalogError(TwinlogError):
    """The SQL side as a whole cannot be used."""


class CatalogUnavailable(CatalogError):
    """The database cannot be reached."""

    retry = Retry.LATER


class CatalogBusy(CatalogUnavailable):
    """Other writers held the database for too long, or it chose this transaction to break a deadlock."""


class ConnectionLost(CatalogUnavailable):
    """The connection broke; unless that was during COMMIT, nothing has changed."""

    def __init__(self, message: str, *, during_commit: bool, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.during_commit = during_commit


class CatalogSchemaMismatch(CatalogError):
    """The database's schema is older or newer than this twinlog."""

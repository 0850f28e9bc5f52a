"""What a commit relied on, and how strictly that is held against commits that came first."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from twinlog.protocol.actions import ROW_TRACKING_DOMAIN, Action, Add, Cdc, CommitInfo, DomainMetadata, Remove
from twinlog.protocol.predicates import Predicate


class IsolationLevel(Enum):
    """Delta's isolation levels, by the names commits carry."""

    SERIALIZABLE = "Serializable"
    WRITE_SERIALIZABLE = "WriteSerializable"
    SNAPSHOT = "SnapshotIsolation"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSet:
    """What a commit read before it decided what to write.

    Predicates are bound to the table's types; files are paths; app ids are those whose transaction version was read.
    """

    predicates: tuple[Predicate, ...] = ()
    files: frozenset[str] = frozenset()
    whole_table: bool = False
    app_ids: frozenset[str] = frozenset()

    @property
    def depends_on_data(self) -> bool:
        """Whether any file of the table was looked at."""
        return self.whole_table or bool(self.predicates) or bool(self.files)


def is_blind_append(actions: Iterable[Action], reads: ReadSet) -> bool:
    """Whether a commit only adds files, without having looked at any."""
    return not reads.depends_on_data and not any(isinstance(action, Remove | Cdc) for action in actions)


def isolation_level_for(actions: Iterable[Action], table_default: IsolationLevel) -> IsolationLevel:
    """The isolation level of a commit: a mere rearrangement of files needs less than the table's default."""
    rearranges = all(_keeps_data(action) for action in actions)
    return IsolationLevel.SNAPSHOT if rearranges else table_default


def _keeps_data(action: Action) -> bool:
    match action:
        case Add() | Remove() | Cdc():
            return not action.data_change
        case DomainMetadata():
            return action.domain == ROW_TRACKING_DOMAIN
        case _:
            return isinstance(action, CommitInfo)

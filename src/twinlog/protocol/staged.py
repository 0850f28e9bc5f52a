"""The actions of one commit, sorted by kind and held to the rules that need no table state."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard, TypeVar

import orjson

from twinlog.errors import InvalidAction
from twinlog.protocol.actions import (
    Action,
    Add,
    Cdc,
    CommitInfo,
    DomainMetadata,
    Metadata,
    Protocol,
    Remove,
    Txn,
    dv_id,
)
from twinlog.protocol.codec import ENVELOPE_KEYS, check_types
from twinlog.protocol.deletion_vectors import check_deletion_vector
from twinlog.protocol.paths import check_path

_T = TypeVar("_T")
_MOST_RECORDS = 2**53
_COMMIT_ACTIONS = (Add, Remove, Cdc, Metadata, Protocol, Txn, DomainMetadata, CommitInfo)


@dataclass(frozen=True, slots=True)
class StagedActions:
    """A commit's actions by kind. `ordered` is all of them in the caller's order, except commitInfo."""

    ordered: tuple[Action, ...]
    adds: tuple[Add, ...]
    removes: tuple[Remove, ...]
    cdcs: tuple[Cdc, ...]
    txns: tuple[Txn, ...]
    domains: tuple[DomainMetadata, ...]
    metadata: Metadata | None
    protocol: Protocol | None
    commit_info: CommitInfo | None


def stage(actions: Iterable[Action]) -> StagedActions:
    """Sort and check a commit's actions.

    Raises:
        InvalidAction: an action is malformed, does not belong in a commit, or clashes with another one.
    """
    everything = tuple(actions)
    for action in everything:
        _check_action(action)
    staged = StagedActions(
        ordered=tuple(action for action in everything if not isinstance(action, CommitInfo)),
        adds=_of(Add, everything),
        removes=_of(Remove, everything),
        cdcs=_of(Cdc, everything),
        txns=_of(Txn, everything),
        domains=_of(DomainMetadata, everything),
        metadata=_at_most_one(Metadata, everything),
        protocol=_at_most_one(Protocol, everything),
        commit_info=_at_most_one(CommitInfo, everything),
    )
    _check_unique("txn", (txn.app_id for txn in staged.txns))
    _check_unique("domainMetadata", (domain.domain for domain in staged.domains))
    _check_unique("cdc", (cdc.path for cdc in staged.cdcs))
    _check_files(staged)
    return staged


def record_count(stats: str | None) -> int | None:
    """`numRecords` of a file's statistics, if they have it."""
    parsed = orjson.loads(stats) if stats else {}
    count = parsed.get("numRecords")
    return count if is_record_count(count) else None


def is_record_count(count: object) -> TypeGuard[int]:
    """Whether a value can be the number of rows of a file; far larger ones would overflow row ids."""
    return type(count) is int and 0 <= count <= _MOST_RECORDS


def check_stats(stats: str, *, path: str) -> Mapping[str, Any]:
    """Parse a file's statistics.

    Raises:
        InvalidAction: the text is not a JSON object, so readers would fail on it.
    """
    try:
        parsed = orjson.loads(stats)
    except orjson.JSONDecodeError as error:
        hint = "write NaN and infinities as strings or omit them" if "NaN" in stats or "Infinity" in stats else None
        raise InvalidAction(f"the stats of {path!r} are not valid JSON: {error}", hint=hint) from error
    if not isinstance(parsed, dict):
        raise InvalidAction(f"the stats of {path!r} must be a JSON object")
    return parsed


def _of(action_type: type[_T], actions: tuple[Action, ...]) -> tuple[_T, ...]:
    return tuple(action for action in actions if isinstance(action, action_type))


def _at_most_one(action_type: type[_T], actions: tuple[Action, ...]) -> _T | None:
    found = _of(action_type, actions)
    if len(found) > 1:
        raise InvalidAction(f"a commit may hold one {ENVELOPE_KEYS[action_type]}, found {len(found)}")
    return found[0] if found else None


def _check_unique(kind: str, keys: Iterable[str]) -> None:
    seen: set[str] = set()
    for key in keys:
        if key in seen:
            raise InvalidAction(f"duplicate {kind} for {key!r} in one commit", hint="keep one of them")
        seen.add(key)


def _check_files(staged: StagedActions) -> None:
    # One add and one remove a path, whatever the deletion vector: readers of the reference implementation refuse more.
    _check_unique("add", (add.path for add in staged.adds))
    _check_unique("remove", (remove.path for remove in staged.removes))
    if not staged.removes:
        return
    removed = {(remove.path, dv_id(remove)) for remove in staged.removes}
    for add in staged.adds:
        if (add.path, dv_id(add)) in removed:
            raise InvalidAction(
                f"{add.path!r} is both added and removed with the same deletion vector", hint="keep one of them"
            )


def _check_action(action: Action) -> None:
    check_types(action)
    if not isinstance(action, _COMMIT_ACTIONS):
        raise InvalidAction(f"{ENVELOPE_KEYS[type(action)]} does not belong in a commit", hint="remove the line")
    if isinstance(action, Add | Remove | Cdc):
        _check_file(action)


def _check_file(action: Add | Remove | Cdc) -> None:
    check_path(action.path)
    if action.size is not None and action.size < 0:
        raise InvalidAction(f"{action.path!r} has the negative size {action.size}")
    if isinstance(action, Cdc):
        if action.data_change:
            raise InvalidAction(f"cdc {action.path!r} must have dataChange false")
        return
    if action.deletion_vector:
        check_deletion_vector(action.deletion_vector)
    stats = check_stats(action.stats, path=action.path) if action.stats is not None else {}
    if isinstance(action, Add) and action.deletion_vector and "numRecords" not in stats:
        raise InvalidAction(f"{action.path!r} has a deletion vector, so its stats must give numRecords")
    claims_more = isinstance(action, Remove) and action.extended_file_metadata
    if claims_more and (action.partition_values is None or action.size is None):
        raise InvalidAction(
            f"remove of {action.path!r} claims extendedFileMetadata without partitionValues and size",
            hint="leave extendedFileMetadata out: it is filled in from the file being removed",
        )

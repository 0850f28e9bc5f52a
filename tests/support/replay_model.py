"""Delta's reconciliation rules once more, as dicts: what a table holds after a sequence of commits.

Written from the protocol and not from the code under test. It knows neither SQL nor the ways in which a commit can be
refused; the tests only give it commits that are legal.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from twinlog.protocol.actions import Action, Add, DeletionVector, DomainMetadata, Metadata, Protocol, Remove, Txn

FileKey: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class ReplayState:
    """A table at one version. A file is known by its path and its deletion vector together."""

    files: Mapping[FileKey, Add] = field(default_factory=dict)
    txns: Mapping[str, Txn] = field(default_factory=dict)
    domains: Mapping[str, DomainMetadata] = field(default_factory=dict)
    metadata: Metadata | None = None
    protocol: Protocol | None = None

    def after(self, actions: Iterable[Action]) -> "ReplayState":
        """The state after one more commit, whose actions may come in any order."""
        files, txns, domains = dict(self.files), dict(self.txns), dict(self.domains)
        metadata, protocol = self.metadata, self.protocol
        for action in actions:
            match action:
                case Add():
                    files[file_key(action)] = action
                case Remove():
                    files.pop(file_key(action), None)
                case Txn():
                    txns[action.app_id] = action
                case DomainMetadata():
                    domains[action.domain] = action
                case Metadata():
                    metadata = action
                case Protocol():
                    protocol = action
        live_domains = {name: domain for name, domain in domains.items() if not domain.removed}
        return replace(self, files=files, txns=txns, domains=live_domains, metadata=metadata, protocol=protocol)

    def vector_of(self, path: str) -> DeletionVector | None:
        """The deletion vector with which a path is active."""
        return next((add.deletion_vector for (live, _), add in self.files.items() if live == path), None)

    @property
    def paths(self) -> set[str]:
        return {path for path, _ in self.files}


def file_key(action: Add | Remove) -> FileKey:
    vector = action.deletion_vector
    if vector is None:
        return action.path, ""
    place = "" if vector.offset is None else f"@{vector.offset}"
    return action.path, f"{vector.storage_type}{vector.path_or_inline_dv}{place}"

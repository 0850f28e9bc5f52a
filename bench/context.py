"""What every benchmark is given."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

from bench.findings import Finding
from bench.sizes import Sizes
from bench.workspace import Workspace

_T = TypeVar("_T")


class Track(Protocol):
    """Passes items on and shows how far it has come."""

    def __call__(self, items: Iterable[_T], label: str, *, total: int | None = None) -> Iterator[_T]: ...


@dataclass(frozen=True, slots=True)
class Context:
    sizes: Sizes
    workspace: Workspace
    track: Track
    twice: bool = False  # also commit twice as many files at once, to see that memory does not follow


Benchmark: TypeAlias = Callable[[Context], Iterator[Finding]]

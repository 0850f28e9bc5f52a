"""What a benchmark finds: a number, what it must be, and the samples that it came from."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.timing import Samples


@dataclass(frozen=True, slots=True)
class Bound:
    """What is required of a value."""

    limit: float
    is_minimum: bool

    def allows(self, value: float) -> bool:
        return value >= self.limit if self.is_minimum else value <= self.limit

    def __str__(self) -> str:
        return f"{'>=' if self.is_minimum else '<='} {self.limit:g}"


def at_least(limit: float) -> Bound:
    return Bound(limit, is_minimum=True)


def at_most(limit: float) -> Bound:
    return Bound(limit, is_minimum=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line of the report.

    Attributes:
        benchmark: which one found it.
        case: under which circumstances, such as "PostgreSQL, disk".
        measure: what the value is.
        bound: what is required of it; None if it is only told.
        ours: twinlog's absolute number, for people.
        peer: the other side's.
        samples: every side's timings.
        details: other numbers worth keeping.
        is_plausible: False where twinlog beats a peer that does strictly less work: that is the machine's noise, and no
            pass, however good it looks.
    """

    benchmark: str
    case: str
    measure: str
    value: float
    bound: Bound | None = None
    unit: str = ""
    ours: str = ""
    peer: str = ""
    samples: Mapping[str, Samples] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    is_plausible: bool = True

    @property
    def key(self) -> str:
        """Stable name of this line in the record."""
        return f"{self.benchmark}: {self.case}: {self.measure}"

    @property
    def passed(self) -> bool | None:
        """Whether it is as required; None if nothing is."""
        return None if self.bound is None else self.is_plausible and self.bound.allows(self.value)

    def to_json(self) -> dict[str, Any]:
        return {
            "key": self.key,
            "benchmark": self.benchmark,
            "case": self.case,
            "measure": self.measure,
            "value": self.value,
            "unit": self.unit,
            "required": str(self.bound) if self.bound else None,
            "passed": self.passed,
            "plausible": self.is_plausible,
            "twinlog": self.ours,
            "peer": self.peer,
            "samples": {name: samples.to_json() for name, samples in self.samples.items()},
            "details": dict(self.details),
        }

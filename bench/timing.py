"""Timing several sides so that a noisy machine disturbs all of them alike."""

import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

Side: TypeAlias = Callable[[], Callable[[], object]]
"""Prepares one operation, which is not timed, and returns what is to be timed."""


_NOISE: Final = 0.05


@dataclass(frozen=True, slots=True)
class Samples:
    """Durations of one side's operations, in seconds."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def mean(self) -> float:
        return statistics.fmean(self.seconds)

    @property
    def milliseconds(self) -> str:
        """The median, for people."""
        return f"{self.median * 1e3:.2f} ms"

    @property
    def range_seconds(self) -> str:
        """The median of a few long runs and how far they lie apart, for people."""
        return f"{self.median:.1f} s ({min(self.seconds):.1f}-{max(self.seconds):.1f})"

    def to_json(self) -> dict[str, float]:
        ordered = sorted(self.seconds)
        last = len(ordered) - 1
        return {
            "count": len(ordered),
            "median_ms": self.median * 1e3,
            "mean_ms": self.mean * 1e3,
            "p10_ms": ordered[last // 10] * 1e3,
            "p90_ms": ordered[last * 9 // 10] * 1e3,
            "min_ms": ordered[0] * 1e3,
            "max_ms": ordered[-1] * 1e3,
        }


def timed(operation: Callable[[], object]) -> float:
    """Seconds that an operation takes."""
    start = time.perf_counter()
    operation()
    return time.perf_counter() - start


def interleave(sides: Mapping[str, Side], rounds: Iterable[int], *, warm_up: int) -> dict[str, Samples]:
    """Time one operation of every side in each round; the order turns around, so that nobody always comes second.

    Args:
        sides: by name.
        rounds: one item a round; may draw a progress bar.
        warm_up: rounds at the beginning that do not count.
    """
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    order = list(sides.items())
    for number, _ in enumerate(rounds):
        for name, prepare in order:
            duration = timed(prepare())
            if number >= warm_up:
                seconds[name].append(duration)
        order.reverse()
    return {name: Samples(tuple(values)) for name, values in seconds.items()}


def slowdown(ours: Samples, base: Samples) -> float:
    """How many times as long ours takes, by medians."""
    return ours.median / base.median


def is_plausible(ours: Samples, peer: Samples) -> bool:
    """Whether ours takes at least as long as a peer that does strictly less; otherwise the machine was too noisy."""
    return slowdown(ours, peer) >= 1 - _NOISE


def rate_ratio(ours: Samples, peer: Samples) -> float:
    """Our rate as a multiple of the peer's, by medians."""
    return peer.median / ours.median


def mean_rates(ours: Samples, peer: Samples) -> dict[str, float]:
    """The same ratio by totals, where stalls count too; kept beside the medians."""
    return {"rate_ratio_by_means": peer.mean / ours.mean}

"""The same commits of 10 adds by twinlog and by delta-rs, which writes them as JSON files.

delta-rs does not flush its files to the disk, twinlog does; in memory the two are on equal terms. A commit of delta-rs
takes time in proportion to the table's files, so an empty and a larger table are measured. Its handle does not follow
its own commits: one handle is refreshed before each commit, outside of the commit's time, another one never, as the
call leaves it. Required is a multiple of the plain call on a table that starts empty, and of the refreshed handle on a
table of ordinary size; the refreshed handle on a nearly empty table is shown for information, and is faster than that.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Final

from bench.context import Context
from bench.delta_rs import DeltaRsTable, as_actions
from bench.findings import Finding, at_least
from bench.log_rows import LogTemplate
from bench.sizes import ADDS_PER_COMMIT
from bench.small_commit import twinlog_side
from bench.timing import Samples, Side, interleave, mean_rates, rate_ratio, timed
from bench.workload import TABLE, as_arrow, make_batches, make_files
from bench.workspace import Storage, System
from twinlog import Catalog, TableCommit

NAME: Final = "vs_delta_rs"

_REQUIRED: Final = at_least(20)
_SYSTEMS: Final = (System.POSTGRES, System.SQLITE)
_WARM_UP_ROUNDS: Final = 6

_FRESH: Final = "delta-rs, refreshed handle"
_STALE: Final = "delta-rs, stale handle"
_REFRESH: Final = "delta-rs, refreshing the handle"


def run(context: Context) -> Iterator[Finding]:
    for storage in context.workspace.storages:
        for files, rounds in (
            (0, context.sizes.delta_rounds),
            (context.sizes.delta_large_files, context.sizes.delta_large_rounds),
        ):
            place = f"{storage.value}, {f'{files:,} files' if files else 'empty table'}"
            samples = _measure(
                context, storage, files, context.track(range(_WARM_UP_ROUNDS + rounds), f"{NAME}: {place}")
            )
            for system in _SYSTEMS:
                yield from _findings(
                    system,
                    place,
                    samples,
                    required_peer=(_FRESH if files else _STALE) if storage is Storage.DISK else None,
                )


def _measure(context: Context, storage: Storage, files: int, rounds: Iterator[int]) -> dict[str, Samples]:
    workspace = context.workspace
    sides: dict[str, Side] = {}
    refreshes: list[float] = []
    with ExitStack() as stack:
        for system in _SYSTEMS:
            database = stack.enter_context(workspace.database(system, storage))
            LogTemplate.record(database)
            catalog = Catalog(database)
            if files:
                catalog.writer.commit(TableCommit(table=TABLE, files=map(as_arrow, make_batches(files))))
            sides[system.value] = twinlog_side(catalog)
        table = DeltaRsTable(workspace.folder(storage))
        if files:
            table.seed(make_files(files))
        sides[_FRESH] = _fresh_side(table, refreshes)
        if not files:  # with many files a stale handle takes a second and more for each commit
            sides[_STALE] = _stale_side(DeltaRsTable(workspace.folder(storage)))
        samples = interleave(sides, rounds, warm_up=_WARM_UP_ROUNDS)
    return samples | {_REFRESH: Samples(tuple(refreshes[_WARM_UP_ROUNDS:]))}


def _fresh_side(table: DeltaRsTable, refreshes: list[float]) -> Side:
    def prepare() -> Callable[[], object]:
        refreshes.append(timed(table.refresh))
        return _stale_side(table)()

    return prepare


def _stale_side(table: DeltaRsTable) -> Side:
    def prepare() -> Callable[[], object]:
        actions = as_actions(make_files(ADDS_PER_COMMIT))
        return lambda: table.commit(actions)

    return prepare


def _findings(
    system: System, place: str, samples: dict[str, Samples], *, required_peer: str | None
) -> Iterator[Finding]:
    ours = samples[system.value]
    for peer in (_FRESH, _STALE):
        if peer not in samples:
            continue
        yield Finding(
            benchmark=NAME,
            case=f"{system.value}, {place}",
            measure=f"rate / {peer}",
            value=rate_ratio(ours, samples[peer]),
            bound=_REQUIRED if peer == required_peer else None,
            ours=ours.milliseconds,
            peer=samples[peer].milliseconds,
            samples={name: samples[name] for name in (system.value, peer, _REFRESH)},
            details=mean_rates(ours, samples[peer])
            | {"rate_ratio_with_refresh": (samples[peer].median + samples[_REFRESH].median) / ours.median},
        )

"""Whether a long log makes commits or opening a snapshot slower: a large table beside empty ones."""

from collections.abc import Callable, Iterator
from typing import Final

from bench.context import Context
from bench.findings import Finding, at_most
from bench.large_log import LARGE, build
from bench.log_rows import LogTemplate
from bench.plans import plan_of, statements_of, whole_table_reads
from bench.sizes import WARM_UP_ROUNDS
from bench.small_commit import twinlog_side
from bench.timing import Side, interleave, slowdown
from bench.workspace import System
from twinlog import Catalog
from twinlog.catalog.database import Database

NAME: Final = "growth"

_SYSTEMS: Final = (System.POSTGRES, System.SQLITE)
_EMPTY: Final = "empty"


def run(context: Context) -> Iterator[Finding]:
    for system in _SYSTEMS:
        with context.workspace.database(system) as database, context.workspace.database(system) as fresh:
            build(context, database, f"{NAME}: building the large table, {system.value}")
            LogTemplate.record(database, _EMPTY)
            LogTemplate.record(fresh, _EMPTY)
            yield from _commits(context, system, database, fresh)
            yield from _opening(context, system, database)


def _commits(context: Context, system: System, database: Database, fresh: Database) -> Iterator[Finding]:
    sizes = context.sizes
    catalog = Catalog(database)
    beside, alone = "empty table beside it", "empty database"
    samples = interleave(
        {
            LARGE: twinlog_side(catalog, LARGE),
            beside: twinlog_side(catalog, _EMPTY),
            alone: twinlog_side(Catalog(fresh), _EMPTY),
        },
        context.track(range(WARM_UP_ROUNDS + sizes.growth_rounds), f"{NAME}: commits, {system.value}"),
        warm_up=WARM_UP_ROUNDS,
    )
    for other in (beside, alone):
        yield Finding(
            benchmark=NAME,
            case=f"{system.value}, {sizes.growth_versions:,} versions, {sizes.growth_files:,} files",
            measure=f"commit time / {other}",
            value=slowdown(samples[LARGE], samples[other]),
            bound=at_most(1.3),
            ours=samples[LARGE].milliseconds,
            peer=samples[other].milliseconds,
            samples={name: samples[name] for name in (LARGE, other)},
        )


def _opening(context: Context, system: System, database: Database) -> Iterator[Finding]:
    case = f"{system.value}, {context.sizes.growth_versions:,} versions, {context.sizes.growth_files:,} files"
    statements = statements_of(database, _opened(database, LARGE)())
    plans = {statement[0]: plan_of(database, statement) for statement in statements}
    yield Finding(
        benchmark=NAME,
        case=case,
        measure="queries to open a snapshot",
        value=len(statements),
        bound=at_most(2),
        details={"plans": plans},
    )
    scans = [step for plan in plans.values() for step in whole_table_reads(plan)]
    yield Finding(
        benchmark=NAME,
        case=case,
        measure="whole tables read by them",
        value=len(scans),
        bound=at_most(0),
        details={"steps": scans},
    )
    samples = interleave(
        {LARGE: _opened(database, LARGE), _EMPTY: _opened(database, _EMPTY)},
        context.track(range(WARM_UP_ROUNDS + context.sizes.open_rounds), f"{NAME}: opening, {system.value}"),
        warm_up=WARM_UP_ROUNDS,
    )
    yield Finding(
        benchmark=NAME,
        case=case,
        measure="time to open / empty table's",
        value=slowdown(samples[LARGE], samples[_EMPTY]),
        bound=at_most(1.3),
        ours=samples[LARGE].milliseconds,
        peer=samples[_EMPTY].milliseconds,
        samples=samples,
    )


def _opened(database: Database, table: str) -> Side:
    """Opens a snapshot with nothing in the catalog's cache."""

    def prepare() -> Callable[[], object]:
        catalog = Catalog(database)
        return lambda: catalog.reader.snapshot(table).schema

    return prepare

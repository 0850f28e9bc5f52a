"""A commit of 10 adds by one writer, beside the bare driver that inserts the same rows."""

from collections.abc import Callable, Iterator
from typing import Final

from bench.bare import bare_driver
from bench.bare.base import BareDriver
from bench.context import Context
from bench.findings import Bound, Finding, at_least
from bench.log_rows import LogTemplate
from bench.sizes import ADDS_PER_COMMIT, WARM_UP_ROUNDS
from bench.timing import Side, interleave, is_plausible, mean_rates, rate_ratio
from bench.workload import TABLE, as_adds, make_files
from bench.workspace import Storage, System, url_of
from twinlog import Catalog, TableCommit

NAME: Final = "small_commit"

# Promised where a flush goes to the disk, like in use. In memory the same ratio shows our own work alone.
_REQUIRED: Final[dict[tuple[System, Storage], Bound]] = {
    (System.POSTGRES, Storage.DISK): at_least(0.6),
    (System.SQLITE, Storage.DISK): at_least(0.4),
}


def run(context: Context) -> Iterator[Finding]:
    for storage in context.workspace.storages:
        for system in System:
            yield _compare(context, system, storage)


def twinlog_side(catalog: Catalog, table: str = TABLE) -> Side:
    """Commits of new files through twinlog."""

    def prepare() -> Callable[[], object]:
        request = TableCommit(table=table, actions=as_adds(make_files(ADDS_PER_COMMIT)))
        return lambda: catalog.writer.commit(request)

    return prepare


def _bare_side(driver: BareDriver, template: LogTemplate) -> Side:
    version = 1

    def prepare() -> Callable[[], object]:
        nonlocal version
        version += 1
        rows = template.commit(version, make_files(ADDS_PER_COMMIT))
        return lambda: driver.commit(rows)

    return prepare


def _compare(context: Context, system: System, storage: Storage) -> Finding:
    rounds = context.sizes.duckdb_rounds if system is System.DUCKDB else context.sizes.small_rounds
    workspace = context.workspace
    with workspace.database(system, storage) as database, workspace.database(system, storage) as bare_database:
        LogTemplate.record(database)
        template = LogTemplate.record(bare_database)
        bare_database.close()  # DuckDB lets only one connection pool have a file
        with bare_driver(system, url_of(bare_database)) as driver:
            samples = interleave(
                {"twinlog": twinlog_side(Catalog(database)), "bare driver": _bare_side(driver, template)},
                context.track(range(WARM_UP_ROUNDS + rounds), f"{NAME}: {system.value}, {storage.value}"),
                warm_up=WARM_UP_ROUNDS,
            )
    ours, bare = samples["twinlog"], samples["bare driver"]
    return Finding(
        benchmark=NAME,
        case=f"{system.value}, {storage.value}",
        measure="rate / bare driver's",
        value=rate_ratio(ours, bare),
        bound=_REQUIRED.get((system, storage)),
        ours=ours.milliseconds,
        peer=bare.milliseconds,
        samples=samples,
        details=mean_rates(ours, bare),
        is_plausible=is_plausible(ours, bare),
    )

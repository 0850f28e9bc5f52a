"""One commit of very many adds, given as Arrow, beside a bare bulk insert of the same rows."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa

from bench.bare import bare_driver
from bench.bulk_child import Outcome, Task
from bench.context import Context
from bench.findings import Bound, Finding, at_most
from bench.log_rows import LogTemplate
from bench.sizes import ADDS_PER_COMMIT
from bench.timing import Samples, is_plausible, slowdown
from bench.workload import BATCH_FILES, as_arrow, make_batches
from bench.workspace import System, Workspace, settle, url_of

NAME: Final = "bulk_commit"

_ROOT: Final = Path(__file__).parents[1]
_TIME: Final[dict[System, Bound]] = {System.POSTGRES: at_most(1.5), System.SQLITE: at_most(1.5)}
_MEMORY: Final[dict[System, Bound]] = {System.POSTGRES: at_most(512), System.SQLITE: at_most(512)}


@dataclass(frozen=True, slots=True)
class _Input:
    """The same adds in two files: as twinlog takes them, and as rows of the log."""

    files: Path
    rows: Path
    count: int


def run(context: Context) -> Iterator[Finding]:
    bulk = _write_input(context, context.sizes.bulk_files)
    for system in (System.POSTGRES, System.SQLITE):
        yield from _compare(context, system, bulk)
    yield from _compare(context, System.DUCKDB, _write_input(context, context.sizes.duckdb_bulk_files))
    if context.twice:
        twice = _write_input(context, 2 * bulk.count)
        for system in context.track(_MEMORY, f"{NAME}: {twice.count:,} adds"):
            outcome = _run_child(context.workspace, system, twice, is_bare=False)
            yield _memory_finding(system, twice, [outcome])


def _write_input(context: Context, count: int) -> _Input:
    """Both files; the rows are at version 2 of table 1, which is where a database made for this has room."""
    folder = context.workspace.folder()
    bulk = _Input(folder / "files.arrow", folder / "rows.arrow", count)
    with context.workspace.database(System.SQLITE) as database:
        template = LogTemplate.record(database)
    batches = context.track(make_batches(count), f"{NAME}: making {count:,} files", total=-(-count // BATCH_FILES))
    with bulk.files.open("wb") as files_sink, bulk.rows.open("wb") as rows_sink:
        files_writer = rows_writer = None
        ordinal = 1
        for files in batches:
            files_batch = as_arrow(files)
            rows_batch = template.add_batch(files, [2] * len(files), range(ordinal, ordinal + len(files)))
            files_writer = files_writer or pa.ipc.new_stream(files_sink, files_batch.schema)
            rows_writer = rows_writer or pa.ipc.new_stream(rows_sink, rows_batch.schema)
            files_writer.write_batch(files_batch)
            rows_writer.write_batch(rows_batch)
            ordinal += len(files)
        for writer in (files_writer, rows_writer):
            if writer:
                writer.close()
    return bulk


def _compare(context: Context, system: System, bulk: _Input) -> Iterator[Finding]:
    outcomes: dict[bool, list[Outcome]] = {True: [], False: []}
    turns = [is_bare for _ in range(context.sizes.bulk_repeats) for is_bare in (True, False)]
    for is_bare in context.track(turns, f"{NAME}: {system.value}"):
        outcomes[is_bare].append(_run_child(context.workspace, system, bulk, is_bare=is_bare))
    ours, bare = (Samples(tuple(outcome.seconds for outcome in outcomes[side])) for side in (False, True))
    yield Finding(
        benchmark=NAME,
        case=f"{system.value}, {bulk.count:,} adds",
        measure="time / bare bulk insert's",
        value=slowdown(ours, bare),
        bound=_TIME.get(system),
        ours=ours.range_seconds,
        peer=bare.range_seconds,
        samples={"twinlog": ours, "bare bulk insert": bare},
        is_plausible=is_plausible(ours, bare),
    )
    if system is not System.POSTGRES:  # an embedded database works in our process, so this is all of it, and steadier
        our_cpu, bare_cpu = (
            Samples(tuple(outcome.cpu_seconds for outcome in outcomes[side])) for side in (False, True)
        )
        yield Finding(
            benchmark=NAME,
            case=f"{system.value}, {bulk.count:,} adds",
            measure="CPU time / bare bulk insert's",
            value=slowdown(our_cpu, bare_cpu),
            ours=our_cpu.range_seconds,
            peer=bare_cpu.range_seconds,
            samples={"twinlog": our_cpu, "bare bulk insert": bare_cpu},
        )
    yield _memory_finding(system, bulk, outcomes[False], peer=outcomes[True])


def _memory_finding(system: System, bulk: _Input, ours: list[Outcome], peer: list[Outcome] | None = None) -> Finding:
    most = max(outcome.memory_mib for outcome in ours)
    return Finding(
        benchmark=NAME,
        case=f"{system.value}, {bulk.count:,} adds",
        measure="memory beyond the idle process",
        value=most,
        unit="MiB",
        bound=_MEMORY.get(system),
        ours=f"{most:.0f} MiB",
        peer=f"{max(outcome.memory_mib for outcome in peer):.0f} MiB" if peer else "",
    )


def _run_child(workspace: Workspace, system: System, bulk: _Input, *, is_bare: bool) -> Outcome:
    with workspace.database(system) as database:
        rows = LogTemplate.record(database).commit(2, ())
        settle(database)
        database.close()  # DuckDB's file belongs to the child now
        task = Task(
            system=system.value,
            url=url_of(database),
            arrow_file=str(bulk.rows if is_bare else bulk.files),
            bare_rows=asdict(rows) if is_bare else None,
        )
        task_file = workspace.folder() / "task.json"
        task_file.write_text(json.dumps(asdict(task)), encoding="utf-8")
        command = [sys.executable, "-m", "bench.bulk_child", str(task_file)]
        done = subprocess.run(command, cwd=_ROOT, check=True, stdout=subprocess.PIPE, text=True)
        with bare_driver(system, url_of(database)) as driver:
            found = driver.count_adds()
    if found != ADDS_PER_COMMIT + bulk.count:
        raise RuntimeError(f"{system.value}: {bulk.count} adds committed, {found - ADDS_PER_COMMIT} found")
    return Outcome(**json.loads(done.stdout))

"""Runs benchmarks, prints their ratios, records them as JSON. Exit code 1: a requirement is not met."""

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench import bulk_commit, growth, small_commit, vs_delta_rs
from bench.context import Benchmark, Context
from bench.findings import Finding
from bench.machine import describe, describe_postgres
from bench.report import print_table, write_record
from bench.sizes import FULL, QUICK
from bench.workspace import Workspace

_T = TypeVar("_T")

BENCHMARKS: Final[dict[str, Benchmark]] = {
    module.NAME: module.run for module in (small_commit, vs_delta_rs, bulk_commit, growth)
}
_RECORD: Final = Path(__file__).parent / "results" / "latest.json"


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    console = Console(width=None if sys.stdout.isatty() else 160)
    with ExitStack() as stack:
        workspace = Workspace(stack)
        bars = stack.enter_context(_Bars())
        context = Context(QUICK if options.quick else FULL, workspace, bars, twice=options.twice)
        machine = describe(workspace)
        findings = list(_run(options.names or BENCHMARKS, context))
        machine["postgres"] = describe_postgres(workspace)
    print_table(console, findings)
    write_record(options.out, findings, machine=machine, is_quick=options.quick)
    console.print(f"Recorded in {options.out}")
    failed = sum(finding.passed is False for finding in findings)
    if failed:
        console.print(f"[red]{failed} of {len(findings)} are not as required[/]")
    if not all(finding.is_plausible for finding in findings):
        console.print("[yellow]noise: faster than a peer that does less; repeat when the machine is quiet[/]")
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="name", type=_benchmark, help=f"of {', '.join(BENCHMARKS)}; all by default"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes: shows that it runs, not how fast")
    parser.add_argument("--twice", action="store_true", help="also commit twice as many files at once, for the memory")
    parser.add_argument("--out", type=Path, default=_RECORD, metavar="FILE", help="where the record goes")
    return parser


def _benchmark(name: str) -> str:
    if name not in BENCHMARKS:
        raise argparse.ArgumentTypeError(f"no benchmark {name!r}; there are {', '.join(BENCHMARKS)}")
    return name


def _run(names: Iterable[str], context: Context) -> Iterator[Finding]:
    for name in names:
        yield from BENCHMARKS[name](context)


class _Bars(Progress):
    """A progress bar on standard error for each step; without a terminal only its name."""

    def __init__(self) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        console = Console(stderr=True)
        super().__init__(*columns, console=console, disable=not console.is_terminal)

    def __call__(self, items: Iterable[_T], label: str, *, total: int | None = None) -> Iterator[_T]:
        if self.disable:
            print(label, file=sys.stderr, flush=True)
        return iter(self.track(items, total=total, description=label))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""One bulk commit in a process of its own, so that its memory can be told from everything else.

Called by `bulk_commit`: takes a `Task` as JSON, prints an `Outcome` as JSON.
"""

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench.bare import bare_driver
from bench.log_rows import CommitRows
from bench.memory import peak_kib
from bench.timing import timed
from bench.workload import TABLE
from bench.workspace import System
from twinlog import TableCommit, connect


@dataclass(frozen=True, slots=True)
class Task:
    """What to commit.

    Attributes:
        system: the database's.
        url: a database with a table that has one commit.
        arrow_file: the adds: as twinlog takes them, or as rows for the bare driver.
        bare_rows: the other rows that the bare driver inserts; None for twinlog.
    """

    system: str
    url: str
    arrow_file: str
    bare_rows: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Outcome:
    seconds: float
    cpu_seconds: float  # of this process; PostgreSQL's own work is not in it
    memory_mib: float  # beyond what the process needed before


def main(task: Task) -> Outcome:
    with pa.OSFile(task.arrow_file) as source, pa.ipc.open_stream(source) as reader:
        if task.bare_rows is None:
            with connect(task.url) as catalog:
                catalog.reader.head(TABLE)
                return _measured(lambda: catalog.writer.commit(TableCommit(table=TABLE, files=reader)))
        with bare_driver(System(task.system), task.url) as driver:
            return _measured(partial(driver.bulk_commit, CommitRows(**task.bare_rows), reader))


def _measured(operation: Callable[[], object]) -> Outcome:
    memory, cpu = peak_kib(), time.process_time()
    seconds = timed(operation)
    return Outcome(seconds, time.process_time() - cpu, (peak_kib() - memory) / 1024)


if __name__ == "__main__":
    given = Task(**json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    print(json.dumps(asdict(main(given))))

"""Reads the logs of the real tables in `../shared/corpora`; nothing is copied from there."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

CORPORA = Path(__file__).parents[4] / "shared" / "corpora"

needs_corpora = pytest.mark.skipif(not CORPORA.is_dir(), reason=f"the corpora of real tables are not at {CORPORA}")


@dataclass(frozen=True)
class CorpusTable:
    root: Path
    corrupt: bool
    log_only: bool

    def __str__(self) -> str:
        return self.root.name

    @property
    def log(self) -> Path:
        return self.root / "_delta_log"

    def actions(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Every action of the commits and checkpoints, as (kind, body)."""
        for file in sorted(self.log.rglob("*.json")):
            if file.parent.name != "_trino_meta":
                yield from _json_actions(file)
        for file in sorted(self.log.rglob("[!.]*.parquet")):
            for row in pq.read_table(file).to_pylist(maps_as_pydicts="strict"):
                yield from ((kind, body) for kind, body in row.items() if body is not None)


def _json_actions(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for line in file.read_text("utf-8").splitlines():
        if line.strip():
            yield from json.loads(line).items()


def corpus_tables() -> list[CorpusTable]:
    if not CORPORA.is_dir():
        return []
    return [
        CorpusTable(CORPORA / entry["source"] / entry["table"], entry["corrupt"], entry["log_only"])
        for entry in json.loads((CORPORA / "manifest.json").read_text("utf-8"))
    ]

"""The one place that decides how an answer looks: text for people, JSON for programs.

With `--json` every object is one line on standard output, and a failure is one line on standard error. Text is drawn
for the terminal it goes to; elsewhere it has no colours, and nothing is wrapped or cut.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, Generic, TextIO, TypeVar

import orjson
from rich import box
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from twinlog.cli.formats import clean

_T = TypeVar("_T")

# Wider than any line: rich must not wrap or cut what a program may read.
_UNBOUNDED: Final = 1_000_000
_ROWS_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class Column(Generic[_T]):
    """A column of a text table: its title and how a row fills it."""

    title: str
    cell: Callable[[_T], str]
    is_number: bool = False


class Output:
    """Standard output of one command."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.console = make_console(sys.stdout)

    @property
    def is_terminal(self) -> bool:
        """Whether somebody is watching."""
        return not self.as_json and sys.stdout.isatty()

    def answer(self, document: object, *text: RenderableType) -> None:
        """Print an answer: the document, or the text that says the same."""
        if self.as_json:
            write_json(sys.stdout, document)
        else:
            for part in text:
                self.console.print(part)

    def rows(self, documents: Iterable[_T], columns: Sequence[Column[_T]]) -> None:
        """Print many documents, as they come: a JSON line each, or the rows of a table."""
        waiting = iter(documents)
        if self.as_json:
            for document in waiting:
                write_json(sys.stdout, document)
            return
        is_first = True
        while chunk := list(islice(waiting, _ROWS_AT_ONCE)):
            if sys.stdout.isatty():
                self.console.print(draw_table(chunk, columns))
            else:
                lines = _plain_table(chunk, columns)
                sys.stdout.writelines(lines if is_first else islice(lines, 1, None))
            is_first = False

    def note(self, text: RenderableType) -> None:
        """A remark for people; programs have no use for it."""
        if not self.as_json:
            self.console.print(text)


def can_ask() -> bool:
    """Whether there is somebody to answer a question."""
    return sys.stdin.isatty()


def make_console(stream: TextIO) -> Console:
    """A console that shows text as it is: no markup, no guessed colours."""
    width = None if stream.isatty() else _UNBOUNDED
    return Console(file=stream, width=width, markup=False, emoji=False, highlight=False)


def write_json(stream: TextIO, document: object) -> None:
    """Write one object on one line, in UTF-8 whatever the locale says."""
    stream.buffer.write(orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE))


def draw_table(rows: Iterable[_T], columns: Sequence[Column[_T]]) -> Grid:
    """Rows under their titles. Values that do not fit are folded, never cut."""
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for column in columns:
        grid.add_column(column.title, justify="right" if column.is_number else "left", overflow="fold")
    for row in rows:
        grid.add_row(*(clean(column.cell(row)) for column in columns))
    return grid


def _plain_table(rows: Iterable[_T], columns: Sequence[Column[_T]]) -> Iterator[str]:
    """The lines of a table, titles first, without any drawing: rich would take minutes for a large table's files."""
    titles = [column.title for column in columns]
    lines = [titles, *([clean(column.cell(row)) for column in columns] for row in rows)]
    widths = [max(map(cell_len, cells)) for cells in zip(*lines, strict=True)]
    for line in lines:
        padded = (
            " " * (width - cell_len(cell)) + cell if column.is_number else cell + " " * (width - cell_len(cell))
            for cell, width, column in zip(line, widths, columns, strict=True)
        )
        yield "  ".join(padded).rstrip() + "\n"


def draw_facts(facts: Iterable[tuple[str, str]]) -> Grid:
    """Names and values, one pair a line."""
    grid = Grid.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column(overflow="fold")
    for name, value in facts:
        grid.add_row(name, clean(value))
    return grid


def heading(text: str) -> Text:
    """The title of a part of an answer."""
    return Text(f"\n{text}", style="bold")

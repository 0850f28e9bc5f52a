"""The generated reference pages follow the code."""

from pathlib import Path

import pytest

from docs.generate import PAGES, table


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_page_is_what_make_docs_would_write(path: Path):
    assert path.exists(), "next: make docs"
    assert path.read_text(encoding="utf-8") == PAGES[path](), "next: make docs"


def test_table_when_a_cell_holds_a_bar_or_a_line_break_then_stays_one_row():
    assert table(("a",), [("x | y\nz",)]) == "| a |\n| --- |\n| x \\| y z |"

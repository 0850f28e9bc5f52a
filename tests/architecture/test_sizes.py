"""Nothing grows until nobody wants to read it. Complexity, statements and arguments are ruff's part."""

import ast
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FUNCTION_LINES = 60
CLASS_LINES = 400


@dataclass(frozen=True)
class FileLimit:
    ask: int
    fail: int


LIMITS = {
    "src": FileLimit(ask=400, fail=500),
    "bench": FileLimit(ask=400, fail=500),
    "docs": FileLimit(ask=400, fail=500),
    "tests": FileLimit(ask=500, fail=800),
}


def list_sources() -> list[Path]:
    return sorted(path for folder in LIMITS for path in (ROOT / folder).rglob("*.py"))


def limit_of(path: Path) -> FileLimit:
    return LIMITS[path.relative_to(ROOT).parts[0]]


def place(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def line_count(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def length(node: ast.AST) -> int:
    """Lines of a class or function, without the docstring of a function."""
    assert isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    assert node.end_lineno is not None
    lines = node.end_lineno - node.lineno + 1
    first = node.body[0]
    if isinstance(node, ast.ClassDef) or ast.get_docstring(node) is None:
        return lines
    assert first.end_lineno is not None
    return lines - (first.end_lineno - first.lineno + 1)


def too_long(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.ClassDef():
                limit = CLASS_LINES
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                limit = FUNCTION_LINES
            case _:
                continue
        if length(node) > limit:
            yield f"{place(path)}:{node.lineno} {node.name}: {length(node)} lines, at most {limit}"


def test_files_stay_below_their_limit():
    long_files = [
        f"{place(path)}: {line_count(path)} lines, at most {limit_of(path).fail}"
        for path in list_sources()
        if line_count(path) > limit_of(path).fail
    ]
    assert long_files == []


@pytest.mark.filterwarnings("default::UserWarning")
def test_files_that_near_their_limit_are_named_in_the_summary():
    for path in list_sources():
        if line_count(path) > limit_of(path).ask:
            warnings.warn(f"{place(path)} has {line_count(path)} lines: is it still one job?", stacklevel=1)


def test_functions_and_classes_stay_below_their_limit():
    assert [finding for path in list_sources() for finding in too_long(path)] == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f():\n    a = 1\n    return a\n", 3),
        ('def f():\n    """One.\n\n    Two.\n    """\n    return 1\n', 2),
        ('class C:\n    """One."""\n\n    a = 1\n', 4),
    ],
)
def test_length_leaves_out_a_function_docstring(source: str, expected: int):
    assert length(ast.parse(source).body[0]) == expected

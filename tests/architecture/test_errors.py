"""The tree drawn in the docstring of twinlog.errors is the tree of the classes."""

import inspect
import re

import pytest

from twinlog import errors
from twinlog.errors import Retry, TwinlogError

BRANCH = re.compile(r"^(?P<indent>[│ ]*)[├└]─ (?P<name>\w+)")
ERRORS = [
    error
    for _, error in inspect.getmembers(errors, inspect.isclass)
    if issubclass(error, Exception) and error.__module__ == errors.__name__
]


def drawn_parents() -> dict[str, str]:
    """Every class in the drawing with the class that it hangs from."""
    parents: dict[str, str] = {}
    branch_at: dict[int, str] = {-1: TwinlogError.__name__}
    for line in inspect.cleandoc(errors.__doc__ or "").splitlines():
        if drawn := BRANCH.match(line.removeprefix("    ")):
            depth = len(drawn["indent"]) // 4
            parents[drawn["name"]] = branch_at[depth - 1]
            branch_at[depth] = drawn["name"]
    return parents


def test_drawn_tree_when_compared_with_the_classes_then_equal():
    coded = {error.__name__: error.__mro__[1].__name__ for error in ERRORS if error is not TwinlogError}
    assert drawn_parents() == coded


@pytest.mark.parametrize("error", ERRORS)
def test_error_has_its_own_docstring_and_a_retry_rule(error: type[TwinlogError]):
    assert issubclass(error, TwinlogError)
    assert vars(error).get("__doc__")
    assert isinstance(error.retry, Retry)

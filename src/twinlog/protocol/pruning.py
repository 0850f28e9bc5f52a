"""Which files a predicate cannot match.

A predicate over a file is evaluated to the set of outcomes its rows may have (true, false, unknown), always a superset
of the real ones; a file is skipped only if "true" is not among them. Keeping all three outcomes makes NOT as safe as
the rest: the complement of a superset would not be.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Final

from twinlog.protocol.file_facts import UNKNOWN, Bound, ColumnFacts, FileFacts
from twinlog.protocol.predicates import (
    ALWAYS,
    NEVER,
    And,
    ColumnPath,
    Comparison,
    In,
    IsNull,
    LiteralValue,
    Not,
    Op,
    Or,
    Predicate,
    columns,
)

_TRUE: Final = 1
_FALSE: Final = 2
_NULL: Final = 4


def may_match(predicate: Predicate, facts: FileFacts) -> bool:
    """Whether a row of the file may satisfy the predicate; false only if none can.

    Args:
        predicate: A filter bound to the table's types (`predicate_binding.bind`).
        facts: What is known of the file.
    """
    return bool(_outcomes(predicate, facts) & _TRUE)


def needs_stats(predicate: Predicate, partition_columns: Collection[str]) -> bool:
    """Whether partition values alone cannot tell everything there is to know for this predicate."""
    return not all(_is_partition_column(path, partition_columns) for path in columns(predicate))


def partition_only(predicate: Predicate, partition_columns: Collection[str]) -> Predicate:
    """The strongest filter on partition columns alone that is true wherever the predicate is."""
    return _relaxed(predicate, partition_columns, unreadable=ALWAYS)


def _is_partition_column(path: ColumnPath, partition_columns: Collection[str]) -> bool:
    return len(path) == 1 and path[0] in partition_columns


def _relaxed(predicate: Predicate, partition_columns: Collection[str], *, unreadable: Predicate) -> Predicate:
    match predicate:
        case And(operands):
            parts = [_relaxed(operand, partition_columns, unreadable=unreadable) for operand in operands]
            return _conjunction(parts)
        case Or(operands):
            parts = [_relaxed(operand, partition_columns, unreadable=unreadable) for operand in operands]
            return _disjunction(parts)
        case Not(operand):
            # Under a NOT the way to weaken the whole is to strengthen the part.
            opposite = NEVER if unreadable == ALWAYS else ALWAYS
            return _negation(_relaxed(operand, partition_columns, unreadable=opposite))
        case _:
            return predicate if _is_partition_column(predicate.column, partition_columns) else unreadable


def _conjunction(parts: list[Predicate]) -> Predicate:
    if NEVER in parts:
        return NEVER
    kept = tuple(part for part in parts if part != ALWAYS)
    return kept[0] if len(kept) == 1 else And(kept)


def _disjunction(parts: list[Predicate]) -> Predicate:
    if ALWAYS in parts:
        return ALWAYS
    kept = tuple(part for part in parts if part != NEVER)
    return kept[0] if len(kept) == 1 else Or(kept)


def _negation(part: Predicate) -> Predicate:
    if part == ALWAYS:
        return NEVER
    return ALWAYS if part == NEVER else Not(part)


def _outcomes(predicate: Predicate, facts: FileFacts) -> int:
    match predicate:
        case Comparison(column, op, literal):
            return _comparison(facts.by_column.get(column, UNKNOWN), op, literal)
        case In(column, literals):
            return _membership(facts.by_column.get(column, UNKNOWN), literals)
        case IsNull(column):
            known = facts.by_column.get(column, UNKNOWN)
            return (_TRUE if known.may_be_null else 0) | (_FALSE if known.may_have_value else 0)
        case Not(operand):
            return _negated(_outcomes(operand, facts))
        case And(operands):
            result = _TRUE
            for operand in operands:
                result = _both(result, _outcomes(operand, facts))
            return result
        case Or(operands):
            result = _TRUE
            for operand in operands:
                result = _both(result, _negated(_outcomes(operand, facts)))
            return _negated(result)


def _negated(outcomes: int) -> int:
    return (outcomes & _NULL) | (_FALSE if outcomes & _TRUE else 0) | (_TRUE if outcomes & _FALSE else 0)


def _both(left: int, right: int) -> int:
    if not left or not right:
        return 0
    unknown = (left | right) & _NULL and left & ~_FALSE and right & ~_FALSE
    return (left & right & _TRUE) | ((left | right) & _FALSE) | (_NULL if unknown else 0)


def _comparison(known: ColumnFacts, op: Op, literal: LiteralValue) -> int:
    outcomes = _NULL if known.may_be_null else 0
    if not known.may_have_value:
        return outcomes
    if literal is None:
        return _NULL
    test, negated = _TESTS[op]
    result = test(known.low, known.high, literal)
    return outcomes | (_negated(result) if negated else result)


def _equality(low: Bound, high: Bound, literal: Bound) -> int:
    if not _within(low, high, literal):
        return _FALSE
    return _TRUE if low == literal == high else _TRUE | _FALSE


def _below(low: Bound, high: Bound, literal: Bound) -> int:
    """Outcomes of `value < literal`."""
    if low is not None and not low < literal:
        return _FALSE
    return _TRUE if high is not None and high < literal else _TRUE | _FALSE


def _above(low: Bound, high: Bound, literal: Bound) -> int:
    """Outcomes of `value > literal`."""
    if high is not None and not high > literal:
        return _FALSE
    return _TRUE if low is not None and low > literal else _TRUE | _FALSE


_TESTS: Final[Mapping[Op, tuple[Callable[[Bound, Bound, Bound], int], bool]]] = {
    Op.EQ: (_equality, False),
    Op.NE: (_equality, True),
    Op.LT: (_below, False),
    Op.GE: (_below, True),
    Op.GT: (_above, False),
    Op.LE: (_above, True),
}


def _within(low: Bound, high: Bound, literal: Bound) -> bool:
    return (low is None or low <= literal) and (high is None or literal <= high)


def _membership(known: ColumnFacts, literals: tuple[LiteralValue, ...]) -> int:
    outcomes = _NULL if known.may_be_null else 0
    if not known.may_have_value:
        return outcomes
    listed = [literal for literal in literals if literal is not None]
    if any(_within(known.low, known.high, literal) for literal in listed):
        outcomes |= _TRUE
        if known.low == known.high and known.low in listed:
            return outcomes
    return outcomes | (_FALSE if len(listed) == len(literals) else _NULL)

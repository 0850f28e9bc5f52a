"""A row-by-row evaluator of predicates: plain SQL three-valued logic, `None` for unknown."""

import math
from collections.abc import Mapping
from typing import Any

from twinlog.protocol.predicates import And, ColumnPath, In, IsNull, Not, Op, Or, Predicate

Row = Mapping[ColumnPath, Any]


def evaluate(predicate: Predicate, row: Row) -> bool | None:
    if isinstance(predicate, And | Or):
        return _combined([evaluate(operand, row) for operand in predicate.operands], is_and=isinstance(predicate, And))
    if isinstance(predicate, Not):
        inner = evaluate(predicate.operand, row)
        return None if inner is None else not inner
    value = row[predicate.column]
    if isinstance(predicate, IsNull):
        return value is None
    if isinstance(predicate, In):
        equal = [compare(value, Op.EQ, literal) for literal in predicate.literals]
        return _combined(equal, is_and=False)
    return compare(value, predicate.op, predicate.literal)


def compare(value: Any, op: Op, literal: Any) -> bool | None:
    if value is None or literal is None:
        return None
    left, right = _ordered(value), _ordered(literal)
    outcomes: dict[Op, bool] = {
        Op.EQ: left == right,
        Op.NE: left != right,
        Op.LT: left < right,
        Op.LE: left <= right,
        Op.GT: left > right,
        Op.GE: left >= right,
    }
    return outcomes[op]


def _ordered(value: Any) -> Any:
    """NaN is the largest number in Delta, equal to itself."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value


def _combined(parts: list[bool | None], *, is_and: bool) -> bool | None:
    if (not is_and) in parts:
        return not is_and
    return None if None in parts else is_and

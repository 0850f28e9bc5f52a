"""Row filters as values.

A predicate is a frozen tree over column paths and python literals. `str()` gives SQL that parses back to an equal
tree; for that, AND and OR join two operands or more. The empty conjunction keeps everything, the empty disjunction
nothing; they print as TRUE and FALSE. Parsing is in `predicate_parser`, typing in `predicate_binding`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Final, TypeAlias

ColumnPath: TypeAlias = tuple[str, ...]
LiteralValue: TypeAlias = bool | int | float | Decimal | str | date | datetime | None

RESERVED_WORDS: Final = frozenset({"AND", "OR", "NOT", "IN", "BETWEEN", "IS", "NULL", "TRUE", "FALSE"})
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Op(Enum):
    """A comparison between a column and a literal."""

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="


@dataclass(frozen=True, slots=True)
class Comparison:
    """`column op literal`; not true when either side is null."""

    column: ColumnPath
    op: Op
    literal: LiteralValue

    def __str__(self) -> str:
        return f"{path_text(self.column)} {self.op.value} {_literal_text(self.literal)}"


@dataclass(frozen=True, slots=True)
class In:
    """`column IN (literals)`."""

    column: ColumnPath
    literals: tuple[LiteralValue, ...]

    def __str__(self) -> str:
        return f"{path_text(self.column)} IN ({', '.join(map(_literal_text, self.literals))})"


@dataclass(frozen=True, slots=True)
class IsNull:
    """`column IS NULL`; the only test that is true for a null."""

    column: ColumnPath

    def __str__(self) -> str:
        return f"{path_text(self.column)} IS NULL"


@dataclass(frozen=True, slots=True)
class Not:
    """`NOT operand`; unknown stays unknown."""

    operand: "Predicate"

    def __str__(self) -> str:
        return f"NOT {_nested(self.operand)}"


@dataclass(frozen=True, slots=True)
class And:
    """All operands hold."""

    operands: tuple["Predicate", ...]

    def __str__(self) -> str:
        return " AND ".join(map(_nested, self.operands)) or "TRUE"


@dataclass(frozen=True, slots=True)
class Or:
    """At least one operand holds."""

    operands: tuple["Predicate", ...]

    def __str__(self) -> str:
        return " OR ".join(map(_nested, self.operands)) or "FALSE"


Predicate: TypeAlias = Comparison | In | IsNull | Not | And | Or

ALWAYS: Final = And(())
NEVER: Final = Or(())


def columns(predicate: Predicate) -> frozenset[ColumnPath]:
    """The columns a predicate reads."""
    return frozenset(_column_paths(predicate))


def path_text(path: ColumnPath) -> str:
    """A column path as SQL, each name quoted only where it must be."""
    return ".".join(_name_text(name) for name in path)


def _column_paths(predicate: Predicate) -> Iterator[ColumnPath]:
    match predicate:
        case And(operands) | Or(operands):
            for operand in operands:
                yield from _column_paths(operand)
        case Not(operand):
            yield from _column_paths(operand)
        case _:
            yield predicate.column


def _nested(operand: Predicate) -> str:
    return f"({operand})" if isinstance(operand, And | Or) else str(operand)


def _name_text(name: str) -> str:
    if _PLAIN_NAME.fullmatch(name) and name.upper() not in RESERVED_WORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def _literal_text(value: LiteralValue) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).upper()
        case int() | float() | Decimal():
            return str(value)
        case str():
            return "'" + value.replace("'", "''") + "'"
        case _:
            return f"'{value.isoformat()}'"

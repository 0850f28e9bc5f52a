"""SQL text to a predicate.

    predicate  := conjunction (OR conjunction)*
    conjunction:= negation (AND negation)*
    negation   := NOT negation | ( predicate ) | TRUE | FALSE | test
    test       := column (op literal | IS [NOT] NULL | [NOT] IN (literal, ...) | [NOT] BETWEEN literal AND literal)

Literals stay as they are written (numbers, text, TRUE, FALSE, NULL); `predicate_binding` gives them a column's type.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from twinlog.errors import InvalidPredicate
from twinlog.protocol.predicates import (
    ALWAYS,
    NEVER,
    RESERVED_WORDS,
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
)

_TOKEN: Final = re.compile(
    r"""(?P<text>'(?:[^']|'')*')
      | (?P<name>`(?:[^`]|``)+` | "(?:[^"]|"")+")
      | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<word>[^\W\d]\w*)
      | (?P<symbol><=|>=|<>|!=|==|[-+=<>(),.])
      | (?P<end>\Z)""",
    re.VERBOSE,
)
_BLANK: Final = re.compile(r"\s*")
_OPERATORS: Final = {op.value: op for op in Op} | {"==": Op.EQ, "<>": Op.NE}
_CONSTANTS: Final = {"TRUE": True, "FALSE": False, "NULL": None}

# Far below Python's recursion limit, far above what a person or a query generator writes.
_MAX_DEPTH: Final = 100


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    position: int

    @property
    def keyword(self) -> str:
        """The token as a keyword or symbol; quoted names and text never are one."""
        return self.text.upper() if self.kind in {"word", "symbol"} else ""


def parse_predicate(text: str) -> Predicate:
    """Read a SQL filter.

    Raises:
        InvalidPredicate: The text is not a filter; the message names the place and what was expected there.
    """
    parser = _Parser(text, _tokens(text))
    predicate = parser.disjunction()
    parser.expect_end()
    return predicate


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    position = 0
    while not tokens or tokens[-1].kind != "end":
        position = _end_of(_BLANK.match(text, position))
        found = _TOKEN.match(text, position)
        if found is None:
            raise _invalid(text, position, "a name, literal or operator", text[position])
        tokens.append(_Token(str(found.lastgroup), found.group(), position))
        position = found.end()
    return tokens


def _end_of(found: re.Match[str] | None) -> int:
    return found.end() if found else 0


def _invalid(text: str, position: int, expected: str, found: str) -> InvalidPredicate:
    seen = repr(found) if found else "the end"
    return InvalidPredicate(
        f"expected {expected} at character {position + 1}, found {seen}: {text}",
        hint="text goes in single quotes, names that are not plain words in backticks",
    )


class _Parser:
    def __init__(self, text: str, tokens: list[_Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._next = 0
        self._depth = 0

    def disjunction(self) -> Predicate:
        operands = [self._conjunction()]
        while self._accept("OR"):
            operands.append(self._conjunction())
        return operands[0] if len(operands) == 1 else Or(tuple(operands))

    def expect_end(self) -> None:
        if self._token.kind != "end":
            raise self._unexpected("AND, OR or the end")

    def _conjunction(self) -> Predicate:
        operands = [self._negation()]
        while self._accept("AND"):
            operands.append(self._negation())
        return operands[0] if len(operands) == 1 else And(tuple(operands))

    def _negation(self) -> Predicate:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise InvalidPredicate(f"nested deeper than {_MAX_DEPTH} levels at character {self._token.position + 1}")
        try:
            return self._nested()
        finally:
            self._depth -= 1

    def _nested(self) -> Predicate:
        if self._accept("NOT"):
            return Not(self._negation())
        if self._accept("("):
            inner = self.disjunction()
            self._expect(")")
            return inner
        if self._accept("TRUE"):
            return ALWAYS
        if self._accept("FALSE"):
            return NEVER
        return self._test()

    def _test(self) -> Predicate:
        column = self._column()
        if self._accept("IS"):
            negated = self._accept("NOT")
            self._expect("NULL")
            return Not(IsNull(column)) if negated else IsNull(column)
        if self._accept("NOT"):
            return Not(self._set_or_range(column, "IN or BETWEEN"))
        op = _OPERATORS.get(self._token.text) if self._token.kind == "symbol" else None
        if op is None:
            return self._set_or_range(column, "a comparison, IS, IN or BETWEEN")
        self._take()
        return Comparison(column, op, self._literal())

    def _set_or_range(self, column: ColumnPath, expected: str) -> Predicate:
        if self._accept("IN"):
            self._expect("(")
            literals = [self._literal()]
            while self._accept(","):
                literals.append(self._literal())
            self._expect(")")
            return In(column, tuple(literals))
        if self._accept("BETWEEN"):
            low = self._literal()
            self._expect("AND")
            return And((Comparison(column, Op.GE, low), Comparison(column, Op.LE, self._literal())))
        raise self._unexpected(expected)

    def _column(self) -> ColumnPath:
        names = [self._name()]
        while self._accept("."):
            names.append(self._name())
        return tuple(names)

    def _name(self) -> str:
        token = self._token
        if token.kind == "name":
            quote = token.text[0]
            return self._take().text[1:-1].replace(quote * 2, quote)
        if token.kind == "word" and token.keyword not in RESERVED_WORDS:
            return self._take().text
        raise self._unexpected("a column name")

    def _literal(self) -> LiteralValue:
        if self._token.keyword in {"DATE", "TIMESTAMP"}:
            self._take()
            return self._quoted_text()
        if self._token.keyword in _CONSTANTS:
            return _CONSTANTS[self._take().keyword]
        if self._token.kind == "text":
            return self._quoted_text()
        return self._number()

    def _quoted_text(self) -> str:
        if self._token.kind != "text":
            raise self._unexpected("text in single quotes")
        return self._take().text[1:-1].replace("''", "'")

    def _number(self) -> int | Decimal:
        sign = self._take().text if self._token.keyword in {"-", "+"} else ""
        if self._token.kind != "number":
            raise self._unexpected("a number" if sign else "a literal")
        digits = self._token.text
        try:
            number = int(sign + digits) if digits.isdigit() else Decimal(sign + digits)
        except (ValueError, ArithmeticError):
            raise self._unexpected("a number of sensible size") from None
        self._take()
        return number

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._token
        self._next += 1
        return token

    def _accept(self, keyword: str) -> bool:
        if self._token.keyword != keyword:
            return False
        self._next += 1
        return True

    def _expect(self, keyword: str) -> None:
        if not self._accept(keyword):
            raise self._unexpected(repr(keyword) if len(keyword) == 1 else keyword)

    def _unexpected(self, expected: str) -> InvalidPredicate:
        return _invalid(self._text, self._token.position, expected, self._token.text)

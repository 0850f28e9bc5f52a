from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twinlog.errors import InvalidPredicate
from twinlog.protocol.predicate_binding import bind
from twinlog.protocol.predicate_parser import parse_predicate
from twinlog.protocol.predicates import (
    ALWAYS,
    NEVER,
    And,
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

A, B, C = ("a",), ("b",), ("c",)


def equal(column: tuple[str, ...], literal: LiteralValue) -> Comparison:
    return Comparison(column, Op.EQ, literal)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 1", equal(A, 1)),
        ("a == 1", equal(A, 1)),
        ("a != 1", Comparison(A, Op.NE, 1)),
        ("a <> 1", Comparison(A, Op.NE, 1)),
        ("a<1", Comparison(A, Op.LT, 1)),
        ("a <= -1", Comparison(A, Op.LE, -1)),
        ("a>+1", Comparison(A, Op.GT, 1)),
        ("a >= 1.50", Comparison(A, Op.GE, Decimal("1.50"))),
        ("a = -.5", equal(A, Decimal("-0.5"))),
        ("a = 1e-3", equal(A, Decimal("0.001"))),
        ("a = 'it''s'", equal(A, "it's")),
        ("a = ''", equal(A, "")),
        ("a = true", Comparison(A, Op.EQ, literal=True)),
        ("a = NULL", equal(A, None)),
        ("a = DATE '2024-01-01'", equal(A, "2024-01-01")),
        ("date >= timestamp'2024-01-01 10:00:00'", Comparison(("date",), Op.GE, "2024-01-01 10:00:00")),
        ("a IN (1, NULL, 'x')", In(A, (1, None, "x"))),
        ("a not in (1)", Not(In(A, (1,)))),
        ("a IS NULL", IsNull(A)),
        ("a is not null", Not(IsNull(A))),
        ("a BETWEEN 1 AND 2", And((Comparison(A, Op.GE, 1), Comparison(A, Op.LE, 2)))),
        ("a NOT BETWEEN 1 AND 2", Not(And((Comparison(A, Op.GE, 1), Comparison(A, Op.LE, 2))))),
        ("a = 1 AND b = 2 AND c = 3", And((equal(A, 1), equal(B, 2), equal(C, 3)))),
        ("a = 1 OR b = 2 AND c = 3", Or((equal(A, 1), And((equal(B, 2), equal(C, 3)))))),
        ("(a = 1 OR b = 2) AND c = 3", And((Or((equal(A, 1), equal(B, 2))), equal(C, 3)))),
        ("NOT a = 1 AND b = 2", And((Not(equal(A, 1)), equal(B, 2)))),
        ("NOT NOT (a = 1)", Not(Not(equal(A, 1)))),
        ("a BETWEEN 1 AND 2 AND b = 3", And((And((Comparison(A, Op.GE, 1), Comparison(A, Op.LE, 2))), equal(B, 3)))),
        ('`a b`."c""d".e = 1', equal(("a b", 'c"d', "e"), 1)),
        ("`and` = 1", equal(("and",), 1)),
        ("größe = 1", equal(("größe",), 1)),
        ("TRUE", ALWAYS),
        ("NOT (FALSE)", Not(NEVER)),
    ],
)
def test_parse_predicate_reads_usual_sql(text: str, expected: Predicate) -> None:
    assert parse_predicate(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a column name at character 1, found the end"),
        ("a", "expected a comparison, IS, IN or BETWEEN at character 2, found the end"),
        ("a = ", "expected a literal at character 5, found the end"),
        ("a = b", "expected a literal at character 5, found 'b'"),
        ("a = -'x'", "expected a number at character 6, found \"'x'\""),
        ("a = DATE 5", "expected text in single quotes at character 10, found '5'"),
        ("a = 1 b", "expected AND, OR or the end at character 7, found 'b'"),
        ("a = 1)", "expected AND, OR or the end at character 6, found ')'"),
        ("(a = 1", "expected ')' at character 7, found the end"),
        ("a IN 1", "expected '(' at character 6, found '1'"),
        ("a IN ()", "expected a literal at character 7, found ')'"),
        ("a NOT 1", "expected IN or BETWEEN at character 7, found '1'"),
        ("a IS 1", "expected NULL at character 6, found '1'"),
        ("a BETWEEN 1 OR 2", "expected AND at character 13, found 'OR'"),
        ("and = 1", "expected a column name at character 1, found 'and'"),
        ("a. = 1", "expected a column name at character 4, found '='"),
        ("a = 'x", 'expected a name, literal or operator at character 5, found "\'"'),
        ("a ; b", "expected a name, literal or operator at character 3, found ';'"),
        ("a = " + "9" * 5000, "expected a number of sensible size at character 5"),
        ("(" * 5000 + "a = 1", "nested deeper than 100 levels at character 101"),
        ("NOT " * 5000 + "a = 1", "nested deeper than 100 levels"),
    ],
)
def test_parse_predicate_when_text_is_wrong_names_place_and_expectation(text: str, message: str) -> None:
    with pytest.raises(InvalidPredicate) as caught:
        parse_predicate(text)
    assert message in str(caught.value)


def test_parse_predicate_takes_long_filters_that_are_not_deep() -> None:
    assert parse_predicate(" OR ".join(["(NOT a = 1)"] * 500)) == Or((Not(equal(A, 1)),) * 500)


names = st.text(min_size=1, max_size=6) | st.sampled_from(["a", "date", "AND", "null", "a.b", "`", '"', "x y"])
paths = st.lists(names, min_size=1, max_size=3).map(tuple)
literals = (
    st.none() | st.booleans() | st.integers() | st.decimals(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
)
tests: st.SearchStrategy[Predicate] = (
    st.builds(Comparison, paths, st.sampled_from(Op), literals)
    | st.builds(In, paths, st.lists(literals, min_size=1, max_size=3).map(tuple))
    | st.builds(IsNull, paths)
    | st.sampled_from([ALWAYS, NEVER])
)


def _combinations(inner: st.SearchStrategy[Predicate]) -> st.SearchStrategy[Predicate]:
    operands = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.builds(Not, inner) | st.builds(And, operands) | st.builds(Or, operands)


predicates: st.SearchStrategy[Predicate] = st.recursive(tests, _combinations, max_leaves=8)


@settings(deadline=None)
@given(predicates)
def test_str_of_a_predicate_parses_back_to_it(predicate: Predicate) -> None:
    assert parse_predicate(str(predicate)) == predicate


words = st.sampled_from(["a", "1", "'x'", "(", ")", "AND", "OR", "NOT", "IN", ",", "=", "BETWEEN", "IS", "NULL"])


@settings(deadline=None)
@given(st.text(max_size=30) | st.lists(words, max_size=12).map(" ".join))
def test_parse_predicate_on_any_text_either_parses_or_says_why(text: str) -> None:
    try:
        predicate = parse_predicate(text)
    except InvalidPredicate:
        return
    assert parse_predicate(str(predicate)) == predicate


def test_columns_are_those_of_all_branches() -> None:
    predicate = parse_predicate("a = 1 OR NOT (b IN (2) AND s.x IS NULL) OR TRUE")
    assert columns(predicate) == {A, B, ("s", "x")}


TYPES = {
    ("i",): "long",
    ("f",): "double",
    ("n",): "decimal(10,2)",
    ("s",): "string",
    ("ok",): "boolean",
    ("day",): "date",
    ("at",): "timestamp",
    ("local",): "timestamp_ntz",
    ("raw",): "binary",
    ("address", "zip"): "string",
}


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("i = 5", 5),
        ("i = '5'", 5),
        ("i = 5.0", 5),
        ("i > 5.5", Decimal("5.5")),
        ("i = NULL", None),
        ("f = 1", 1.0),
        ("f = 0.1", 0.1),
        ("n = 1", Decimal(1)),
        ("n = 1.005", Decimal("1.005")),
        ("n = '1.50'", Decimal("1.5")),
        ("s = ''", ""),
        ("ok = TRUE", True),
        ("ok = 'false'", False),
        ("day = '2024-01-31'", date(2024, 1, 31)),
        ("day = DATE '2024-01-31'", date(2024, 1, 31)),
        ("at = '2024-01-31'", datetime(2024, 1, 31, tzinfo=UTC)),
        ("at = '2024-01-31 10:00:00.000001'", datetime(2024, 1, 31, 10, microsecond=1, tzinfo=UTC)),
        ("at = TIMESTAMP '2024-01-31T10:00:00+02:00'", datetime(2024, 1, 31, 8, tzinfo=UTC)),
        ("local = '2024-01-31T10:00:00'", datetime(2024, 1, 31, 10)),  # noqa: DTZ001
        ("address.zip = '12345'", "12345"),
    ],
)
def test_bind_gives_literals_the_type_of_their_column(text: str, literal: LiteralValue) -> None:
    bound = bind(parse_predicate(text), TYPES)
    assert isinstance(bound, Comparison)
    assert bound.literal == literal
    assert type(bound.literal) is type(literal)
    assert bind(bound, TYPES) == bound
    assert bind(parse_predicate(str(bound)), TYPES) == bound


def test_bind_reaches_every_branch() -> None:
    bound = bind(parse_predicate("NOT (day IN ('2024-01-01', NULL) OR i IS NULL) AND day < '2024-02-01'"), TYPES)
    assert bound == And(
        (
            Not(Or((In(("day",), (date(2024, 1, 1), None)), IsNull(("i",))))),
            Comparison(("day",), Op.LT, date(2024, 2, 1)),
        )
    )


@pytest.mark.parametrize(
    "text",
    [
        "i = 'five'",
        "i = ''",
        "i = TRUE",
        "f = 'NaN'",
        "f = 1e400",
        "n = 'x'",
        "s = 5",
        "ok = 1",
        "day = 5",
        "day = '2024-02-30'",
        "at = 'noon'",
        "at = '0001-01-01T00:00:00+14:00'",
        "local = '2024-01-01T00:00:00Z'",
        "i IN (1, 'x')",
    ],
)
def test_bind_when_literal_does_not_fit_says_so(text: str) -> None:
    with pytest.raises(InvalidPredicate, match="cannot be compared with column"):
        bind(parse_predicate(text), TYPES)


def test_bind_when_type_has_no_order_allows_null_tests_only() -> None:
    assert bind(parse_predicate("raw IS NULL"), TYPES) == IsNull(("raw",))
    with pytest.raises(InvalidPredicate, match="can only be tested with IS NULL"):
        bind(parse_predicate("raw = 'x'"), TYPES)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("Day = '2024-01-01'", "did you mean day?"),
        ("address.zp IS NULL", "did you mean address.zip?"),
        ("zzz IS NULL", "the columns are i, f, n, s, ok, day, at, local, raw, address.zip"),
    ],
)
def test_bind_when_column_is_unknown_offers_close_names(text: str, hint: str) -> None:
    with pytest.raises(InvalidPredicate, match="no column") as caught:
        bind(parse_predicate(text), TYPES)
    assert caught.value.hint == hint

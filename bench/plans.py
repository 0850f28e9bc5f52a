"""Which statements an operation sends, and whether a database runs them without reading whole tables."""

import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from sqlalchemy import event

from twinlog.catalog.database import Database

_Statement: TypeAlias = tuple[str, Any]
"""SQL and its parameters, whose shape is the driver's."""

_EXPLAIN: Final = {"postgresql": "EXPLAIN ", "sqlite": "EXPLAIN QUERY PLAN "}
_WHOLE_TABLE: Final = re.compile(r"Seq Scan on|\bSCAN (?!CONSTANT ROW)")


def statements_of(database: Database, operation: Callable[[], object]) -> list[_Statement]:
    """The statements with their parameters, without those that only begin a transaction."""
    seen: list[_Statement] = []

    def note(_connection: object, _cursor: object, statement: str, parameters: object, *_: object) -> None:
        if not statement.startswith("BEGIN"):
            seen.append((statement, parameters))

    event.listen(database.engine, "before_cursor_execute", note)
    try:
        operation()
    finally:
        event.remove(database.engine, "before_cursor_execute", note)
    return seen


def plan_of(database: Database, statement: _Statement) -> list[str]:
    """The database's plan, a line for each step."""
    text, parameters = statement
    explain = _EXPLAIN[database.engine.dialect.name]
    with database.read() as connection:
        return [str(row[-1]) for row in connection.exec_driver_sql(explain + text, parameters)]


def whole_table_reads(plan: list[str]) -> list[str]:
    """The steps of a plan that read a whole table."""
    return [step.strip() for step in plan if _WHOLE_TABLE.search(step)]

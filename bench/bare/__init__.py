"""The peers without twinlog: the same rows through the database's own driver, as one would write it by hand."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from bench.bare.base import BareDriver
from bench.bare.duckdb import BareDuckdb
from bench.bare.postgres import BarePostgres
from bench.bare.sqlite import BareSqlite
from bench.workspace import System

_DRIVERS: Final[dict[System, Callable[[str], BareDriver]]] = {
    System.POSTGRES: BarePostgres,
    System.SQLITE: BareSqlite,
    System.DUCKDB: BareDuckdb,
}


@contextmanager
def bare_driver(system: System, url: str) -> Iterator[BareDriver]:
    """A connection to a database that twinlog has migrated."""
    driver = _DRIVERS[system](url)
    try:
        yield driver
    finally:
        driver.close()

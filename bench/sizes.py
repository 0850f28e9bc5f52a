"""How much each benchmark does."""

from dataclasses import dataclass
from typing import Final

ADDS_PER_COMMIT: Final = 10
WARM_UP_ROUNDS: Final = (
    10  # connections, compiled statements, and the server-side ones that psycopg prepares after 5 uses
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    small_rounds: int
    duckdb_rounds: int
    delta_rounds: int
    delta_large_files: int
    delta_large_rounds: int
    bulk_files: int
    bulk_repeats: int
    duckdb_bulk_files: int
    growth_versions: int
    growth_files: int
    growth_rounds: int
    open_rounds: int


FULL: Final = Sizes(
    small_rounds=400,
    duckdb_rounds=60,
    delta_rounds=200,
    delta_large_files=100_000,
    delta_large_rounds=15,
    bulk_files=1_000_000,
    bulk_repeats=2,
    duckdb_bulk_files=250_000,
    growth_versions=50_000,
    growth_files=1_000_000,
    growth_rounds=300,
    open_rounds=200,
)

QUICK: Final = Sizes(
    small_rounds=15,
    duckdb_rounds=3,
    delta_rounds=10,
    delta_large_files=500,
    delta_large_rounds=3,
    bulk_files=4_000,
    bulk_repeats=1,
    duckdb_bulk_files=1_000,
    growth_versions=200,
    growth_files=4_000,
    growth_rounds=10,
    open_rounds=5,
)

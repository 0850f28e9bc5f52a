"""What the demo's tables hold: schemas, and files that are made up but plausible."""

import time
from typing import Final

import orjson

from twinlog.protocol.actions import Add
from twinlog.protocol.schema import PrimitiveType, StructField, StructType

DAYS: Final = ("2026-03-01", "2026-03-02", "2026-03-03")

ORDERS: Final = StructType(
    (
        StructField("order_id", PrimitiveType("long"), nullable=False),
        StructField("customer", PrimitiveType("string")),
        StructField("amount", PrimitiveType("double")),
        StructField("day", PrimitiveType("date")),
    )
)
DAILY_TOTALS: Final = StructType(
    (
        StructField("day", PrimitiveType("date")),
        StructField("orders", PrimitiveType("long")),
        StructField("revenue", PrimitiveType("double")),
    )
)

_ROW_BYTES: Final = 38
_FOOTER_BYTES: Final = 1_870


def orders_file(day: str, name: str, *, records: int, amounts: tuple[float, float], rearranged: bool = False) -> Add:
    """A file of orders; `rearranged` says that its rows were in the table before."""
    low, high = amounts
    first_id = int(day.replace("-", "")) * 100_000
    stats = {
        "numRecords": records,
        "minValues": {"order_id": first_id, "customer": "Abel", "amount": low},
        "maxValues": {"order_id": first_id + 99_999, "customer": "Zoe", "amount": high},
        "nullCount": {"order_id": 0, "customer": 3, "amount": 0},
    }
    return _file(
        f"day={day}/{name}.parquet",
        partition_values={"day": day},
        stats=stats,
        records=records,
        data_change=not rearranged,
    )


def totals_file(name: str, *, days: tuple[str, ...]) -> Add:
    """A file of daily totals, a row a day."""
    stats = {
        "numRecords": len(days),
        "minValues": {"day": min(days), "orders": 900, "revenue": 101_250.5},
        "maxValues": {"day": max(days), "orders": 1_900, "revenue": 180_400.0},
        "nullCount": {"day": 0, "orders": 0, "revenue": 0},
    }
    return _file(f"{name}.parquet", partition_values={}, stats=stats, records=len(days), data_change=True)


def _file(
    path: str, *, partition_values: dict[str, str], stats: dict[str, object], records: int, data_change: bool
) -> Add:
    return Add(
        path=path,
        partition_values=dict(partition_values),
        size=records * _ROW_BYTES + _FOOTER_BYTES,
        modification_time=time.time_ns() // 1_000_000,
        data_change=data_change,
        stats=orjson.dumps(stats).decode(),
    )

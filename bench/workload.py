"""The data files that every side commits: realistic paths and statistics, 30 partitions."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from twinlog.protocol.actions import Add

TABLE: Final = "sales"
PARTITION_COLUMN: Final = "day"
SCHEMA: Final = pa.schema(
    [("order_id", pa.int64()), ("customer", pa.string()), ("amount", pa.float64()), (PARTITION_COLUMN, pa.string())]
)
BATCH_FILES: Final = 10_000

_DAYS: Final = [f"2024-01-{day:02d}" for day in range(1, 31)]
_MODIFIED_MS: Final = 1_704_067_200_000
_RANDOM: Final = random.Random(20240101)


@dataclass(frozen=True, slots=True)
class DataFile:
    path: str
    day: str
    size: int
    modification_time: int
    stats: str

    @property
    def partition_json(self) -> str:
        """Partition values as the log's SQL column has them."""
        return f'{{"{PARTITION_COLUMN}":"{self.day}"}}'


def make_files(count: int) -> list[DataFile]:
    """Files that no call before has made."""
    return [_make_file(number) for number in range(count)]


def make_batches(count: int) -> Iterator[list[DataFile]]:
    """Many files, a batch at a time."""
    for start in range(0, count, BATCH_FILES):
        yield make_files(min(BATCH_FILES, count - start))


def as_adds(files: list[DataFile]) -> list[Add]:
    """As twinlog's actions."""
    return [
        Add(
            path=file.path,
            partition_values={PARTITION_COLUMN: file.day},
            size=file.size,
            modification_time=file.modification_time,
            data_change=True,
            stats=file.stats,
        )
        for file in files
    ]


def as_arrow(files: list[DataFile]) -> pa.RecordBatch:
    """As the Arrow columns that twinlog takes."""
    return pa.RecordBatch.from_pydict(
        {
            "path": pa.array([file.path for file in files], pa.string()),
            "partition_values": pa.array(
                [[(PARTITION_COLUMN, file.day)] for file in files], pa.map_(pa.string(), pa.string())
            ),
            "size": pa.array([file.size for file in files], pa.int64()),
            "modification_time": pa.array([file.modification_time for file in files], pa.int64()),
            "stats": pa.array([file.stats for file in files], pa.string()),
        }
    )


def _make_file(number: int) -> DataFile:
    bits = f"{_RANDOM.getrandbits(128):032x}"
    unique = f"{bits[:8]}-{bits[8:12]}-{bits[12:16]}-{bits[16:20]}-{bits[20:]}"
    day = _DAYS[number % len(_DAYS)]
    first = _RANDOM.randrange(10**9)
    records = _RANDOM.randrange(50_000, 200_000)
    stats = (
        f'{{"numRecords":{records},"minValues":{{"order_id":{first},"customer":"a{bits[:6]}","amount":0.01}},'
        f'"maxValues":{{"order_id":{first + records},"customer":"z{bits[6:12]}","amount":9999.99}},'
        f'"nullCount":{{"order_id":0,"customer":0,"amount":{records // 100}}}}}'
    )
    return DataFile(
        path=f"{PARTITION_COLUMN}={day}/part-{number % 100_000:05d}-{unique}.c000.snappy.parquet",
        day=day,
        size=_RANDOM.randrange(10**6, 10**9),
        modification_time=_MODIFIED_MS + number,
        stats=stats,
    )

"""The scenes of the demo: each does something to a catalog, shows the outcome, and checks it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final, TypeAlias

import orjson

import twinlog
from twinlog.catalog.catalog import Catalog, Table
from twinlog.cli.demo_exhibits import (
    Check,
    Scene,
    count_records,
    draw_history,
    draw_lines,
    draw_moments,
    draw_snapshots,
    draw_verdicts,
    look_at,
)
from twinlog.cli.demo_files import DAILY_TOTALS, DAYS, ORDERS, orders_file, totals_file
from twinlog.errors import CommitConflict, CommitRejected, ConcurrentAppend
from twinlog.protocol.actions import Add, Remove
from twinlog.protocol.schema import PrimitiveType, StructField, StructType

_Act: TypeAlias = Callable[[], Scene]

_LARGE: Final = 300
_FILTER: Final = f"day = '{DAYS[1]}' and amount > {_LARGE}"


class Story:
    """A short life of two tables. The scenes build on each other and are told in order."""

    def __init__(self, url: str, *, root: str) -> None:
        self._url = url
        self._root = root
        self._catalog = twinlog.connect(url)

    def close(self) -> None:
        """Close the catalog."""
        self._catalog.close()

    def scenes(self) -> Iterator[Scene]:
        """Live through one scene after the other."""
        acts: tuple[_Act, ...] = (
            self._create_tables,
            self._append,
            self._commit_to_both,
            self._prune,
            self._compact,
            self._evolve,
            self._travel,
            self._conflict,
            self._retry,
            self._replay,
        )
        for act in acts:
            yield act()

    def count_versions(self) -> int:
        """How many versions the tables have together."""
        return sum(head.version + 1 for head in self._catalog.list_tables())

    @property
    def _orders(self) -> Table:
        return self._catalog.table("orders")

    @property
    def _totals(self) -> Table:
        return self._catalog.table("daily_totals")

    def _heads(self) -> tuple[int, int]:
        return self._orders.head().version, self._totals.head().version

    def _create_tables(self) -> Scene:
        self._catalog.create_table(
            "orders",
            location=f"{self._root}/orders",
            schema=ORDERS,
            partition_by=["day"],
            description="one row an order",
        )
        self._catalog.create_table("daily_totals", location=f"{self._root}/daily_totals", schema=DAILY_TOTALS)
        snapshots = [self._orders.snapshot(), self._totals.snapshot()]
        return Scene(
            "Two tables",
            "Creating a table is version 0 of its log. The protocol is the weakest that the schema and the "
            "properties need, so that every Delta reader can open it.",
            (draw_snapshots(*snapshots),),
            (
                Check("both tables are at version 0", [snapshot.version for snapshot in snapshots] == [0, 0]),
                Check(
                    "readers of version 1 can open them",
                    all(snapshot.protocol.min_reader_version == 1 for snapshot in snapshots),
                ),
            ),
        )

    def _append(self) -> Scene:
        for day in DAYS:
            with self._catalog.transaction(operation="WRITE") as txn:
                txn.table("orders").add(
                    [
                        orders_file(day, "part-0", records=1_200, amounts=(4.5, 180.0)),
                        orders_file(day, "part-1", records=700, amounts=(150.0, 940.0)),
                    ]
                )
        history = self._orders.history()
        times = [commit.timestamp_ms for commit in history]
        return Scene(
            "Three commits",
            "Each commit adds two files of one day, with their statistics: one SQL transaction, no listing, no "
            "renaming. The history is rows that anybody can SELECT.",
            (draw_history(history),),
            (
                Check("versions are dense: 3, 2, 1, 0", [commit.version for commit in history] == [3, 2, 1, 0]),
                Check("commit times strictly increase", times == sorted(set(times), reverse=True)),
                Check("the table has 6 active files", self._orders.snapshot().files().num_rows == len(DAYS) * 2),
            ),
        )

    def _commit_to_both(self) -> Scene:
        with self._catalog.transaction(operation="MERGE") as txn:
            txn.table("orders").add(orders_file(DAYS[2], "late", records=90, amounts=(12.0, 310.0)))
            txn.table("daily_totals").add(totals_file("totals-1", days=DAYS))
        ids = {self._orders.history(limit=1)[0].commit_id, self._totals.history(limit=1)[0].commit_id}
        landed = self._heads()
        refusal = self._refused_half()
        return Scene(
            "One commit over two tables",
            "Late orders and the totals that include them land together: one commit id, a version in each table. "
            "Then a commit whose second half is wrong (it removes a file that is not there): neither half lands.",
            (
                draw_lines(
                    f"landed:  {', '.join(f'{table} version {n}' for table, n in txn.result.versions.items())}",
                    f"refused: {refusal.message if refusal else 'nothing, which is wrong'}",
                ),
            ),
            (
                Check("both tables moved, under one commit id", landed == (4, 1) and len(ids) == 1),
                Check("the wrong commit moved neither of them", refusal is not None and self._heads() == landed),
            ),
        )

    def _refused_half(self) -> CommitRejected | None:
        try:
            with self._catalog.transaction() as txn:
                txn.table("orders").add(orders_file(DAYS[2], "never", records=10, amounts=(1.0, 2.0)))
                txn.table("daily_totals").remove("no-such-file.parquet")
        except CommitRejected as error:
            return error
        return None

    def _prune(self) -> Scene:
        snapshot = self._orders.snapshot()
        kept = set(snapshot.files(_FILTER).column("path").to_pylist())
        verdicts = [(row["path"], _judge(row)) for row in snapshot.files().to_pylist()]
        expected = {path for path, verdict in verdicts if verdict == "read"}
        return Scene(
            "Reading less",
            f"Which files can hold rows with {_FILTER}? Partition values and min/max statistics decide, without "
            "opening a file.",
            (draw_verdicts(sorted(verdicts)),),
            (
                Check("1 of 7 files is left", len(kept) == 1 and len(verdicts) == len(DAYS) * 2 + 1),
                Check("it is the one that a calculation by hand gives", kept == expected),
            ),
        )

    def _compact(self) -> Scene:
        before = look_at("before", self._orders)
        with self._catalog.transaction(operation="OPTIMIZE") as txn:
            orders = txn.table("orders")
            orders.remove(orders.files(f"day = '{DAYS[0]}'"), data_change=False)
            orders.add(orders_file(DAYS[0], "compacted", records=1_900, amounts=(4.5, 940.0), rearranged=True))
        after = look_at("after", self._orders)
        return Scene(
            "Compaction",
            f"The two files of {DAYS[0]} become one: two removes and an add in one commit. The removed files stay "
            "in the log, for readers of older versions.",
            (draw_moments(before, after),),
            (
                Check("one file less", after.num_files == before.num_files - 1),
                Check("the same number of orders", after.num_records == before.num_records),
            ),
        )

    def _evolve(self) -> Scene:
        before = self._orders.snapshot()
        self._orders.set_properties({"delta.enableChangeDataFeed": "true"})
        with self._catalog.transaction(operation="ADD COLUMNS") as txn:
            orders = txn.table("orders")
            wider = StructType((*orders.schema.fields, StructField("currency", PrimitiveType("string"))))
            orders.stage(replace(self._orders.snapshot().metadata, schema_string=wider.to_json()))
        after = self._orders.snapshot()
        gained = after.state.features - before.state.features
        return Scene(
            "A property and a column",
            "A property that needs a table feature brings the feature with it; a new column is a new metaData action. "
            "Earlier versions keep the schema they had.",
            (draw_snapshots(before, after), draw_lines(f"new table feature: {', '.join(sorted(gained))}")),
            (
                Check("the column is there", [field.name for field in after.schema.fields][-1] == "currency"),
                Check("version 5 does not have it", self._orders.snapshot(version=5).schema == ORDERS),
                Check("the change data feed came with its feature", gained == {"changeDataFeed"}),
            ),
        )

    def _travel(self) -> Scene:
        third = next(commit for commit in self._orders.history() if commit.version == len(DAYS))
        by_version = look_at("version 3", self._orders, version=third.version)
        by_time = look_at("its time", self._orders, time_ms=third.timestamp_ms)
        now = look_at("now", self._orders)
        paths = [set(moment.snapshot.files().column("path").to_pylist()) for moment in (by_version, by_time)]
        return Scene(
            "Time travel",
            "A snapshot is an indexed range of rows, for any version and any time: before the late orders, before the "
            "compaction, with the schema of that time.",
            (draw_moments(by_version, by_time, now),),
            (
                Check("version and time lead to the same files", paths[0] == paths[1]),
                Check("version 3 has its 6 files again", by_version.num_files == len(DAYS) * 2),
            ),
        )

    def _conflict(self) -> Scene:
        with twinlog.connect(self._url) as other:
            harmless = self._correct(DAYS[0], rival=lambda: _append_one(other, DAYS[2]))
            rebased = self._orders.history(limit=1)[0]
            conflict = self._correct(DAYS[1], rival=lambda: _append_one(other, DAYS[1]))
            unmoved = self._orders.head().version
            self._correct(DAYS[1])
        history = self._orders.history(limit=4)
        return Scene(
            "A rebase and a conflict",
            f"Two clients work at once. A correction reads and rewrites the files of {DAYS[0]} while somebody appends "
            f"to {DAYS[2]}: it lands on top, silently. Another one corrects {DAYS[1]} while somebody appends to that "
            "very day: it was made without that order, so it is refused; redone on a fresh snapshot, it lands.",
            (
                draw_lines(f"{type(conflict).__name__}: {conflict.message}", f"next: {conflict.hint}")
                if conflict
                else draw_lines("no conflict, which is wrong"),
                draw_history(history),
            ),
            (
                Check(
                    "the first correction read version 7 and landed as 9",
                    harmless is None and (rebased.read_version, rebased.version) == (7, 9),
                ),
                Check("the second one met a concurrent append", isinstance(conflict, ConcurrentAppend)),
                Check(
                    "the conflict names the winner, and nothing landed",
                    conflict is not None and conflict.version == unmoved == history[1].version,
                ),
                Check("redone, it landed", (history[0].version, history[0].operation) == (unmoved + 1, "UPDATE")),
            ),
        )

    def _correct(self, day: str, *, rival: Callable[[], None] | None = None) -> CommitConflict | None:
        """Rewrite the files of a day; a rival commits after they are read."""
        try:
            with self._catalog.transaction(operation="UPDATE") as txn:
                orders = txn.table("orders")
                old = orders.files(f"day = '{day}'")
                if rival:
                    rival()
                orders.remove(old)
                orders.add(orders_file(day, "corrected", records=count_records(old), amounts=(4.5, 940.0)))
        except CommitConflict as error:
            return error
        return None

    def _retry(self) -> Scene:
        results = []
        for _ in range(2):
            with self._catalog.transaction(operation="WRITE", commit_id="demo-nightly-load-42") as txn:
                txn.table("orders").add(orders_file(DAYS[2], "nightly", records=40, amounts=(9.0, 88.0)))
            results.append(txn.result)
        first, second = results
        return Scene(
            "A retry",
            "The answer to a commit got lost, so the writer repeats it with the same commit id. The catalog finds "
            "that it has landed and says where, instead of doing it twice.",
            (
                draw_lines(
                    f"first:  version {first.version}, replayed: {first.replayed}",
                    f"second: version {second.version}, replayed: {second.replayed}",
                ),
            ),
            (
                Check("both answers name one version", first.version == second.version),
                Check("the second did nothing", second.replayed and self._orders.head().version == first.version),
            ),
        )

    def _replay(self) -> Scene:
        matches = [
            _active_files(table, version) == set(table.snapshot(version=version).files().column("path").to_pylist())
            for table in (self._orders, self._totals)
            for version in range(table.head().version + 1)
        ]
        return Scene(
            "The log adds up",
            "Last, every version of both tables is replayed action by action, the way a reader of _delta_log does "
            "it, and compared with what SQL answers.",
            (),
            (Check(f"all {len(matches)} snapshots equal their replay", all(matches)),),
        )


def _append_one(catalog: Catalog, day: str) -> None:
    with catalog.transaction(operation="WRITE") as txn:
        txn.table("orders").add(orders_file(day, "quick", records=1, amounts=(55.0, 55.0)))


def _judge(row: dict[str, Any]) -> str:
    """Whether a file must be read for the demo's filter, worked out without the catalog's help."""
    day = dict(row["partition_values"])["day"]
    if day != DAYS[1]:
        return f"skipped: day is {day}"
    largest = orjson.loads(row["stats"])["maxValues"]["amount"]
    return "read" if largest > _LARGE else f"skipped: amounts end at {largest}"


def _active_files(table: Table, version: int) -> set[str]:
    active: set[str] = set()
    for commit in table.changes(first=0, last=version):
        active |= {action.path for action in commit.actions if isinstance(action, Add)}
        active -= {action.path for action in commit.actions if isinstance(action, Remove)}
    return active

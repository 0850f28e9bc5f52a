"""What the writers of the concurrency tests do. Each gives back what it was told about every commit it tried."""

import itertools
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import twinlog
from tests.support.builders import make_add
from twinlog import Catalog, ReadSet, TableCommit, TwinlogError
from twinlog.protocol.actions import Action, Add, Remove, Txn
from twinlog.protocol.schema import PrimitiveType, StructField, StructType

SCHEMA: Final = StructType((StructField("id", PrimitiveType("long")), StructField("writer", PrimitiveType("string"))))
TABLE: Final = "shared"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a writer was told: the versions of its commit, or the class of the error."""

    commit_id: str
    kind: str
    versions: Mapping[str, int] | None = None
    replayed: bool = False
    error: str | None = None
    message: str = ""


@dataclass(slots=True)
class Report:
    """All that a writer has to say: its outcomes, and the files that it has in the tables at the end."""

    outcomes: list[Outcome] = field(default_factory=list)
    files: set[str] = field(default_factory=set)


def attempt(catalog: Catalog, commit_id: str, kind: str, *requests: TableCommit) -> Outcome:
    try:
        ratified = catalog.writer.commit(*requests, commit_id=commit_id)
    except TwinlogError as error:
        return Outcome(commit_id, kind, error=type(error).__name__, message=str(error))
    return Outcome(commit_id, kind, ratified.versions, ratified.replayed)


class Appender:
    """A writer that shares one table with others and never depends on what they do, except when it reads all."""

    def __init__(self, catalog: Catalog, name: str, seed: int) -> None:
        self.report = Report()
        self._catalog = catalog
        self._name = name
        self._random = random.Random(f"{name} {seed}")
        self._last = 0
        self._mine = catalog.table(TABLE).snapshot().bound(f"writer = '{name}'")

    def run(self, count: int) -> None:
        """Commit so many times in ways that must land, and now and then in one that may not."""
        kinds: Sequence[Callable[[str], TableCommit]] = (
            self.append_blindly,
            self.append_to_an_old_version,
            self.append_to_my_partition,
            self.append_as_application,
            self.rewrite_my_file,
        )
        for number in range(count):
            commit_id = f"{self._name}-{number}"
            make = self._random.choice(kinds)
            self._commit(commit_id, make.__name__, make(commit_id))
            if number % 20 == 10:
                self._commit(f"{commit_id}-all", "read_everything", self.read_everything(f"{commit_id}-all"))

    def append_blindly(self, commit_id: str) -> TableCommit:
        return TableCommit(table=TABLE, actions=self._new_files(commit_id))

    def append_to_an_old_version(self, commit_id: str) -> TableCommit:
        old = self._random.randint(0, self._last)
        return TableCommit(table=TABLE, actions=self._new_files(commit_id), read_version=old)

    def append_to_my_partition(self, commit_id: str) -> TableCommit:
        reads = ReadSet(predicates=(self._mine,), app_ids=frozenset({f"reader of {self._name}"}))
        return TableCommit(table=TABLE, actions=self._new_files(commit_id), read_version=self._last, reads=reads)

    def append_as_application(self, commit_id: str) -> TableCommit:
        txn = Txn(app_id=self._name, app_version=int(commit_id.rpartition("-")[2]))
        return TableCommit(table=TABLE, actions=[txn, *self._new_files(commit_id)])

    def rewrite_my_file(self, commit_id: str) -> TableCommit:
        if not self.report.files:
            return self.append_blindly(commit_id)
        old = self._random.choice(sorted(self.report.files))
        actions: list[Action] = [Remove(path=old, data_change=True), *self._new_files(commit_id)]
        reads = ReadSet(files=frozenset({old}))
        return TableCommit(table=TABLE, actions=actions, read_version=self._last, reads=reads)

    def read_everything(self, commit_id: str) -> TableCommit:
        reads = ReadSet(whole_table=True)
        return TableCommit(table=TABLE, actions=self._new_files(commit_id), read_version=self._last, reads=reads)

    def _new_files(self, commit_id: str) -> list[Add]:
        paths = [f"{commit_id}-{position}" for position in range(self._random.randint(1, 3))]
        return [make_add(path, partition_values={"writer": self._name}) for path in paths]

    def _commit(self, commit_id: str, kind: str, request: TableCommit) -> None:
        outcome = attempt(self._catalog, commit_id, kind, request)
        self.report.outcomes.append(outcome)
        if outcome.versions is not None:
            self._last = outcome.versions[TABLE]
            apply(self.report.files, request.actions)


def apply(files: set[str], actions: Sequence[Action]) -> None:
    """What a commit does to the set of active paths."""
    files -= {action.path for action in actions if isinstance(action, Remove)}
    files |= {action.path for action in actions if isinstance(action, Add)}


def append_many(link: Any, url: str, name: str, count: int, seed: int) -> Report:
    with twinlog.connect(url) as catalog:
        appender = Appender(catalog, name, seed)
        link.meet()
        appender.run(count)
        return appender.report


def race_with_commit_ids(link: Any, url: str, order: Sequence[str], commit_ids: Sequence[str]) -> Report:
    """Commit the same ids as others do, to the same tables in an order of its own, each at the same moment."""
    report = Report()
    with twinlog.connect(url) as catalog:
        for commit_id in commit_ids:
            requests = [TableCommit(table=table, actions=[make_add(f"{commit_id}-{table}")]) for table in order]
            link.meet()
            report.outcomes.append(attempt(catalog, commit_id, "race", *requests))
    return report


def append_to_pairs(link: Any, url: str, name: str, tables: Sequence[str], count: int, seed: int) -> Report:
    """Commit to two tables at a time; every third commit depends on having read the first of them."""
    report = Report()
    chance = random.Random(f"{name} {seed}")
    with twinlog.connect(url) as catalog:
        link.meet()
        for number in range(count):
            commit_id = f"{name}-{number}"
            pair = chance.sample(list(tables), 2)
            requests = [TableCommit(table=table, actions=[make_add(f"{commit_id}-{table}")]) for table in pair]
            kind = "blind"
            if number % 3 == 0:
                kind = "reader"
                requests[0] = TableCommit(
                    table=pair[0],
                    actions=requests[0].actions,
                    read_version=catalog.reader.head(pair[0]).version,
                    reads=ReadSet(whole_table=True),
                )
            report.outcomes.append(attempt(catalog, commit_id, kind, *requests))
            if number % 5 == 0:
                # As after a lost answer: asks while others hold the locks, then repeats.
                catalog.writer.outcome(commit_id, tables=pair)
                report.outcomes.append(attempt(catalog, commit_id, kind, *requests))
    return report


def write_if_the_other_is_empty(link: Any, url: str, rounds: int, mine: str, other: str) -> list[bool]:
    """Add to one table if another has no file of this round yet. Gives the rounds in which it did."""
    wrote = []
    with twinlog.connect(url) as catalog:
        for number in range(rounds):
            link.meet()
            try:
                with catalog.transaction() as txn:
                    found = txn.table(other).files().column("path").to_pylist()
                    if f"round-{number}" not in found:
                        txn.table(mine).add(make_add(f"round-{number}"))
                wrote.append(f"round-{number}" not in found)
            except twinlog.errors.CommitConflict:
                wrote.append(False)
    return wrote


def rewrite_my_table(link: Any, url: str, table: str, count: int) -> Report:
    """Read and rewrite a table that is nobody else's: nothing can be in the way."""
    report = Report()
    with twinlog.connect(url) as catalog:
        link.meet()
        for number in range(count):
            commit_id = f"{table}-{number}"
            snapshot = catalog.table(table).snapshot()
            old = snapshot.files().column("path").to_pylist()
            request = TableCommit(
                table=table,
                actions=[*(Remove(path=path, data_change=True) for path in old), make_add(commit_id)],
                read_version=snapshot.version,
                reads=ReadSet(whole_table=True, files=frozenset(old)),
            )
            report.outcomes.append(attempt(catalog, commit_id, "rewrite", request))
    return report


def remove_the_same_files(link: Any, url: str, name: str, paths: Sequence[str], *, tells_version: bool) -> Report:
    """Replace the same files as others do, each at the same moment."""
    report = Report()
    with twinlog.connect(url) as catalog:
        for path in paths:
            read_version = catalog.reader.head(TABLE).version
            link.meet()
            replacement = make_add(f"{path}-by-{name}", partition_values={"writer": name})
            request = TableCommit(
                table=TABLE,
                actions=[Remove(path=path, data_change=True), replacement],
                read_version=read_version if tells_version else None,
            )
            report.outcomes.append(attempt(catalog, f"{path}-by-{name}", "remove", request))
    return report


def count_up(link: Any, url: str, name: str, count: int) -> list[int]:
    """Add a file named after the number of files there are, again after every conflict. Gives the numbers it got."""
    got: list[int] = []
    with twinlog.connect(url) as catalog:
        link.meet()
        while len(got) < count:
            try:
                with catalog.transaction() as txn:
                    shared = txn.table(TABLE)
                    number = shared.files().num_rows
                    shared.add(make_add(f"{number}-by-{name}", partition_values={"writer": name}))
            except twinlog.errors.CommitConflict:
                continue
            got.append(number)
    return got


def take_row_ids(link: Any, url: str, name: str, count: int) -> Report:
    """Append files of a table that numbers its rows."""
    report = Report()
    chance = random.Random(name)
    with twinlog.connect(url) as catalog:
        link.meet()
        for number in range(count):
            commit_id = f"{name}-{number}"
            files = [make_add(f"{commit_id}-{i}", records=chance.randint(1, 9)) for i in range(2)]
            report.outcomes.append(attempt(catalog, commit_id, "append", TableCommit(table=TABLE, actions=files)))
    return report


def append_whatever_happens(link: Any, url: str, name: str, table: str) -> Report:
    """Append to a table that comes and goes, until told to stop."""
    report = Report()
    with twinlog.connect(url) as catalog:
        link.meet()
        while not link.has_message():
            commit_id = f"{name}-{len(report.outcomes)}"
            request = TableCommit(table=table, actions=[make_add(commit_id)])
            report.outcomes.append(attempt(catalog, commit_id, "append", request))
    return report


def read_whatever_happens(link: Any, url: str, table: str) -> tuple[int, list[str]]:
    """Read a table that comes and goes, in every way, until told to stop. Gives how often it worked, and the errors."""
    reads: Sequence[Callable[[Catalog], object]] = (
        lambda catalog: catalog.table(table).snapshot().files(),
        lambda catalog: catalog.table(table).snapshot(version=0).domains(),
        lambda catalog: catalog.table(table).snapshot().txns(),
        lambda catalog: catalog.table(table).history(),
        lambda catalog: list(catalog.table(table).changes(first=0)),
    )
    worked = 0
    errors: list[str] = []
    with twinlog.connect(url) as catalog:
        link.meet()
        for read in itertools.cycle(reads):
            if link.has_message():
                return worked, errors
            try:
                read(catalog)
            except Exception as error:  # noqa: BLE001 - the test says which are allowed
                errors.append(f"{type(error).__name__}: {error}")
            else:
                worked += 1
    return worked, errors

"""Processes that commit and crash at a chosen point, and processes that look at what they left behind."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final
from unittest import mock

import pyarrow as pa
from sqlalchemy import Connection, event

import twinlog
from tests.crash.audit import Head, audit
from tests.support.builders import make_add, make_files, make_table
from tests.support.processes import die
from twinlog import Catalog, Ratified, TableCommit
from twinlog.catalog.database import Database
from twinlog.catalog.spool import FileSpool
from twinlog.protocol.actions import Remove, Txn

BULK_FILES: Final = 20_000
COMMIT_ID: Final = "the commit that is interrupted"

# Where a commit can be cut off, in the order in which it gets there.
POINTS: Final = (
    "before BEGIN",
    "after the row lock",
    "after the version row",
    "amid the inserts",
    "before COMMIT",
    "after COMMIT",
)


def prepare(_link: Any, url: str) -> dict[str, Head]:
    """Two tables with a file each to be removed."""
    with twinlog.connect(url) as catalog:
        for name in ("a", "b"):
            make_table(catalog, name)
            catalog.writer.commit(TableCommit(table=name, actions=[make_add("old")]))
        return audit(catalog)


def commit_small(catalog: Catalog) -> Ratified:
    return catalog.writer.commit(_small_share("a"), commit_id=COMMIT_ID)


def commit_to_both(catalog: Catalog) -> Ratified:
    return catalog.writer.commit(_small_share("b"), _small_share("a"), commit_id=COMMIT_ID)


def commit_many_files(catalog: Catalog) -> Ratified:
    request = TableCommit(table="a", actions=[Remove(path="old", data_change=True)], files=many_files())
    return catalog.writer.commit(request, commit_id=COMMIT_ID)


def many_files() -> Iterator[pa.RecordBatch]:
    step = BULK_FILES // 5
    for start in range(0, BULK_FILES, step):
        yield from make_files(f"many-{number}" for number in range(start, start + step)).to_batches()


def _small_share(table: str) -> TableCommit:
    actions = (
        Txn(app_id="app", app_version=7),
        Remove(path="old", data_change=True),
        make_add("new"),
        make_add("newer"),
    )
    return TableCommit(table=table, actions=actions)


JOBS: Final[dict[str, tuple[Callable[[Catalog], Ratified], Sequence[str]]]] = {
    "small": (commit_small, ("a",)),
    "several tables": (commit_to_both, ("a", "b")),
    "many files": (commit_many_files, ("a",)),
}


def commit_and_crash(_link: Any, url: str, job: str, point: str) -> None:
    catalog = twinlog.connect(url)
    arm(catalog, point)
    JOBS[job][0](catalog)


def create_and_crash(_link: Any, url: str, point: str) -> None:
    catalog = twinlog.connect(url)
    arm(catalog, point, lock="INSERT INTO dl_tables", inserts="INSERT INTO dl_metadata_updates")
    make_table(catalog, "created")


def migrate_and_crash(_link: Any, url: str, point: str) -> None:
    def armed(given: str) -> Database:
        database = Database(given)
        arm_database(database, point, lock="CREATE TABLE dl_tables", inserts="CREATE TABLE dl_add_files")
        return database

    with mock.patch("twinlog.catalog.catalog.Database", armed):
        twinlog.connect(url)


def arm(
    catalog: Catalog, point: str, *, lock: str = "UPDATE dl_tables", inserts: str = "INSERT INTO dl_add_files"
) -> None:
    arm_database(catalog._database, point, lock=lock, inserts=inserts)


def arm_database(database: Database, point: str, *, lock: str, inserts: str) -> None:
    """Make this process crash when its next transaction gets to a point."""
    engine = database.engine
    match point:
        case "before BEGIN":
            event.listen(engine, "begin", _die_if_writing, insert=True)
        case "after the row lock":
            _die_after(engine, lock)
        case "after the version row":
            _die_after(engine, "INSERT INTO dl_table_versions")
        case "amid the inserts":
            _die_after(engine, inserts)
            _die_in_the_third_batch()
        case "before COMMIT":
            event.listen(engine, "commit", lambda _connection: die())
        case "after COMMIT":
            commit = engine.dialect.do_commit

            def commit_and_die(connection: Any) -> None:
                commit(connection)
                die()

            mock.patch.object(engine.dialect, "do_commit", commit_and_die).start()


def _die_if_writing(connection: Connection) -> None:
    if connection.get_execution_options().get("twinlog_write"):
        die()


def _die_after(engine: Any, statement_start: str) -> None:
    def look(_connection: object, _cursor: object, statement: str, *_rest: object) -> None:
        if statement.lstrip().startswith(statement_start):
            die()

    event.listen(engine, "after_cursor_execute", look)


def _die_in_the_third_batch() -> None:
    """Bulk inserts go past SQLAlchemy, so there the crash comes from what feeds them."""
    original = FileSpool.batches

    def batches(spool: FileSpool) -> Iterator[pa.RecordBatch]:
        for number, batch in enumerate(original(spool)):
            if number == 2:
                die()
            yield batch

    mock.patch.object(FileSpool, "batches", batches).start()


@dataclass(frozen=True, slots=True)
class Findings:
    """What a fresh process finds: each table's head, its paths, and where the interrupted commit is."""

    heads: dict[str, Head]
    paths: dict[str, set[str]]
    landed: Ratified | None


def inspect(_link: Any, url: str, tables: Sequence[str] = ("a", "b")) -> Findings:
    with twinlog.connect(url) as catalog:
        return _findings(catalog, tables)


def repeat(_link: Any, url: str, job: str) -> tuple[Ratified, Ratified, Ratified, Findings]:
    """Commit something else, then the interrupted commit, twice."""
    commit, tables = JOBS[job]
    with twinlog.connect(url) as catalog:
        other = catalog.writer.commit(
            *(TableCommit(table=table, actions=[make_add("unrelated")]) for table in tables), commit_id="unrelated"
        )
        return other, commit(catalog), commit(catalog), _findings(catalog, ("a", "b"))


def _findings(catalog: Catalog, tables: Sequence[str]) -> Findings:
    heads = audit(catalog)
    present = [table for table in tables if table in heads]
    paths = {table: set(catalog.table(table).snapshot().files().column("path").to_pylist()) for table in present}
    return Findings(heads, paths, catalog.writer.outcome(COMMIT_ID, tables=present))


def commit_until_killed(link: Any, url: str, first: int) -> None:
    """Commit numbers one after another, to both tables, and say so after each."""
    with twinlog.connect(url) as catalog:
        link.meet()
        number = first
        while True:
            ratified = commit_number(catalog, number)
            link.send((number, dict(ratified.versions), ratified.replayed))
            number += 1


def commit_number(catalog: Catalog, number: int) -> Ratified:
    shares = [
        TableCommit(table=table, actions=[make_add(f"{table}-{number}-{part}") for part in range(3)])
        for table in ("a", "b")
    ]
    return catalog.writer.commit(*shares, commit_id=f"number {number}")


def numbers_in_the_log(_link: Any, url: str) -> dict[int, dict[str, int]]:
    """Every number that landed, with its version in each table; audited."""
    with twinlog.connect(url) as catalog:
        audit(catalog)
        found: dict[int, dict[str, int]] = {}
        for table in ("a", "b"):
            for record in catalog.table(table).history():
                if record.commit_id.startswith("number "):
                    found.setdefault(int(record.commit_id[7:]), {})[table] = record.version
            paths = catalog.table(table).snapshot().files().column("path").to_pylist()
            expected = {
                f"{table}-{number}-{part}" for number, places in found.items() if table in places for part in range(3)
            }
            assert set(paths) == expected | {"old"}
        return found

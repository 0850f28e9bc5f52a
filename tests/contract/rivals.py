"""Two commits that meet: what one of them read and wants to write, and what the other one got in before it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from tests.support.builders import commit, make_daily_add, make_table
from twinlog import Catalog, Ratified, ReadSet, Snapshot, TableCommit
from twinlog.catalog.definition import property_changes
from twinlog.protocol.actions import Action, DomainMetadata, Metadata

MONDAY, TUESDAY, WEDNESDAY = "2024-01-01", "2024-01-02", "2024-01-03"
READ_MONDAY = f"day = '{MONDAY}'"

Commits = Callable[[Snapshot], Sequence[Action]]


@dataclass(frozen=True, kw_only=True)
class Meeting:
    """`mine` and `winner` are the actions of the two commits, derived from the same version."""

    mine: Commits
    winner: Commits
    predicate: str | None = None
    whole_table: bool = False
    app_id: str | None = None
    properties: dict[str, str] = field(default_factory=dict)


def actions(*given: Action) -> Commits:
    return lambda _: given


def set_property(key: str, value: str) -> Commits:
    return lambda snapshot: property_changes(snapshot.state, {key: value}, ())


def set_domain(domain: str) -> Commits:
    return actions(DomainMetadata(domain=domain, configuration="{}", removed=False))


def describe(text: str) -> Commits:
    def changed(snapshot: Snapshot) -> Sequence[Metadata]:
        return [replace(snapshot.metadata, description=text)]

    return changed


def make_meeting_table(catalog: Catalog, name: str, meeting: Meeting) -> Snapshot:
    """A table with a file of Monday and one of Tuesday, at version 1."""
    properties = {"delta.feature.domainMetadata": "supported"} | meeting.properties
    table = make_table(catalog, name, partition_by=["day"], properties=properties)
    commit(catalog, make_daily_add(MONDAY), make_daily_add(TUESDAY), table=name)
    return table.snapshot()


def meet_by_writer(
    catalog: Catalog, name: str, meeting: Meeting, between: Callable[[], None] = lambda: None
) -> Ratified:
    """Through `writer.commit` with the read set spelled out."""
    read = make_meeting_table(catalog, name, meeting)
    reads = ReadSet(
        predicates=(read.bound(meeting.predicate),) if meeting.predicate else (),
        files=frozenset(read.files(meeting.predicate).column("path").to_pylist()) if meeting.predicate else frozenset(),
        whole_table=meeting.whole_table,
        app_ids=frozenset({meeting.app_id} if meeting.app_id else ()),
    )
    commit(catalog, *meeting.winner(read), read_version=read.version, table=name)
    between()
    mine = TableCommit(table=name, actions=meeting.mine(read), read_version=read.version, reads=reads)
    return catalog.writer.commit(mine)


def meet_by_transaction(
    catalog: Catalog, name: str, meeting: Meeting, between: Callable[[], None] = lambda: None
) -> Ratified:
    """Through `catalog.transaction()`, whose reads are remembered."""
    read = make_meeting_table(catalog, name, meeting)
    with catalog.transaction() as txn:
        table = txn.table(name)
        assert table.version == read.version
        if meeting.predicate or meeting.whole_table:
            table.files(meeting.predicate)
        if meeting.app_id:
            table.application_version(meeting.app_id)
        commit(catalog, *meeting.winner(read), read_version=read.version, table=name)
        between()
        table.stage(*meeting.mine(read))
    return txn.result


MEETINGS_BY: dict[str, Callable[..., Ratified]] = {"writer": meet_by_writer, "transaction": meet_by_transaction}

"""A commit that is repeated long after it landed is told where that was, whatever has happened to the table since."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.crash.audit import audit
from tests.support.builders import DV_PROPERTIES, commit, make_add, make_dv, make_files, make_remove, make_table
from twinlog import Catalog, ReadSet, Table, TableCommit
from twinlog.protocol.actions import DomainMetadata, Txn
from twinlog.protocol.features import upgrade_protocol


def with_features(table: Table, *features: str) -> TableCommit:
    snapshot = table.snapshot()
    protocol = upgrade_protocol(snapshot.protocol, features)
    assert protocol is not None
    return TableCommit(table=table.name, actions=[protocol], read_version=snapshot.version)


def with_properties(table: Table, **properties: str) -> TableCommit:
    snapshot = table.snapshot()
    configuration = {**snapshot.metadata.configuration, **properties}
    changed = replace(snapshot.metadata, configuration=configuration)
    return TableCommit(table=table.name, actions=[changed], read_version=snapshot.version)


def repartitioned(table: Table) -> TableCommit:
    snapshot = table.snapshot()
    removes = [make_remove(path) for path in snapshot.files().column("path").to_pylist()]
    changed = replace(snapshot.metadata, partition_columns=("name",))
    return TableCommit(table=table.name, actions=[changed, *removes], read_version=snapshot.version)


def add(path: str) -> Callable[[Table], TableCommit]:
    return lambda table: TableCommit(table=table.name, actions=[make_add(path)])


# What is committed and repeated, and what happens in between.
CASES: dict[str, tuple[Callable[[Table], TableCommit], Callable[[Table], TableCommit]]] = {
    "an append": (add("new"), add("other")),
    "an append of a file that was removed since": (
        add("new"),
        lambda table: TableCommit(table=table.name, actions=[make_remove("new")]),
    ),
    "a remove": (lambda table: TableCommit(table=table.name, actions=[make_remove("old")]), add("old")),
    "a new vector": (
        lambda table: TableCommit(
            table=table.name, actions=[make_remove("old"), make_add("old", deletion_vector=make_dv())]
        ),
        lambda table: TableCommit(table=table.name, actions=[make_remove("old", deletion_vector=make_dv())]),
    ),
    "a commit that read everything": (
        lambda table: TableCommit(
            table=table.name, actions=[make_add("new")], read_version=1, reads=ReadSet(whole_table=True)
        ),
        add("other"),
    ),
    "an application's transaction": (
        lambda table: TableCommit(table=table.name, actions=[Txn(app_id="app", app_version=1)]),
        lambda table: TableCommit(table=table.name, actions=[Txn(app_id="app", app_version=2)]),
    ),
    "a domain": (
        lambda table: TableCommit(
            table=table.name,
            actions=[DomainMetadata(domain="d", configuration="1", removed=False)],
            read_version=1,
        ),
        lambda table: TableCommit(
            table=table.name, actions=[DomainMetadata(domain="d", configuration="2", removed=False)]
        ),
    ),
    "properties": (lambda table: with_properties(table, x="1"), lambda table: with_properties(table, x="2")),
    "a remove from a table that is append-only since": (
        lambda table: TableCommit(table=table.name, actions=[make_remove("old")]),
        lambda table: with_properties(table, **{"delta.appendOnly": "true"}),
    ),
    "a feature, with more features since": (
        lambda table: with_features(table, "checkConstraints"),
        lambda table: with_features(table, "v2Checkpoint"),
    ),
    "files as Arrow": (
        lambda table: TableCommit(table=table.name, files=make_files(["new"])),
        lambda table: TableCommit(table=table.name, actions=[make_remove("new")]),
    ),
    "files as Arrow to a table that is partitioned since": (
        lambda table: TableCommit(table=table.name, files=make_files(["new"])),
        repartitioned,
    ),
    "actions to a table that is partitioned since": (add("new"), repartitioned),
}


@pytest.mark.parametrize(("first", "since"), CASES.values(), ids=CASES)
def test_commit_when_repeated_after_the_table_has_moved_on_then_told_where_it_landed(
    catalog: Catalog, first: Callable[[Table], TableCommit], since: Callable[[Table], TableCommit]
):
    table = make_table(catalog, properties={**DV_PROPERTIES, "delta.feature.domainMetadata": "supported"})
    commit(catalog, make_add("old"))
    request = first(table)
    assert catalog.writer.commit(request, commit_id="x").version == 2
    catalog.writer.commit(since(table))

    if request.files is not None:
        request = replace(request, files=make_files(["new"]))
    again = catalog.writer.commit(request, commit_id="x")
    assert (again.version, again.replayed) == (2, True)
    assert audit(catalog)[table.name].version == 3

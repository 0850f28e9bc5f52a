"""Random commits to a table, legal ones and ones that must be refused, drawn with a model of the table at hand."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import pyarrow as pa
from hypothesis import strategies as st

from tests.support.builders import SCHEMA, make_add, make_dv, make_files, make_remove, make_stats
from tests.support.replay_model import ReplayState, file_key
from tests.support.strategies import nullable_string_maps, texts, unknown_fields
from twinlog import FILES_SCHEMA, Catalog, Table
from twinlog.errors import CommitRejected, InvalidAction, TwinlogError
from twinlog.protocol.actions import Action, Add, Cdc, CommitInfo, DomainMetadata, Metadata, Txn
from twinlog.protocol.codec import encode_json
from twinlog.protocol.features import upgrade_protocol

PROPERTIES: Final = {
    "delta.enableDeletionVectors": "true",
    "delta.enableChangeDataFeed": "true",
    "delta.feature.domainMetadata": "supported",
}
PATHS: Final = ("a", "b", "c/d", "e%20f", "é", "s3://elsewhere/g")
APPS: Final = ("app", "other app")
DOMAINS: Final = ("d", "e")

printable = texts.filter(lambda text: "\0" not in text)


@dataclass(frozen=True, slots=True)
class Step:
    """A commit to try: its actions, the files given as Arrow, whether it names a read version, and what is expected."""

    actions: Sequence[Action]
    files: Sequence[Add] = ()
    names_version: bool = False
    refused_with: type[TwinlogError] | None = None
    is_replay: bool = False

    @property
    def everything(self) -> list[Action]:
        return [*self.actions, *self.files]


def make_partitioned_table(catalog: Catalog, name: str) -> Table:
    return catalog.create_table(
        name, location=f"s3://lake/{name}", schema=SCHEMA, partition_by=["name"], properties=PROPERTIES
    )


@st.composite
def file_changes(draw: st.DrawFn, state: ReplayState) -> list[Action]:
    """Adds, removes, new vectors and repeated adds of some paths."""
    actions: list[Action] = []
    for path in draw(st.lists(st.sampled_from(PATHS), unique=True, max_size=4)):
        if path not in state.paths:
            actions.append(draw(adds(path)))
            continue
        vector = state.vector_of(path)
        what = draw(st.sampled_from(["remove", "new vector", "again"]))
        if what == "again":
            actions.append(replace(draw(adds(path)), deletion_vector=vector))
            continue
        actions.append(make_remove(path, deletion_vector=vector, data_change=draw(st.booleans())))
        if what == "new vector":
            added = draw(adds(path))
            if file_key(added) != (path, vector.unique_id if vector else ""):
                actions.append(added)
    return actions


@st.composite
def adds(draw: st.DrawFn, path: str) -> Add:
    vector = draw(st.none() | st.integers(1, 3).map(make_dv))
    return make_add(
        path,
        partition_values={"name": draw(st.none() | printable.filter(bool))},
        size=draw(st.integers(0, 2**53)),
        modification_time=draw(st.integers(0, 2**53)),
        data_change=draw(st.booleans()),
        stats=make_stats(draw(st.integers(0, 9)), name=("a", draw(printable))),
        tags=draw(st.none() | nullable_string_maps),
        deletion_vector=vector,
        clustering_provider=draw(st.none() | printable),
        extra=draw(unknown_fields),
    )


@st.composite
def domain_changes(draw: st.DrawFn) -> list[Action]:
    chosen = draw(st.lists(st.sampled_from(DOMAINS), unique=True))
    return [
        DomainMetadata(domain=domain, configuration=draw(printable), removed=draw(st.booleans())) for domain in chosen
    ]


@st.composite
def table_changes(draw: st.DrawFn, state: ReplayState) -> list[Action]:
    """Now and then new properties or a new feature."""
    actions: list[Action] = []
    assert state.metadata is not None
    assert state.protocol is not None
    if draw(st.integers(0, 4)) == 0:
        actions.append(with_property(state.metadata, draw(st.sampled_from(["x", "y"])), draw(printable)))
    upgraded = upgrade_protocol(state.protocol, {draw(st.sampled_from(["checkConstraints", "v2Checkpoint"]))})
    if upgraded and draw(st.integers(0, 6)) == 0:
        actions.append(upgraded)
    return actions


def with_property(metadata: Metadata, key: str, value: str) -> Metadata:
    return replace(metadata, configuration={**metadata.configuration, key: value})


@st.composite
def legal_steps(draw: st.DrawFn, state: ReplayState) -> Step:
    changed = draw(file_changes(state))
    txns = [
        Txn(app_id=app, app_version=last + draw(st.integers(1, 3)), last_updated=draw(st.none() | st.integers(0, 9)))
        for app in draw(st.lists(st.sampled_from(APPS), unique=True))
        for last in [state.txns[app].app_version if app in state.txns else -1]
    ]
    others = draw(table_changes(state))
    names_version = bool(others) or draw(st.booleans())
    others += [*txns, *draw(domain_changes())]
    others += draw(st.sampled_from([[], [CommitInfo(operation="MERGE", user_metadata="u")]]))
    if draw(st.booleans()):
        others.append(Cdc(path="_change_data/c", partition_values={"name": None}, size=1))
    as_arrow = [add for add in changed if isinstance(add, Add)] if draw(st.integers(0, 3)) == 0 else []
    in_order = [action for action in changed if action not in as_arrow]
    return Step(draw(st.permutations(others + in_order)), as_arrow, names_version)


@st.composite
def refused_steps(draw: st.DrawFn, state: ReplayState) -> Step:
    """Commits that break a rule which only the table's state can tell, among actions that are fine by themselves."""
    fine = Txn(app_id="never", app_version=1)
    path = draw(st.sampled_from(PATHS))
    if path not in state.paths:
        return Step([fine, make_remove(path)], refused_with=CommitRejected)
    vector = state.vector_of(path)
    other = make_dv(9)
    if draw(st.booleans()):
        return Step([make_remove(path, deletion_vector=other), fine], refused_with=CommitRejected)
    missing_remove = replace(draw(adds(path)), deletion_vector=other if vector != other else None)
    if draw(st.booleans()):
        return Step([fine], [missing_remove], refused_with=InvalidAction)
    return Step([missing_remove, fine], refused_with=InvalidAction)


@st.composite
def steps(draw: st.DrawFn, state: ReplayState) -> Step:
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return draw(refused_steps(state))
    if kind == 1 and state.txns:
        app = draw(st.sampled_from(sorted(state.txns)))
        old = Txn(app_id=app, app_version=state.txns[app].app_version - draw(st.integers(0, 1)))
        return Step([old, *draw(file_changes(ReplayState()))], is_replay=True)
    return draw(legal_steps(state))


def to_arrow(files: Sequence[Add]) -> pa.Table:
    """Files in the shape in which large commits are given."""
    names = [field.name for field in FILES_SCHEMA if field.name not in {"path", "extra"}]
    return pa.concat_tables(
        make_files(
            [add.path],
            **{name: getattr(add, name) for name in names},
            extra=encode_json(add.extra).decode() if add.extra else None,
        )
        for add in files
    )

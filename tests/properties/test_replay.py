"""Whatever is committed, every version reads as Delta's rules say, in whatever order its actions came."""

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import twinlog
from tests.crash.audit import audit
from tests.properties.commit_sequences import Step, make_partitioned_table, steps, to_arrow
from tests.support.replay_model import FileKey, ReplayState, file_key
from twinlog import Catalog, Snapshot, Table, TableCommit
from twinlog.protocol.actions import Action, Add, Cdc, CommitInfo, DeletionVector, Metadata, Remove
from twinlog.protocol.fields import specs_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EXAMPLES = {"sqlite": 80, "duckdb": 8, "postgresql": 30}
names = itertools.count()


@pytest.fixture
def shared_catalog(database_url: str) -> Iterator[Catalog]:
    """One catalog for all examples of a test; each has tables of its own."""
    with twinlog.connect(database_url) as catalog:
        yield catalog


class Recorded:
    """A table with the state that the model gives it at each version."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self.table = make_partitioned_table(catalog, f"t{next(names)}")
        first = self.table.snapshot()
        self.states = [ReplayState().after([first.metadata, first.protocol])]
        self.committed: list[Sequence[Action]] = []

    @property
    def state(self) -> ReplayState:
        return self.states[-1]

    def take(self, step: Step) -> None:
        """Commit a step and compare the answer with what the model expects."""
        version = len(self.states) - 1
        if step.refused_with:
            with pytest.raises(step.refused_with) as error:
                self._commit(step)
            assert error.value.table == self.table.name
        elif step.is_replay:
            assert self._commit(step).replayed
        else:
            assert self._commit(step).version == version + 1
            self.states.append(self.state.after(step.everything))
            self.committed.append(step.everything)
        assert self.table.head().version == len(self.states) - 1

    def _commit(self, step: Step) -> twinlog.Ratified:
        return self._catalog.writer.commit(
            TableCommit(
                table=self.table.name,
                actions=step.actions,
                files=to_arrow(step.files) if step.files else None,
                read_version=len(self.states) - 1 if step.names_version else None,
            )
        )


def run(catalog: Catalog, data: st.DataObject) -> None:
    recorded, shuffled = Recorded(catalog), Recorded(catalog)
    chance = random.Random(data.draw(st.integers(0, 2**32), label="order"))
    for number in range(data.draw(st.integers(1, 7), label="commits")):
        step = data.draw(steps(recorded.state), label=f"commit {number}")
        recorded.take(step)
        shuffled.take(mixed(step, chance, shuffled.table.snapshot().metadata))
    check_versions(recorded.table, recorded.states)
    check_versions(shuffled.table, shuffled.states)
    check_log(recorded)
    assert [same_files(state) for state in recorded.states] == [same_files(state) for state in shuffled.states]


def mixed(step: Step, chance: random.Random, owner: Metadata) -> Step:
    """The same step in another order, all of it as actions, for a table that has its own id and name."""
    identity = {name: getattr(owner, name) for name in ("id", "name", "created_time")}
    actions = [replace(action, **identity) if isinstance(action, Metadata) else action for action in step.everything]
    chance.shuffle(actions)
    return replace(step, actions=actions, files=())


def same_files(state: ReplayState) -> tuple[object, ...]:
    return state.files, state.txns, state.domains


def check_versions(table: Table, states: Sequence[ReplayState]) -> None:
    times = {record.version: record.timestamp_ms for record in table.history()}
    for version, state in enumerate(states):
        snapshots = [
            table.snapshot(version=version),
            table.snapshot(timestamp=EPOCH + timedelta(milliseconds=times[version])),
        ]
        for snapshot in snapshots:
            assert snapshot.version == version
            assert (snapshot.metadata, snapshot.protocol) == (state.metadata, state.protocol)
        assert read_files(snapshots[0]) == state.files
        assert snapshots[0].txns() == state.txns
        assert snapshots[0].domains() == state.domains


def read_files(snapshot: Snapshot) -> dict[FileKey, Add]:
    found = [to_add(row) for row in snapshot.files().to_pylist()]
    files = {file_key(add): add for add in found}
    assert len(files) == len(found)
    return files


def to_add(row: dict[str, Any]) -> Add:
    vector = row["deletion_vector"]
    values = {
        **row,
        "partition_values": dict(row["partition_values"]),
        "tags": None if row["tags"] is None else dict(row["tags"]),
        "deletion_vector": DeletionVector(**vector) if vector else None,
        "extra": orjson.loads(row["extra"]) if row["extra"] else {},
    }
    del values["version"]
    return Add(**values)


def check_log(recorded: Recorded) -> None:
    """The log itself tells the same story: every action, in its order, and nothing is lost when it is replayed."""
    state = ReplayState()
    for commit in recorded.table.changes(first=0):
        actions = commit.actions[1:]
        assert isinstance(commit.actions[0], CommitInfo)
        if commit.version > 0:
            given = [action for action in recorded.committed[commit.version - 1] if not isinstance(action, CommitInfo)]
            assert len(actions) == len(given)
            for read, wanted in zip(actions, given, strict=True):
                check_action(read, wanted, state)
        state = state.after(action for action in actions if not isinstance(action, Cdc))
        assert state == recorded.states[commit.version]


def check_action(read: Action, given: Action, before: ReplayState) -> None:
    if not isinstance(given, Remove):
        assert read == given
        return
    assert isinstance(read, Remove)
    removed = before.files[file_key(given)]
    # What a remove does not say is copied from the file it removes.
    for spec in specs_of(Remove):
        value = getattr(given, spec.name)
        if value is None and spec.name not in {"deletion_timestamp", "extended_file_metadata"}:
            value = getattr(removed, spec.name)
        if value is not None:
            assert getattr(read, spec.name) == value, spec.name
    assert read.extended_file_metadata
    assert read.deletion_timestamp is not None


@pytest.mark.slow
def test_every_version_when_commits_are_random_then_reads_as_the_model_says(
    shared_catalog: Catalog, request: pytest.FixtureRequest
):
    kind = request.node.callspec.params["database_url"]

    @settings(
        max_examples=EXAMPLES[kind],
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.nested_given],
        # Shrinking takes hundreds of runs: only where those are fast.
        phases=[Phase.reuse, Phase.generate, *([Phase.shrink] if kind == "sqlite" else [])],
    )
    @given(st.data())
    def examples(data: st.DataObject) -> None:
        run(shared_catalog, data)

    examples()
    audit(shared_catalog)

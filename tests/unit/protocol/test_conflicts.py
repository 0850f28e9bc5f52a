from dataclasses import replace
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.support.conflict_cases import PROTOCOL, bound, make_attempt, make_metadata, make_winner
from tests.support.conflict_model import MATERIALIZED, MAX_ID, MODE, PROTOCOLS, ROW_TRACKING, first_clash
from twinlog.errors import (
    CommitConflict,
    ConcurrentAppend,
    ConcurrentDeleteDelete,
    ConcurrentDeleteRead,
    ConcurrentTransaction,
    MetadataChanged,
    ProtocolChanged,
    Retry,
)
from twinlog.protocol.actions import Metadata, Protocol
from twinlog.protocol.conflicts import Attempt, ConflictKind, Needs, Winner, check_conflicts, needs
from twinlog.protocol.isolation import IsolationLevel, ReadSet
from twinlog.protocol.predicates import Predicate

SERIALIZABLE = IsolationLevel.SERIALIZABLE
WRITE_SERIALIZABLE = IsolationLevel.WRITE_SERIALIZABLE
SNAPSHOT = IsolationLevel.SNAPSHOT
LEGACY_PROTOCOL, ICT_PROTOCOL = PROTOCOLS[0][0], PROTOCOLS[3][0]
BACKFILL, UNBACKFILL = "ROW TRACKING BACKFILL", "ROW TRACKING UNBACKFILL"
IN_A, IN_B = {"p": "a", "q": "1"}, {"p": "b", "q": "2"}
A_FILE = ReadSet(files=frozenset({"f"}))
WHOLE_TABLE = ReadSet(whole_table=True)


def reading(text: str) -> ReadSet:
    return ReadSet(predicates=(bound(text),))


@pytest.mark.parametrize(
    ("attempt", "winner", "kind"),
    [
        pytest.param({}, {}, None, id="nothing shared"),
        pytest.param(
            {"protocol": PROTOCOL}, {"protocol": PROTOCOL}, ConflictKind.PROTOCOL_CHANGED, id="both change protocol"
        ),
        pytest.param({}, {"protocol": LEGACY_PROTOCOL}, ConflictKind.PROTOCOL_CHANGED, id="winner drops a feature"),
        pytest.param({}, {"protocol": PROTOCOLS[4][0]}, ConflictKind.PROTOCOL_CHANGED, id="winner swaps features"),
        pytest.param({"read_protocol": PROTOCOLS[2][0]}, {"protocol": ICT_PROTOCOL}, None, id="winner adds a feature"),
        pytest.param(
            {"read_protocol": LEGACY_PROTOCOL}, {"protocol": ICT_PROTOCOL}, None, id="winner lists implied features"
        ),
        pytest.param({"protocol": LEGACY_PROTOCOL}, {}, ConflictKind.PROTOCOL_CHANGED, id="attempt drops a feature"),
        pytest.param({"protocol": PROTOCOL}, {}, None, id="attempt keeps all features"),
        pytest.param(
            {"metadata": make_metadata()},
            {"metadata": make_metadata(high_water_mark=5)},
            ConflictKind.METADATA_CHANGED,
            id="both change metadata",
        ),
        pytest.param(
            {"domains": frozenset({"d", "e"})},
            {"domains": frozenset({"d"})},
            ConflictKind.CONCURRENT_TRANSACTION,
            id="same domain",
        ),
        pytest.param(
            {"domains": frozenset({"delta.rowTracking"})},
            {"domains": frozenset({"delta.rowTracking"})},
            None,
            id="row tracking domain is derived again",
        ),
        pytest.param({"domains": frozenset({"d"})}, {"domains": frozenset({"e"})}, None, id="other domain"),
        pytest.param(
            {"reads": ReadSet(app_ids=frozenset({"stream"}))},
            {"app_ids": frozenset({"stream"})},
            ConflictKind.CONCURRENT_TRANSACTION,
            id="application read by the attempt",
        ),
        pytest.param({}, {"app_ids": frozenset({"stream"})}, None, id="application not read by the attempt"),
        pytest.param(
            {"reads": reading("p = 'a'")}, {"adds": [IN_B, IN_A]}, ConflictKind.CONCURRENT_APPEND, id="read partition"
        ),
        pytest.param({"reads": reading("p = 'a'")}, {"adds": [IN_B]}, None, id="other partition"),
        pytest.param(
            {"reads": reading("p = 'a' AND v = 1")}, {"adds": [IN_A]}, ConflictKind.CONCURRENT_APPEND, id="data test"
        ),
        pytest.param({"reads": reading("p = 'a' AND v = 1")}, {"adds": [IN_B]}, None, id="data test, other partition"),
        pytest.param({"reads": reading("p IS NULL")}, {"adds": [IN_A]}, None, id="partition is not null"),
        pytest.param(
            {"reads": reading("p = 'a'"), "read_metadata": make_metadata(partition_columns=())},
            {"adds": [{}]},
            ConflictKind.CONCURRENT_APPEND,
            id="table without partitions",
        ),
        pytest.param({"reads": WHOLE_TABLE}, {"adds": [IN_B]}, ConflictKind.CONCURRENT_APPEND, id="whole table read"),
        pytest.param({"reads": A_FILE}, {"adds": [IN_A]}, None, id="files read, files added"),
        pytest.param(
            {"reads": WHOLE_TABLE},
            {"adds": [IN_A], "is_blind_append": True},
            ConflictKind.CONCURRENT_APPEND,
            id="blind append, serializable",
        ),
        pytest.param(
            {"reads": WHOLE_TABLE, "isolation_level": WRITE_SERIALIZABLE},
            {"adds": [IN_A], "is_blind_append": True},
            None,
            id="blind append, write serializable",
        ),
        pytest.param(
            {"reads": WHOLE_TABLE, "isolation_level": WRITE_SERIALIZABLE, "metadata": make_metadata()},
            {"adds": [IN_A], "is_blind_append": True},
            ConflictKind.CONCURRENT_APPEND,
            id="blind append, write serializable with metadata",
        ),
        pytest.param(
            {"reads": WHOLE_TABLE, "isolation_level": WRITE_SERIALIZABLE},
            {"adds": [IN_A]},
            ConflictKind.CONCURRENT_APPEND,
            id="change, write serializable",
        ),
        pytest.param(
            {"reads": WHOLE_TABLE, "isolation_level": SNAPSHOT}, {"adds": [IN_A]}, None, id="snapshot isolation"
        ),
        pytest.param({"is_blind_append": True}, {"adds": [IN_A]}, None, id="attempt is a blind append"),
        pytest.param({"reads": WHOLE_TABLE}, {"adds": [IN_A], "operation": BACKFILL}, None, id="winner backfills"),
        pytest.param({"reads": WHOLE_TABLE, "operation": UNBACKFILL}, {"adds": [IN_A]}, None, id="attempt unbackfills"),
        pytest.param(
            {"reads": A_FILE},
            {"removes": frozenset({"f"})},
            ConflictKind.CONCURRENT_DELETE_READ,
            id="read file removed",
        ),
        pytest.param({"reads": A_FILE}, {"removes": frozenset({"g"})}, None, id="other file removed"),
        pytest.param(
            {"reads": WHOLE_TABLE}, {"removes": frozenset({"g"})}, ConflictKind.CONCURRENT_DELETE_READ, id="any removed"
        ),
        pytest.param(
            {"reads": A_FILE, "isolation_level": SNAPSHOT},
            {"removes": frozenset({"f"})},
            ConflictKind.CONCURRENT_DELETE_READ,
            id="snapshot isolation does not excuse a removed file",
        ),
        pytest.param(
            {"removes": frozenset({"f"})},
            {"removes": frozenset({"f"})},
            ConflictKind.CONCURRENT_DELETE_DELETE,
            id="both remove",
        ),
        pytest.param({"removes": frozenset({"f"})}, {"removes": frozenset({"g"})}, None, id="different removes"),
    ],
)
def test_check_conflicts_follows_deltas_table(
    attempt: dict[str, Any], winner: dict[str, Any], kind: ConflictKind | None
) -> None:
    conflict = check_conflicts(make_attempt(**attempt), [make_winner(**winner)])
    assert (conflict and conflict.kind) == kind


CONFIGURATION = {"delta.checkpointPolicy": "classic", "delta.appendOnly": "false", "io.unitycatalog.tableId": "old"}


@pytest.mark.parametrize(
    ("changes", "adopted"),
    [
        ({}, True),
        ({"delta.enableDeletionVectors": "true"}, True),
        ({"delta.enableDeletionVectors": "false"}, False),
        ({"delta.enableRowTracking": "true", MATERIALIZED: "_row_id"}, True),
        ({MATERIALIZED: "_row_id"}, False),
        ({"delta.enableRowTracking": "false", MATERIALIZED: "_row_id"}, False),
        (
            {
                "delta.enableInCommitTimestamps": "true",
                "delta.inCommitTimestampEnablementVersion": "5",
                "delta.inCommitTimestampEnablementTimestamp": "1700000000000",
            },
            True,
        ),
        ({"delta.checkpointPolicy": "v2"}, True),
        ({"delta.checkpointPolicy": "other"}, False),
        ({"io.unitycatalog.tableId": "new"}, False),
        ({"delta.appendOnly": "true"}, False),
        ({"delta.enableDeletionVectors": "true", "delta.appendOnly": "true"}, False),
        ({MODE: "name", MAX_ID: "3"}, True),
        ({MODE: "id", MAX_ID: "3"}, False),
        ({MAX_ID: "3"}, False),
        ({"my.property": "x"}, False),
    ],
)
def test_property_changes_are_adopted_only_if_harmless(changes: dict[str, str], adopted: bool) -> None:  # noqa: FBT001
    attempt = make_attempt(read_metadata=make_metadata(configuration=CONFIGURATION))
    winner = make_winner(metadata=make_metadata(configuration=CONFIGURATION | changes))
    assert (check_conflicts(attempt, [winner]) is None) is adopted


@pytest.mark.parametrize(
    ("winning", "adopted"),
    [
        (make_metadata(), True),
        (make_metadata(high_water_mark=100), True),
        (make_metadata(configuration={MODE: "name", MAX_ID: "3"}, mapped=True), True),
        (make_metadata(mapped=True), False),
        (make_metadata(description="new"), False),
        (make_metadata(name="new"), False),
        (make_metadata(partition_columns=("p",)), False),
        (make_metadata(schema_string='{"type":"struct","fields":[]}'), False),
        (make_metadata(schema_string=None), False),
        (replace(make_metadata(), id="another table"), False),
    ],
)
def test_other_metadata_changes_are_adopted_only_if_harmless(winning: Metadata, adopted: bool) -> None:  # noqa: FBT001
    assert (check_conflicts(make_attempt(), [make_winner(metadata=winning)]) is None) is adopted


def test_removed_property_is_a_conflict() -> None:
    attempt = make_attempt(read_metadata=make_metadata(configuration={"delta.enableDeletionVectors": "true"}))
    conflict = check_conflicts(attempt, [make_winner(metadata=make_metadata())])
    assert conflict is not None
    assert conflict.kind is ConflictKind.METADATA_CHANGED


def test_adopted_metadata_is_what_later_winners_are_compared_with() -> None:
    first = make_metadata(configuration={"delta.enableDeletionVectors": "true"})
    second = make_metadata(configuration={"delta.enableDeletionVectors": "true", "delta.enableRowTracking": "true"})
    reverted = make_metadata()
    winners = [make_winner(metadata=first), make_winner(version=7, metadata=second)]
    assert check_conflicts(make_attempt(), winners) is None
    conflict = check_conflicts(make_attempt(), [*winners, make_winner(version=8, metadata=reverted)])
    assert conflict is not None
    assert (conflict.kind, conflict.version) == (ConflictKind.METADATA_CHANGED, 8)


def test_partition_values_are_read_by_physical_name() -> None:
    metadata = make_metadata(configuration={MODE: "name", MAX_ID: "3"}, mapped=True)
    assert metadata.schema_string is not None
    renamed = replace(
        metadata, schema_string=metadata.schema_string.replace('physicalName": "p"', 'physicalName": "x"')
    )
    attempt = make_attempt(read_metadata=renamed, reads=reading("p = 'a'"))
    assert check_conflicts(attempt, [make_winner(adds=[{"x": "b", "q": "1"}])]) is None
    assert check_conflicts(attempt, [make_winner(adds=[{"x": "a", "q": "1"}])]) is not None


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"is_blind_append": True}, Needs(adds=False, removes=False)),
        ({}, Needs(adds=False, removes=False)),
        ({"reads": reading("p = 'a'")}, Needs(adds=True, removes=False)),
        ({"reads": A_FILE}, Needs(adds=False, removes=True)),
        ({"removes": frozenset({"f"})}, Needs(adds=False, removes=True)),
        ({"reads": WHOLE_TABLE}, Needs(adds=True, removes=True)),
        ({"reads": WHOLE_TABLE, "isolation_level": SNAPSHOT}, Needs(adds=False, removes=True)),
        ({"reads": WHOLE_TABLE, "operation": BACKFILL}, Needs(adds=False, removes=True)),
    ],
)
def test_needs_asks_only_for_what_can_decide(fields: dict[str, Any], expected: Needs) -> None:
    assert needs(make_attempt(**fields)) == expected


@pytest.mark.parametrize(
    ("attempt", "winner", "error", "message"),
    [
        (
            {"reads": reading("p = 'a' AND v > 1")},
            {"adds": [IN_A]},
            ConcurrentAppend,
            "version 6 added a file in partition p=a, q=1 to what this commit read: p = 'a' AND v > 1",
        ),
        (
            {"reads": WHOLE_TABLE, "read_metadata": make_metadata(partition_columns=())},
            {"adds": [{}]},
            ConcurrentAppend,
            "version 6 added a file to what this commit read: the whole table",
        ),
        (
            {"reads": A_FILE},
            {"removes": frozenset({"f"})},
            ConcurrentDeleteRead,
            "version 6 removed 'f', which this commit read at version 5",
        ),
        (
            {"removes": frozenset({"f"})},
            {"removes": frozenset({"f"})},
            ConcurrentDeleteDelete,
            "version 6 removed 'f', which this commit removes too",
        ),
        (
            {"domains": frozenset({"d"})},
            {"domains": frozenset({"d"})},
            ConcurrentTransaction,
            "version 6 wrote the domain d, which this commit writes too",
        ),
        ({}, {"metadata": make_metadata(name="x")}, MetadataChanged, "version 6 changed the metadata"),
        ({}, {"protocol": LEGACY_PROTOCOL}, ProtocolChanged, "version 6 dropped inCommitTimestamp"),
    ],
)
def test_conflict_becomes_the_error_that_names_winner_and_cause(
    attempt: dict[str, Any], winner: dict[str, Any], error: type[CommitConflict], message: str
) -> None:
    conflict = check_conflicts(make_attempt(**attempt), [make_winner(**winner)])
    assert conflict is not None
    raised = conflict.to_error("sales")
    assert type(raised) is error
    assert message in raised.message
    assert (raised.table, raised.version, raised.retry) == ("sales", 6, Retry.AFTER_REBASE)
    assert raised.hint == "reload the snapshot at version 6 and redo the commit on it"


PREDICATES = [
    "p = 'a'",
    "p != 'a'",
    "q > 1",
    "q IN (1, NULL)",
    "p IS NULL",
    "v = 1",
    "p = 'a' AND v = 1",
    "p = 'a' OR v = 1",
    "NOT (p = 'a' AND v = 1)",
    "NOT (p = 'a' OR v IS NULL)",
    "(p = 'b' OR v > 3) AND NOT (q = 1 OR v IN (7))",
    "FALSE",
]
CHANGES: list[dict[str, str | None]] = [
    {"delta.enableDeletionVectors": "true"},
    {"delta.enableDeletionVectors": "false"},
    {ROW_TRACKING: "true", MATERIALIZED: "_row_id"},
    {ROW_TRACKING: "false"},
    {MATERIALIZED: "_other"},
    {MODE: "none"},
    {MODE: "name", MAX_ID: "3"},
    {MAX_ID: "9"},
    {"delta.checkpointPolicy": "v2"},
    {"delta.checkpointPolicy": "classic"},
    {"delta.enableInCommitTimestamps": "true", "delta.inCommitTimestampEnablementVersion": "5"},
    {"delta.inCommitTimestampEnablementVersion": "6"},
    {"io.unitycatalog.tableId": "t-1"},
    {"io.unitycatalog.tableId": "t-2"},
    {"delta.appendOnly": "true"},
    {"delta.enableDeletionVectors": None},
]


def rarely(values: st.SearchStrategy[Any], otherwise: Any = None, *, odds: int = 4) -> st.SearchStrategy[Any]:
    return st.integers(1, odds).flatmap(lambda number: values if number == odds else st.just(otherwise))


def subsets(*names: str) -> st.SearchStrategy[frozenset[str]]:
    return st.frozensets(st.sampled_from(names), max_size=2)


protocols: st.SearchStrategy[Protocol] = st.sampled_from([protocol for protocol, _ in PROTOCOLS])
read_predicates: st.SearchStrategy[Predicate] = st.sampled_from([bound(text) for text in PREDICATES])
paths = rarely(subsets("f", "g", "h"), frozenset(), odds=2)
domains = rarely(subsets("d", "e", "delta.rowTracking"), frozenset(), odds=3)
app_ids = rarely(subsets("x", "y"), frozenset(), odds=3)
operations = rarely(st.sampled_from([BACKFILL, UNBACKFILL, "WRITE"]))
partitions = st.fixed_dictionaries({"p": st.sampled_from(["a", "b", None]), "q": st.sampled_from(["1", "2", None])})
metadata_changes = st.lists(st.sampled_from(CHANGES), max_size=2)


@st.composite
def attempts(draw: st.DrawFn) -> Attempt:
    partition_columns = draw(st.sampled_from([("p", "q"), ("p", "q"), ()]))
    reads = st.builds(
        ReadSet,
        predicates=st.lists(read_predicates, max_size=2).map(tuple),
        files=paths,
        whole_table=rarely(st.just(value=True), otherwise=False),
        app_ids=app_ids,
    )
    return make_attempt(
        read_protocol=draw(protocols),
        read_metadata=make_metadata(partition_columns=partition_columns),
        reads=draw(reads),
        isolation_level=draw(st.sampled_from(IsolationLevel)),
        is_blind_append=draw(rarely(st.just(value=True), otherwise=False)),
        removes=draw(paths),
        domains=draw(domains),
        metadata=draw(rarely(st.just(make_metadata(partition_columns=partition_columns)), odds=8)),
        protocol=draw(rarely(protocols, odds=12)),
        operation=draw(operations),
    )


@st.composite
def histories(draw: st.DrawFn) -> tuple[Attempt, list[Winner]]:
    """An attempt and up to three winners; each change of metadata builds on the one before."""
    attempt = draw(attempts())
    partition_columns = attempt.read_state.metadata.partition_columns
    configuration: dict[str, str] = {}
    winners = []
    for version in range(6, 6 + draw(st.integers(0, 3))):
        metadata = None
        for changes in draw(rarely(metadata_changes, (), odds=6)):
            updated = {**configuration, **changes}
            configuration = {key: value for key, value in updated.items() if value is not None}
            metadata = make_metadata(
                configuration=configuration,
                partition_columns=partition_columns,
                high_water_mark=draw(st.integers(0, 1)),
                mapped=configuration.get(MODE) == "name" and draw(st.booleans()),
            )
        winners.append(
            make_winner(
                version=version,
                is_blind_append=draw(st.booleans()),
                adds=draw(st.lists(partitions, max_size=2)),
                removes=draw(paths),
                app_ids=draw(app_ids),
                domains=draw(domains),
                metadata=metadata,
                protocol=draw(rarely(protocols, odds=12)),
                operation=draw(operations),
            )
        )
    return attempt, winners


@settings(max_examples=500, deadline=None)
@given(histories())
def test_check_conflicts_agrees_with_the_model(history: tuple[Attempt, list[Winner]]) -> None:
    attempt, winners = history
    conflict = check_conflicts(attempt, winners)
    event(conflict.kind.name if conflict else "no conflict")
    assert (conflict and (conflict.version, conflict.kind)) == first_clash(attempt, winners)


@settings(deadline=None)
@given(histories())
def test_file_actions_that_are_not_needed_do_not_matter(history: tuple[Attempt, list[Winner]]) -> None:
    attempt, winners = history
    needed = needs(attempt)
    loaded = [
        replace(
            winner,
            adds=winner.adds if needed.adds else (),
            removes=winner.removes if needed.removes else frozenset(),
        )
        for winner in winners
    ]
    assert check_conflicts(attempt, loaded) == check_conflicts(attempt, winners)

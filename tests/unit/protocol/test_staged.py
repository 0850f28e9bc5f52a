from dataclasses import replace
from typing import Any

import pytest

from tests.support.builders import make_add, make_dv, make_remove, make_stats
from twinlog.errors import InvalidAction
from twinlog.protocol.actions import (
    Action,
    Cdc,
    CheckpointMetadata,
    CommitInfo,
    DomainMetadata,
    Format,
    Metadata,
    Protocol,
    Sidecar,
    Txn,
    UnknownAction,
)
from twinlog.protocol.staged import check_stats, record_count, stage

METADATA = Metadata(id="i", schema_string="{}", partition_columns=(), configuration={})
PROTOCOL = Protocol(min_reader_version=1, min_writer_version=2)
TXN = Txn(app_id="app", app_version=1)
DOMAIN = DomainMetadata(domain="d", configuration="{}", removed=False)
CDC = Cdc(path="_change_data/c", partition_values={}, size=1)
NAN_HINT = "write NaN and infinities as strings or omit them"
KEEP_ONE = "keep one of them"
NUL_HINT = "remove the character"


def wrong(action: Any, **changes: Any) -> Any:
    """An action with values that its types forbid."""
    return replace(action, **changes)


def test_stage_when_all_kinds_are_given_then_sorted_and_the_order_kept():
    info = CommitInfo(operation="WRITE")
    add, other_add, remove = make_add("a"), make_add("b"), make_remove("c")
    given: list[Action] = [remove, TXN, info, other_add, METADATA, DOMAIN, add, CDC, PROTOCOL]
    staged = stage(iter(given))
    assert staged.ordered == tuple(action for action in given if action is not info)
    assert (staged.adds, staged.removes, staged.cdcs) == ((other_add, add), (remove,), (CDC,))
    assert (staged.txns, staged.domains) == ((TXN,), (DOMAIN,))
    assert (staged.metadata, staged.protocol, staged.commit_info) == (METADATA, PROTOCOL, info)


def test_stage_when_nothing_is_given_then_empty():
    staged = stage([])
    assert not any((staged.ordered, staged.adds, staged.removes, staged.cdcs, staged.txns, staged.domains))
    assert not any((staged.metadata, staged.protocol, staged.commit_info))


ACCEPTED: list[tuple[str, list[Action]]] = [
    (
        "one path with two vectors, one added and one removed",
        [make_add("a", deletion_vector=make_dv()), make_remove("a")],
    ),
    ("a vector replaced", [make_remove("a", deletion_vector=make_dv(1)), make_add("a", deletion_vector=make_dv(2))]),
    ("several applications", [TXN, replace(TXN, app_id="other")]),
    ("several domains", [DOMAIN, replace(DOMAIN, domain="other", removed=True)]),
    ("a file without statistics", [make_add("a", stats=None)]),
    ("an empty file", [make_add("a", size=0)]),
    (
        "extended metadata that is complete",
        [make_remove("a", extended_file_metadata=True, partition_values={}, size=0)],
    ),
    ("extended metadata denied", [make_remove("a", extended_file_metadata=False)]),
    ("a removed file with a vector and no statistics", [make_remove("a", deletion_vector=make_dv())]),
    ("the same path as data and as change data", [make_add("a"), replace(CDC, path="a")]),
    ("an absolute path", [make_add("s3://other/a%20b")]),
]


@pytest.mark.parametrize("actions", [case[1] for case in ACCEPTED], ids=[case[0] for case in ACCEPTED])
def test_stage_when_the_commit_is_legal_then_accepted(actions: list[Action]):
    assert stage(actions).ordered == tuple(actions)


# What is refused, with the message (or its beginning) and the hint, if it is not the usual one.
REFUSED: list[tuple[str, list[Action], str, str | None]] = [
    ("two metaData", [METADATA, METADATA], "a commit may hold one metaData, found 2", None),
    ("two protocols", [PROTOCOL, PROTOCOL, PROTOCOL], "a commit may hold one protocol, found 3", None),
    ("two commitInfos", [CommitInfo(), CommitInfo()], "a commit may hold one commitInfo, found 2", None),
    ("an application twice", [TXN, replace(TXN, app_version=2)], "duplicate txn for 'app' in one commit", KEEP_ONE),
    (
        "a domain twice",
        [DOMAIN, replace(DOMAIN, removed=True)],
        "duplicate domainMetadata for 'd' in one commit",
        KEEP_ONE,
    ),
    ("a cdc file twice", [CDC, CDC], "duplicate cdc for '_change_data/c' in one commit", KEEP_ONE),
    ("a file added twice", [make_add("a"), make_add("a")], "duplicate add for 'a' in one commit", KEEP_ONE),
    (
        "a path added with two vectors",
        [make_add("a", deletion_vector=make_dv(1)), make_add("a", deletion_vector=make_dv(2))],
        "duplicate add for 'a' in one commit",
        KEEP_ONE,
    ),
    (
        "a path removed with two vectors",
        [make_remove("a", deletion_vector=make_dv(1)), make_remove("a")],
        "duplicate remove for 'a' in one commit",
        KEEP_ONE,
    ),
    (
        "a file added and removed",
        [make_add("a"), make_remove("a")],
        "'a' is both added and removed with the same deletion vector",
        KEEP_ONE,
    ),
    (
        "a vector added and removed",
        [make_remove("a", deletion_vector=make_dv()), make_add("a", deletion_vector=make_dv())],
        "'a' is both added and removed with the same deletion vector",
        KEEP_ONE,
    ),
    (
        "a checkpoint header",
        [CheckpointMetadata(version=1)],
        "checkpointMetadata does not belong in a commit",
        "remove the line",
    ),
    (
        "a sidecar",
        [Sidecar(path="s", size_in_bytes=1, modification_time=1)],
        "sidecar does not belong in a commit",
        "remove the line",
    ),
    (
        "an unknown action",
        [UnknownAction(kind="checkpoint", body={})],
        "unknown action 'checkpoint'",
        "remove the line, or upgrade twinlog",
    ),
    ("NUL in a path", [make_add("a\0")], "add.path contains a NUL character", NUL_HINT),
    ("NUL in an app id", [replace(TXN, app_id="\0")], "txn.appId contains a NUL character", NUL_HINT),
    (
        "NUL in a domain",
        [replace(DOMAIN, configuration="\0")],
        "domainMetadata.configuration contains a NUL character",
        NUL_HINT,
    ),
    (
        "NUL in a schema",
        [replace(METADATA, schema_string="\0")],
        "metaData.schemaString contains a NUL character",
        NUL_HINT,
    ),
    (
        "NUL in provenance",
        [CommitInfo(user_metadata="\0")],
        "commitInfo.userMetadata contains a NUL character",
        NUL_HINT,
    ),
    ("a negative size", [make_add("a", size=-1)], "'a' has the negative size -1", None),
    ("a negative size removed", [make_remove("a", size=-1)], "'a' has the negative size -1", None),
    ("a negative cdc size", [replace(CDC, size=-1)], "'_change_data/c' has the negative size -1", None),
    ("cdc with dataChange", [replace(CDC, data_change=True)], "cdc '_change_data/c' must have dataChange false", None),
    (
        "an empty path",
        [make_add("")],
        "path '' is empty",
        "write the path as a URI, relative to the table root",
    ),
    (
        "a raw space in a removed path",
        [make_remove("a b")],
        "path 'a b' has a character that must be percent-encoded",
        "write the path as a URI, relative to the table root",
    ),
    (
        "a cdc path out of the table",
        [replace(CDC, path="../c")],
        "path '../c' has a '..' segment",
        "write the path as a URI, relative to the table root",
    ),
    (
        "a malformed vector",
        [make_add("a", deletion_vector=replace(make_dv(), storage_type="x"))],
        "deletion vector 'x",
        None,
    ),
    (
        "a malformed vector removed",
        [make_remove("a", deletion_vector=replace(make_dv(), cardinality=-1))],
        "deletion vector 'u",
        None,
    ),
    ("stats that are not JSON", [make_add("a", stats="{NaN}")], "the stats of 'a' are not valid JSON: ", NAN_HINT),
    ("stats with NaN", [make_add("a", stats='{"numRecords":NaN}')], "the stats of 'a' are not valid JSON: ", NAN_HINT),
    ("stats that are no object", [make_add("a", stats="[1]")], "the stats of 'a' must be a JSON object", None),
    ("stats of a remove", [make_remove("a", stats="7")], "the stats of 'a' must be a JSON object", None),
    ("empty stats", [make_add("a", stats="")], "the stats of 'a' are not valid JSON: ", None),
    (
        "a vector without statistics",
        [make_add("a", deletion_vector=make_dv(), stats=None)],
        "'a' has a deletion vector, so its stats must give numRecords",
        None,
    ),
    (
        "a vector without a record count",
        [make_add("a", deletion_vector=make_dv(), stats="{}")],
        "'a' has a deletion vector, so its stats must give numRecords",
        None,
    ),
    (
        "extended metadata without a size",
        [make_remove("a", extended_file_metadata=True, partition_values={})],
        "remove of 'a' claims extendedFileMetadata without partitionValues and size",
        "leave extendedFileMetadata out: it is filled in from the file being removed",
    ),
    (
        "extended metadata without partition values",
        [make_remove("a", extended_file_metadata=True, size=1)],
        "remove of 'a' claims extendedFileMetadata without partitionValues and size",
        "leave extendedFileMetadata out: it is filled in from the file being removed",
    ),
    (
        "a size of the wrong type",
        [wrong(make_add("a"), size="1")],
        "add.size must be a 64-bit integer, not a string",
        None,
    ),
    ("a flag for a size", [wrong(make_add("a"), size=True)], "add.size must be a 64-bit integer, not a boolean", None),
    (
        "a path of the wrong type",
        [wrong(make_remove("a"), path=1)],
        "remove.path must be a string, not the number 1",
        None,
    ),
    ("no path at all", [wrong(make_remove("a"), path=None)], "remove.path is missing", None),
    (
        "a partition value that is not text",
        [wrong(make_add("a"), partition_values={"k": 1})],
        "add.partitionValues must be an object of strings and nulls, not an object",
        None,
    ),
    (
        "a property that is null",
        [wrong(METADATA, configuration={"k": None})],
        "metaData.configuration must be an object of strings, not an object",
        None,
    ),
    (
        "text for partition columns",
        [wrong(METADATA, partition_columns="day")],
        "metaData.partitionColumns must be a list of strings, not a string",
        None,
    ),
    (
        "a nested field of the wrong type",
        [replace(METADATA, format=wrong(Format(), provider=1))],
        "metaData.format.provider must be a string, not the number 1",
        None,
    ),
    (
        "a vector's field of the wrong type",
        [make_add("a", deletion_vector=wrong(make_dv(), cardinality=1.5))],
        "add.deletionVector.cardinality must be a 64-bit integer, not the number 1.5",
        None,
    ),
]


@pytest.mark.parametrize(
    ("actions", "message", "hint"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_stage_when_a_rule_is_broken_then_refused(actions: list[Action], message: str, hint: str | None):
    for position in (0, 1):  # whatever stands beside the offender
        beside: list[Action] = [make_add("beside")]
        with pytest.raises(InvalidAction) as error:
            stage(beside[:position] + actions + beside[position:])
        assert error.value.message.startswith(message)
        if not message.endswith(": ") and not message.startswith("deletion vector"):
            assert error.value.message == message
        assert error.value.hint == (hint or InvalidAction.usual_hint)


def test_stage_when_an_unknown_field_shadows_a_known_one_then_refused():
    # It would be checked and stored as 'a' but published as '../b'.
    with pytest.raises(InvalidAction):
        stage([make_add("a", extra={"path": "../b"})])


@pytest.mark.parametrize(
    ("stats", "count"),
    [
        (None, None),
        ("{}", None),
        ('{"numRecords":0}', 0),
        ('{"numRecords":7}', 7),
        ('{"numRecords":-1}', None),
        ('{"numRecords":1.0}', None),
        ('{"numRecords":true}', None),
        ('{"numRecords":"7"}', None),
    ],
)
def test_record_count_when_statistics_are_read_then_only_a_whole_number_counts(stats: str | None, count: int | None):
    assert record_count(stats) == count


def test_check_stats_when_valid_then_parsed():
    assert check_stats(make_stats(3, id=(1, 2)), path="a")["maxValues"] == {"id": 2}

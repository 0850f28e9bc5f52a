"""The conflict rules once more, as sets: every clash of every winner is collected, then the first one is picked.

Written from Delta's rules and not from the code under test. It knows only the small world that the tests generate:
the protocols in `PROTOCOLS` and the property values in `HARMLESS_CHANGES`.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product

from tests.support.sql_semantics import evaluate
from twinlog.protocol.actions import Metadata, PartitionValues, Protocol
from twinlog.protocol.conflicts import Attempt, ConflictKind, Winner
from twinlog.protocol.isolation import IsolationLevel
from twinlog.protocol.partition_values import decode_partition_value
from twinlog.protocol.predicates import And, ColumnPath, Comparison, Not, Op, Or, Predicate, columns
from twinlog.protocol.schema import parse_schema, walk

LEGACY_2 = {"appendOnly", "invariants"}
LEGACY_4 = LEGACY_2 | {"checkConstraints", "changeDataFeed", "generatedColumns"}


def _listing(writer_only: set[str], both: set[str] | None = None) -> tuple[Protocol, set[str]]:
    reader = tuple(sorted(both)) if both else None
    writer = tuple(sorted(writer_only | (both or set())))
    protocol = Protocol(
        min_reader_version=3 if both else 1, min_writer_version=7, reader_features=reader, writer_features=writer
    )
    return protocol, set(writer)


PROTOCOLS: Sequence[tuple[Protocol, set[str]]] = (
    (Protocol(min_reader_version=1, min_writer_version=2), LEGACY_2),
    (Protocol(min_reader_version=1, min_writer_version=4), LEGACY_4),
    _listing(LEGACY_2),
    _listing(LEGACY_2 | {"inCommitTimestamp"}),
    _listing(LEGACY_4 | {"rowTracking", "domainMetadata"}, {"deletionVectors"}),
    _listing(set()),
)

MODE, MAX_ID = "delta.columnMapping.mode", "delta.columnMapping.maxColumnId"
ROW_TRACKING = "delta.enableRowTracking"
MATERIALIZED = "delta.rowTracking.materializedRowIdColumnName"
HARMLESS_CHANGES = {
    (key, before, "true")
    for key in (ROW_TRACKING, "delta.enableDeletionVectors", "delta.enableInCommitTimestamps")
    for before in (None, "false")
} | {
    (MODE, None, "name"),
    (MODE, "none", "name"),
    ("delta.checkpointPolicy", None, "v2"),
    ("delta.checkpointPolicy", "classic", "v2"),
    ("delta.inCommitTimestampEnablementVersion", None, "5"),
    ("delta.inCommitTimestampEnablementVersion", None, "6"),
    ("io.unitycatalog.tableId", None, "t-1"),
    ("io.unitycatalog.tableId", None, "t-2"),
}
MAPPING_KEYS = {"delta.columnMapping.id", "delta.columnMapping.physicalName"}


def first_clash(attempt: Attempt, winners: Sequence[Winner]) -> tuple[int, ConflictKind] | None:
    clashes = {
        (winner.version, rank, kind.name)
        for winner in winners
        for rank, (kind, rule) in enumerate(RULES)
        if rule(attempt, winner, _metadata_before(winner, attempt, winners))
    }
    if not clashes:
        return None
    version, _, name = min(clashes)
    return version, ConflictKind[name]


def _metadata_before(winner: Winner, attempt: Attempt, winners: Sequence[Winner]) -> Metadata:
    earlier = [other.metadata for other in winners if other.version < winner.version and other.metadata]
    return earlier[-1] if earlier else attempt.read_state.metadata


def _features(protocol: Protocol | None) -> set[str]:
    return next(features for known, features in PROTOCOLS if known == protocol)


def _drops(attempt: Attempt, protocol: Protocol | None) -> bool:
    return protocol is not None and bool(_features(attempt.read_state.protocol) - _features(protocol))


def _is_harmless(old: Metadata, new: Metadata) -> bool:
    before, after = dict(old.configuration), dict(new.configuration)
    changes = {(key, before.get(key), after.get(key)) for key in before | after if before.get(key) != after.get(key)}
    maps_columns = any(key == MODE and now == "name" and was in (None, "none") for key, was, now in changes)
    companions = {change for change in changes if change[0] == MAX_ID and maps_columns and change[2]}
    companions |= {change for change in changes if change[0] == MATERIALIZED and after.get(ROW_TRACKING) == "true"}
    if any(now is None for _, _, now in changes) or changes - HARMLESS_CHANGES - companions:
        return False
    if (old.description, old.partition_columns) != (new.description, new.partition_columns):
        return False
    unimportant = {"delta.identity.highWaterMark"} | (MAPPING_KEYS if maps_columns else set())
    return _flat_schema(old, unimportant) == _flat_schema(new, unimportant)


def _flat_schema(metadata: Metadata, unimportant: set[str]) -> list[tuple[object, ...]]:
    assert metadata.schema_string is not None
    return [
        (
            path,
            type(field.data_type).__name__,
            getattr(field.data_type, "name", None),
            field.nullable,
            {key: value for key, value in field.metadata.items() if key not in unimportant},
        )
        for path, field in walk(parse_schema(metadata.schema_string))
    ]


def _reads_an_addition(attempt: Attempt, winner: Winner) -> bool:
    types = attempt.read_state.partition_column_types
    if attempt.reads.whole_table:
        return bool(list(winner.adds))
    return any(
        _could_hold(predicate, values, types) for predicate in attempt.reads.predicates for values in winner.adds
    )


def _could_hold(predicate: Predicate, values: PartitionValues, types: Mapping[ColumnPath, str]) -> bool:
    """Whether some outcome of the tests on data columns makes the predicate true in this partition."""
    unknowns: list[ColumnPath] = []
    abstract = _with_data_tests_open(predicate, set(types), unknowns)
    partition = {path: decode_partition_value(values[path[0]], name) for path, name in types.items()}
    return any(
        evaluate(abstract, partition | dict(zip(unknowns, outcome, strict=True)))
        for outcome in product((True, False, None), repeat=len(unknowns))
    )


def _with_data_tests_open(predicate: Predicate, known: set[ColumnPath], unknowns: list[ColumnPath]) -> Predicate:
    if isinstance(predicate, And | Or):
        return type(predicate)(tuple(_with_data_tests_open(part, known, unknowns) for part in predicate.operands))
    if isinstance(predicate, Not):
        return Not(_with_data_tests_open(predicate.operand, known, unknowns))
    if columns(predicate) <= known:
        return predicate
    unknowns.append(("unknown", str(len(unknowns))))
    return Comparison(unknowns[-1], Op.EQ, literal=True)


def _append_clashes(attempt: Attempt, winner: Winner) -> bool:
    rewrites = {"ROW TRACKING BACKFILL", "ROW TRACKING UNBACKFILL"}
    if {attempt.operation, winner.operation} & rewrites or attempt.is_blind_append:
        return False
    strictness = {
        (IsolationLevel.SERIALIZABLE, False): {"append", "change"},
        (IsolationLevel.SERIALIZABLE, True): {"append", "change"},
        (IsolationLevel.WRITE_SERIALIZABLE, False): {"change"},
        (IsolationLevel.WRITE_SERIALIZABLE, True): {"append", "change"},
        (IsolationLevel.SNAPSHOT, False): set(),
        (IsolationLevel.SNAPSHOT, True): set(),
    }[attempt.isolation_level, attempt.metadata is not None]
    return ("append" if winner.is_blind_append else "change") in strictness and _reads_an_addition(attempt, winner)


Rule = Callable[[Attempt, Winner, Metadata], bool]
RULES: Sequence[tuple[ConflictKind, Rule]] = (
    (ConflictKind.PROTOCOL_CHANGED, lambda c, w, _: None not in (c.protocol, w.protocol)),
    (ConflictKind.PROTOCOL_CHANGED, lambda c, w, _: _drops(c, w.protocol)),
    (ConflictKind.PROTOCOL_CHANGED, lambda c, _w, _m: _drops(c, c.protocol)),
    (ConflictKind.METADATA_CHANGED, lambda c, w, _: None not in (c.metadata, w.metadata)),
    (ConflictKind.METADATA_CHANGED, lambda _, w, old: w.metadata is not None and not _is_harmless(old, w.metadata)),
    (ConflictKind.CONCURRENT_TRANSACTION, lambda c, w, _: bool((c.domains - {"delta.rowTracking"}) & w.domains)),
    (ConflictKind.CONCURRENT_TRANSACTION, lambda c, w, _: bool(c.reads.app_ids & w.app_ids)),
    (ConflictKind.CONCURRENT_APPEND, lambda c, w, _: _append_clashes(c, w)),
    (ConflictKind.CONCURRENT_DELETE_READ, lambda c, w, _: c.reads.whole_table and bool(w.removes)),
    (ConflictKind.CONCURRENT_DELETE_READ, lambda c, w, _: bool(c.reads.files & w.removes)),
    (ConflictKind.CONCURRENT_DELETE_DELETE, lambda c, w, _: bool(c.removes & w.removes)),
)

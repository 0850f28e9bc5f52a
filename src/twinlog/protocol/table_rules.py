"""The rules that a commit must keep in view of the table it goes to."""

from collections.abc import Iterable, Mapping
from typing import Final

from twinlog.errors import CommitRejected, InvalidAction, InvalidSchema, TwinlogError, UnsupportedFeature
from twinlog.protocol.actions import ROW_TRACKING_DOMAIN, FileAction, PartitionValues
from twinlog.protocol.column_mapping import ID_KEY, PHYSICAL_NAME_KEY
from twinlog.protocol.features import features_needed, missing_features, removed_features
from twinlog.protocol.partition_values import decode_partition_value
from twinlog.protocol.properties import check_configuration, is_true
from twinlog.protocol.protocol_rules import check_protocol, check_writable
from twinlog.protocol.schema import show_path, walk
from twinlog.protocol.schema_rules import check_partition_columns, check_schema
from twinlog.protocol.staged import StagedActions, record_count
from twinlog.protocol.table_state import TableState

ICT_ENABLEMENT: Final = (
    "delta.inCommitTimestampEnablementVersion",
    "delta.inCommitTimestampEnablementTimestamp",
)


def next_state(current: TableState | None, staged: StagedActions) -> TableState:
    """The state after the commit, with every rule about protocol and metadata checked.

    Raises:
        ProtocolError: the new protocol or metadata is malformed or cannot be honoured.
        CommitRejected: it is not allowed to follow what is in force.
    """
    if current is None:
        if staged.protocol is None or staged.metadata is None:
            raise InvalidAction("the first commit of a table needs a protocol and a metaData action")
        after = TableState(staged.protocol, staged.metadata)
    elif staged.protocol is None and staged.metadata is None:
        check_writable(current.protocol)
        return current
    else:
        after = TableState(staged.protocol or current.protocol, staged.metadata or current.metadata)
    check_protocol(after.protocol)
    check_writable(after.protocol)
    if current is not None:
        _check_transition(current, after)
    # A table from elsewhere may hold what we would not create; it is only held to the rules when that changes.
    if current is None or after.metadata.schema_string != current.metadata.schema_string:
        check_schema(after.schema)
    _check_metadata(after)
    return after


def check_against(state: TableState, staged: StagedActions) -> None:
    """Hold a commit's other actions to the state that they will be part of.

    Raises:
        InvalidAction: an action does not fit the table's schema or features.
        CommitRejected: the table's properties forbid it.
    """
    files: tuple[FileAction, ...] = (*staged.adds, *staged.cdcs, *staged.removes)
    for file in files:
        if file.partition_values is not None:
            check_partition_values(file.partition_values, state.partition_types, path=file.path)
    if state.is_append_only:
        for remove in staged.removes:
            if remove.data_change:
                raise CommitRejected(
                    f"cannot remove {remove.path!r}: the table is append-only",
                    hint="set delta.appendOnly to false, or remove with dataChange false when only rearranging data",
                )
    if staged.cdcs and not state.has_change_data_feed:
        raise CommitRejected("cdc files need the change data feed", hint="set delta.enableChangeDataFeed to true first")
    check_needs_feature(state, "deletionVectors", (f.path for f in staged.adds if f.deletion_vector))
    check_needs_feature(state, "domainMetadata", (domain.domain for domain in staged.domains))
    _check_row_tracking(state, staged)
    if needs_record_counts(state):
        check_record_counts(add.path for add in staged.adds if record_count(add.stats) is None)


def check_partition_values(values: PartitionValues, types: Mapping[str, str], *, path: str) -> None:
    """Every partition column has a value, readable as the column's type; nothing else does.

    Raises:
        InvalidAction: the keys differ from the partition columns, or a value does not parse.
    """
    if values.keys() != types.keys():
        raise InvalidAction(
            f"the partition values of {path!r} are for {sorted(values)}, the table is partitioned by {list(types)}",
            hint="give every partition column, by physical name, null included, and no other",
        )
    for column, text in values.items():
        try:
            decode_partition_value(text, types[column])
        except TwinlogError as error:
            raise InvalidAction(
                f"partition value of {column!r} in {path!r}: {error.message}", hint=error.hint
            ) from error


def needs_record_counts(state: TableState) -> bool:
    """Whether every added file must say how many records it has."""
    return state.assigns_row_ids or any(
        is_true(state.properties, f"delta.enableIcebergCompatV{version}") for version in (1, 2)
    )


def check_record_counts(paths_without: Iterable[str]) -> None:
    """Refuse files without `numRecords` where the table needs it.

    Raises:
        InvalidAction: names the first such file.
    """
    for path in paths_without:
        raise InvalidAction(
            f"the stats of {path!r} must give numRecords: the table's features number or count rows",
            hint="write stats with numRecords",
        )


def _check_transition(current: TableState, after: TableState) -> None:
    if after.metadata.id != current.metadata.id:
        raise CommitRejected(
            f"metaData.id {after.metadata.id!r} is not this table's {current.metadata.id!r}",
            hint="keep the id: it identifies the table for its whole life",
        )
    lost = removed_features(current.protocol, after.protocol)
    if lost:
        raise CommitRejected(
            f"the new protocol removes {', '.join(sorted(lost))}",
            hint="keep the features that the table has; they may be added but never dropped by a commit",
        )
    tracking = "delta.enableRowTracking"
    if is_true(after.properties, tracking) and not is_true(current.properties, tracking):
        raise CommitRejected(
            "row tracking cannot be switched on later: files that exist have no row ids",
            hint="create a new table with delta.enableRowTracking=true",
        )
    mode = "delta.columnMapping.mode"
    was, now = current.properties.get(mode, "none"), after.properties.get(mode, "none")
    if was != now and (was, now) != ("none", "name"):
        raise CommitRejected(f"column mapping cannot change from {was} to {now}", hint="only none to name is possible")


def _check_metadata(state: TableState) -> None:
    check_configuration(state.properties)
    check_partition_columns(state.schema, state.metadata.partition_columns)
    enablement = [key in state.properties for key in ICT_ENABLEMENT]
    if any(enablement) != all(enablement):
        raise InvalidAction(f"{' and '.join(ICT_ENABLEMENT)} go together", hint="leave both to the catalog")
    missing = missing_features(state.protocol, features_needed(state.schema, state.properties))
    if missing:
        raise UnsupportedFeature(
            f"the schema or properties need {', '.join(sorted(missing))}, which the protocol does not list",
            hint="commit a protocol action with these features together with the metaData",
        )
    if state.properties.get("delta.columnMapping.mode", "none") != "none":
        for path, field in walk(state.schema):
            if ID_KEY not in field.metadata or PHYSICAL_NAME_KEY not in field.metadata:
                raise InvalidSchema(
                    f"{show_path(path)} has no column-mapping id or physical name",
                    hint="every field needs both while delta.columnMapping.mode is set",
                )


def check_needs_feature(state: TableState, feature: str, users: Iterable[str]) -> None:
    """Refuse what only a table with a feature may hold.

    Raises:
        UnsupportedFeature: names the first user and the feature.
    """
    first = next(iter(users), None)
    if first is not None and feature not in state.features:
        raise UnsupportedFeature(
            f"{first!r} needs the table feature {feature}", hint=f"add {feature} to the table's protocol first"
        )


def _check_row_tracking(state: TableState, staged: StagedActions) -> None:
    if any(domain.domain == ROW_TRACKING_DOMAIN for domain in staged.domains):
        raise InvalidAction(
            f"the domain {ROW_TRACKING_DOMAIN} is written by the catalog",
            hint="leave it out: row ids are assigned when the commit is ratified",
        )
    if not state.assigns_row_ids:
        return
    for add in staged.adds:
        if (add.base_row_id is None) != (add.default_row_commit_version is None):
            raise InvalidAction(f"{add.path!r} must have both baseRowId and defaultRowCommitVersion, or neither")

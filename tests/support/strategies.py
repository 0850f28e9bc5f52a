"""Hypothesis strategies for every action: any value that the types allow, however unlikely in a real log."""

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from twinlog.protocol.actions import (
    Action,
    Add,
    Cdc,
    CheckpointMetadata,
    CommitInfo,
    DeletionVector,
    DomainMetadata,
    Format,
    JsonObject,
    JsonValue,
    Metadata,
    Protocol,
    Remove,
    Sidecar,
    Txn,
    UnknownAction,
)

longs = st.integers(-(2**63), 2**63 - 1)
# Digits look like a number that no JSON library reads the same, but inside a string they are text.
texts = st.text(max_size=12) | st.just("9223372036854775808.000000000000000000001")
keys = st.text(max_size=6)
json_scalars: st.SearchStrategy[JsonValue] = st.one_of(
    st.none(), st.booleans(), longs, st.floats(allow_nan=False, allow_infinity=False), texts
)
json_values: st.SearchStrategy[JsonValue] = st.recursive(
    json_scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=6
)
json_objects: st.SearchStrategy[JsonObject] = st.dictionaries(keys, json_values, max_size=3)
# No key of the protocol starts like this, so these are unknown fields now and later.
unknown_fields: st.SearchStrategy[JsonObject] = st.dictionaries(keys.map("x-{}".format), json_values, max_size=2)
string_maps = st.dictionaries(keys, texts, max_size=3)
nullable_string_maps = st.dictionaries(keys, st.none() | texts, max_size=3)
string_lists = st.lists(texts, max_size=3).map(tuple)


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


def _build(action_type: Callable[..., Any], **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(action_type, **fields, extra=unknown_fields)


deletion_vectors = _build(
    DeletionVector,
    storage_type=texts,
    path_or_inline_dv=texts,
    offset=maybe(longs),
    size_in_bytes=longs,
    cardinality=longs,
)
adds = _build(
    Add,
    path=texts,
    partition_values=nullable_string_maps,
    size=longs,
    modification_time=longs,
    data_change=st.booleans(),
    stats=maybe(texts),
    tags=maybe(nullable_string_maps),
    deletion_vector=maybe(deletion_vectors),
    base_row_id=maybe(longs),
    default_row_commit_version=maybe(longs),
    clustering_provider=maybe(texts),
)
removes = _build(
    Remove,
    path=texts,
    deletion_timestamp=maybe(longs),
    data_change=st.booleans(),
    extended_file_metadata=maybe(st.booleans()),
    partition_values=maybe(nullable_string_maps),
    size=maybe(longs),
    tags=maybe(nullable_string_maps),
    deletion_vector=maybe(deletion_vectors),
    base_row_id=maybe(longs),
    default_row_commit_version=maybe(longs),
    stats=maybe(texts),
)
cdcs = _build(
    Cdc,
    path=texts,
    partition_values=nullable_string_maps,
    size=longs,
    tags=maybe(nullable_string_maps),
    data_change=st.booleans(),
)
metadatas = _build(
    Metadata,
    id=texts,
    name=maybe(texts),
    description=maybe(texts),
    format=_build(Format, provider=texts, options=string_maps),
    schema_string=maybe(texts),
    partition_columns=string_lists,
    configuration=string_maps,
    created_time=maybe(longs),
)
protocols = _build(
    Protocol,
    min_reader_version=longs,
    min_writer_version=longs,
    reader_features=maybe(string_lists),
    writer_features=maybe(string_lists),
)
txns = _build(Txn, app_id=texts, app_version=longs, last_updated=maybe(longs))
domain_metadatas = _build(DomainMetadata, domain=texts, configuration=texts, removed=st.booleans())
commit_infos = _build(
    CommitInfo,
    version=maybe(longs),
    in_commit_timestamp=maybe(longs),
    timestamp=maybe(longs),
    user_id=maybe(texts),
    user_name=maybe(texts),
    operation=maybe(texts),
    operation_parameters=maybe(json_objects),
    job=maybe(json_objects),
    notebook=maybe(json_objects),
    cluster_id=maybe(texts),
    read_version=maybe(longs),
    isolation_level=maybe(texts),
    is_blind_append=maybe(st.booleans()),
    data_change=maybe(st.booleans()),
    operation_metrics=maybe(json_objects),
    user_metadata=maybe(texts),
    tags=maybe(nullable_string_maps),
    engine_info=maybe(texts),
    txn_id=maybe(texts),
)
checkpoint_metadatas = _build(CheckpointMetadata, version=longs, tags=maybe(nullable_string_maps))
sidecars = _build(Sidecar, path=texts, size_in_bytes=longs, modification_time=longs, tags=maybe(nullable_string_maps))
unknown_actions: st.SearchStrategy[UnknownAction] = st.builds(
    UnknownAction, kind=keys.map("x-{}".format), body=json_values.filter(lambda body: body is not None)
)

KNOWN_ACTIONS: dict[str, st.SearchStrategy[Any]] = {
    "add": adds,
    "remove": removes,
    "cdc": cdcs,
    "metaData": metadatas,
    "protocol": protocols,
    "txn": txns,
    "domainMetadata": domain_metadatas,
    "commitInfo": commit_infos,
    "checkpointMetadata": checkpoint_metadatas,
    "sidecar": sidecars,
}
actions: st.SearchStrategy[Action] = st.one_of(*KNOWN_ACTIONS.values(), unknown_actions)

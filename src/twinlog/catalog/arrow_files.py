"""Data files as Arrow: the shape callers see, and its two ways to and from the rows of `dl_add_files`."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from twinlog.catalog.arrow_maps import MAP_TYPE, json_to_maps, maps_to_json
from twinlog.catalog.requests import ArrowFiles
from twinlog.errors import InvalidAction
from twinlog.protocol.actions import Add, DeletionVector
from twinlog.protocol.codec import check_extra, encode_json, from_object, to_object
from twinlog.protocol.deletion_vectors import check_deletion_vector
from twinlog.protocol.fields import Kind, specs_of
from twinlog.protocol.paths import INVALID_PATH_PATTERN, check_path
from twinlog.protocol.staged import check_stats, is_record_count
from twinlog.protocol.table_rules import check_partition_values
from twinlog.protocol.table_state import TableState

BATCH_ROWS: Final = 20_000

DELETION_VECTOR_TYPE: Final = pa.struct(
    [
        ("storage_type", pa.string()),
        ("path_or_inline_dv", pa.string()),
        ("offset", pa.int64()),
        ("size_in_bytes", pa.int64()),
        ("cardinality", pa.int64()),
    ]
)

# What `Snapshot.files` gives and `add` takes. Only path, size and modification_time are needed to add.
FILES_SCHEMA: Final = pa.schema(
    [
        ("path", pa.string()),
        ("partition_values", MAP_TYPE),
        ("size", pa.int64()),
        ("modification_time", pa.int64()),
        ("data_change", pa.bool_()),
        ("stats", pa.string()),
        ("tags", MAP_TYPE),
        ("deletion_vector", DELETION_VECTOR_TYPE),
        ("base_row_id", pa.int64()),
        ("default_row_commit_version", pa.int64()),
        ("clustering_provider", pa.string()),
        ("extra", pa.string()),
    ]
)

# The same files as SQL columns, before they have a place in the log. `num_records` is only for numbering rows.
ROWS_SCHEMA: Final = pa.schema(
    [
        ("path", pa.string()),
        ("dv_id", pa.string()),
        ("partition_values", pa.string()),
        ("size", pa.int64()),
        ("modification_time", pa.int64()),
        ("data_change", pa.bool_()),
        ("stats", pa.string()),
        ("tags", pa.string()),
        ("deletion_vector", pa.string()),
        ("base_row_id", pa.int64()),
        ("default_row_commit_version", pa.int64()),
        ("clustering_provider", pa.string()),
        ("extra", pa.string()),
        ("num_records", pa.int64()),
    ]
)

_DEFAULTS: Final[dict[str, object]] = {"partition_values": [], "data_change": True}
_REQUIRED: Final = ("path", "partition_values", "size", "modification_time", "data_change")


def small_batches(files: ArrowFiles) -> Iterator[pa.RecordBatch]:
    """Cut any Arrow input into batches of bounded size, with the columns of `FILES_SCHEMA`."""
    if isinstance(files, pa.Table):
        batches = iter(files.to_batches(max_chunksize=BATCH_ROWS))
    else:
        batches = iter([files] if isinstance(files, pa.RecordBatch) or not isinstance(files, Iterable) else files)
    for batch in batches:
        if not isinstance(batch, pa.RecordBatch):
            raise InvalidAction(
                f"the files come as {type(batch).__name__}", hint="give an Arrow table, batches, or a reader of batches"
            )
        for start in range(0, batch.num_rows, BATCH_ROWS):
            yield _with_all_columns(batch.slice(start, BATCH_ROWS))


def to_rows(batch: pa.RecordBatch, state: TableState) -> pa.RecordBatch:
    """Check a batch of files against the table and give it the columns of `ROWS_SCHEMA`.

    Raises:
        InvalidAction: names the first file that breaks a rule.
    """
    _check_required(batch)
    _check_text(batch)
    _check_row_ids(batch)
    paths = batch.column("path")
    _check_paths(paths)
    partition_values = maps_to_json(batch.column("partition_values"))
    _check_partition_values(partition_values, paths, state)
    vectors = _deletion_vectors(batch.column("deletion_vector"))
    counts = _record_counts(batch)
    uncounted = pc.and_(pc.is_valid(batch.column("deletion_vector")), pc.is_null(counts))
    if pc.any(uncounted).as_py():
        path = paths.filter(uncounted)[0].as_py()
        raise InvalidAction(f"{path!r} has a deletion vector, so its stats must give numRecords")
    columns: dict[str, Any] = {name: batch.column(name) for name in FILES_SCHEMA.names}
    columns |= {
        "partition_values": partition_values,
        "tags": maps_to_json(batch.column("tags")),
        "dv_id": pa.array([vector.unique_id if vector else "" for vector in vectors], pa.string()),
        "deletion_vector": pa.array(
            [encode_json(to_object(vector)).decode() if vector else None for vector in vectors], pa.string()
        ),
        "num_records": counts,
    }
    return pa.RecordBatch.from_arrays([columns[field.name] for field in ROWS_SCHEMA], schema=ROWS_SCHEMA)


def to_files(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Turn rows read from SQL into the shape that callers see; keeps `version`, the version that added the file."""
    columns: dict[str, Any] = {}
    for field in FILES_SCHEMA:
        column = rows.column(field.name)
        if pa.types.is_map(field.type):
            column = json_to_maps(column.cast(pa.string()))
        elif pa.types.is_struct(field.type):
            parsed = [_vector_struct(text) for text in column.cast(pa.string()).to_pylist()]
            column = pa.array(parsed, DELETION_VECTOR_TYPE)
        columns[field.name] = column.cast(field.type)
    columns["version"] = rows.column("version").cast(pa.int64())
    return pa.RecordBatch.from_pydict(columns)


def _with_all_columns(batch: pa.RecordBatch) -> pa.RecordBatch:
    unknown = set(batch.schema.names) - set(FILES_SCHEMA.names) - {"version"}
    if unknown:
        raise InvalidAction(f"unknown columns {sorted(unknown)}", hint=f"the columns are {FILES_SCHEMA.names}")
    columns = []
    for field in FILES_SCHEMA:
        if field.name in batch.schema.names:
            columns.append(_cast(batch.column(field.name), field))
        else:
            default = pa.scalar(_DEFAULTS.get(field.name), field.type)
            columns.append(pa.repeat(default, batch.num_rows))
    return pa.RecordBatch.from_arrays(columns, schema=FILES_SCHEMA)


def _cast(column: pa.Array, field: pa.Field) -> pa.Array:
    if pa.types.is_temporal(column.type):
        raise InvalidAction(f"column {field.name} must be milliseconds as {field.type}, not {column.type}")
    try:
        return column.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InvalidAction(f"column {field.name} must be {field.type}, not {column.type}") from error


def _check_required(batch: pa.RecordBatch) -> None:
    for name in _REQUIRED:
        if batch.column(name).null_count:
            raise InvalidAction(f"column {name} has nulls, but every file needs it")
    smallest = pc.min(batch.column("size")).as_py()
    if smallest is not None and smallest < 0:
        raise InvalidAction(f"a file has the negative size {smallest}")


def _check_text(batch: pa.RecordBatch) -> None:
    for name in ("stats", "clustering_provider", "extra"):
        if pc.any(pc.match_substring(batch.column(name), "\0")).as_py():
            raise InvalidAction(f"column {name} has a NUL character", hint="remove the character")
    for text in pc.unique(batch.column("extra")).drop_null().to_pylist():
        try:
            extra = orjson.loads(text)
        except orjson.JSONDecodeError as error:
            raise InvalidAction(f"column extra has text that is not JSON: {error}") from error
        check_extra(Add, extra, where="add")


def _check_row_ids(batch: pa.RecordBatch) -> None:
    half = pc.xor(pc.is_null(batch.column("base_row_id")), pc.is_null(batch.column("default_row_commit_version")))
    if pc.any(half).as_py():
        path = batch.column("path").filter(half)[0].as_py()
        raise InvalidAction(f"{path!r} must have both baseRowId and defaultRowCommitVersion, or neither")


def _check_paths(paths: pa.StringArray) -> None:
    bad = pc.match_substring_regex(paths, INVALID_PATH_PATTERN)
    if pc.any(bad).as_py():
        check_path(paths.filter(bad)[0].as_py())


def _check_partition_values(texts: pa.StringArray, paths: pa.StringArray, state: TableState) -> None:
    for text in pc.unique(texts).to_pylist():
        try:
            check_partition_values(orjson.loads(text), state.partition_types, path="")
        except InvalidAction:
            path = paths[pc.index(texts, text).as_py()].as_py()
            check_partition_values(orjson.loads(text), state.partition_types, path=path)


def _record_counts(batch: pa.RecordBatch) -> pa.Int64Array:
    paths = batch.column("path")
    counts: list[int | None] = []
    for row, stats in enumerate(batch.column("stats").to_pylist()):
        try:
            count = None if stats is None else orjson.loads(stats).get("numRecords")
        except (orjson.JSONDecodeError, AttributeError):
            count = check_stats(stats, path=paths[row].as_py()).get("numRecords")
        counts.append(count if is_record_count(count) else None)
    return pa.array(counts, pa.int64())


def _deletion_vectors(column: pa.StructArray) -> list[DeletionVector | None]:
    if column.null_count == len(column):
        return [None] * len(column)
    return [_deletion_vector(value) for value in column.to_pylist()]


def _deletion_vector(value: dict[str, Any] | None) -> DeletionVector | None:
    if value is None:
        return None
    by_key = {spec.key: value[spec.name] for spec in specs_of(DeletionVector)}
    vector: DeletionVector = from_object(DeletionVector, by_key, where="deletion_vector")
    check_deletion_vector(vector)
    return vector


def _vector_struct(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    body = orjson.loads(text)
    return {spec.name: body.get(spec.key) for spec in specs_of(DeletionVector) if spec.kind is not Kind.STRUCT}

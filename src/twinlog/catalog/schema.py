"""The log as SQL tables, one schema for every database.

Action tables share a key (table, version, ordinal): a commit's actions lie together and keep their order. Scalars
have columns of their own; maps, lists and structs are JSON text. `extra` holds keys that this version does not know.
There are no foreign keys: only `commits` and `tables` write here, under the table's row lock, and a check per
inserted file would cost more than it could find.
"""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Sequence,
    Table,
    Text,
    UniqueConstraint,
)

# `removed_version` of a file that is still part of the table. A number instead of NULL makes "live at version V" one
# index range (removed_version > V) and lets the unique key below cover live files.
LIVE: Final = 2**63 - 1

metadata = MetaData()

tables = Table(
    "dl_tables",
    metadata,
    Column(
        "table_id",
        BigInteger().with_variant(Integer(), "sqlite"),
        Sequence("dl_table_ids", metadata=metadata),
        primary_key=True,
        comment="never reused, also after a drop",
    ),
    Column("name", Text, nullable=False),
    Column("location", Text, nullable=False, comment="root of the table in the store"),
    Column("delta_id", Text, nullable=False, comment="metaData.id, fixed for the table's life"),
    Column("version", BigInteger, nullable=False, comment="head: the newest ratified version"),
    Column("last_commit_ms", BigInteger, nullable=False, comment="time of the head, strictly increasing"),
    Column("metadata_version", BigInteger, nullable=False, comment="version of the metaData in force"),
    Column("protocol_version", BigInteger, nullable=False, comment="version of the protocol in force"),
    Column("created_ms", BigInteger, nullable=False),
    UniqueConstraint("name", name="uq_dl_tables_name"),
    UniqueConstraint("location", name="uq_dl_tables_location"),
    sqlite_autoincrement=True,
)

table_versions = Table(
    "dl_table_versions",
    metadata,
    Column("table_id", BigInteger, nullable=False, autoincrement=False),
    Column("version", BigInteger, nullable=False),
    Column("commit_id", Text, nullable=False, comment="idempotency key; published as commitInfo.txnId"),
    Column("member", Integer, nullable=False, comment="position of this table in a commit over several tables"),
    Column("timestamp_ms", BigInteger, nullable=False, comment="by the database's clock, strictly increasing"),
    Column("operation", Text, nullable=False),
    Column("read_version", BigInteger),
    Column("is_blind_append", Boolean, nullable=False),
    Column("num_adds", BigInteger, nullable=False),
    Column("num_removes", BigInteger, nullable=False),
    Column("num_cdc", BigInteger, nullable=False),
    Column("num_txns", BigInteger, nullable=False),
    Column("num_domains", BigInteger, nullable=False),
    Column("has_metadata", Boolean, nullable=False),
    Column("has_protocol", Boolean, nullable=False),
    Column("bytes_added", BigInteger, nullable=False),
    Column("commit_info", Text, nullable=False, comment="the commitInfo action as it is published"),
    PrimaryKeyConstraint("table_id", "version", name="pk_dl_table_versions"),
    # Every transaction has a member 0, so two transactions can never share a commit id, whatever tables they touch.
    UniqueConstraint("commit_id", "member", name="uq_dl_table_versions_commit"),
    Index("ix_dl_table_versions_time", "table_id", "timestamp_ms"),
)


def _action_table(name: str, *columns: Column[object] | Index) -> Table:
    return Table(
        name,
        metadata,
        Column("table_id", BigInteger, nullable=False, autoincrement=False),
        Column("version", BigInteger, nullable=False),
        Column("ordinal", BigInteger, nullable=False, comment="position in the commit; 0 is commitInfo"),
        *columns,
        Column("extra", Text, comment="JSON object of unknown fields"),
        PrimaryKeyConstraint("table_id", "version", "ordinal", name=f"pk_{name}"),
        sqlite_with_rowid=False,
    )


add_files = _action_table(
    "dl_add_files",
    Column("path", Text, nullable=False, comment="URI-encoded, as published"),
    Column("dv_id", Text, nullable=False, comment="deletion-vector part of the file's identity, '' for none"),
    Column("partition_values", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("modification_time", BigInteger, nullable=False),
    Column("data_change", Boolean, nullable=False),
    Column("stats", Text),
    Column("tags", Text),
    Column("deletion_vector", Text),
    Column("base_row_id", BigInteger),
    Column("default_row_commit_version", BigInteger),
    Column("clustering_provider", Text),
    Column("removed_version", BigInteger, nullable=False, comment="first version without this file; 2^63-1 while live"),
    # At most one live row a file: removed rows of the same file differ in removed_version. The path comes first so that
    # a look-up by path can only use this index (see `live_files`).
    Index("uq_dl_add_files_file", "path", "dv_id", "table_id", "removed_version", unique=True),
    Index("ix_dl_add_files_state", "table_id", "removed_version", "version"),
)

remove_files = _action_table(
    "dl_remove_files",
    Column("path", Text, nullable=False),
    Column("dv_id", Text, nullable=False),
    Column("deletion_timestamp", BigInteger),
    Column("data_change", Boolean, nullable=False),
    Column("extended_file_metadata", Boolean),
    Column("partition_values", Text),
    Column("size", BigInteger),
    Column("tags", Text),
    Column("deletion_vector", Text),
    Column("base_row_id", BigInteger),
    Column("default_row_commit_version", BigInteger),
    Column("stats", Text),
)

cdc_files = _action_table(
    "dl_cdc_files",
    Column("path", Text, nullable=False),
    Column("partition_values", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("tags", Text),
    Column("data_change", Boolean, nullable=False),
)

metadata_updates = _action_table(
    "dl_metadata_updates",
    Column("id", Text, nullable=False),
    Column("name", Text),
    Column("description", Text),
    Column("format", Text, nullable=False),
    Column("schema_string", Text, nullable=False),
    Column("partition_columns", Text, nullable=False),
    Column("configuration", Text, nullable=False),
    Column("created_time", BigInteger),
)

protocol_updates = _action_table(
    "dl_protocol_updates",
    Column("min_reader_version", BigInteger, nullable=False),
    Column("min_writer_version", BigInteger, nullable=False),
    Column("reader_features", Text),
    Column("writer_features", Text),
)

txn_actions = _action_table(
    "dl_txn_actions",
    Column("app_id", Text, nullable=False),
    Column("app_version", BigInteger, nullable=False),
    Column("last_updated", BigInteger),
    Index("ix_dl_txn_actions_app", "table_id", "app_id", "version"),
)

domain_metadata = _action_table(
    "dl_domain_metadata",
    Column("domain", Text, nullable=False),
    Column("configuration", Text, nullable=False),
    Column("removed", Boolean, nullable=False),
    Index("ix_dl_domain_metadata_domain", "table_id", "domain", "version"),
)

mirror_status = Table(
    "dl_mirror_status",
    metadata,
    Column("table_id", BigInteger, nullable=False, autoincrement=False),
    Column("version", BigInteger, nullable=False),
    Column("artifact", Text, nullable=False, comment="what is to be published: 'commit'"),
    Column("status", Text, nullable=False, comment="PENDING, IN_PROGRESS, SUCCESS, FAILED"),
    Column("enqueued_ms", BigInteger, nullable=False),
    PrimaryKeyConstraint("table_id", "version", "artifact", name="pk_dl_mirror_status"),
    Index("ix_dl_mirror_status_status", "status", "table_id", "version"),
    sqlite_with_rowid=False,
)

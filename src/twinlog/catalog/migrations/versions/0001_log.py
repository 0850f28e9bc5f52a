"""The transaction log: tables, versions, actions."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the log."""
    _create_tables()
    _create_versions()
    _create_file_actions()
    _create_other_actions()


def _create_tables() -> None:
    if op.get_bind().dialect.name != "sqlite":
        op.execute(sa.schema.CreateSequence(sa.Sequence("dl_table_ids")))
    op.create_table(
        "dl_tables",
        sa.Column(
            "table_id",
            sa.BigInteger().with_variant(sa.Integer(), "sqlite"),
            sa.Sequence("dl_table_ids"),
            primary_key=True,
        ),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("location", sa.Text, nullable=False),
        sa.Column("delta_id", sa.Text, nullable=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("last_commit_ms", sa.BigInteger, nullable=False),
        sa.Column("metadata_version", sa.BigInteger, nullable=False),
        sa.Column("protocol_version", sa.BigInteger, nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.UniqueConstraint("name", name="uq_dl_tables_name"),
        sa.UniqueConstraint("location", name="uq_dl_tables_location"),
        sqlite_autoincrement=True,
    )


def _create_versions() -> None:
    op.create_table(
        "dl_table_versions",
        sa.Column("table_id", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("commit_id", sa.Text, nullable=False),
        sa.Column("member", sa.Integer, nullable=False),
        sa.Column("timestamp_ms", sa.BigInteger, nullable=False),
        sa.Column("operation", sa.Text, nullable=False),
        sa.Column("read_version", sa.BigInteger),
        sa.Column("is_blind_append", sa.Boolean, nullable=False),
        sa.Column("num_adds", sa.BigInteger, nullable=False),
        sa.Column("num_removes", sa.BigInteger, nullable=False),
        sa.Column("num_cdc", sa.BigInteger, nullable=False),
        sa.Column("num_txns", sa.BigInteger, nullable=False),
        sa.Column("num_domains", sa.BigInteger, nullable=False),
        sa.Column("has_metadata", sa.Boolean, nullable=False),
        sa.Column("has_protocol", sa.Boolean, nullable=False),
        sa.Column("bytes_added", sa.BigInteger, nullable=False),
        sa.Column("commit_info", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("table_id", "version", name="pk_dl_table_versions"),
        sa.UniqueConstraint("commit_id", "member", name="uq_dl_table_versions_commit"),
    )
    op.create_index("ix_dl_table_versions_time", "dl_table_versions", ["table_id", "timestamp_ms"])


def _create_action_table(name: str, *columns: sa.Column[object]) -> None:
    op.create_table(
        name,
        sa.Column("table_id", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("ordinal", sa.BigInteger, nullable=False),
        *columns,
        sa.Column("extra", sa.Text),
        sa.PrimaryKeyConstraint("table_id", "version", "ordinal", name=f"pk_{name}"),
        sqlite_with_rowid=False,
    )


def _create_file_actions() -> None:
    _create_action_table(
        "dl_add_files",
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("dv_id", sa.Text, nullable=False),
        sa.Column("partition_values", sa.Text, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("modification_time", sa.BigInteger, nullable=False),
        sa.Column("data_change", sa.Boolean, nullable=False),
        sa.Column("stats", sa.Text),
        sa.Column("tags", sa.Text),
        sa.Column("deletion_vector", sa.Text),
        sa.Column("base_row_id", sa.BigInteger),
        sa.Column("default_row_commit_version", sa.BigInteger),
        sa.Column("clustering_provider", sa.Text),
        sa.Column("removed_version", sa.BigInteger, nullable=False),
    )
    op.create_index(
        "uq_dl_add_files_file", "dl_add_files", ["path", "dv_id", "table_id", "removed_version"], unique=True
    )
    op.create_index("ix_dl_add_files_state", "dl_add_files", ["table_id", "removed_version", "version"])
    _create_action_table(
        "dl_remove_files",
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("dv_id", sa.Text, nullable=False),
        sa.Column("deletion_timestamp", sa.BigInteger),
        sa.Column("data_change", sa.Boolean, nullable=False),
        sa.Column("extended_file_metadata", sa.Boolean),
        sa.Column("partition_values", sa.Text),
        sa.Column("size", sa.BigInteger),
        sa.Column("tags", sa.Text),
        sa.Column("deletion_vector", sa.Text),
        sa.Column("base_row_id", sa.BigInteger),
        sa.Column("default_row_commit_version", sa.BigInteger),
        sa.Column("stats", sa.Text),
    )
    _create_action_table(
        "dl_cdc_files",
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("partition_values", sa.Text, nullable=False),
        sa.Column("size", sa.BigInteger, nullable=False),
        sa.Column("tags", sa.Text),
        sa.Column("data_change", sa.Boolean, nullable=False),
    )


def _create_other_actions() -> None:
    _create_action_table(
        "dl_metadata_updates",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("name", sa.Text),
        sa.Column("description", sa.Text),
        sa.Column("format", sa.Text, nullable=False),
        sa.Column("schema_string", sa.Text, nullable=False),
        sa.Column("partition_columns", sa.Text, nullable=False),
        sa.Column("configuration", sa.Text, nullable=False),
        sa.Column("created_time", sa.BigInteger),
    )
    _create_action_table(
        "dl_protocol_updates",
        sa.Column("min_reader_version", sa.BigInteger, nullable=False),
        sa.Column("min_writer_version", sa.BigInteger, nullable=False),
        sa.Column("reader_features", sa.Text),
        sa.Column("writer_features", sa.Text),
    )
    _create_action_table(
        "dl_txn_actions",
        sa.Column("app_id", sa.Text, nullable=False),
        sa.Column("app_version", sa.BigInteger, nullable=False),
        sa.Column("last_updated", sa.BigInteger),
    )
    op.create_index("ix_dl_txn_actions_app", "dl_txn_actions", ["table_id", "app_id", "version"])
    _create_action_table(
        "dl_domain_metadata",
        sa.Column("domain", sa.Text, nullable=False),
        sa.Column("configuration", sa.Text, nullable=False),
        sa.Column("removed", sa.Boolean, nullable=False),
    )
    op.create_index("ix_dl_domain_metadata_domain", "dl_domain_metadata", ["table_id", "domain", "version"])

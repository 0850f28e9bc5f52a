"""The queue of versions to publish; what is already ratified is enqueued."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the queue."""
    op.create_table(
        "dl_mirror_status",
        sa.Column("table_id", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("version", sa.BigInteger, nullable=False),
        sa.Column("artifact", sa.Text, nullable=False),
        sa.Column("status", sa.Text, nullable=False),
        sa.Column("enqueued_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("table_id", "version", "artifact", name="pk_dl_mirror_status"),
        sqlite_with_rowid=False,
    )
    op.execute(
        "INSERT INTO dl_mirror_status (table_id, version, artifact, status, enqueued_ms) "
        "SELECT table_id, version, 'commit', 'PENDING', timestamp_ms FROM dl_table_versions"
    )
    op.create_index("ix_dl_mirror_status_status", "dl_mirror_status", ["status", "table_id", "version"])

"""What keeps pages quick beside a million trials: trials by their points, and what campaigns came to on average."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        op.f("ix_trials_point"), "trials", ["point"], unique=False, postgresql_using="gin", postgresql_ops={"point": "jsonb_path_ops"}
    )
    op.create_table(
        "means",
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("quantity_id", sa.Integer(), nullable=False),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("left_out", sa.BigInteger(), nullable=False),
        sa.Column("points", sa.BigInteger(), nullable=False),
        sa.Column("mean", sa.DOUBLE_PRECISION(), nullable=True),
        sa.Column("known", sa.Boolean(), nullable=False),
        sa.Column("low", sa.DOUBLE_PRECISION(), nullable=True),
        sa.Column("high", sa.DOUBLE_PRECISION(), nullable=True),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f("fk_means_campaign_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["quantity_id"], ["quantities.id"], name=op.f("fk_means_quantity_id")),
        sa.PrimaryKeyConstraint("campaign_id", "quantity_id", name=op.f("pk_means")),
    )

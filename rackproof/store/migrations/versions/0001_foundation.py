"""The foundation: campaigns, trials, what was measured and what was found."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "campaigns",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("testbed", sa.Text(), nullable=False),
        sa.Column("plan", postgresql.JSONB(), nullable=False),
        sa.Column("plan_text", sa.Text(), nullable=False),
        sa.Column("plan_sha256", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("started", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended", sa.DateTime(timezone=True), nullable=True),
        sa.Column("resumed", postgresql.ARRAY(sa.DateTime(timezone=True)), server_default="{}", nullable=False),
        sa.Column("verdict", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        sa.Column("calibration", postgresql.JSONB(), nullable=True),
        sa.Column("provenance", postgresql.JSONB(), server_default="{}", nullable=False),
        sa.CheckConstraint("state IN ('PENDING', 'RUNNING', 'INTERRUPTED', 'ABORTED', 'FAILED', 'DONE')", name=op.f("ck_campaigns_state")),
        sa.CheckConstraint("verdict IN ('PASS', 'FAIL', 'INVALID', 'ABORTED', 'TIMEOUT', 'ERROR')", name=op.f("ck_campaigns_verdict")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_campaigns")),
    )
    op.create_table(
        "quantities",
        sa.Column("id", sa.Integer(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("subject", postgresql.JSONB(), nullable=False),
        sa.Column("confidence", sa.DOUBLE_PRECISION(), nullable=True),
        sa.Column("method", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_quantities")),
        sa.UniqueConstraint(
            "name",
            "unit",
            "subject",
            "confidence",
            "method",
            name=op.f("uq_quantities_name_unit_subject_confidence_method"),
            postgresql_nulls_not_distinct=True,
        ),
    )
    op.create_table(
        "configurations",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f("fk_configurations_campaign_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_configurations")),
        sa.UniqueConstraint("campaign_id", "name", name=op.f("uq_configurations_campaign_id_name")),
    )
    op.create_table(
        "events",
        sa.Column("seq", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("data", postgresql.JSONB(), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f("fk_events_campaign_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_events")),
    )
    op.create_index(op.f("ix_events_campaign_id_seq"), "events", ["campaign_id", "seq"], unique=False)
    op.create_table(
        "findings",
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("criterion", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("subject", postgresql.JSONB(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("value", sa.DOUBLE_PRECISION(), nullable=False),
        sa.Column("unit", sa.Text(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("low", sa.DOUBLE_PRECISION(), nullable=True),
        sa.Column("high", sa.DOUBLE_PRECISION(), nullable=True),
        sa.Column("confidence", sa.DOUBLE_PRECISION(), nullable=True),
        sa.Column("method", sa.Text(), nullable=True),
        sa.Column("limit", sa.Text(), nullable=False),
        sa.Column("statement", sa.Text(), nullable=False),
        sa.Column("trials", postgresql.ARRAY(sa.Integer()), nullable=False),
        sa.Column("detail", postgresql.JSONB(), nullable=False),
        sa.CheckConstraint("verdict IN ('PASS', 'FAIL', 'INVALID', 'ABORTED', 'TIMEOUT', 'ERROR')", name=op.f("ck_findings_verdict")),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f("fk_findings_campaign_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("campaign_id", "position", name=op.f("pk_findings")),
    )
    op.create_table(
        "trials",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("index", sa.Integer(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("point", postgresql.JSONB(), nullable=False),
        sa.Column("repetition", sa.Integer(), nullable=False),
        sa.Column("seed", sa.Numeric(precision=40, scale=0), nullable=False),
        sa.Column("duration_s", sa.DOUBLE_PRECISION(), nullable=False),
        sa.Column("started", sa.DateTime(timezone=True), nullable=True),
        sa.Column("ended", sa.DateTime(timezone=True), nullable=True),
        sa.Column("verdict", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        sa.Column("health", postgresql.JSONB(), server_default="{}", nullable=False),
        sa.Column("counters", postgresql.JSONB(), server_default="{}", nullable=False),
        sa.Column("samples_path", sa.Text(), nullable=True),
        sa.Column("samples_sha256", sa.Text(), nullable=True),
        sa.Column("samples_rows", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("verdict IN ('PASS', 'FAIL', 'INVALID', 'ABORTED', 'TIMEOUT', 'ERROR')", name=op.f("ck_trials_verdict")),
        sa.CheckConstraint(
            "(samples_path IS NULL) = (samples_sha256 IS NULL) AND (samples_path IS NULL) = (samples_rows IS NULL)",
            name=op.f("ck_trials_samples"),
        ),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f("fk_trials_campaign_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trials")),
        sa.UniqueConstraint("campaign_id", "index", name=op.f("uq_trials_campaign_id_index")),
    )
    op.create_table(
        "curves",
        sa.Column("trial_id", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("x_name", sa.Text(), nullable=False),
        sa.Column("x_unit", sa.Text(), nullable=False),
        sa.Column("y_name", sa.Text(), nullable=False),
        sa.Column("y_unit", sa.Text(), nullable=False),
        sa.Column("subject", postgresql.JSONB(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("x", postgresql.ARRAY(sa.DOUBLE_PRECISION()), nullable=False),
        sa.Column("y", postgresql.ARRAY(sa.DOUBLE_PRECISION()), nullable=False),
        sa.ForeignKeyConstraint(["trial_id"], ["trials.id"], name=op.f("fk_curves_trial_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("trial_id", "position", name=op.f("pk_curves")),
    )
    op.create_table(
        "measurements",
        sa.Column("trial_id", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("quantity_id", sa.Integer(), nullable=False),
        sa.Column("value", sa.DOUBLE_PRECISION(), nullable=False),
        sa.Column("low", sa.DOUBLE_PRECISION(), nullable=True),
        sa.Column("high", sa.DOUBLE_PRECISION(), nullable=True),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["quantity_id"], ["quantities.id"], name=op.f("fk_measurements_quantity_id")),
        sa.ForeignKeyConstraint(["trial_id"], ["trials.id"], name=op.f("fk_measurements_trial_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("trial_id", "position", name=op.f("pk_measurements")),
    )
    op.create_index(op.f("ix_measurements_quantity_id_trial_id"), "measurements", ["quantity_id", "trial_id"], unique=False)

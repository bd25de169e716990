"""The service: accounts, workers, testbeds, leases, the queue, schedules, digests, jobs and reports."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_COUNT = """
    UPDATE campaigns SET trial_count = found.trials, trials_done = found.done, duration_s = found.duration_s
    FROM (SELECT campaign_id, count(*) AS trials, count(verdict) AS done, sum(duration_s) AS duration_s FROM trials GROUP BY 1) found
    WHERE found.campaign_id = campaigns.id
"""
# Whoever listens on the channel learns of an event when it is committed, and reads it from the table.
_NOTIFY = """
    CREATE FUNCTION rackproof_notify_event() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM pg_notify('rackproof_events', NEW.campaign_id || ' ' || NEW.seq);
        RETURN NULL;
    END $$
"""
_TRIGGER = "CREATE TRIGGER notify_event AFTER INSERT ON events FOR EACH ROW EXECUTE FUNCTION rackproof_notify_event()"


def upgrade() -> None:
    op.create_table(
        "one_time_codes",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("data", postgresql.JSONB(), server_default="{}", nullable=False),
        sa.Column("expires", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_one_time_codes")),
    )
    op.create_table(
        "sign_ins",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("succeeded", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_ins")),
    )
    op.create_index(op.f("ix_sign_ins_address_at"), "sign_ins", ["address", "at"], unique=False)
    op.create_index(op.f("ix_sign_ins_name_at"), "sign_ins", ["name", "at"], unique=False)
    op.create_table(
        "testbeds",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("driver", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), server_default="", nullable=False),
        sa.Column("resources", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        sa.Column("limits", postgresql.JSONB(), nullable=True),
        sa.Column("facts", postgresql.JSONB(), server_default="{}", nullable=False),
        sa.Column("announced", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("golden_plan", sa.Text(), nullable=True),
        sa.Column("golden_cron", sa.Text(), nullable=True),
        sa.Column("golden_zone", sa.Text(), server_default="UTC", nullable=False),
        sa.Column("golden_next", sa.DateTime(timezone=True), nullable=True),
        sa.Column("golden_campaign_id", sa.BigInteger(), nullable=True),
        sa.Column("golden_judged", sa.BigInteger(), nullable=True),
        sa.Column("golden_reason", sa.Text(), server_default="", nullable=False),
        sa.CheckConstraint("state IN ('ONLINE', 'OFFLINE')", name=op.f("ck_testbeds_state")),
        sa.ForeignKeyConstraint(["golden_campaign_id"], ["campaigns.id"], name=op.f("fk_testbeds_golden_campaign_id"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_testbeds")),
    )
    op.create_table(
        "users",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("full_name", sa.Text(), server_default="", nullable=False),
        sa.Column("email", sa.Text(), server_default="", nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("password", sa.Text(), nullable=True),
        sa.Column("oidc_issuer", sa.Text(), nullable=True),
        sa.Column("oidc_subject", sa.Text(), nullable=True),
        sa.Column("disabled", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("seen", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("role IN ('viewer', 'engineer', 'admin')", name=op.f("ck_users_role")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("oidc_issuer", "oidc_subject", name=op.f("uq_users_oidc_issuer_oidc_subject")),
    )
    op.create_index("uq_users_name", "users", [sa.literal_column("lower(name)")], unique=True)
    op.create_table(
        "workers",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("incarnation", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.BigInteger(), nullable=False),
        sa.Column("pid_started", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("testbeds", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("started", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("seen", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("expires", sa.DateTime(timezone=True), nullable=False),
        sa.Column("stopped", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_workers")),
    )
    op.create_table(
        "audit",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=True),
        sa.Column("user_name", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), server_default="", nullable=False),
        sa.Column("detail", postgresql.JSONB(), server_default="{}", nullable=False),
        sa.Column("address", sa.Text(), server_default="", nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_audit_user_id"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_index(op.f("ix_audit_target_id"), "audit", ["target", "id"], unique=False)
    op.create_index(op.f("ix_audit_user_name_id"), "audit", ["user_name", "id"], unique=False)
    op.create_table(
        "reservations",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("testbed", sa.Text(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=True),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), server_default="", nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("starts", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ends", sa.DateTime(timezone=True), nullable=False),
        sa.Column("granted", sa.DateTime(timezone=True), nullable=True),
        sa.Column("released", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("starts < ends", name=op.f("ck_reservations_span")),
        sa.ForeignKeyConstraint(["testbed"], ["testbeds.name"], name=op.f("fk_reservations_testbed")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_reservations_user_id"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reservations")),
    )
    op.create_index(op.f("ix_reservations_testbed_ends"), "reservations", ["testbed", "ends"], unique=False)
    op.create_table(
        "schedules",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=True),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("cron", sa.Text(), nullable=False),
        sa.Column("zone", sa.Text(), nullable=False),
        sa.Column("paused", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("overlap", sa.Text(), nullable=False),
        sa.Column("missed", sa.Text(), nullable=False),
        sa.Column("priority", sa.Integer(), server_default="0", nullable=False),
        sa.Column("plans", postgresql.JSONB(), nullable=False),
        sa.Column("digest", postgresql.JSONB(), server_default="{}", nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("updated", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("missed IN ('run-once', 'skip')", name=op.f("ck_schedules_missed")),
        sa.CheckConstraint("overlap IN ('skip', 'queue')", name=op.f("ck_schedules_overlap")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_schedules_user_id"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_schedules")),
    )
    op.create_index(op.f("ix_schedules_next_at"), "schedules", ["next_at"], unique=False)
    op.create_index("uq_schedules_name", "schedules", [sa.literal_column("lower(name)")], unique=True)
    op.create_table(
        "sessions",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("csrf", sa.Text(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("seen", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("expires", sa.DateTime(timezone=True), nullable=False),
        sa.Column("address", sa.Text(), server_default="", nullable=False),
        sa.Column("agent", sa.Text(), server_default="", nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_sessions_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sessions")),
    )
    op.create_index(op.f("ix_sessions_user_id"), "sessions", ["user_id"], unique=False)
    op.create_table(
        "tokens",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("hint", sa.Text(), nullable=False),
        sa.Column("scopes", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("expires", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_tokens_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("hash", name=op.f("uq_tokens_hash")),
    )
    op.create_index(op.f("ix_tokens_user_id"), "tokens", ["user_id"], unique=False)
    op.create_table(
        "suite_runs",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("schedule_id", sa.BigInteger(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("due", sa.DateTime(timezone=True), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("why", sa.Text(), server_default="", nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("ended", sa.DateTime(timezone=True), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("refused", postgresql.JSONB(), server_default="[]", nullable=False),
        sa.Column("digest", postgresql.JSONB(), nullable=True),
        sa.CheckConstraint("state IN ('WANTED', 'RUNNING', 'DONE', 'SKIPPED')", name=op.f("ck_suite_runs_state")),
        sa.ForeignKeyConstraint(["schedule_id"], ["schedules.id"], name=op.f("fk_suite_runs_schedule_id"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_suite_runs")),
        sa.UniqueConstraint("schedule_id", "due", name=op.f("uq_suite_runs_schedule_id_due")),
    )
    op.create_table(
        "deliveries",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("suite_run_id", sa.BigInteger(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("error", sa.Text(), server_default="", nullable=False),
        sa.Column("log", postgresql.JSONB(), server_default="[]", nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=True),
        sa.Column("sent", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("channel IN ('email', 'webhook')", name=op.f("ck_deliveries_channel")),
        sa.CheckConstraint("state IN ('PENDING', 'SENT', 'FAILED')", name=op.f("ck_deliveries_state")),
        sa.ForeignKeyConstraint(["suite_run_id"], ["suite_runs.id"], name=op.f("fk_deliveries_suite_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_deliveries")),
        sa.UniqueConstraint("suite_run_id", "channel", "target", name=op.f("uq_deliveries_suite_run_id_channel_target")),
    )
    op.create_table(
        "idempotency_keys",
        sa.Column("user_id", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("request_sha256", sa.Text(), nullable=False),
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f("fk_idempotency_keys_campaign_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_idempotency_keys_user_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("user_id", "key", name=op.f("pk_idempotency_keys")),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("testbed", sa.Text(), nullable=True),
        sa.Column("campaign_id", sa.BigInteger(), nullable=True),
        sa.Column("input", postgresql.JSONB(), server_default="{}", nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("incarnation", sa.Text(), nullable=True),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("output", postgresql.JSONB(), nullable=True),
        sa.Column("error", sa.Text(), server_default="", nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("ended", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("state IN ('WANTED', 'TAKEN', 'DONE', 'FAILED')", name=op.f("ck_jobs_state")),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f("fk_jobs_campaign_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    op.create_index(op.f("ix_jobs_state_id"), "jobs", ["state", "id"], unique=False)
    op.create_table(
        "leases",
        sa.Column("resource", sa.Text(), nullable=False),
        sa.Column("testbed", sa.Text(), nullable=False),
        sa.Column("campaign_id", sa.BigInteger(), nullable=True),
        sa.Column("reservation_id", sa.BigInteger(), nullable=True),
        sa.Column("fence", sa.BigInteger(), nullable=True),
        sa.Column("since", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.CheckConstraint("(campaign_id IS NULL) <> (reservation_id IS NULL)", name=op.f("ck_leases_holder")),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f("fk_leases_campaign_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["reservation_id"], ["reservations.id"], name=op.f("fk_leases_reservation_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("resource", name=op.f("pk_leases")),
    )
    op.create_index(op.f("ix_leases_campaign_id"), "leases", ["campaign_id"], unique=False)
    op.create_index(op.f("ix_leases_reservation_id"), "leases", ["reservation_id"], unique=False)
    op.create_table(
        "reports",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("created", sa.DateTime(timezone=True), server_default=sa.text("clock_timestamp()"), nullable=False),
        sa.Column("pdf_path", sa.Text(), nullable=False),
        sa.Column("pdf_sha256", sa.Text(), nullable=False),
        sa.Column("html_path", sa.Text(), nullable=False),
        sa.Column("html_sha256", sa.Text(), nullable=False),
        sa.Column("json_path", sa.Text(), nullable=False),
        sa.Column("json_sha256", sa.Text(), nullable=False),
        sa.Column("pinned", sa.DateTime(timezone=True), nullable=True),
        sa.Column("pinned_by", sa.Text(), server_default="", nullable=False),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaigns.id"], name=op.f("fk_reports_campaign_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reports")),
        sa.UniqueConstraint("campaign_id", "pdf_sha256", name=op.f("uq_reports_campaign_id_pdf_sha256")),
    )
    op.add_column("campaigns", sa.Column("user_id", sa.BigInteger(), nullable=True))
    op.add_column("campaigns", sa.Column("owner", sa.Text(), server_default="", nullable=False))
    op.add_column("campaigns", sa.Column("priority", sa.Integer(), server_default="0", nullable=False))
    op.add_column("campaigns", sa.Column("queued", sa.DateTime(timezone=True), nullable=True))
    op.add_column("campaigns", sa.Column("fence", sa.BigInteger(), server_default="0", nullable=False))
    op.add_column("campaigns", sa.Column("run", sa.Integer(), server_default="0", nullable=False))
    op.add_column("campaigns", sa.Column("worker", sa.Text(), nullable=True))
    op.add_column("campaigns", sa.Column("incarnation", sa.Text(), nullable=True))
    op.add_column("campaigns", sa.Column("cancel", sa.Text(), nullable=True))
    op.add_column("campaigns", sa.Column("parent_id", sa.BigInteger(), nullable=True))
    op.add_column("campaigns", sa.Column("suite_run_id", sa.BigInteger(), nullable=True))
    op.add_column("campaigns", sa.Column("trial_count", sa.Integer(), server_default="0", nullable=False))
    op.add_column("campaigns", sa.Column("trials_done", sa.Integer(), server_default="0", nullable=False))
    op.add_column("campaigns", sa.Column("duration_s", sa.DOUBLE_PRECISION(), server_default="0", nullable=False))
    op.add_column("campaigns", sa.Column("samples_gone", sa.DateTime(timezone=True), nullable=True))
    op.create_index(op.f("ix_campaigns_name_id"), "campaigns", ["name", "id"], unique=False)
    op.create_index(op.f("ix_campaigns_suite_run_id"), "campaigns", ["suite_run_id"], unique=False)
    op.create_index(
        "ix_campaigns_unfinished",
        "campaigns",
        ["testbed"],
        unique=False,
        postgresql_where=sa.text("state IN ('PENDING', 'RUNNING', 'INTERRUPTED')"),
    )
    op.create_index(op.f("ix_campaigns_user_id"), "campaigns", ["user_id"], unique=False)
    op.create_index(op.f("ix_campaigns_testbed_owner_started"), "campaigns", ["testbed", "owner", "started"], unique=False)
    op.create_foreign_key(op.f("fk_campaigns_user_id"), "campaigns", "users", ["user_id"], ["id"], ondelete="SET NULL")
    op.create_foreign_key(op.f("fk_campaigns_parent_id"), "campaigns", "campaigns", ["parent_id"], ["id"], ondelete="SET NULL")
    op.create_foreign_key(op.f("fk_campaigns_suite_run_id"), "campaigns", "suite_runs", ["suite_run_id"], ["id"], ondelete="SET NULL")
    op.execute(_COUNT)
    op.execute(_NOTIFY)
    op.execute(_TRIGGER)

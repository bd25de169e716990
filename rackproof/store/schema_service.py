"""The tables of the service: who uses it, what waits for which testbed, what runs by itself at night. See schema.py for results."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Boolean, CheckConstraint, ForeignKey, Identity, Index, Integer, Text, UniqueConstraint, func, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from rackproof.model.service import DeliveryState, JobState, Missed, Overlap, Role, SuiteRunState, TestbedState
from rackproof.store.columns import Plain
from rackproof.store.schema import Base, one_of


class User(Base):
    """Somebody who may sign in. name is what results and the audit trail carry; password is an argon2 hash, null where OIDC signs in."""

    __tablename__ = "users"
    __table_args__ = (
        CheckConstraint(one_of("role", Role), name="role"),
        UniqueConstraint("oidc_issuer", "oidc_subject"),
        Index("uq_users_name", text("lower(name)"), unique=True),
    )

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    name: Mapped[str]
    full_name: Mapped[str] = mapped_column(server_default="")
    email: Mapped[str] = mapped_column(server_default="")
    role: Mapped[str]
    password: Mapped[str | None]
    oidc_issuer: Mapped[str | None]
    oidc_subject: Mapped[str | None]
    disabled: Mapped[bool] = mapped_column(Boolean, server_default=text("false"))
    created: Mapped[datetime] = mapped_column(server_default=func.now())
    seen: Mapped[datetime | None]


class Session(Base):
    """A browser that is signed in. id is the SHA-256 (hex) of what its cookie holds; csrf is what its forms must send back."""

    __tablename__ = "sessions"
    __table_args__ = (Index(None, "user_id"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    csrf: Mapped[str]
    created: Mapped[datetime] = mapped_column(server_default=func.now())
    seen: Mapped[datetime] = mapped_column(server_default=func.now())
    expires: Mapped[datetime]
    address: Mapped[str] = mapped_column(server_default="")
    agent: Mapped[str] = mapped_column(server_default="")


class Token(Base):
    """An API token. hash is the SHA-256 (hex) of it; hint is its beginning, for people to tell tokens apart."""

    __tablename__ = "tokens"
    __table_args__ = (Index(None, "user_id"),)

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"))
    name: Mapped[str]
    hash: Mapped[str] = mapped_column(unique=True)
    hint: Mapped[str]
    scopes: Mapped[list[str]] = mapped_column(ARRAY(Text()))
    created: Mapped[datetime] = mapped_column(server_default=func.now())
    expires: Mapped[datetime]
    used: Mapped[datetime | None]
    revoked: Mapped[datetime | None]


class SignIn(Base):
    """An attempt to sign in, kept for a while: it limits the rate of further ones."""

    __tablename__ = "sign_ins"
    __table_args__ = (Index(None, "name", "at"), Index(None, "address", "at"))

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
    name: Mapped[str]
    address: Mapped[str]
    succeeded: Mapped[bool] = mapped_column(Boolean)


class OneTimeCode(Base):
    """Something that is good for once: the setup code, a sign-in on its way through the OpenID provider. id is its SHA-256 (hex)."""

    __tablename__ = "one_time_codes"

    id: Mapped[str] = mapped_column(primary_key=True)
    purpose: Mapped[str]
    data: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    expires: Mapped[datetime]


class Audit(Base):
    """Who did what. It names the user in words too, and stays when the user is deleted."""

    __tablename__ = "audit"
    __table_args__ = (Index(None, "target", "id"), Index(None, "user_name", "id"))

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    at: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    user_name: Mapped[str]
    action: Mapped[str]
    target: Mapped[str] = mapped_column(server_default="")
    detail: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    address: Mapped[str] = mapped_column(server_default="")


class IdempotencyKey(Base):
    """A submission that a client may send again: the same key from the same user gives the same campaign."""

    __tablename__ = "idempotency_keys"

    user_id: Mapped[int] = mapped_column(ForeignKey("users.id", ondelete="CASCADE"), primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    request_sha256: Mapped[str]
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaigns.id", ondelete="CASCADE"))
    created: Mapped[datetime] = mapped_column(server_default=func.now())


class Worker(Base):
    """A process that runs campaigns. incarnation changes with every start; it is alive until expires, unless its host knows better.

    host: the machine's identity and its boot; pid and pid_started: the process there. stopped: when it said that it ends.
    """

    __tablename__ = "workers"

    name: Mapped[str] = mapped_column(primary_key=True)
    incarnation: Mapped[str]
    host: Mapped[str]
    pid: Mapped[int] = mapped_column(BigInteger)
    pid_started: Mapped[int] = mapped_column(BigInteger)
    version: Mapped[str]
    testbeds: Mapped[list[str]] = mapped_column(ARRAY(Text()))
    started: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
    seen: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
    expires: Mapped[datetime]
    stopped: Mapped[datetime | None]


class Testbed(Base):
    """A testbed as its worker announced it. resources: devices and generators by name; whoever uses one has it alone.

    limits: what it can carry (rackproof.ports.Limits as plain data). golden: the health check's plan and when it runs; golden_judged: the
    latest check that was judged; golden_reason: why the check took the testbed offline, "" where it did not.
    """

    __tablename__ = "testbeds"
    __table_args__ = (CheckConstraint(one_of("state", TestbedState), name="state"),)

    name: Mapped[str] = mapped_column(primary_key=True)
    driver: Mapped[str]
    description: Mapped[str] = mapped_column(server_default="")
    resources: Mapped[list[str]] = mapped_column(ARRAY(Text()))
    state: Mapped[str]
    reason: Mapped[str] = mapped_column(server_default="")
    limits: Mapped[dict[str, Any] | None] = mapped_column(Plain(none_as_null=True))
    facts: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    announced: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
    golden_plan: Mapped[str | None]
    golden_cron: Mapped[str | None]
    golden_zone: Mapped[str] = mapped_column(server_default="UTC")
    golden_next: Mapped[datetime | None]
    golden_campaign_id: Mapped[int | None] = mapped_column(ForeignKey("campaigns.id", ondelete="SET NULL", use_alter=True))
    golden_judged: Mapped[int | None] = mapped_column(BigInteger)
    golden_reason: Mapped[str] = mapped_column(server_default="")


class Inventory(Base):
    """What a testbed of real parts is made of. text: as somebody wrote it; data: the same, valid, as plain data.

    revision grows with every change; last_check: what the latest `testbed check` of this revision found, null where there was none.
    """

    __tablename__ = "inventories"

    name: Mapped[str] = mapped_column(primary_key=True)
    text: Mapped[str]
    data: Mapped[dict[str, Any]]
    revision: Mapped[int] = mapped_column(BigInteger)
    changed: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
    changed_by: Mapped[str]
    last_check: Mapped[dict[str, Any] | None] = mapped_column(Plain(none_as_null=True))
    checked: Mapped[datetime | None]


class OfflineDevice(Base):
    """A device that nothing may start on until somebody clears it: it may not be as it was before the campaign that had it last."""

    __tablename__ = "offline_devices"

    testbed: Mapped[str] = mapped_column(primary_key=True)
    device: Mapped[str] = mapped_column(primary_key=True)
    reason: Mapped[str]
    campaign_id: Mapped[int | None] = mapped_column(ForeignKey("campaigns.id", ondelete="SET NULL"))
    since: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())


class Reservation(Base):
    """A testbed that a person keeps. It holds nothing before granted; it ends at `ends` or when it is released."""

    __tablename__ = "reservations"
    __table_args__ = (CheckConstraint("starts < ends", name="span"), Index(None, "testbed", "ends"))

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    testbed: Mapped[str] = mapped_column(ForeignKey("testbeds.name"))
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    owner: Mapped[str]
    reason: Mapped[str] = mapped_column(server_default="")
    created: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
    starts: Mapped[datetime]
    ends: Mapped[datetime]
    granted: Mapped[datetime | None]
    released: Mapped[datetime | None]


class Lease(Base):
    """A device or generator in use, by a campaign or a reservation. The primary key is why it is never used twice at once."""

    __tablename__ = "leases"
    __table_args__ = (
        CheckConstraint("(campaign_id IS NULL) <> (reservation_id IS NULL)", name="holder"),
        Index(None, "campaign_id"),
        Index(None, "reservation_id"),
    )

    resource: Mapped[str] = mapped_column(primary_key=True)
    testbed: Mapped[str]
    campaign_id: Mapped[int | None] = mapped_column(ForeignKey("campaigns.id", ondelete="CASCADE"))
    reservation_id: Mapped[int | None] = mapped_column(ForeignKey("reservations.id", ondelete="CASCADE"))
    fence: Mapped[int | None] = mapped_column(BigInteger)
    since: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())


class Schedule(Base):
    """A suite of plans that runs by itself. plans: [{"text": ...}] as they were submitted; digest: {"emails": [...], "webhooks": [...]}.

    next_at is when it fires next; whoever moves it on, in the same transaction, makes the run.
    """

    __tablename__ = "schedules"
    __table_args__ = (
        CheckConstraint(one_of("overlap", Overlap), name="overlap"),
        CheckConstraint(one_of("missed", Missed), name="missed"),
        Index("uq_schedules_name", text("lower(name)"), unique=True),
        Index(None, "next_at"),
    )

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    name: Mapped[str]
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    owner: Mapped[str]
    cron: Mapped[str]
    zone: Mapped[str]
    paused: Mapped[bool] = mapped_column(Boolean, server_default=text("false"))
    overlap: Mapped[str]
    missed: Mapped[str]
    priority: Mapped[int] = mapped_column(Integer, server_default="0")
    plans: Mapped[list[Any]] = mapped_column(Plain())
    digest: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    created: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
    updated: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
    next_at: Mapped[datetime | None]


class SuiteRun(Base):
    """One firing of a schedule. due is the moment for which it was meant: a schedule has one run for each moment, never two.

    since: the first of the moments that it stands for, where several were missed. refused: plans that could not be submitted, and why.
    """

    __tablename__ = "suite_runs"
    __table_args__ = (CheckConstraint(one_of("state", SuiteRunState), name="state"), UniqueConstraint("schedule_id", "due"))

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    schedule_id: Mapped[int | None] = mapped_column(ForeignKey("schedules.id", ondelete="SET NULL"))
    name: Mapped[str]
    due: Mapped[datetime]
    since: Mapped[datetime | None]
    why: Mapped[str] = mapped_column(server_default="")
    created: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
    ended: Mapped[datetime | None]
    state: Mapped[str]
    refused: Mapped[list[Any]] = mapped_column(Plain(), server_default="[]")
    digest: Mapped[dict[str, Any] | None] = mapped_column(Plain(none_as_null=True))


class Delivery(Base):
    """A digest on its way to one recipient. log: every attempt that failed, [{"at": ..., "error": ...}]."""

    __tablename__ = "deliveries"
    __table_args__ = (
        CheckConstraint(one_of("state", DeliveryState), name="state"),
        CheckConstraint("channel IN ('email', 'webhook')", name="channel"),
        UniqueConstraint("suite_run_id", "channel", "target"),
    )

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    suite_run_id: Mapped[int] = mapped_column(ForeignKey("suite_runs.id", ondelete="CASCADE"))
    channel: Mapped[str]
    target: Mapped[str]
    state: Mapped[str]
    attempts: Mapped[int] = mapped_column(Integer, server_default="0")
    error: Mapped[str] = mapped_column(server_default="")
    log: Mapped[list[Any]] = mapped_column(Plain(), server_default="[]")
    next_at: Mapped[datetime | None] = mapped_column(server_default=func.clock_timestamp())
    sent: Mapped[datetime | None]


class Job(Base):
    """Something small that the API asks of a worker: a report to write, a rehearsal on a testbed. testbed null: any worker may do it."""

    __tablename__ = "jobs"
    __table_args__ = (
        CheckConstraint(one_of("state", JobState), name="state"),
        Index(None, "state", "id"),
    )

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    kind: Mapped[str]
    testbed: Mapped[str | None]
    campaign_id: Mapped[int | None] = mapped_column(ForeignKey("campaigns.id", ondelete="CASCADE"))
    input: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    state: Mapped[str]
    incarnation: Mapped[str | None]
    attempts: Mapped[int] = mapped_column(Integer, server_default="0")
    output: Mapped[dict[str, Any] | None] = mapped_column(Plain(none_as_null=True))
    error: Mapped[str] = mapped_column(server_default="")
    created: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
    ended: Mapped[datetime | None]


class Report(Base):
    """A finished report: its files are named after their content (report-CAMPAIGN-SHA256.pdf). A pinned one keeps what it rests on."""

    __tablename__ = "reports"
    __table_args__ = (UniqueConstraint("campaign_id", "pdf_sha256"),)

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaigns.id", ondelete="CASCADE"))
    created: Mapped[datetime] = mapped_column(server_default=func.clock_timestamp())
    pdf_path: Mapped[str]
    pdf_sha256: Mapped[str]
    html_path: Mapped[str]
    html_sha256: Mapped[str]
    json_path: Mapped[str]
    json_sha256: Mapped[str]
    pinned: Mapped[datetime | None]
    pinned_by: Mapped[str] = mapped_column(server_default="")

"""The tables. A change here needs a migration beside it (migrations/versions); a test compares the two."""

from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    DateTime,
    ForeignKey,
    Identity,
    Index,
    Integer,
    MetaData,
    Numeric,
    UniqueConstraint,
    func,
)
from sqlalchemy.dialects.postgresql import ARRAY, DOUBLE_PRECISION, JSONB
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from rackproof.model.campaign import CampaignState
from rackproof.model.verdict import Verdict
from rackproof.store.columns import Plain, Words

#: The revision of the newest migration.
HEAD = "0004"


def one_of(column: str, values: type[StrEnum]) -> str:
    """The condition that a column holds one of the values."""
    return f"{column} IN ({', '.join(repr(str(value)) for value in values)})"


class Base(DeclarativeBase):
    """All tables of the core."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012  # SQLAlchemy's own attribute
        str: Words(),
        float: DOUBLE_PRECISION(),
        datetime: DateTime(timezone=True),
        dict[str, Any]: Plain(),
    }


class Campaign(Base):
    """A submission of a plan. state RUNNING counts only while the worker that leased its testbed lives: see leases.py.

    owner: whose it is, in words, "" where the command line ran it itself. queued: since when it waits, or waited; null beside the queue.
    fence: grows with every lease; whoever writes a result must know it. run: how often it was put into the queue. worker, incarnation: who
    has it, or had it last. cancel: why it must end. trial_count, trials_done and duration_s are those of its trials, kept here so that
    lists need not count.
    """

    __tablename__ = "campaigns"
    __table_args__ = (
        CheckConstraint(one_of("state", CampaignState), name="state"),
        CheckConstraint(one_of("verdict", Verdict), name="verdict"),
        Index("ix_campaigns_unfinished", "testbed", postgresql_where="state IN ('PENDING', 'RUNNING', 'INTERRUPTED')"),
        Index(None, "name", "id"),
        Index(None, "suite_run_id"),
        Index(None, "user_id"),
        Index(None, "testbed", "owner", "started"),
    )

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    name: Mapped[str]
    kind: Mapped[str]
    testbed: Mapped[str]
    plan: Mapped[dict[str, Any]]
    plan_text: Mapped[str]
    plan_sha256: Mapped[str]
    state: Mapped[str]
    created: Mapped[datetime] = mapped_column(server_default=func.now())
    started: Mapped[datetime | None]
    ended: Mapped[datetime | None]
    resumed: Mapped[list[datetime]] = mapped_column(ARRAY(DateTime(timezone=True)), server_default="{}")
    verdict: Mapped[str | None]
    reason: Mapped[str] = mapped_column(server_default="")
    calibration: Mapped[dict[str, Any] | None] = mapped_column(Plain(none_as_null=True))
    provenance: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    user_id: Mapped[int | None] = mapped_column(ForeignKey("users.id", ondelete="SET NULL"))
    owner: Mapped[str] = mapped_column(server_default="")
    priority: Mapped[int] = mapped_column(Integer, server_default="0")
    queued: Mapped[datetime | None]
    fence: Mapped[int] = mapped_column(BigInteger, server_default="0")
    run: Mapped[int] = mapped_column(Integer, server_default="0")
    worker: Mapped[str | None]
    incarnation: Mapped[str | None]
    cancel: Mapped[str | None]
    parent_id: Mapped[int | None] = mapped_column(ForeignKey("campaigns.id", ondelete="SET NULL"))
    suite_run_id: Mapped[int | None] = mapped_column(ForeignKey("suite_runs.id", ondelete="SET NULL"))
    trial_count: Mapped[int] = mapped_column(Integer, server_default="0")
    trials_done: Mapped[int] = mapped_column(Integer, server_default="0")
    duration_s: Mapped[float] = mapped_column(server_default="0")
    samples_gone: Mapped[datetime | None]


class Trial(Base):
    """A trial; verdict is null until its result is there, and then never changes."""

    __tablename__ = "trials"
    __table_args__ = (
        UniqueConstraint("campaign_id", "index"),
        Index(None, "point", postgresql_using="gin", postgresql_ops={"point": "jsonb_path_ops"}),
        CheckConstraint(one_of("verdict", Verdict), name="verdict"),
        CheckConstraint(
            "(samples_path IS NULL) = (samples_sha256 IS NULL) AND (samples_path IS NULL) = (samples_rows IS NULL)", name="samples"
        ),
    )

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaigns.id", ondelete="CASCADE"))
    index: Mapped[int] = mapped_column(Integer)
    label: Mapped[str]
    point: Mapped[dict[str, Any]]
    repetition: Mapped[int] = mapped_column(Integer)
    seed: Mapped[Decimal] = mapped_column(Numeric(40, 0))
    duration_s: Mapped[float]
    started: Mapped[datetime | None]
    ended: Mapped[datetime | None]
    verdict: Mapped[str | None]
    reason: Mapped[str] = mapped_column(server_default="")
    health: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    counters: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    samples_path: Mapped[str | None]
    samples_sha256: Mapped[str | None]
    samples_rows: Mapped[int | None] = mapped_column(BigInteger)


class Quantity(Base):
    """What is measured: everything that the measurements of many trials have in common, kept once."""

    __tablename__ = "quantities"
    __table_args__ = (UniqueConstraint("name", "unit", "subject", "confidence", "method", postgresql_nulls_not_distinct=True),)

    id: Mapped[int] = mapped_column(Integer, Identity(always=True), primary_key=True)
    name: Mapped[str]
    unit: Mapped[str]
    subject: Mapped[dict[str, Any]] = mapped_column(JSONB)
    confidence: Mapped[float | None]
    method: Mapped[str | None]


class Measurement(Base):
    """One number of one trial; its place (position) among the trial's numbers is kept. low and high are null where there is no interval."""

    __tablename__ = "measurements"
    __table_args__ = (Index(None, "quantity_id", "trial_id"),)

    trial_id: Mapped[int] = mapped_column(ForeignKey("trials.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(Integer, primary_key=True)
    quantity_id: Mapped[int] = mapped_column(ForeignKey("quantities.id"))
    value: Mapped[float]
    low: Mapped[float | None]
    high: Mapped[float | None]
    n: Mapped[int] = mapped_column(BigInteger)


class Mean(Base):
    """What a campaign that is done came to in one quantity, over its valid trials: see means.py. It counts under this fence alone.

    quantity_id: the first of those that have its name, unit and subject. low, high: the squares of the distances of the interval's ends.
    """

    __tablename__ = "means"

    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaigns.id", ondelete="CASCADE"), primary_key=True)
    quantity_id: Mapped[int] = mapped_column(ForeignKey("quantities.id"), primary_key=True)
    fence: Mapped[int] = mapped_column(BigInteger)
    n: Mapped[int] = mapped_column(BigInteger)
    left_out: Mapped[int] = mapped_column(BigInteger)
    points: Mapped[int] = mapped_column(BigInteger)
    mean: Mapped[float | None]
    known: Mapped[bool] = mapped_column(Boolean)
    low: Mapped[float | None]
    high: Mapped[float | None]


class Curve(Base):
    """One curve of one trial."""

    __tablename__ = "curves"

    trial_id: Mapped[int] = mapped_column(ForeignKey("trials.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(Integer, primary_key=True)
    name: Mapped[str]
    x_name: Mapped[str]
    x_unit: Mapped[str]
    y_name: Mapped[str]
    y_unit: Mapped[str]
    subject: Mapped[dict[str, Any]]
    n: Mapped[int] = mapped_column(BigInteger)
    x: Mapped[list[float]] = mapped_column(ARRAY(DOUBLE_PRECISION))
    y: Mapped[list[float]] = mapped_column(ARRAY(DOUBLE_PRECISION))


class Finding(Base):
    """One criterion, judged over a campaign."""

    __tablename__ = "findings"
    __table_args__ = (CheckConstraint(one_of("verdict", Verdict), name="verdict"),)

    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaigns.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(Integer, primary_key=True)
    criterion: Mapped[str]
    title: Mapped[str]
    subject: Mapped[dict[str, Any]]
    verdict: Mapped[str]
    value: Mapped[float]
    unit: Mapped[str]
    n: Mapped[int] = mapped_column(BigInteger)
    low: Mapped[float | None]
    high: Mapped[float | None]
    confidence: Mapped[float | None]
    method: Mapped[str | None]
    limit: Mapped[str]
    statement: Mapped[str]
    trials: Mapped[list[int]] = mapped_column(ARRAY(Integer))
    detail: Mapped[dict[str, Any]]


class Event(Base):
    """What happened, in order; progress is read from here by others."""

    __tablename__ = "events"
    __table_args__ = (Index(None, "campaign_id", "seq"),)

    seq: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaigns.id", ondelete="CASCADE"))
    at: Mapped[datetime] = mapped_column(server_default=func.now())
    kind: Mapped[str]
    data: Mapped[dict[str, Any]]


class Configuration(Base):
    """A device's configuration as text, at one moment of a campaign."""

    __tablename__ = "configurations"
    __table_args__ = (UniqueConstraint("campaign_id", "name"),)

    id: Mapped[int] = mapped_column(BigInteger, Identity(always=True), primary_key=True)
    campaign_id: Mapped[int] = mapped_column(ForeignKey("campaigns.id", ondelete="CASCADE"))
    name: Mapped[str]
    text: Mapped[str]

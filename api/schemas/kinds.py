"""Kinds of plan on the wire."""

from typing import Any

from pydantic import Field

from api.problems import Fault
from api.schemas.base import Given


class KindSummary(Given):
    """A kind of plan in a list."""

    name: str = Field(examples=["switch-qos"])
    title: str = Field(examples=["Switch QoS"])
    summary: str


class PlanFile(Given):
    """A plan that is ready to be submitted."""

    name: str = Field(examples=["demo"])
    text: str = Field(description="YAML.")


class Kind(KindSummary):
    """A kind of plan with everything that a form, or an editor, needs."""

    plan_schema: dict[str, Any] = Field(
        description="JSON Schema of its plans; titles and help for forms; `x-unit` is the unit of a number whose name ends in one."
    )
    plans: list[PlanFile]


class Kinds(Given):
    """All kinds of plan."""

    items: list[KindSummary]


class Checked(Given):
    """What was found when a plan was read; nothing was touched."""

    valid: bool
    problems: list[Fault]
    kind: str | None = Field(default=None, description="There where the plan is valid, as all that follows.")
    name: str | None = None
    testbed: str | None = None
    trials: int | None = Field(default=None, description="How many trials it stands for.")
    duration_s: float | None = Field(default=None, description="Expected wall time of all trials [s].")
    labels: list[str] | None = Field(default=None, description="The first hundred trials in words.")


class RehearsedTrial(Given):
    """What one trial would do."""

    index: int
    label: str
    duration_s: float
    note: str = Field(description="What will happen in it.", examples=["q0 and q1 saturate"])


class Rehearsal(Given):
    """What a plan would do on its testbed, found without touching anything."""

    trials: list[RehearsedTrial]
    refusals: list[str] = Field(description="Why the plan cannot run there; empty: it can.")
    warnings: list[str]
    duration_s: float = Field(description="Expected wall time of all trials [s].")

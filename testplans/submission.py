"""From what somebody submits to a campaign that can be put into the queue: one way for the API, schedules and the command line."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rackproof.errors import NotFound, PlanError, Problem
from rackproof.model.trial import Trial
from rackproof.planfile import PlanFile, parse_plan, read_plan, validate
from testplans.kind import Envelope, Kind, Plan
from testplans.registry import kind, kinds


@dataclass(frozen=True, kw_only=True, slots=True)
class Submission:
    """A plan that is valid, with the trials that it stands for."""

    file: PlanFile
    kind: Kind
    plan: Plan
    trials: tuple[Trial, ...]

    def columns(self) -> dict[str, Any]:
        """What the store keeps of it: the arguments of Store.create_campaign and Queue.submit that come from the plan."""
        return {
            "name": self.plan.name,
            "kind": self.plan.kind,
            "testbed": self.plan.testbed,
            "plan": self.plan.model_dump(mode="json"),
            "plan_text": self.file.text,
            "plan_sha256": self.file.sha256,
            "trials": self.trials,
        }


def submission(content: bytes, source: str = "plan") -> Submission:
    """A plan in YAML or JSON as a submission. Raises PlanError with every problem, each with its line."""
    return of_file(parse_plan(content, source))


def submission_at(path: Path) -> Submission:
    """A plan file as a submission. Raises PlanError."""
    return of_file(read_plan(path))


def of_file(file: PlanFile) -> Submission:
    """A plan that was read as a submission. Raises PlanError."""
    for each in kinds().values():
        file = each.translated(file)
    envelope = validate(Envelope, file)
    try:
        chosen = kind(envelope.kind)
    except NotFound as error:
        problem = Problem(where="kind", expected="a kind of plan", found=str(error), line=file.line_of(("kind",)))
        raise PlanError(file.source, [problem]) from None
    plan = validate(chosen.plan_model, file)
    return Submission(file=file, kind=chosen, plan=plan, trials=chosen.expand(plan))

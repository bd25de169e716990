"""A rehearsal on a testbed: what the kind foresees, and what the testbed says against it."""

from dataclasses import replace
from typing import Any, Protocol

from rackproof.model.topology import Setup
from rackproof.ports import Limits
from testplans.kind import Kind, Rehearsal


class Foreseeable(Protocol):
    """What is asked of a testbed, or of what is known of one."""

    def limits(self) -> Limits:
        """What it can carry."""

    def objections(self, setup: Setup) -> tuple[str, ...]:
        """Why a setup cannot be built or configured there."""


def rehearse(kind: Kind, plan: Any, testbed: Foreseeable) -> Rehearsal:
    """Every trial that would run, warnings, and refusals; no device is configured. Raises LabError where the testbed cannot be asked."""
    foreseen = kind.rehearse(plan, testbed.limits())
    objections: dict[str, None] = {}
    for trial in foreseen.trials:
        objections |= dict.fromkeys(testbed.objections(kind.setup(plan, trial)))
    known = set(foreseen.refusals)
    return replace(foreseen, refusals=(*foreseen.refusals, *(objection for objection in objections if objection not in known)))

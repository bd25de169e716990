"""What does a new plan begin with? A plan file of its kind that is ready to run, the plan of an earlier campaign, or next to nothing."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from rackproof.errors import NotFound, PlanError
from rackproof.planfile import parse_plan
from testplans.kind import Kind
from testplans.registry import kind, ready_plans
from web.plan_text import block

BLANK = "blank"


@dataclass(frozen=True, kw_only=True, slots=True)
class Ready:
    """A plan file that is ready to run. summary: what its first comment says."""

    name: str
    title: str
    testbed: str
    summary: str
    text: str


@cache
def ready(name: str) -> Mapping[str, Ready]:
    """The plan files of a kind, by name."""
    return {file.stem: _ready(file.stem, file.read_text(encoding="utf-8")) for file in ready_plans(kind(name))}


def begun(of: Kind, plan: str | None) -> str:
    """The text of a ready plan, or the least that a plan of the kind can be. Raises NotFound."""
    if plan == BLANK:
        return block({"kind": of.name, "name": f"New {of.title} campaign"})
    files = ready(of.name)
    if plan is None:
        preferred = next((file for file in files.values() if file.name == "demo"), next(iter(files.values()), None))
        return preferred.text if preferred is not None else begun(of, BLANK)
    if plan not in files:
        raise NotFound(f"the kind {of.name} has no plan {plan!r}; there are: {', '.join(files) or 'none'}")
    return files[plan].text


def readable(text: str) -> str:
    """A plan as people write it; one that a program sent as JSON is written anew."""
    if not text.lstrip().startswith("{"):
        return text
    try:
        return block(json.loads(text))
    except ValueError:
        return text


def _ready(name: str, text: str) -> Ready:
    try:
        data = parse_plan(text.encode(), name).data
    except PlanError:
        data = {}
    first = []
    for row in text.splitlines():
        if not row.startswith("#"):
            break
        first.append(row.lstrip("# ").strip())
    return Ready(name=name, title=str(data.get("name", name)), testbed=str(data.get("testbed", "")), summary=" ".join(first), text=text)

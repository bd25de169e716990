"""A plan that somebody is writing: what is wrong with it, and which fields ask for it?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from api.units import with_units
from rackproof.errors import NotFound, PlanError, Problem
from rackproof.planfile import Path_, PlanFile, parse_plan, validate
from testplans.kind import Envelope, Kind, Plan
from testplans.registry import kind, kinds
from web.edits import STRUCTURAL, Edit, edited
from web.forms import Field, form
from web.shapes import Schema
from web.shorthand import written_out

SOURCE = "plan"


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """A plan as it is written.

    file is None where it cannot be read as YAML, kind where it names none that is there, plan where it is wrong.
    """

    text: str
    problems: tuple[Problem, ...]
    file: PlanFile | None = None
    kind: Kind | None = None
    plan: Plan | None = None

    @property
    def whole(self) -> dict[str, Any]:
        """Its data, short forms written out."""
        if self.file is None or self.kind is None:
            return {}
        return written_out(self.kind.plan_model, self.file.data)

    def fields(self, testbeds: Sequence[str]) -> tuple[Field, ...]:
        """What its form asks for; the kind itself is chosen elsewhere."""
        if self.kind is None:
            return ()
        suggestions: dict[Path_, Sequence[str]] = {("testbed",): testbeds}
        return tuple(field for field in form(schema_of(self.kind.name), self.whole, suggestions) if field.path != ("kind",))


def draft(text: str) -> Draft:
    """Read a text; nothing is expanded, so that it is quick for a plan of any size."""
    content = text.encode("utf-8", "replace")
    try:
        file = parse_plan(content, SOURCE)
    except PlanError as error:
        return Draft(text=text, problems=tuple(error.problems))
    try:
        chosen = kind(validate(Envelope, file).kind)
    except PlanError as error:
        return Draft(text=text, file=file, problems=tuple(error.problems))
    except NotFound:
        known = ", ".join(sorted(kinds()))
        found = str(file.data.get("kind"))
        problem = Problem(where="kind", expected=f"a kind of plan ({known})", found=found, line=file.line_of(("kind",)))
        return Draft(text=text, file=file, problems=(problem,))
    try:
        plan = validate(chosen.plan_model, file)
    except PlanError as error:
        return Draft(text=text, file=file, kind=chosen, problems=tuple(error.problems))
    return Draft(text=text, file=file, kind=chosen, plan=plan, problems=())


def after(before: Draft, edits: Sequence[Edit], testbeds: Sequence[str]) -> tuple[Draft, bool]:
    """The draft after some edits, and whether its form has other fields now."""
    structural = False
    for edit in edits:
        if before.file is None or before.kind is None:
            return before, True
        fields = before.fields(testbeds)
        known = {one.pointer for field in fields for one in field.walk()}
        text = edited(before.file, before.whole, fields, definitions_of(before.kind.name), edit)
        structural = structural or edit.op in STRUCTURAL or edit.path not in known
        before = draft(text)
    return before, structural


@cache
def schema_of(name: str) -> Mapping[str, Any]:
    """The JSON Schema of a kind's plans, with units and titles."""
    return with_units(kind(name).plan_model.model_json_schema())


def definitions_of(name: str) -> Mapping[str, Schema]:
    """The parts that the schema refers to."""
    found: Mapping[str, Schema] = schema_of(name).get("$defs", {})
    return found

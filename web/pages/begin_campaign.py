"""How does somebody begin a campaign? A plan as a form and as YAML, each of which writes the other, and what it would do.

Pages are included by their module's name, and this one comes before those whose addresses take "new" for the number of a campaign.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, ConfigDict, Field

from api.identity import GuardedRoute, needs
from api.wiring import Number, TheStore
from rackproof.errors import Problem
from rackproof.model.service import Role
from rackproof.planfile import FILE_BYTES_MAX
from rackproof.store import Store
from rackproof.store.browse_rows import CampaignFilter
from testplans import registry
from web import foresight, starting
from web.drafts import Draft, after, draft
from web.edits import Edit, Op
from web.rendering import environment, page

router = APIRouter(route_class=GuardedRoute, dependencies=[needs(Role.ENGINEER)])

_RECENT = 12


class Written(BaseModel):
    """A plan that is being written."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(max_length=FILE_BYTES_MAX)


class Change(BaseModel):
    """One change in the form."""

    model_config = ConfigDict(extra="forbid")

    op: Op
    path: str = Field(max_length=2000)
    value: str = Field(default="", max_length=FILE_BYTES_MAX)


class Changed(Written):
    """Changes in the form, to be made in the plan."""

    edits: list[Change] = Field(max_length=200)


class Foreseen(Written):
    """A plan to be foreseen; rehearsal: the job of a worker that looked at it."""

    rehearsal: int | None = None


@router.get("/campaigns/new")
def new(
    request: Request,
    store: TheStore,
    kind: Annotated[str | None, Query(max_length=100)] = None,
    plan: Annotated[str | None, Query(max_length=200)] = None,
    origin: Annotated[int | None, Query(alias="from", ge=1, le=2**63 - 1)] = None,
) -> Response:
    kinds = registry.kinds()
    original = store.browse.detail(origin) if origin is not None else None
    if original is not None:
        text, chosen = starting.readable(original.plan_text), kinds.get(original.row.kind)
    else:
        chosen = registry.kind(kind) if kind is not None else next(iter(kinds.values()))
        text = starting.begun(chosen, plan)
    written = draft(text)
    return page(
        request,
        "new_campaign.html.j2",
        kinds=[kinds[name] for name in sorted(kinds)],
        chosen=chosen,
        ready=starting.ready(chosen.name).values() if chosen is not None else (),
        recent=store.browse.campaigns(CampaignFilter(kind=chosen.name if chosen is not None else None), limit=_RECENT),
        original=original,
        plan=plan,
        blank=starting.BLANK,
        draft=written,
        fields=written.fields(_testbeds(store)),
        problems=[_plain(problem) for problem in written.problems],
    )


@router.get("/campaigns/{campaign}/clone")
def clone(campaign: Number) -> Response:
    return RedirectResponse(f"/campaigns/new?from={campaign}", 303)


@router.post("/campaigns/new/form")
def form_of_yaml(request: Request, store: TheStore, written: Written) -> dict[str, Any]:
    found = draft(written.text)
    return {"problems": [_plain(problem) for problem in found.problems], **_form(request, store, found)}


@router.post("/campaigns/new/yaml")
def yaml_of_form(request: Request, store: TheStore, changed: Changed) -> dict[str, Any]:
    edits = [Edit(op=one.op, path=one.path, value=one.value) for one in changed.edits]
    found, structural = after(draft(changed.text), edits, _testbeds(store))
    answer: dict[str, Any] = {"text": found.text, "problems": [_plain(problem) for problem in found.problems]}
    return answer | (_form(request, store, found) if structural else {})


@router.post("/campaigns/new/rehearsal")
def rehearsal(request: Request, store: TheStore, wanted: Foreseen) -> dict[str, Any]:
    found = draft(wanted.text)
    if found.plan is None:
        return {"html": _part(request, "part_foresight.html.j2", foresight=None, count=len(found.problems)), "ask": False, "refused": False}
    seen = foresight.foresee(store, found, wanted.rehearsal)
    queue = [place for place in store.queue.forecast(seen.testbed_name) if place.position > 0] if seen.testbed is not None else []
    html = _part(request, "part_foresight.html.j2", foresight=seen, waiting=len(queue), offline=foresight.offline(seen.testbed), count=0)
    return {"html": html, "ask": wanted.rehearsal is None and foresight.worth_asking(seen), "refused": bool(seen.refusals)}


def _testbeds(store: Store) -> list[str]:
    return [testbed.name for testbed in store.testbeds.list()]


def _form(request: Request, store: Store, found: Draft) -> dict[str, str]:
    """The form anew; nothing where there is no plan to be shown, so that the last one stays."""
    if found.file is None or found.kind is None:
        return {}
    return {"form": _part(request, "part_plan_form.html.j2", fields=found.fields(_testbeds(store)))}


def _part(request: Request, template: str, **values: Any) -> str:
    return environment().get_template(template).render(request=request, **values)


def _plain(problem: Problem) -> dict[str, Any]:
    return {"where": problem.where, "line": problem.line, "expected": problem.expected, "found": problem.found}

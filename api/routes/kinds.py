"""What kinds of plan are there, and what may a plan of each say?"""

import functools
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response

from api.conditions import conditional
from api.identity import GuardedRoute, needs
from api.problems import responses
from api.schemas.kinds import Kind, Kinds, KindSummary, PlanFile
from api.units import with_units
from rackproof.model.service import Role
from testplans import registry

router = APIRouter(tags=["kinds"], route_class=GuardedRoute, dependencies=[needs(Role.VIEWER)])

KindName = Annotated[str, Path(max_length=100, examples=["switch-qos"])]


@router.get("/kinds", responses=responses(401, 403))
def list_kinds() -> Kinds:
    """All kinds of plan."""
    found = registry.kinds()
    return Kinds(items=[KindSummary(name=name, title=found[name].title, summary=found[name].summary) for name in sorted(found)])


@router.get("/kinds/{kind}", response_model=Kind, responses=responses(304, 401, 403, 404))
def get_kind(request: Request, kind: KindName) -> Response:
    """One kind: the JSON Schema of its plans, and plans that are ready to run."""
    return conditional(request, _described(registry.kind(kind).name))


@router.get("/kinds/{kind}/schema", responses=responses(401, 403, 404))
def get_kind_schema(kind: KindName) -> dict[str, Any]:
    """The JSON Schema of the kind's plans by itself, for editors that check a file while it is written."""
    return _described(registry.kind(kind).name).plan_schema


@functools.cache
def _described(name: str) -> Kind:
    kind = registry.kind(name)
    return Kind(
        name=kind.name,
        title=kind.title,
        summary=kind.summary,
        plan_schema=with_units(kind.plan_model.model_json_schema()),
        plans=[PlanFile(name=file.stem, text=file.read_text(encoding="utf-8")) for file in registry.ready_plans(kind)],
    )

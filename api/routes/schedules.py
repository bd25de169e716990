"""What runs by itself, and what came of it? Schedules, their runs, and digests on their way."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from api import plans
from api.cursors import Cursor, Limit, announce, encode, numbers
from api.identity import GuardedRoute, Identity, needs
from api.problems import Refusal, responses
from api.schemas.base import Page
from api.schemas.schedules import Delivery, NewSchedule, Schedule, ScheduleChange, Schedules, Started, SuiteRun, SuiteRunSummary, hidden
from api.wiring import BIGINT_MAX, Number, TheStore
from rackproof.model.service import Role
from rackproof.store import Store

router = APIRouter(tags=["schedules"], route_class=GuardedRoute)

Viewer = Annotated[Identity, needs(Role.VIEWER)]
Engineer = Annotated[Identity, needs(Role.ENGINEER)]


@router.get("/schedules", responses=responses(401, 403))
def list_schedules(store: TheStore, _who: Viewer) -> Schedules:
    """All schedules by name."""
    return Schedules(items=[Schedule.model_validate(one) for one in store.schedules.list()])


@router.post("/schedules", status_code=201, responses=responses(400, 401, 403, 404, 409))
def create_schedule(request: Request, response: Response, store: TheStore, who: Engineer, asked: NewSchedule) -> Schedule:
    """Run a suite of plans by itself."""
    _check(store, asked.plans)
    with who.does(store, "schedule.create", name=asked.name) as deed:
        made = store.schedules.create(**dict(asked), owner=who.user.name, user_id=who.user.id)
        deed.target = f"schedule {made.id}"
    response.headers["Location"] = request.app.url_path_for("get_schedule", schedule=made.id)
    return Schedule.model_validate(made)


@router.get("/schedules/{schedule}", responses=responses(401, 403, 404))
def get_schedule(store: TheStore, _who: Viewer, schedule: Number) -> Schedule:
    """One schedule."""
    return Schedule.model_validate(store.schedules.get(schedule))


@router.patch("/schedules/{schedule}", responses=responses(400, 401, 403, 404, 409))
def change_schedule(store: TheStore, who: Engineer, schedule: Number, asked: ScheduleChange) -> Schedule:
    """Change a schedule: one's own, or, as admin, anybody's."""
    _check_owner(store, who, schedule)
    changes = {name: value for name, value in asked if value is not None}
    _check(store, changes.get("plans", ()))
    with who.does(store, "schedule.change", f"schedule {schedule}", changed=sorted(changes)):
        changed = store.schedules.update(schedule, **changes)
    return Schedule.model_validate(changed)


@router.delete("/schedules/{schedule}", status_code=204, response_class=Response, responses=responses(401, 403, 404))
def delete_schedule(store: TheStore, who: Engineer, schedule: Number) -> None:
    """Forget a schedule, one's own or, as admin, anybody's; its runs and campaigns stay."""
    _check_owner(store, who, schedule)
    with who.does(store, "schedule.delete", f"schedule {schedule}"):
        store.schedules.delete(schedule)


@router.post("/schedules/{schedule}/pause", responses=responses(401, 403, 404))
def pause_schedule(store: TheStore, who: Engineer, schedule: Number) -> Schedule:
    """Let it fire no more, until it is resumed."""
    with who.does(store, "schedule.pause", f"schedule {schedule}"):
        paused = store.schedules.pause(schedule, True)
    return Schedule.model_validate(paused)


@router.post("/schedules/{schedule}/resume", responses=responses(401, 403, 404))
def resume_schedule(store: TheStore, who: Engineer, schedule: Number) -> Schedule:
    """Let it fire again; moments that passed meanwhile are not missed."""
    with who.does(store, "schedule.resume", f"schedule {schedule}"):
        resumed = store.schedules.pause(schedule, False)
    return Schedule.model_validate(resumed)


@router.post("/schedules/{schedule}/run", status_code=202, responses=responses(401, 403, 404, 409))
def run_schedule_now(request: Request, response: Response, store: TheStore, who: Engineer, schedule: Number) -> Started:
    """Ask for a run now, beside the times at which it is due."""
    with who.does(store, "schedule.run", f"schedule {schedule}") as deed:
        run = store.schedules.run_now(schedule, by=who.user.name)
        deed.detail["run"] = run
    url = request.app.url_path_for("get_suite_run", run=run)
    response.headers["Location"] = url
    return Started(id=run, url=url)


@router.get("/suite-runs", responses=responses(401, 403))
def list_suite_runs(
    request: Request,
    response: Response,
    store: TheStore,
    _who: Viewer,
    cursor: Cursor = None,
    limit: Limit = 50,
    schedule: Annotated[int | None, Query(ge=1, le=BIGINT_MAX, description="Of this schedule.")] = None,
) -> Page[SuiteRunSummary]:
    """Runs of schedules, the newest first."""
    place = numbers(cursor)
    runs = store.schedules.runs(schedule, before=place[0] if place else None, limit=limit + 1)
    following = encode(runs[limit - 1].id) if len(runs) > limit else None
    announce(request, response, following)
    return Page(items=[SuiteRunSummary.model_validate(run) for run in runs[:limit]], next=following)


@router.get("/suite-runs/{run}", responses=responses(401, 403, 404))
def get_suite_run(store: TheStore, _who: Viewer, run: Number) -> SuiteRun:
    """One run with its digest, and who was told."""
    found = store.schedules.run(run)
    columns = {name: getattr(found, name) for name in SuiteRun.model_fields if name != "deliveries"}
    return SuiteRun(**{**columns, "campaigns": list(found.campaigns), "refused": list(found.refused)}, deliveries=_deliveries(store, run))


@router.post("/deliveries/{delivery}/retry", status_code=202, responses=responses(401, 403, 404, 409))
def retry_delivery(store: TheStore, who: Engineer, delivery: Number) -> None:
    """Try again to deliver a digest whose attempts were used up."""
    with who.does(store, "delivery.retry", f"delivery {delivery}"):
        store.deliveries.again(delivery)


def _deliveries(store: Store, run: int) -> list[Delivery]:
    names = [name for name in Delivery.model_fields if name not in {"target", "log"}]
    return [
        Delivery(
            **{name: getattr(one, name) for name in names},
            log=list(one.log),
            target=hidden(one.target) if one.channel == "webhook" else one.target,
        )
        for one in store.deliveries.of(run)
    ]


def _check(store: Store, texts: list[str] | tuple[str, ...]) -> None:
    """Plans that could not be submitted are refused now, not at night. Raises PlanError, NotFound."""
    for number, text in enumerate(texts, start=1):
        store.testbeds.get(plans.read(text.encode(), f"plan {number}").plan.testbed)


def _check_owner(store: Store, who: Identity, schedule: int) -> None:
    found = store.schedules.get(schedule)
    if found.user_id != who.user.id and not who.may(Role.ADMIN):
        raise Refusal(403, f"expected {found.owner or 'its owner'} or an admin, found {who.user.name}")

"""What runs by itself, when, and what came of it?"""

from datetime import UTC, datetime
from functools import cache
from typing import Annotated
from zoneinfo import ZoneInfo, available_timezones

from fastapi import APIRouter, Query, Request, Response

from api.identity import GuardedRoute, Identity, needs
from api.schemas.schedules import hidden
from api.wiring import BIGINT_MAX, Number, TheStore
from rackproof.errors import PlanError
from rackproof.model.service import DeliveryState, Role, SuiteRunState
from rackproof.store import cron as crons
from rackproof.store.browse_rows import CampaignFilter
from rackproof.store.pages_schedules import latest_runs
from rackproof.store.schedules import Schedule
from testplans import registry
from web.cronwords import in_words
from web.nights import coming, zone_of
from web.rendering import page
from web.suites import described

router = APIRouter(route_class=GuardedRoute, dependencies=[needs(Role.VIEWER)])

DAYS = 14
RUNS = 30
_MOMENTS = 5

Viewer = Annotated[Identity, needs(Role.VIEWER)]
Before = Annotated[int | None, Query(ge=1, le=BIGINT_MAX)]


@router.get("/schedules")
def schedules(request: Request, store: TheStore, zone: Annotated[str | None, Query(max_length=64)] = None) -> Response:
    with store.transactions.together("the schedules could not be read"):
        found = store.schedules.list()
        latest, testbeds, reservations = latest_runs(store.transactions), store.testbeds.list(), store.reservations.list()
    chosen = zone if zone in _zones() else zone_of(found)
    return page(
        request,
        "schedules.html.j2",
        schedules=found,
        latest=latest,
        days=coming(found, testbeds, reservations, zone=chosen, now=datetime.now(UTC), days=DAYS),
        zone=chosen,
        zones=sorted({chosen, "UTC", *(schedule.zone for schedule in found)}),
        plans={schedule.id: [described(text) for text in schedule.plans] for schedule in found},
        in_words=in_words,
    )


@router.get("/schedules/new", dependencies=[needs(Role.ENGINEER)])
def new(request: Request, store: TheStore, campaign: Annotated[int | None, Query(ge=1, le=BIGINT_MAX)] = None) -> Response:
    plans = (store.browse.detail(campaign).plan_text,) if campaign is not None else ()
    return _form(request, None, plans)


@router.get("/schedules/moments", dependencies=[needs(Role.ENGINEER)])
def moments(
    request: Request, cron: Annotated[str, Query(max_length=200)] = "", zone: Annotated[str, Query(max_length=64)] = "UTC"
) -> Response:
    """When an expression is due next, for the form."""
    try:
        crons.check(cron, zone)
        due, problems = crons.upcoming(cron, zone, datetime.now(UTC), _MOMENTS), []
    except PlanError as error:
        due, problems = [], error.problems
    return page(request, "part_moments.html.j2", moments=_there(due, zone), problems=problems, words=in_words(cron), zone=zone)


@router.get("/schedules/runs")
def runs(request: Request, store: TheStore, before: Before = None) -> Response:
    found = store.schedules.runs(before=before, limit=RUNS + 1)
    return page(request, "suite_runs.html.j2", runs=found[:RUNS], following=found[RUNS - 1].id if len(found) > RUNS else None)


@router.get("/schedules/runs/{run}")
def run(request: Request, store: TheStore, run: Number) -> Response:
    return _run(request, store, run, "suite_run.html.j2")


@router.get("/schedules/runs/{run}/part")
def run_part(request: Request, store: TheStore, run: Number) -> Response:
    """What changes while the run goes on."""
    return _run(request, store, run, "part_suite_run.html.j2")


@router.get("/schedules/{schedule}")
def schedule(request: Request, store: TheStore, who: Viewer, schedule: Number, before: Before = None) -> Response:
    found = store.schedules.get(schedule)
    runs = store.schedules.runs(schedule, before=before, limit=RUNS + 1)
    return page(
        request,
        "schedule.html.j2",
        schedule=found,
        targets=[*found.emails, *(hidden(url) for url in found.webhooks)],
        plans=[(described(text), text) for text in found.plans],
        moments=[] if found.paused else _there(crons.upcoming(found.cron, found.zone, datetime.now(UTC), _MOMENTS), found.zone),
        words=in_words(found.cron),
        runs=runs[:RUNS],
        following=runs[RUNS - 1].id if len(runs) > RUNS else None,
        mine=_mine(who, found),
    )


@router.get("/schedules/{schedule}/edit", dependencies=[needs(Role.ENGINEER)])
def edit(request: Request, store: TheStore, who: Viewer, schedule: Number) -> Response:
    found = store.schedules.get(schedule)
    return _form(request, found, found.plans, mine=_mine(who, found))


def _form(request: Request, schedule: Schedule | None, plans: tuple[str, ...], mine: bool = True) -> Response:
    kinds = registry.kinds()
    ready = [(kinds[name].title, name, [file.stem for file in registry.ready_plans(kinds[name])]) for name in sorted(kinds)]
    webhooks = [hidden(url) for url in schedule.webhooks] if schedule is not None else []
    return page(
        request, "schedule_form.html.j2", schedule=schedule, plans=plans, ready=ready, zones=sorted(_zones()), webhooks=webhooks, mine=mine
    )


def _run(request: Request, store: TheStore, run: int, template: str) -> Response:
    found = store.schedules.run(run)
    return page(
        request,
        template,
        run=found,
        campaigns=store.browse.campaigns(CampaignFilter(suite_run=run), limit=200)[::-1],
        deliveries=[(one, hidden(one.target) if one.channel == "webhook" else one.target) for one in store.deliveries.of(run)],
        going_on=found.state in (SuiteRunState.WANTED, SuiteRunState.RUNNING),
        pending=DeliveryState.PENDING,
    )


def _there(moments: list[datetime], zone: str) -> list[datetime]:
    return [moment.astimezone(ZoneInfo(zone)) for moment in moments]


def _mine(who: Identity, schedule: Schedule) -> bool:
    return who.may(Role.ADMIN) or (who.may(Role.ENGINEER) and schedule.user_id == who.user.id)


@cache
def _zones() -> frozenset[str]:
    return frozenset({zone for zone in available_timezones() if "/" in zone and not zone.startswith(("Etc/", "posix", "right"))} | {"UTC"})

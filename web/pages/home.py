"""What runs now, what is next, what came out last night and what changed?"""

from typing import Any

from fastapi import APIRouter, Request, Response

from api.identity import GuardedRoute, needs
from api.wiring import TheStore
from rackproof.model.service import Role, SuiteRunState
from rackproof.store import pages_campaigns
from rackproof.store.browse_rows import CampaignFilter
from rackproof.store.schedules import SuiteRun
from web.rendering import page

router = APIRouter(route_class=GuardedRoute, dependencies=[needs(Role.VIEWER)])

_RUNS = 30
_CAMPAIGNS = 12


@router.get("/")
def home(request: Request, store: TheStore) -> Response:
    with store.transactions.together("the house could not be read"):
        values: dict[str, Any] = {
            "places": store.queue.forecast(),
            "running": pages_campaigns.running(store.transactions),
            "testbeds": store.testbeds.list(),
            "nights": latest(store.schedules.runs(limit=_RUNS)),
            "campaigns": store.browse.campaigns(CampaignFilter(), limit=_CAMPAIGNS),
        }
    return page(request, "home.html.j2", **values)


@router.get("/parts/now")
def now(request: Request, store: TheStore) -> Response:
    return page(request, "part_now.html.j2", places=store.queue.forecast(), running=pages_campaigns.running(store.transactions))


def latest(runs: list[SuiteRun]) -> list[SuiteRun]:
    """The newest run of each schedule that did something; what was skipped counts only where there is nothing else."""
    found: dict[tuple[int | None, str], SuiteRun] = {}
    for run in runs:
        key = (run.schedule_id, run.name)
        if key not in found or (found[key].state is SuiteRunState.SKIPPED and run.state is not SuiteRunState.SKIPPED):
            found[key] = run
    return list(found.values())

"""What do people decide about a campaign that is there: cancel, retry, resume, priority?"""

from typing import Annotated

from fastapi import APIRouter

from api.identity import GuardedRoute, Identity, needs
from api.problems import responses
from api.routes.campaigns import summary
from api.schemas.campaigns import Again, CampaignSummary, Cancel, NewPriority
from api.wiring import Number, TheStore
from rackproof.model.service import Role

router = APIRouter(tags=["campaigns"], route_class=GuardedRoute)

Engineer = Annotated[Identity, needs(Role.ENGINEER)]

_REFUSALS = responses(400, 401, 403, 404, 409)


@router.post("/campaigns/{campaign}/cancel", status_code=202, responses=_REFUSALS)
def cancel_campaign(store: TheStore, who: Engineer, campaign: Number, asked: Cancel | None = None) -> CampaignSummary:
    """End a campaign wherever it is: the device is restored, and what was measured stays."""
    why = f"cancelled by {who.user.name}" + (f": {asked.why}" if asked is not None and asked.why else "")
    with who.does(store, "campaign.cancel", f"campaign {campaign}", why=why):
        store.queue.cancel(campaign, why)
    return summary(store.browse.campaign(campaign))


@router.post("/campaigns/{campaign}/retry", responses=_REFUSALS)
def retry_campaign(store: TheStore, who: Engineer, campaign: Number) -> Again:
    """Measure again what gave no valid result: trials whose verdict is not PASS."""
    with who.does(store, "campaign.retry", f"campaign {campaign}") as deed:
        trials = store.queue.retry(campaign)
        deed.detail["trials"] = trials
    return Again(trials=trials)


@router.post("/campaigns/{campaign}/resume", responses=_REFUSALS)
def resume_campaign(store: TheStore, who: Engineer, campaign: Number) -> CampaignSummary:
    """Go on with the trials that have no result."""
    with who.does(store, "campaign.resume", f"campaign {campaign}"):
        store.queue.resume(campaign)
    return summary(store.browse.campaign(campaign))


@router.put("/campaigns/{campaign}/priority", responses=_REFUSALS)
def set_campaign_priority(store: TheStore, who: Engineer, campaign: Number, asked: NewPriority) -> CampaignSummary:
    """Move a campaign within the queue."""
    with who.does(store, "campaign.priority", f"campaign {campaign}", priority=asked.priority):
        store.queue.set_priority(campaign, asked.priority)
    return summary(store.browse.campaign(campaign))

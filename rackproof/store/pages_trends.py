"""Of which plans, and at which points of their sweeps, can there be a trend?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select

from rackproof.errors import NotFound
from rackproof.model.campaign import CampaignState
from rackproof.store import schema
from rackproof.store.transactions import Transactions

#: Plans are looked for among so many of the newest campaigns that are DONE.
LOOKED_AT = 2000
PLANS_MAX = 200
_campaign = schema.Campaign


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanName:
    """A plan that ran: under this name, so often of late, the last time as this campaign."""

    name: str
    campaigns: int
    newest: int


def plan_names(transactions: Transactions) -> list[PlanName]:
    """The plans that ran of late: those that ran more than once first, the newest first."""
    recent = (
        select(_campaign.id, _campaign.name)
        .where(_campaign.state == CampaignState.DONE)
        .order_by(_campaign.id.desc())
        .limit(LOOKED_AT)
        .subquery()
    )
    count, newest = func.count(), func.max(recent.c.id)
    query = select(recent.c.name, count.label("campaigns"), newest.label("newest")).group_by(recent.c.name)
    with transactions.step("the plans that ran could not be read") as connection:
        found = connection.execute(query.order_by((count > 1).desc(), newest.desc()).limit(PLANS_MAX))
        return [PlanName(**row._mapping) for row in found]


def plan_points(transactions: Transactions, name: str) -> list[Mapping[str, Any]]:
    """The points at which the newest campaign of a plan that is DONE measured, each once, in their order. Raises NotFound."""
    trial = schema.Trial
    with transactions.step(f"the points of {name} could not be read") as connection:
        newest = connection.scalar(
            select(_campaign.id).where(_campaign.name == name, _campaign.state == CampaignState.DONE).order_by(_campaign.id.desc()).limit(1)
        )
        if newest is None:
            raise NotFound(f"there is no campaign {name!r} that is done")
        rows = connection.scalars(select(trial.point).where(trial.campaign_id == newest).order_by(trial.index))
        unique = {tuple(sorted(point.items())): point for point in rows}
    return list(unique.values())

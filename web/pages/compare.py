"""How do campaigns, or devices of one, differ? What they measured side by side, what was judged, and what was not the same."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from api.identity import GuardedRoute, needs
from api.wiring import TheStore
from rackproof.model.service import Role
from rackproof.store import pages_compare
from rackproof.store.browse_rows import CampaignFilter
from web.comparing import COLUMNS_MAX, compare, differences, flat, judged
from web.rendering import page
from web.small_charts import charts
from web.testers import Ran, disagreements

router = APIRouter(route_class=GuardedRoute, dependencies=[needs(Role.VIEWER)])

#: Campaigns that are offered to be compared.
_OFFERED = 20
#: The quantity that is shown where nobody chose one, if it is measured.
_FIRST = ("throughput",)

Number = Annotated[int, Query(ge=1, le=2**63 - 1)]


@router.get("/compare")
def comparison(
    request: Request,
    store: TheStore,
    campaign: Annotated[list[Number], Query(max_length=100)] = [],  # noqa: B006  # FastAPI copies it
    name: Annotated[str | None, Query(max_length=200)] = None,
    of: Annotated[str | None, Query(max_length=200)] = None,
    by: Annotated[str | None, Query(max_length=200)] = None,
    everything: Annotated[bool, Query(alias="all")] = False,
) -> Response:
    numbers = list(dict.fromkeys(campaign))[:COLUMNS_MAX]
    offered = store.browse.campaigns(CampaignFilter(), limit=_OFFERED)
    if not numbers:
        return page(request, "compare.html.j2", campaigns=[], offered=offered)
    with store.transactions.together("the campaigns could not be read"):
        campaigns = [store.browse.detail(number) for number in numbers]
        quantities = pages_compare.quantities(store.transactions, numbers)
    chosen = name if name in quantities else next((one for one in _FIRST if one in quantities), next(iter(quantities), None))
    measured = quantities[chosen] if chosen is not None else pages_compare.Measured(unit="", subjects={})
    several = [kind for kind, count in measured.subjects.items() if count > 1]
    subject = (
        of
        if of is not None and of in measured.subjects
        else min(several, key=measured.subjects.__getitem__, default=next(iter(measured.subjects), ""))
    )
    read = {number: pages_compare.readings(store.transactions, number, chosen, subject) for number in numbers} if chosen is not None else {}
    compared = compare({number: found.found for number, found in read.items()}, by)
    unit = measured.unit
    drawn = charts(compared, unit)
    ran = {
        one.row.id: Ran.of(one.plan_sha256, one.provenance, one.calibration.delay_floor_us if one.calibration else None)
        for one in campaigns
    }
    return page(
        request,
        "compare.html.j2",
        campaigns=campaigns,
        offered=offered,
        numbers=numbers,
        quantities=quantities,
        chosen=chosen,
        unit=unit,
        subjects=list(measured.subjects),
        subject=subject,
        compared=compared,
        charts=drawn,
        disagreements=disagreements(compared, ran),
        partial=any(sum(cell is not None for cell in row.cells) == 1 for row in compared.rows)
        and any(len(one.series) > 1 for one in drawn),
        left_out={number: found.left_out for number, found in read.items() if found.left_out},
        cut_off=[number for number, found in read.items() if found.more],
        findings=judged([one.findings for one in campaigns]),
        plans=differences([flat(one.plan) for one in campaigns], all_of_them=everything),
        provenances=differences([flat(one.provenance) for one in campaigns], all_of_them=everything),
        everything=everything,
    )

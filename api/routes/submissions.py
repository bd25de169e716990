"""How does a plan become a campaign: submitted, cloned with changes, run again?"""

import hashlib
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response

from api import plans
from api.identity import GuardedRoute, Identity, needs
from api.problems import responses
from api.schemas.campaigns import PRIORITY_MAX, Clone, Submitted
from api.wiring import BIGINT_MAX, Number, TheStore
from rackproof.model.service import Role
from rackproof.store import Store, idempotency
from testplans.submission import Submission

router = APIRouter(tags=["campaigns"], route_class=GuardedRoute)

Engineer = Annotated[Identity, needs(Role.ENGINEER)]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        pattern=r"^[\x21-\x7e]+$",
        description="Chosen by the client, new for each submission: sent again with the same plan, it stands for the same campaign.",
    ),
]
Priority = Annotated[int, Query(ge=-PRIORITY_MAX, le=PRIORITY_MAX, description="Higher ones start first.")]
Parent = Annotated[int | None, Query(ge=1, le=BIGINT_MAX, description="The campaign from whose plan this one was written.")]

_CREATED: dict[int | str, dict[str, Any]] = {
    200: {"description": "This key was sent before: the campaign that it stands for.", "model": Submitted}
}


@router.post("/campaigns", status_code=201, responses={**_CREATED, **responses(401, 403, 404, 413, 415)}, openapi_extra=plans.BODY)
def submit_campaign(
    request: Request,
    response: Response,
    store: TheStore,
    who: Engineer,
    content: plans.PlanBytes,
    key: Key = None,
    priority: Priority = 0,
    parent: Parent = None,
) -> Submitted:
    """Put a plan into the queue of its testbed."""
    digest = hashlib.sha256(f"submit {priority} {parent} ".encode() + content).hexdigest()
    if key is not None and (known := idempotency.known(store.transactions, user=who.user.id, key=key, request_sha256=digest)) is not None:
        return _submitted(request, response, known, new=False)
    submission = plans.read(content)
    if parent is not None:
        store.browse.campaign(parent)
    campaign, new = _queue(store, who, submission, priority=priority, key=key, digest=digest, parent=parent)
    return _submitted(request, response, campaign, new=new)


@router.post("/campaigns/{campaign}/clone", status_code=201, responses={**_CREATED, **responses(400, 401, 403, 404)})
def clone_campaign(
    request: Request, response: Response, store: TheStore, who: Engineer, campaign: Number, asked: Clone, key: Key = None
) -> Submitted:
    """Submit a campaign's plan again, with changes."""
    digest = hashlib.sha256(f"clone {campaign} {asked.model_dump_json()}".encode()).hexdigest()
    if key is not None and (known := idempotency.known(store.transactions, user=who.user.id, key=key, request_sha256=digest)) is not None:
        return _submitted(request, response, known, new=False)
    original = store.browse.detail(campaign)
    if asked.changes:
        # Of the file as it was submitted: what it left out takes the defaults of today, as it would if it were sent again.
        written = plans.read(original.plan_text.encode(), f"the plan of campaign {campaign}").file.data
        content = plans.as_text(plans.merged(written, asked.changes))
    else:
        content = original.plan_text.encode()
    submission = plans.read(content, f"the plan of campaign {campaign} with these changes")
    made, new = _queue(store, who, submission, priority=asked.priority, key=key, digest=digest, parent=campaign)
    return _submitted(request, response, made, new=new)


@router.post("/campaigns/{campaign}/again", status_code=201, responses={**_CREATED, **responses(401, 403, 404)})
def run_campaign_again(
    request: Request, response: Response, store: TheStore, who: Engineer, campaign: Number, key: Key = None, priority: Priority = 0
) -> Submitted:
    """Submit the same plan once more, as a campaign of its own."""
    digest = hashlib.sha256(f"again {campaign} {priority}".encode()).hexdigest()
    if key is not None and (known := idempotency.known(store.transactions, user=who.user.id, key=key, request_sha256=digest)) is not None:
        return _submitted(request, response, known, new=False)
    original = store.browse.detail(campaign)
    submission = plans.read(original.plan_text.encode(), f"the plan of campaign {campaign}")
    made, new = _queue(store, who, submission, priority=priority, key=key, digest=digest, parent=campaign)
    return _submitted(request, response, made, new=new)


def _queue(
    store: Store, who: Identity, submission: Submission, *, priority: int, key: str | None, digest: str, parent: int | None = None
) -> tuple[int, bool]:
    def submit() -> int:
        return store.queue.submit(**submission.columns(), user_id=who.user.id, owner=who.user.name, priority=priority, parent_id=parent)

    with who.does(store, "campaign.submit", name=submission.plan.name, priority=priority) as deed:
        if key is None:
            campaign, new = submit(), True
        else:
            campaign, new = idempotency.once(store.transactions, user=who.user.id, key=key, request_sha256=digest, submit=submit)
        deed.target = f"campaign {campaign}"
    return campaign, new


def _submitted(request: Request, response: Response, campaign: int, *, new: bool) -> Submitted:
    url = request.app.url_path_for("get_campaign", campaign=campaign)
    response.headers["Location"] = url
    response.status_code = 201 if new else 200
    return Submitted(id=campaign, url=url)

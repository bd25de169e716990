"""Who did what? For admins."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from api.accounts.schemas import AuditGiven
from api.cursors import Cursor, Limit, announce, encode, numbers
from api.identity import GuardedRoute, needs
from api.problems import responses
from api.schemas.base import Page
from api.wiring import TheStore
from rackproof.model.service import Role

router = APIRouter(prefix="/audit", tags=["accounts"], route_class=GuardedRoute)
_Word = Annotated[str | None, Query(max_length=200)]


@router.get("", dependencies=[needs(Role.ADMIN)], responses=responses(401, 403))
def list_audit(
    request: Request,
    response: Response,
    store: TheStore,
    cursor: Cursor = None,
    limit: Limit = 50,
    user: _Word = None,
    target: _Word = None,
    action: _Word = None,
) -> Page[AuditGiven]:
    """What was done, newest first: by a user (name), to a target (user:7), or of one kind."""
    place = numbers(cursor)
    entries = store.audit.list(place[0] if place else None, limit + 1, user_name=user, target=target, action=action)
    following = encode(entries[limit - 1].id) if len(entries) > limit else None
    announce(request, response, following)
    return Page(items=[AuditGiven.model_validate(entry) for entry in entries[:limit]], next=following)

"""Who has an account here, and what did they do? For admins."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from api.identity import GuardedRoute, needs
from api.wiring import BIGINT_MAX, Number, TheStore
from rackproof.model.service import Role
from web.audit import target_path
from web.rendering import page

router = APIRouter(route_class=GuardedRoute, dependencies=[needs(Role.ADMIN)])

USERS = 50
DEEDS = 10


@router.get("/users")
def users(request: Request, store: TheStore, after: Annotated[int, Query(ge=0, le=BIGINT_MAX)] = 0) -> Response:
    found = store.accounts.users(after=after, limit=USERS + 1)
    following = found[USERS - 1].id if len(found) > USERS else None
    return page(request, "users.html.j2", users=found[:USERS], following=following, roles=list(Role))


@router.get("/users/{user}")
def user(request: Request, store: TheStore, user: Number) -> Response:
    found = store.accounts.user(user)
    return page(
        request,
        "user.html.j2",
        user=found,
        roles=list(Role),
        tokens=store.accounts.tokens(user),
        revoke=f"/api/v1/users/{user}/tokens",
        entries=store.audit.list(limit=DEEDS, user_name=found.name),
        target_path=target_path,
    )

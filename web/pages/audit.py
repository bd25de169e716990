"""Who did what? For admins."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request, Response

from api.identity import GuardedRoute, needs
from api.wiring import BIGINT_MAX, TheStore
from rackproof.model.service import Role
from web.audit import target_path
from web.rendering import page

router = APIRouter(route_class=GuardedRoute, dependencies=[needs(Role.ADMIN)])

LINES = 50
Word = Annotated[str, Query(max_length=200)]


@router.get("/audit")
def audit(
    request: Request,
    store: TheStore,
    user: Word = "",
    action: Word = "",
    target: Word = "",
    before: Annotated[int | None, Query(ge=1, le=BIGINT_MAX)] = None,
) -> Response:
    wanted = {name: value.strip() for name, value in (("user", user), ("action", action), ("target", target))}
    entries = store.audit.list(
        before, LINES + 1, user_name=wanted["user"] or None, action=wanted["action"] or None, target=wanted["target"] or None
    )
    kept = {name: value for name, value in wanted.items() if value}

    def link(**changes: object) -> str:
        asked = {name: value for name, value in {**kept, **changes}.items() if value}
        return f"/audit?{urlencode(asked)}" if asked else "/audit"

    return page(
        request,
        "audit.html.j2",
        entries=entries[:LINES],
        following=entries[LINES - 1].id if len(entries) > LINES else None,
        wanted=wanted,
        before=before,
        link=link,
        target_path=target_path,
    )

"""What is mine here: who I am, my password, my tokens, where I am signed in?"""

from typing import Annotated, Any

from fastapi import APIRouter, Request, Response

from api.identity import GuardedRoute, Identity, needs
from api.wiring import TheStore
from rackproof.model.account import ROLE_OF_SCOPE, scopes_of
from rackproof.model.service import Role
from rackproof.store import Store
from web.agents import browser
from web.rendering import page

router = APIRouter(route_class=GuardedRoute, dependencies=[needs(Role.VIEWER)])

Browser = Annotated[Identity, needs(Role.VIEWER, session_only=True)]
_SCOPE_WORDS = {"read": "Read everything", "submit": "Submit, cancel and schedule campaigns", "admin": "Keep the house"}


@router.get("/account")
def account(request: Request, store: TheStore, who: Browser, changed: bool = False) -> Response:
    return page(
        request,
        "account.html.j2",
        sessions=[(one, browser(one.agent)) for one in store.accounts.sessions(who.user.id)],
        scopes=[(scope.value, _SCOPE_WORDS[scope.value]) for scope in ROLE_OF_SCOPE if scope in scopes_of(who.role)],
        changed=changed,
        **_tokens(store, who),
    )


@router.get("/account/tokens")
def tokens(request: Request, store: TheStore, who: Browser) -> Response:
    """The list alone, for when a token was made."""
    return page(request, "part_tokens.html.j2", **_tokens(store, who))


def _tokens(store: Store, who: Identity) -> dict[str, Any]:
    return {"tokens": store.accounts.tokens(who.user.id), "revoke": "/api/v1/tokens"}

"""Signing in at the OpenID provider, where one is configured."""

import hmac
import logging
import secrets
from datetime import timedelta
from typing import Annotated, cast

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import RedirectResponse

from api.accounts.provider import Provider, ProviderDown, ProviderRefused
from api.accounts.session import begin_session
from api.identity import GuardedRoute, open_to_all
from api.problems import Refusal, responses
from api.trust import COOKIE, address_of, cookie_name
from api.wiring import TheSettings, TheStore
from rackproof.settings import Settings

router = APIRouter(prefix="/oidc", tags=["session"], route_class=GuardedRoute, dependencies=[open_to_all])
log = logging.getLogger(__name__)

#: How long somebody may take at the provider.
LASTS = timedelta(minutes=10)
_Text = Annotated[str, Query(max_length=4096)]


async def _provider(request: Request) -> Provider:
    """The provider of the settings, kept with the application for what it publishes."""
    settings: Settings = request.app.state.settings
    if settings.oidc_issuer is None or settings.oidc_client_id is None:
        raise Refusal(404, "no OpenID provider is configured", kind="not-found")
    if getattr(request.app.state, "oidc", None) is None:
        secret = settings.oidc_client_secret
        request.app.state.oidc = Provider(
            settings.oidc_issuer, settings.oidc_client_id, secret.get_secret_value() if secret is not None else None
        )
    return cast(Provider, request.app.state.oidc)


TheProvider = Annotated[Provider, Depends(_provider)]


@router.get("/start", status_code=303, response_class=RedirectResponse, responses=responses(404, 502))
def start_oidc(
    request: Request,
    store: TheStore,
    settings: TheSettings,
    provider: TheProvider,
    next_page: Annotated[str, Query(alias="next", max_length=2000, description="Where to go then: a path of this service.")] = "/",
) -> RedirectResponse:
    """Send the browser to the provider."""
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    try:
        address = provider.address(redirect=_redirect(request, settings), state=state, nonce=nonce, verifier=verifier)
    except ProviderDown as error:
        raise _down(error) from None
    store.accounts.keep_oidc(state, {"nonce": nonce, "verifier": verifier, "next": _own_path(next_page)}, LASTS)
    response = RedirectResponse(address, 303)
    # Lax: the provider sends the browser back here from its own site.
    name, secure = _cookie(request)
    response.set_cookie(name, state, max_age=int(LASTS.total_seconds()), path="/", httponly=True, samesite="lax", secure=secure)
    return response


@router.get("/callback", status_code=303, response_class=RedirectResponse, responses=responses(401, 403, 404, 502))
def finish_oidc(
    request: Request,
    store: TheStore,
    settings: TheSettings,
    provider: TheProvider,
    state: _Text = "",
    code: _Text = "",
    error: _Text = "",
    iss: _Text = "",
) -> RedirectResponse:
    """Where the provider sends the browser back. Whoever it vouches for is signed in; who is new gets an account."""
    name, secure = _cookie(request)
    # Only the browser that began may go on: a link to this address signs nobody in as somebody else.
    kept = store.accounts.take_oidc(state) if hmac.compare_digest(state.encode(), request.cookies.get(name, "").encode()) else None
    if kept is None:
        raise _unknown("the sign-in was not begun in this browser, is over, or took longer than ten minutes: begin again")
    if error or not code or iss not in ("", provider.issuer):
        log.warning("the OpenID provider sent %r back", error or "no code")
        raise _unknown("the provider did not sign you in")
    try:
        who = provider.subject(code=code, redirect=_redirect(request, settings), nonce=kept["nonce"], verifier=kept["verifier"])
    except ProviderDown as down:
        raise _down(down) from None
    except ProviderRefused as refused:
        log.warning("sign-in by OpenID from %s refused: %s", address_of(request), refused)
        raise _unknown(str(refused)) from None
    response = RedirectResponse(kept["next"], 303)
    with store.transactions.together("nobody could sign in"):
        user, new = store.accounts.oidc_user(
            issuer=who.issuer, subject=who.subject, name=who.name, full_name=who.full_name, email=who.email, role=settings.oidc_role
        )
        if user.disabled:
            raise Refusal(403, "this account is disabled", kind="disabled")
        begin_session(store, request, response, user)
        for action in (*(["user.create"] if new else []), "session.open"):
            detail = {"oidc": who.issuer}
            store.audit.record(
                user=user, user_name=user.name, action=action, target=f"user:{user.id}", detail=detail, address=address_of(request)
            )
    response.delete_cookie(name, path="/", httponly=True, samesite="lax", secure=secure)
    return response


def _redirect(request: Request, settings: Settings) -> str:
    base = settings.public_url or f"{request.scope['scheme']}://{request.headers.get('host', '')}"
    return f"{base.rstrip('/')}/api/v1/oidc/callback"


def _own_path(path: str) -> str:
    # "//host" and "/\host" are other hosts to a browser, and it drops control characters before it looks.
    safe = path.startswith("/") and not path.startswith("//") and "\\" not in path and path.isprintable() and path.isascii()
    return path if safe else "/"


def _cookie(request: Request) -> tuple[str, bool]:
    name = cookie_name(request)
    return f"{name}-oidc", name == COOKIE


def _unknown(why: str) -> Refusal:
    return Refusal(401, why, headers={"WWW-Authenticate": 'Bearer realm="rackproof"'}, kind="oidc")


def _down(error: ProviderDown) -> Refusal:
    log.warning("%s", error)
    return Refusal(502, "the OpenID provider cannot be reached, or does not answer as one", kind="oidc-provider")

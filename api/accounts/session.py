"""Signing in and out with a password, and who one is."""

import logging
from typing import Annotated

from fastapi import APIRouter, Request, Response

from api.accounts.refusals import refusing
from api.accounts.schemas import PasswordChange, SessionGiven, SignIn, UserGiven
from api.identity import GuardedRoute, Identity, needs, open_to_all
from api.problems import Refusal, responses
from api.trust import address_of, check_origin, cookie_of, remove_cookie, set_cookie
from api.wiring import TheStore
from rackproof.model.account import Session, User, scopes_of
from rackproof.model.service import Role
from rackproof.store import Store
from rackproof.store.keys import SESSION_LONGEST

router = APIRouter(prefix="/session", tags=["session"], route_class=GuardedRoute)
log = logging.getLogger(__name__)

Browser = Annotated[Identity, needs(Role.VIEWER, session_only=True)]


@router.post("", status_code=201, dependencies=[open_to_all], responses=responses(401, 403, 429))
def sign_in(request: Request, response: Response, store: TheStore, who: SignIn) -> SessionGiven:
    """Sign in: the answer sets the session's cookie."""
    check_origin(request)
    address = address_of(request)
    with refusing():
        user = store.accounts.sign_in(who.name, who.password.get_secret_value(), address)
    if user is None:
        # %r: what somebody typed must not look like lines of the log.
        log.warning("sign-in of %r from %s refused", who.name, address)
        raise Refusal(401, "name or password is wrong", headers={"WWW-Authenticate": 'Bearer realm="rackproof"'}, kind="sign-in")
    with store.transactions.together("nobody could sign in"):
        session = begin_session(store, request, response, user)
        store.audit.record(user=user, user_name=user.name, action="session.open", address=address)
    return given(user, session)


@router.get("", responses=responses(401, 403))
def get_session(who: Annotated[Identity, needs(Role.VIEWER)]) -> SessionGiven:
    """Who asks, what they may do, and the token that their forms send back."""
    return SessionGiven(user=UserGiven.model_validate(who.user), by=who.by, scopes=sorted(who.scopes), csrf=who.csrf, token=who.token)


@router.delete("", status_code=204, responses=responses(401, 403))
def sign_out(request: Request, response: Response, store: TheStore, who: Browser) -> None:
    """End the session."""
    with who.does(store, "session.close"):
        store.accounts.close_session(who.session or "")
    remove_cookie(request, response)


@router.put("/password", responses=responses(401, 403, 409, 429))
def change_password(request: Request, response: Response, store: TheStore, who: Browser, change: PasswordChange) -> SessionGiven:
    """Change one's own password. Every session ends; this browser gets a new one."""
    if not who.user.local:
        raise Refusal(409, "the OpenID provider signs this user in: there is no password to change", kind="conflict")
    with refusing():
        if not store.accounts.is_password(who.user.id, change.old.get_secret_value(), who.address):
            raise Refusal(403, "the old password is wrong", kind="password")
        with who.does(store, "user.own_credentials", f"user:{who.user.id}", revoke_tokens=change.revoke_tokens):
            store.accounts.set_password(who.user.id, change.new.get_secret_value(), revoke_tokens=change.revoke_tokens)
            session = begin_session(store, request, response, who.user)
    return given(who.user, session)


def begin_session(store: Store, request: Request, response: Response, user: User) -> Session:
    """A new session in place of the browser's last; its secret goes into the answer's cookie."""
    agent = request.headers.get("user-agent", "").replace("\0", "")
    secret, session = store.accounts.open_session(user.id, address=address_of(request), agent=agent, replaces=cookie_of(request))
    set_cookie(request, response, secret, int(SESSION_LONGEST.total_seconds()))
    return session


def given(user: User, session: Session) -> SessionGiven:
    """What a browser that has just signed in is told."""
    return SessionGiven(user=UserGiven.model_validate(user), by="session", scopes=sorted(scopes_of(user.role)), csrf=session.csrf)

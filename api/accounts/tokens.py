"""One's own API tokens."""

from typing import Annotated

from fastapi import APIRouter

from api.accounts.refusals import refusing
from api.accounts.schemas import TokenAsked, TokenGiven, TokenList, TokenMade
from api.identity import GuardedRoute, Identity, needs
from api.problems import Refusal, responses
from api.wiring import Number, TheStore
from rackproof.model.service import Role

router = APIRouter(prefix="/tokens", tags=["accounts"], route_class=GuardedRoute)
Anyone = Annotated[Identity, needs(Role.VIEWER)]


@router.get("", responses=responses(401, 403))
def list_tokens(store: TheStore, who: Anyone) -> TokenList:
    """One's own tokens, newest first."""
    return TokenList(items=[TokenGiven.model_validate(token) for token in store.accounts.tokens(who.user.id)])


@router.post("", status_code=201, responses=responses(401, 403))
def create_token(store: TheStore, who: Annotated[Identity, needs(Role.VIEWER, session_only=True)], asked: TokenAsked) -> TokenMade:
    """Make a token for oneself. A token cannot make others: it needs a session."""
    scopes = sorted(asked.scopes)
    with refusing(), who.does(store, "token.create", name=asked.name, scopes=scopes, expires=asked.expires.isoformat()) as deed:
        secret, token = store.accounts.create_token(who.user.id, name=asked.name, scopes=scopes, expires=asked.expires)
        deed.target = f"token:{token.id}"
    return TokenMade(secret=secret, token=TokenGiven.model_validate(token))


@router.delete("/{token}", status_code=204, responses=responses(401, 403, 404))
def revoke_token(store: TheStore, who: Anyone, token: Number) -> None:
    """Revoke one's own token. A token may revoke itself, and no other."""
    if who.by == "token" and who.token != token:
        raise Refusal(403, "a token can revoke itself, and no other")
    with who.does(store, "token.revoke", f"token:{token}"):
        store.accounts.revoke_token(token, user=who.user.id)

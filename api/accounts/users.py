"""Who has an account here? For admins."""

from typing import Annotated

from fastapi import APIRouter, Request, Response

from api.accounts.refusals import refusing
from api.accounts.schemas import PasswordAsked, TokenGiven, TokenList, UserAsked, UserChange, UserGiven
from api.cursors import Cursor, Limit, announce, encode, numbers
from api.identity import GuardedRoute, Identity, needs
from api.problems import responses
from api.schemas.base import Page
from api.wiring import Number, TheStore
from rackproof.model.service import Role

router = APIRouter(prefix="/users", tags=["accounts"], route_class=GuardedRoute)
Admin = Annotated[Identity, needs(Role.ADMIN)]


@router.get("", dependencies=[needs(Role.ADMIN)], responses=responses(401, 403))
def list_users(request: Request, response: Response, store: TheStore, cursor: Cursor = None, limit: Limit = 50) -> Page[UserGiven]:
    """Users, in the order in which they were made."""
    place = numbers(cursor)
    users = store.accounts.users(after=place[0] if place else 0, limit=limit + 1)
    following = encode(users[limit - 1].id) if len(users) > limit else None
    announce(request, response, following)
    return Page(items=[UserGiven.model_validate(user) for user in users[:limit]], next=following)


@router.post("", status_code=201, responses=responses(401, 403, 409))
def create_user(store: TheStore, who: Admin, asked: UserAsked) -> UserGiven:
    """Make a user."""
    password = asked.password.get_secret_value() if asked.password is not None else None
    with refusing(), who.does(store, "user.create", name=asked.name, role=asked.role) as deed:
        user = store.accounts.create_user(name=asked.name, role=asked.role, password=password, full_name=asked.full_name, email=asked.email)
        deed.target = f"user:{user.id}"
    return UserGiven.model_validate(user)


@router.get("/{user}", dependencies=[needs(Role.ADMIN)], responses=responses(401, 403, 404))
def get_user(store: TheStore, user: Number) -> UserGiven:
    """A user."""
    return UserGiven.model_validate(store.accounts.user(user))


@router.patch("/{user}", responses=responses(401, 403, 404, 409))
def change_user(store: TheStore, who: Admin, user: Number, change: UserChange) -> UserGiven:
    """Change a user; what is left out stays. It holds from the next request on. The last admin stays one."""
    changes = change.model_dump(exclude_none=True)
    with who.does(store, "user.change", f"user:{user}", **changes) as deed:
        changed = store.accounts.update_user(user, **changes)
        deed.detail["name"] = changed.name
    return UserGiven.model_validate(changed)


@router.delete("/{user}", status_code=204, responses=responses(401, 403, 404, 409))
def delete_user(store: TheStore, who: Admin, user: Number) -> None:
    """Remove a user with their sessions and tokens. What they did stays, and so does their name in the audit trail."""
    with store.transactions.together(f"user {user} could not be removed"):
        removed = store.accounts.delete_user(user)
        # Whoever removes themselves is in the audit trail by name alone.
        doer = who.user if who.user.id != user else None
        store.audit.record(
            user=doer,
            user_name=who.user.name,
            action="user.delete",
            target=f"user:{user}",
            detail={"name": removed.name, "role": removed.role},
            address=who.address,
        )


@router.put("/{user}/password", status_code=204, responses=responses(401, 403, 404))
def set_password(store: TheStore, who: Admin, user: Number, asked: PasswordAsked) -> None:
    """Give somebody a new password. Their sessions end, and failed attempts are forgotten."""
    with refusing(), who.does(store, "user.credentials", f"user:{user}", revoke_tokens=asked.revoke_tokens):
        store.accounts.set_password(user, asked.password.get_secret_value(), revoke_tokens=asked.revoke_tokens)


@router.get("/{user}/tokens", dependencies=[needs(Role.ADMIN)], responses=responses(401, 403, 404))
def list_user_tokens(store: TheStore, user: Number) -> TokenList:
    """The tokens of a user, newest first."""
    return TokenList(items=[TokenGiven.model_validate(token) for token in store.accounts.tokens(store.accounts.user(user).id)])


@router.delete("/{user}/tokens/{token}", status_code=204, responses=responses(401, 403, 404))
def revoke_user_token(store: TheStore, who: Admin, user: Number, token: Number) -> None:
    """Revoke a token of a user."""
    with who.does(store, "token.revoke", f"token:{token}", user=user):
        store.accounts.revoke_token(token, user=user)

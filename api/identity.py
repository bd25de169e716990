"""Who asks, and may they? Every route declares needs(...) or open_to_all, which is enforced before anything else of it runs.

The application keeps its Store in app.state.store and its Settings in app.state.settings. Routers are made with
APIRouter(route_class=GuardedRoute): FastAPI parses a body before it looks at dependencies, and a stranger's body is not worth reading.
"""

from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast

from fastapi import Depends, Request, Response, Security
from fastapi.concurrency import run_in_threadpool
from fastapi.dependencies.models import Dependant
from fastapi.params import Depends as Dependency
from fastapi.routing import APIRoute
from fastapi.security import APIKeyCookie, HTTPBearer

from api.problems import Refusal
from api.trust import COOKIE, UNSAFE, address_of, bearer_of, check_origin, check_token, cookie_of
from rackproof.model.account import ROLE_OF_SCOPE, Scope, User, scopes_of
from rackproof.model.service import Role
from rackproof.store import Store

BEARER = HTTPBearer(scheme_name="token", description="An API token (rp_...), made by `rackproof token new`.", auto_error=False)
SESSION = APIKeyCookie(
    name=COOKIE,
    scheme_name="session",
    description="What signing in sets. Requests that change something also need X-CSRF-Token, which GET /api/v1/session tells.",
    auto_error=False,
)


@dataclass(slots=True)
class Deed:
    """What somebody is doing, on its way into the audit trail."""

    action: str
    target: str
    detail: dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """Who asks. session: the id of the session, csrf: what its forms must send back; token: the id of the API token."""

    user: User
    scopes: frozenset[Scope]
    by: Literal["session", "token"]
    address: str
    session: str | None = None
    csrf: str | None = None
    token: int | None = None

    @property
    def role(self) -> Role:
        return self.user.role

    def may(self, role: Role) -> bool:
        """True where this request may do what the role may: the user has the role, and the token the scope."""
        return self.role.includes(role) and _scope_of(role) in self.scopes

    @contextmanager
    def does(self, store: Store, action: str, target: str = "", **detail: Any) -> Iterator[Deed]:
        """What the store does within is one transaction together with its line in the audit trail. The target may be set within."""
        deed = Deed(action, target, detail)
        with store.transactions.together(f"{action} could not be done"):
            yield deed
            store.audit.record(
                user=self.user,
                user_name=self.user.name,
                action=deed.action,
                target=deed.target,
                detail={**deed.detail, "token": self.token} if self.token is not None else deed.detail,
                address=self.address,
            )


class OpenToAll:
    """A route that answers without signing in."""

    def __call__(self) -> None:
        return


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a route needs: somebody with the role; by token, the scope. Its value is the Identity."""

    role: Role
    scope: Scope

    async def __call__(
        self,
        request: Request,
        _token: Annotated[Any, Security(BEARER)] = None,
        _session: Annotated[Any, Security(SESSION)] = None,
    ) -> Identity:
        return await identify(request, self)


@dataclass(frozen=True, slots=True)
class SessionRequirement(Requirement):
    """The same for a route that no token opens: a token must not make others, nor change a password."""

    async def __call__(self, request: Request, _session: Annotated[Any, Security(SESSION)] = None) -> Identity:  # type: ignore[override]
        return await identify(request, self)


#: As a dependency of a route: anybody may ask.
open_to_all: Dependency = Depends(OpenToAll())


def needs(role: Role, scope: str | None = None, *, session_only: bool = False) -> Dependency:
    """A dependency: somebody with at least this role; a token must have the scope, by default the one that belongs to the role."""
    wanted = Scope(scope) if scope is not None else _scope_of(role)
    requirement = SessionRequirement(role, wanted) if session_only else Requirement(role, wanted)
    return cast(Dependency, Depends(requirement))


def declared(dependant: Dependant | None) -> Requirement | OpenToAll | None:
    """What a route declares: the strictest of its requirements, else that it is open, else nothing."""
    found = list(_declared(dependant))
    requirements = [one for one in found if isinstance(one, Requirement)]
    if requirements:
        # By role; among equals, one that no token opens.
        return max(requirements, key=lambda one: (list(Role).index(one.role), isinstance(one, SessionRequirement)))
    return next(iter(found), None)


class GuardedRoute(APIRoute):
    """A route that asks who is there before it reads the body. Raises TypeError where a route does not say what it needs."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        requirement = declared(self.dependant)
        if requirement is None:
            raise TypeError(f"{self.path}: expected needs(...) or open_to_all among its dependencies, found neither")
        handler = super().get_route_handler()
        if not isinstance(requirement, Requirement):
            return handler

        async def guarded(request: Request) -> Response:
            await identify(request, requirement)
            return await handler(request)

        return guarded


async def identify(request: Request, requirement: Requirement) -> Identity:
    """Who sent the request. Raises Refusal: 401 where nobody is known, 403 where somebody may not."""
    who: Identity | None = getattr(request.state, "identity", None)
    if who is None:
        who = await run_in_threadpool(_known, request)
        request.state.identity = who
    if isinstance(requirement, SessionRequirement) and who.by != "session":
        raise Refusal(403, "expected somebody who signed in with a session, found an API token: no token can do this")
    if not who.role.includes(requirement.role):
        raise Refusal(403, f"expected the role {requirement.role.value} or higher, found {who.role.value}")
    if requirement.scope not in who.scopes:
        found = ", ".join(sorted(who.scopes)) or "none"
        raise Refusal(403, f"expected a token with the scope {requirement.scope.value}, found {found}")
    return who


def still_known(request: Request) -> bool:
    """True while the credentials of a request are good: a long answer (events) asks this from time to time. Blocks."""
    try:
        return _known(request).user.id == cast(Identity, request.state.identity).user.id
    except Refusal:
        return False


def _known(request: Request) -> Identity:
    store = cast(Store, request.app.state.store)
    address = address_of(request)
    if "authorization" in request.headers:
        bearer = bearer_of(request)
        by_token = store.accounts.by_token(bearer) if bearer is not None else None
        if by_token is None:
            raise _nobody("the token is unknown, expired or revoked", error=True)
        user, token = by_token
        return Identity(user=user, scopes=token.scopes & scopes_of(user.role), by="token", address=address, token=token.id)
    cookie = cookie_of(request)
    if cookie is None:
        raise _nobody("nobody is signed in: send a session's cookie or `Authorization: Bearer TOKEN`")
    by_session = store.accounts.session(cookie)
    if by_session is None:
        raise _nobody("the session has ended: sign in again")
    user, session = by_session
    if request.method in UNSAFE:
        check_origin(request)
        check_token(request, session.csrf)
    return Identity(user=user, scopes=scopes_of(user.role), by="session", address=address, session=session.id, csrf=session.csrf)


def _nobody(why: str, *, error: bool = False) -> Refusal:
    challenge = 'Bearer realm="rackproof"' + (', error="invalid_token"' if error else "")
    return Refusal(401, why, headers={"WWW-Authenticate": challenge})


def _scope_of(role: Role) -> Scope:
    return next(scope for scope, needed in ROLE_OF_SCOPE.items() if needed is role)


def _declared(dependant: Dependant | None) -> Iterator[Requirement | OpenToAll]:
    for inner in dependant.dependencies if dependant is not None else ():
        if isinstance(inner.call, Requirement | OpenToAll):
            yield inner.call
        yield from _declared(inner)

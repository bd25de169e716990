"""Who may do what: a user, and the two things by which the service knows one again."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from rackproof.errors import RackproofError
from rackproof.model.service import Role


class AccountRefused(RackproofError):
    """An account cannot be made, or changed, like this."""

    def __init__(self, where: str, expected: str, found: str) -> None:
        self.where, self.expected, self.found = where, expected, found
        super().__init__(f"{where}: expected {expected}, found {found}")


class TooManyAttempts(RackproofError):
    """There were too many attempts to sign in."""

    def __init__(self, retry_after_s: int) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(f"too many attempts to sign in: try again in {retry_after_s} s")


class Scope(StrEnum):
    """What an API token is good for. Each stands alone: a token that may submit can be unable to read."""

    READ = "read"
    SUBMIT = "submit"
    ADMIN = "admin"


#: The role that a scope belongs to: a token never reaches further than its owner.
ROLE_OF_SCOPE = {Scope.READ: Role.VIEWER, Scope.SUBMIT: Role.ENGINEER, Scope.ADMIN: Role.ADMIN}


def scopes_of(role: Role) -> frozenset[Scope]:
    """Everything that a role may do."""
    return frozenset(scope for scope, needed in ROLE_OF_SCOPE.items() if role.includes(needed))


@dataclass(frozen=True, kw_only=True, slots=True)
class User:
    """Somebody who may sign in. local: with a password; oidc_*: who the OpenID provider says it is."""

    id: int
    name: str
    full_name: str
    email: str
    role: Role
    local: bool
    oidc_issuer: str | None
    oidc_subject: str | None
    disabled: bool
    created: datetime
    seen: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """A browser that is signed in. id is a hash: what the cookie holds is known to the browser alone."""

    id: str
    user_id: int
    csrf: str
    created: datetime
    seen: datetime
    expires: datetime
    address: str
    agent: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    """An API token, without the secret itself; hint is how it begins."""

    id: int
    user_id: int
    name: str
    hint: str
    scopes: frozenset[Scope]
    created: datetime
    expires: datetime
    used: datetime | None
    revoked: datetime | None

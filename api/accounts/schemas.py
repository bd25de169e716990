"""What goes over the wire about accounts?"""

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field, SecretStr

from api.schemas.base import Asked, Given, Moment
from rackproof.model.account import Scope
from rackproof.model.service import Role
from rackproof.store.accounts import NAME_PATTERN

#: The bounds of passwords are the store's to say: what breaks one here would be quoted in the answer.
Password = Annotated[SecretStr, Field(description="At least 12 characters, and not the name.", examples=["a dozen ducks in a row"])]
Name = Annotated[str, Field(pattern=f"^{NAME_PATTERN}$", description="Unique, whatever its capitals.", examples=["ada"])]
FullName = Annotated[str, Field(max_length=200, examples=["Ada Lovelace"])]
Email = Annotated[str, Field(max_length=254, examples=["ada@lab.example"])]
RoleField = Annotated[Role, Field(description="viewer reads, engineer measures, admin keeps the house.")]


class UserGiven(Given):
    """A user."""

    id: int = Field(examples=[7])
    name: str = Field(examples=["ada"])
    full_name: str
    email: str
    role: RoleField
    local: bool = Field(description="True where the user has a password here.")
    oidc_issuer: str | None = Field(description="The OpenID provider that signs the user in.")
    oidc_subject: str | None
    disabled: bool
    created: datetime
    seen: datetime | None = Field(description="When the user was here last, to the minute.")


class UserAsked(Asked):
    """A user to make."""

    name: Name
    role: RoleField
    password: Password | None = Field(default=None, description="Without one the user cannot sign in until it is set.")
    full_name: FullName = ""
    email: Email = ""


class UserChange(Asked):
    """What to change of a user; what is left out stays."""

    full_name: FullName | None = None
    email: Email | None = None
    role: RoleField | None = None
    disabled: bool | None = Field(default=None, description="True ends every session at once, and no token opens anything.")


class PasswordAsked(Asked):
    """A new password for somebody."""

    password: Password
    revoke_tokens: bool = Field(default=False, description="Revoke all tokens of the user, too.")


class PasswordChange(Asked):
    """A new password for oneself."""

    old: SecretStr
    new: Password
    revoke_tokens: bool = Field(default=False, description="Revoke all of one's tokens, too.")


class SignIn(Asked):
    """Who one is."""

    name: str = Field(max_length=64, examples=["ada"])
    password: SecretStr


class SetUp(Asked):
    """The first account."""

    code: SecretStr = Field(description="What `rackproof up` printed.", examples=["k7rpd-4mxyz-aq2wb-n9c3f"])
    name: Name
    password: Password


class SetupGiven(Given):
    """Whether the first account is still to be made."""

    needed: bool


class SessionGiven(Given):
    """Who asks, and what they may do."""

    user: UserGiven
    by: str = Field(description="session or token", examples=["session"])
    scopes: list[Scope]
    csrf: str | None = Field(description="What a request that changes something sends as X-CSRF-Token; null for tokens, which need none.")
    token: int | None = Field(default=None, description="The token with which one asks; null for a session.")


class TokenGiven(Given):
    """An API token, without its secret."""

    id: int
    name: str = Field(examples=["nightly CI"])
    hint: str = Field(description="How the token begins.", examples=["rp_x3Qf"])
    scopes: list[Scope]
    created: datetime
    expires: datetime
    used: datetime | None = Field(description="When it was used last, to the minute.")
    revoked: datetime | None


class TokenAsked(Asked):
    """A token to make."""

    name: str = Field(min_length=1, max_length=100, examples=["nightly CI"])
    scopes: list[Scope] = Field(min_length=1, max_length=3, description="At most what one's role allows.")
    expires: Moment = Field(description="Within a year.")


class TokenMade(Given):
    """A new token. The secret is told this once."""

    secret: str = Field(description="Send it as `Authorization: Bearer SECRET`.")
    token: TokenGiven


class TokenList(Given):
    """All tokens of a user."""

    items: list[TokenGiven]


class AuditGiven(Given):
    """Something that somebody did."""

    id: int
    at: datetime
    user_id: int | None = Field(description="null once the user was removed; the name stays.")
    user_name: str
    action: str = Field(examples=["user.change"])
    target: str = Field(examples=["user:7"])
    detail: dict[str, Any]
    address: str

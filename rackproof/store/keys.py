"""Who holds this secret? Sessions of browsers and tokens of programs; only SHA-256 of either is kept."""

import hashlib
import secrets
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, or_, select, update

from rackproof.errors import NotFound
from rackproof.model.account import AccountRefused, Scope, Session, Token, User, scopes_of
from rackproof.model.service import Role
from rackproof.store.schema_service import Session as SessionRow
from rackproof.store.schema_service import Token as TokenRow
from rackproof.store.schema_service import User as UserRow
from rackproof.store.transactions import Transactions

PREFIX = "rp_"
SESSION_IDLE = timedelta(hours=12)
SESSION_LONGEST = timedelta(days=30)
TOKEN_LONGEST = timedelta(days=366)
_HINT = len(PREFIX) + 4
#: When somebody was last seen is kept to the minute: most requests write nothing.
_SEEN_EVERY = timedelta(minutes=1)
_OF_USER = [column.label(f"u_{column.name}") for column in UserRow.__table__.columns]


def sha256(secret: str) -> str:
    """What is kept of a secret. 256 random bits need no salt and no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def user_of(row: Row[Any], prefix: str = "") -> User:
    """A row of the table of users, its columns named with a prefix."""
    values = {name: getattr(row, prefix + name) for name in ("id", "name", "full_name", "email", "disabled", "created", "seen")}
    return User(
        **values,
        role=Role(getattr(row, f"{prefix}role")),
        local=getattr(row, f"{prefix}password") is not None,
        oidc_issuer=getattr(row, f"{prefix}oidc_issuer"),
        oidc_subject=getattr(row, f"{prefix}oidc_subject"),
    )


class Keys:
    """Sessions and tokens. Whatever is disabled, expired, revoked or unknown opens nothing, from the next request on."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    # --- sessions ---

    def open_session(self, user: int, *, address: str = "", agent: str = "", replaces: str | None = None) -> tuple[str, Session]:
        """A new session; its secret is told this once. replaces: the secret of the browser's session before, which ends."""
        secret = secrets.token_urlsafe(32)
        values = {"id": sha256(secret), "user_id": user, "csrf": secrets.token_urlsafe(32), "address": address, "agent": agent[:200]}
        with self._transactions.step("the session could not be opened") as connection:
            gone = or_(SessionRow.expires < func.clock_timestamp(), SessionRow.seen < func.clock_timestamp() - SESSION_IDLE)
            connection.execute(delete(SessionRow).where(or_(gone, SessionRow.id == sha256(replaces)) if replaces else gone))
            expires = func.clock_timestamp() + SESSION_LONGEST
            row = connection.execute(insert(SessionRow).values(**values, expires=expires).returning(*SessionRow.__table__.columns)).one()
            connection.execute(update(UserRow).where(UserRow.id == user).values(seen=func.clock_timestamp()))
        return secret, _session(row)

    def session(self, secret: str) -> tuple[User, Session] | None:
        """Whose session it is; None where it is none, or has ended."""
        with self._transactions.step("the session could not be read") as connection:
            now = func.clock_timestamp()
            good = (SessionRow.id == sha256(secret), SessionRow.expires > now, SessionRow.seen > now - SESSION_IDLE)
            columns: list[Any] = [*SessionRow.__table__.columns, *_OF_USER, (SessionRow.seen < now - _SEEN_EVERY).label("stale")]
            query = select(*columns).join(UserRow, UserRow.id == SessionRow.user_id).where(*good, UserRow.disabled.is_(False))
            row = connection.execute(query).one_or_none()
            if row is None:
                return None
            if row.stale:
                _see(connection, row.user_id)
                connection.execute(update(SessionRow).where(SessionRow.id == row.id).values(seen=now))
        return user_of(row, "u_"), _session(row)

    def sessions(self, user: int) -> list[Session]:
        """Where somebody is signed in, newest first."""
        with self._transactions.step("the sessions could not be read") as connection:
            query = select(SessionRow.__table__).where(SessionRow.user_id == user, SessionRow.expires > func.clock_timestamp())
            return [_session(row) for row in connection.execute(query.order_by(SessionRow.created.desc()))]

    def close_session(self, session: str) -> None:
        """End a session, by its id; one that has ended is no error."""
        with self._transactions.step("the session could not be ended") as connection:
            connection.execute(delete(SessionRow).where(SessionRow.id == session))

    def close_sessions(self, user: int) -> None:
        """End every session of somebody."""
        with self._transactions.step("the sessions could not be ended") as connection:
            connection.execute(delete(SessionRow).where(SessionRow.user_id == user))

    # --- tokens ---

    def create_token(self, user: int, *, name: str, scopes: Iterable[Scope], expires: datetime) -> tuple[str, Token]:
        """A new token; its secret is told this once. Raises AccountRefused, NotFound."""
        wanted = frozenset(scopes)
        secret = PREFIX + secrets.token_urlsafe(32)
        with self._transactions.step("the token could not be made") as connection:
            # The role cannot change under it.
            role = connection.scalar(select(UserRow.role).where(UserRow.id == user).with_for_update(read=True))
            if role is None:
                raise NotFound(f"there is no user {user}")
            _check(wanted, Role(role), expires)
            values = {"user_id": user, "name": name, "hash": sha256(secret), "hint": secret[:_HINT], "scopes": sorted(wanted)}
            row = connection.execute(insert(TokenRow).values(**values, expires=expires).returning(*TokenRow.__table__.columns)).one()
        return secret, _token(row)

    def by_token(self, secret: str) -> tuple[User, Token] | None:
        """Whose token it is; None where it is none, expired or revoked. What it may do, its owner's role bounds anew each time."""
        if not secret.startswith(PREFIX):
            return None
        with self._transactions.step("the token could not be read") as connection:
            now = func.clock_timestamp()
            good = (TokenRow.hash == sha256(secret), TokenRow.expires > now, TokenRow.revoked.is_(None))
            stale = or_(TokenRow.used.is_(None), TokenRow.used < now - _SEEN_EVERY).label("stale")
            columns: list[Any] = [*TokenRow.__table__.columns, *_OF_USER, stale]
            query = select(*columns).join(UserRow, UserRow.id == TokenRow.user_id)
            row = connection.execute(query.where(*good, UserRow.disabled.is_(False))).one_or_none()
            if row is None:
                return None
            if row.stale:
                _see(connection, row.user_id)
                connection.execute(update(TokenRow).where(TokenRow.id == row.id).values(used=now))
        return user_of(row, "u_"), _token(row)

    def tokens(self, user: int) -> list[Token]:
        """All tokens of somebody, newest first."""
        with self._transactions.step("the tokens could not be read") as connection:
            query = select(TokenRow.__table__).where(TokenRow.user_id == user).order_by(TokenRow.id.desc())
            return [_token(row) for row in connection.execute(query)]

    def revoke_token(self, token: int, *, user: int | None = None) -> Token:
        """The token opens nothing any more. user: whose it must be. Raises NotFound."""
        with self._transactions.step(f"token {token} could not be revoked") as connection:
            whose: list[ColumnElement[bool]] = [TokenRow.id == token, *([TokenRow.user_id == user] if user is not None else [])]
            revoked = func.coalesce(TokenRow.revoked, func.clock_timestamp())
            change = update(TokenRow).where(*whose).values(revoked=revoked).returning(*TokenRow.__table__.columns)
            row = connection.execute(change).one_or_none()
        if row is None:
            raise NotFound(f"there is no token {token}")
        return _token(row)


def _check(wanted: frozenset[Scope], role: Role, expires: datetime) -> None:
    allowed = scopes_of(role)
    if not wanted or not wanted <= allowed:
        raise AccountRefused("scopes", f"some of {', '.join(sorted(allowed))}", ", ".join(sorted(wanted)) or "none")
    if expires.tzinfo is None or not datetime.now(UTC) < expires <= datetime.now(UTC) + TOKEN_LONGEST:
        raise AccountRefused("expires", "a moment within a year from now, with its time zone", expires.isoformat())


def _see(connection: Connection, user: int) -> None:
    # The user's row before the key's: whoever changes a user ends the sessions after that, and two must not wait for each other.
    connection.execute(update(UserRow).where(UserRow.id == user).values(seen=func.clock_timestamp()))


def _session(row: Row[Any]) -> Session:
    names = ("id", "user_id", "csrf", "created", "seen", "expires", "address", "agent")
    return Session(**{name: getattr(row, name) for name in names})


def _token(row: Row[Any]) -> Token:
    names = ("id", "user_id", "name", "hint", "created", "expires", "used", "revoked")
    return Token(**{name: getattr(row, name) for name in names}, scopes=frozenset(map(Scope, row.scopes)))

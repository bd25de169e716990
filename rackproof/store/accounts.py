"""Who may sign in? Users, their passwords, and how the first of them comes to be."""

import re
import secrets
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, delete, func, insert, select, text, update
from sqlalchemy.exc import IntegrityError

from rackproof.errors import Conflict, NotFound
from rackproof.model.account import AccountRefused, User
from rackproof.model.service import Role
from rackproof.store import attempts, onetime
from rackproof.store.keys import Keys, user_of
from rackproof.store.passwords import Passwords
from rackproof.store.schema_service import Session, Token
from rackproof.store.schema_service import User as UserRow
from rackproof.store.transactions import Transactions

if TYPE_CHECKING:
    from argon2 import PasswordHasher

NAME_PATTERN = r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}"
SETUP_CODE_LASTS = timedelta(days=1)
_SETUP, _OIDC = "setup", "oidc"
_COLUMNS = UserRow.__table__.columns


class Accounts(Keys):
    """Users, and (see Keys) their sessions and tokens. A name is anybody's once, whatever its capitals."""

    def __init__(self, transactions: Transactions, hasher: "PasswordHasher | None" = None) -> None:
        super().__init__(transactions)
        self._passwords = Passwords(hasher)

    # --- users ---

    def create_user(
        self,
        *,
        name: str,
        role: Role,
        password: str | None,
        full_name: str = "",
        email: str = "",
        oidc_issuer: str | None = None,
        oidc_subject: str | None = None,
    ) -> User:
        """A new user; without a password only the OpenID provider signs them in. Raises AccountRefused, Conflict."""
        _check_name(name)
        hashed = self._passwords.hash(password, name) if password is not None else None
        who = {"name": name, "full_name": full_name, "email": email, "oidc_issuer": oidc_issuer, "oidc_subject": oidc_subject}
        with self._transactions.step(f"the user {name} could not be made") as connection:
            return _insert(connection, {**who, "role": role, "password": hashed})

    def user(self, user: int) -> User:
        """A user. Raises NotFound."""
        with self._transactions.step(f"user {user} could not be read") as connection:
            row = connection.execute(select(*_COLUMNS).where(UserRow.id == user)).one_or_none()
        if row is None:
            raise NotFound(f"there is no user {user}")
        return user_of(row)

    def by_name(self, name: str) -> User:
        """A user by name, whatever its capitals. Raises NotFound."""
        with self._transactions.step("the user could not be read") as connection:
            row = connection.execute(select(*_COLUMNS).where(_is_named(name))).one_or_none()
        if row is None:
            raise NotFound(f"there is no user {name}")
        return user_of(row)

    def users(self, *, after: int = 0, limit: int = 1000) -> list[User]:
        """Users in the order in which they were made; after: the id of the last one that is known already."""
        with self._transactions.step("the users could not be read") as connection:
            query = select(*_COLUMNS).where(UserRow.id > after).order_by(UserRow.id).limit(limit)
            return [user_of(row) for row in connection.execute(query)]

    def update_user(
        self,
        user: int,
        *,
        full_name: str | None = None,
        email: str | None = None,
        role: Role | None = None,
        disabled: bool | None = None,
    ) -> User:
        """Change what is given. Disabling ends every session. Raises NotFound, and Conflict where no admin would be left."""
        given = {"full_name": full_name, "email": email, "role": role, "disabled": disabled}
        changes = {key: value for key, value in given.items() if value is not None}
        if not changes:
            return self.user(user)
        with self._transactions.step(f"user {user} could not be changed") as connection:
            if disabled or role not in (None, Role.ADMIN):
                _not_the_last_admin(connection, user)
            row = connection.execute(update(UserRow).where(UserRow.id == user).values(**changes).returning(*_COLUMNS)).one_or_none()
            if row is None:
                raise NotFound(f"there is no user {user}")
            if disabled:
                connection.execute(delete(Session).where(Session.user_id == user))
        return user_of(row)

    def delete_user(self, user: int) -> User:
        """Remove a user with their sessions and tokens; what they did stays, under their name. Raises NotFound, Conflict."""
        with self._transactions.step(f"user {user} could not be removed") as connection:
            _not_the_last_admin(connection, user)
            row = connection.execute(delete(UserRow).where(UserRow.id == user).returning(*_COLUMNS)).one_or_none()
        if row is None:
            raise NotFound(f"there is no user {user}")
        return user_of(row)

    # --- passwords ---

    def set_password(self, user: int, password: str, *, revoke_tokens: bool = False) -> None:
        """A new password: every session ends, and nothing is held against the name. Raises NotFound, AccountRefused."""
        known = self.user(user)
        hashed = self._passwords.hash(password, known.name)
        with self._transactions.step(f"the password of user {user} could not be changed") as connection:
            connection.execute(update(UserRow).where(UserRow.id == user).values(password=hashed))
            connection.execute(delete(Session).where(Session.user_id == user))
            if revoke_tokens:
                connection.execute(
                    update(Token).where(Token.user_id == user, Token.revoked.is_(None)).values(revoked=func.clock_timestamp())
                )
            attempts.forget(connection, known.name)

    def sign_in(self, name: str, password: str, address: str) -> User | None:
        """Whoever has this name and password; None where nobody has, or the user is disabled. Raises TooManyAttempts."""
        with self._transactions.step("nobody could sign in") as connection:
            attempt = attempts.begin(connection, name, address)
            row = connection.execute(select(UserRow.id, UserRow.password).where(_is_named(name))).one_or_none()
        # No transaction is open while the password is looked at: that takes a tenth of a second, on purpose.
        found = row.password if row is not None else None
        if not self._passwords.verify(found, password) or row is None or found is None:
            return None
        renewed = self._passwords.hash(password, "") if self._passwords.outdated(found) else found
        with self._transactions.step("nobody could sign in") as connection:
            same = (UserRow.id == row.id, UserRow.password == found, UserRow.disabled.is_(False))
            user = connection.execute(update(UserRow).where(*same).values(password=renewed).returning(*_COLUMNS)).one_or_none()
            if user is None:
                return None
            attempts.succeed(connection, attempt)
        return user_of(user)

    def is_password(self, user: int, password: str, address: str) -> bool:
        """True where it is the user's password; counts as an attempt to sign in. Raises TooManyAttempts, NotFound."""
        return self.sign_in(self.user(user).name, password, address) is not None

    def oidc_user(self, *, issuer: str, subject: str, name: str, full_name: str, email: str, role: Role) -> tuple[User, bool]:
        """Whom the OpenID provider sent, and whether they are new: made now with the role, under a name that is free.

        Issuer and subject alone say who it is: a provider's names and addresses can be given to another.
        """
        with self._transactions.step("the user of the OpenID provider could not be made") as connection:
            _alone(connection, f"oidc {issuer} {subject}")
            this = (UserRow.oidc_issuer == issuer, UserRow.oidc_subject == subject)
            if row := connection.execute(select(*_COLUMNS).where(*this)).one_or_none():
                return user_of(row), False
            values = {
                "full_name": full_name,
                "email": email,
                "oidc_issuer": issuer,
                "oidc_subject": subject,
                "role": role,
                "password": None,
            }
            return _insert(connection, {**values, "name": _free_name(connection, name)}), True

    def keep_oidc(self, state: str, data: Mapping[str, Any], lasts: timedelta) -> None:
        """Somebody is on the way to the OpenID provider: take_oidc() gives the data back, once."""
        with self._transactions.step("the sign-in could not begin") as connection:
            onetime.keep(connection, _OIDC, state, data, lasts)

    def take_oidc(self, state: str) -> Mapping[str, Any] | None:
        """What was kept with a state, which is used up now; None where it is none, or its time is over."""
        with self._transactions.step("the sign-in could not go on") as connection:
            return onetime.use(connection, _OIDC, state)

    # --- the first account ---

    def is_empty(self) -> bool:
        """True while there is no user at all."""
        with self._transactions.step("the users could not be read") as connection:
            return _none_yet(connection)

    def setup_code(self) -> str | None:
        """A code, good for a day, with which the first admin is made; None where there is a user. An earlier code is void from now on."""
        code = "-".join("".join(secrets.choice("abcdefghjkmnpqrstuvwxyz23456789") for _ in range(5)) for _ in range(4))
        with self._transactions.step("the setup code could not be made") as connection:
            _alone(connection, _SETUP)
            if not _none_yet(connection):
                return None
            onetime.void(connection, _SETUP)
            onetime.keep(connection, _SETUP, code, {}, SETUP_CODE_LASTS)
        return code

    def set_up(self, *, code: str, name: str, password: str) -> User:
        """Make the first admin. Raises NotFound where the code is none or there is a user, AccountRefused."""
        _check_name(name)
        with self._transactions.step("the first account could not be made") as connection:
            _alone(connection, _SETUP)
            if not _none_yet(connection) or onetime.use(connection, _SETUP, code.strip().lower()) is None:
                raise NotFound("the setup code is wrong, was used, or is older than a day; `rackproof up` prints a new one")
            hashed = self._passwords.hash(password, name)
            return _insert(connection, {"name": name, "role": Role.ADMIN, "password": hashed})


def _insert(connection: Connection, values: dict[str, Any]) -> User:
    try:
        with connection.begin_nested():
            row = connection.execute(insert(UserRow).values(**values).returning(*_COLUMNS)).one()
    except IntegrityError:
        raise Conflict(f"there is a user {values['name']} already") from None
    onetime.void(connection, _SETUP)
    return user_of(row)


def _is_named(name: str) -> Any:
    return func.lower(UserRow.name) == func.lower(name)


def _check_name(name: str) -> None:
    if re.fullmatch(NAME_PATTERN, name) is None:
        shown = repr(name if len(name) <= 64 else f"{name[:61]}...")
        raise AccountRefused("name", "1 to 64 letters, digits and . _ @ + -, beginning with a letter or digit", shown)


def _free_name(connection: Connection, wanted: str) -> str:
    kept = re.sub(r"[^A-Za-z0-9._@+-]", "", wanted).lstrip("._@+-")[:56] or "user"
    for number in range(1, 10_000):
        name = kept if number == 1 else f"{kept}-{number}"
        if connection.scalar(select(UserRow.id).where(_is_named(name))) is None:
            return name
    raise Conflict(f"there are too many users whose name begins with {kept}")


def _none_yet(connection: Connection) -> bool:
    return connection.scalar(select(UserRow.id).limit(1)) is None


def _not_the_last_admin(connection: Connection, user: int) -> None:
    _alone(connection, "last admin")
    admins = set(connection.scalars(select(UserRow.id).where(UserRow.role == Role.ADMIN, UserRow.disabled.is_(False))))
    if admins == {user}:
        raise Conflict("this is the last admin: make another one first")


def _alone(connection: Connection, key: str) -> None:
    """Until the transaction ends, nobody else does this."""
    connection.execute(text("SELECT pg_advisory_xact_lock(hashtextextended(:key, 0))"), {"key": f"accounts {key}"})

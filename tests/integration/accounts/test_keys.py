"""Do sessions and tokens open what they should, for as long as they should, and nothing of them is kept that could be stolen?"""

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Connection, func, select, text, update

from rackproof.errors import NotFound
from rackproof.model.account import AccountRefused, Scope
from rackproof.model.service import Role
from rackproof.store import Store
from rackproof.store.accounts import Accounts
from rackproof.store.schema_service import Session, Token
from tests.integration.accounts.conftest import MakeUser
from tests.integration.accounts.serving import PASSWORD

SOON = timedelta(days=1)


def _token(accounts: Accounts, user: int, *scopes: Scope) -> str:
    return accounts.create_token(user, name="ci", scopes=scopes or (Scope.READ,), expires=datetime.now(UTC) + SOON)[0]


def _everything(connection: Connection) -> str:
    """Every row of every table, as text."""
    names = connection.scalars(text("SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'")).all()
    return "\n".join(str(row) for name in names for row in connection.execute(text(f'SELECT * FROM "{name}"')))


def test_a_secret_opens_the_session_and_is_kept_nowhere(store: Store, accounts: Accounts, user: MakeUser) -> None:
    ada = user()
    secret, session = accounts.open_session(ada.id, address="192.0.2.1", agent="x" * 500)
    token = _token(accounts, ada.id)
    code = Accounts.setup_code(accounts)
    accounts.keep_oidc("a state", {"nonce": "n"}, SOON)
    found = accounts.session(secret)
    assert found is not None
    assert (found[0].id, found[1]) == (ada.id, session)
    assert len(session.agent) == 200
    assert accounts.session(session.id) is None
    with store.transactions.step("read") as connection:
        kept = _everything(connection)
    assert code is None
    for hidden in (secret, token, PASSWORD, "a state"):
        assert hidden not in kept
    assert session.id in kept


def test_signing_in_again_ends_the_session_of_before(accounts: Accounts, user: MakeUser) -> None:
    ada = user()
    first, _ = accounts.open_session(ada.id)
    other, _ = accounts.open_session(ada.id)
    second, _ = accounts.open_session(ada.id, replaces=first)
    assert accounts.session(first) is None
    assert accounts.session(second) is not None
    assert accounts.session(other) is not None
    accounts.close_sessions(ada.id)
    assert [accounts.session(secret) for secret in (second, other)] == [None, None]


@pytest.mark.parametrize(("idle_h", "age_d", "open_"), [(11.9, 29.9, True), (12.1, 1, False), (0, 30.1, False)])
def test_a_session_ends_after_twelve_idle_hours_or_thirty_days(
    store: Store, accounts: Accounts, user: MakeUser, idle_h: float, age_d: float, open_: bool
) -> None:
    secret, session = accounts.open_session(user().id)
    with store.transactions.step("age") as connection:
        seen, expires = func.now() - timedelta(hours=idle_h), session.expires - timedelta(days=age_d)
        connection.execute(update(Session).values(seen=seen, expires=expires))
    assert (accounts.session(secret) is not None) == open_


def test_when_somebody_was_seen_is_written_once_a_minute(store: Store, accounts: Accounts, user: MakeUser) -> None:
    ada = user()
    secret, session = accounts.open_session(ada.id)
    token = _token(accounts, ada.id)
    assert accounts.by_token(token) is not None

    def seen() -> tuple[object, object, object]:
        with store.transactions.step("read") as connection:
            return (
                connection.scalars(select(Session.seen)).one(),
                connection.scalars(select(Token.used)).one(),
                accounts.user(ada.id).seen,
            )

    before = seen()
    assert None not in before
    for _ in range(3):
        accounts.session(secret)
        accounts.by_token(token)
    assert seen() == before
    with store.transactions.step("age") as connection:
        connection.execute(update(Session).values(seen=session.seen - timedelta(seconds=61)))
        connection.execute(update(Token).values(used=session.seen - timedelta(seconds=61)))
    assert accounts.session(secret) is not None
    assert accounts.by_token(token) is not None
    after = seen()
    assert all(new > old for new, old in zip(after, before, strict=True))  # type: ignore[operator]


def test_a_new_password_ends_every_session_and_tokens_where_asked(accounts: Accounts, user: MakeUser) -> None:
    ada = user()
    token = _token(accounts, ada.id)
    for revoke in (False, True):
        secrets = [accounts.open_session(ada.id)[0] for _ in range(2)]
        accounts.set_password(ada.id, f"another dozen of ducks {revoke}", revoke_tokens=revoke)
        assert [accounts.session(secret) for secret in secrets] == [None, None]
        assert (accounts.by_token(token) is None) == revoke


def test_whoever_is_disabled_or_removed_is_out_at_once(accounts: Accounts, user: MakeUser) -> None:
    ada = user()
    secret, token = accounts.open_session(ada.id)[0], _token(accounts, ada.id)
    accounts.update_user(ada.id, disabled=True)
    assert (accounts.session(secret), accounts.by_token(token)) == (None, None)
    # The password was right a moment before.
    late = accounts.open_session(ada.id)[0]
    assert accounts.session(late) is None
    accounts.close_sessions(ada.id)
    accounts.update_user(ada.id, disabled=False)
    assert accounts.session(secret) is None
    assert accounts.by_token(token) is not None
    secret = accounts.open_session(ada.id)[0]
    accounts.delete_user(ada.id)
    assert (accounts.session(secret), accounts.by_token(token)) == (None, None)


def test_a_token_is_known_until_it_expires_or_is_revoked(store: Store, accounts: Accounts, user: MakeUser) -> None:
    ada = user()
    secret, token = accounts.create_token(ada.id, name="ci", scopes=[Scope.SUBMIT, Scope.READ], expires=datetime.now(UTC) + SOON)
    assert secret.startswith("rp_")
    assert token.hint == secret[:7]
    assert token.scopes == {Scope.READ, Scope.SUBMIT}
    found = accounts.by_token(secret)
    assert found is not None
    assert (found[0].name, found[1].id) == ("ada", token.id)
    for wrong in (secret[3:], secret + "x", "rp_", "", "rp_\0", "rp_\ud800"):
        assert accounts.by_token(wrong) is None
    with pytest.raises(NotFound):
        accounts.revoke_token(token.id, user=ada.id + 1)
    assert accounts.by_token(secret) is not None
    revoked = accounts.revoke_token(token.id, user=ada.id)
    assert accounts.by_token(secret) is None
    assert accounts.revoke_token(token.id) == revoked
    assert accounts.tokens(ada.id) == [revoked]
    late = _token(accounts, ada.id)
    with store.transactions.step("age") as connection:
        connection.execute(update(Token).values(expires=func.now() - timedelta(seconds=1)))
    assert accounts.by_token(late) is None


@pytest.mark.parametrize(
    ("scopes", "days", "message"),
    [
        ([Scope.ADMIN], 1, "scopes: expected some of read, submit, found admin"),
        ([Scope.READ, Scope.ADMIN], 1, "found admin, read"),
        ([], 1, "found none"),
        ([Scope.READ], 367, "expires: expected a moment within a year"),
        ([Scope.READ], -1, "expires: expected a moment within a year"),
    ],
)
def test_a_token_beyond_the_role_or_a_year_is_refused(
    accounts: Accounts, user: MakeUser, scopes: list[Scope], days: int, message: str
) -> None:
    ada = user()
    with pytest.raises(AccountRefused, match=message):
        accounts.create_token(ada.id, name="ci", scopes=scopes, expires=datetime.now(UTC) + timedelta(days=days))
    with pytest.raises(NotFound):
        accounts.create_token(ada.id + 1, name="ci", scopes=[Scope.READ], expires=datetime.now(UTC) + SOON)
    assert accounts.tokens(ada.id) == []


def test_a_code_is_good_once(store: Store, accounts: Accounts) -> None:
    accounts.keep_oidc("state", {"next": "/"}, SOON)
    accounts.keep_oidc("late", {}, timedelta(seconds=-1))
    assert accounts.take_oidc("late") is None
    assert accounts.take_oidc("state") == {"next": "/"}
    assert accounts.take_oidc("state") is None
    assert store.retention.tidy()["one_time_codes"] == 1


def test_roles_include_those_before_them() -> None:
    assert [(role.includes(Role.VIEWER), role.includes(Role.ADMIN)) for role in Role] == [(True, False), (True, False), (True, True)]

"""Are users who they should be, and can nobody lose the last admin?"""

import threading

import pytest
from argon2 import PasswordHasher
from sqlalchemy import select

from rackproof.errors import Conflict, NotFound
from rackproof.model.account import AccountRefused
from rackproof.model.service import Role
from rackproof.store import Store
from rackproof.store.accounts import Accounts
from rackproof.store.schema_service import User
from tests.integration.accounts.conftest import MakeUser
from tests.integration.accounts.serving import PASSWORD


def _hash(store: Store, user: int) -> str:
    with store.transactions.step("read") as connection:
        found = connection.scalars(select(User.password).where(User.id == user)).one()
    assert found is not None
    return found


def test_a_name_is_one_user_whatever_its_capitals(accounts: Accounts, user: MakeUser) -> None:
    ada = user("Ada")
    with pytest.raises(Conflict, match="there is a user aDA already"):
        user("aDA")
    assert accounts.by_name("ADA") == ada == accounts.user(ada.id)
    assert accounts.users() == [ada]
    with pytest.raises(NotFound, match="no user grace"):
        accounts.by_name("grace")


@pytest.mark.parametrize("name", ["", "-ada", "a b", "a/b", "ada\n", "x" * 65, "ädä", "<b>"])
def test_a_name_that_would_mislead_is_refused(accounts: Accounts, name: str) -> None:
    with pytest.raises(AccountRefused, match="name: expected 1 to 64 letters"):
        accounts.create_user(name=name, role=Role.VIEWER, password=PASSWORD)
    assert accounts.users() == []


@pytest.mark.parametrize(
    ("password", "found"),
    [("elevenchars", "expected 12 to 1024 characters, found 11"), ("x" * 1025, "found 1025"), ("ADA.LOVELACE", "the name")],
)
def test_a_password_is_long_and_not_the_name(accounts: Accounts, password: str, found: str) -> None:
    with pytest.raises(AccountRefused, match=found):
        accounts.create_user(name="Ada.Lovelace", role=Role.VIEWER, password=password)


def test_passwords_are_kept_as_argon2id_and_hashed_again_when_the_parameters_change(store: Store, accounts: Accounts) -> None:
    ada = accounts.create_user(name="ada", role=Role.VIEWER, password=PASSWORD)
    before = _hash(store, ada.id)
    assert before.startswith("$argon2id$v=19$m=8,t=1,p=1$")
    stricter = Accounts(store.transactions, PasswordHasher(time_cost=2, memory_cost=16, parallelism=1))
    assert stricter.sign_in("ada", "wrong password", "192.0.2.1") is None
    assert _hash(store, ada.id) == before
    assert stricter.sign_in("ada", PASSWORD, "192.0.2.1") == ada
    after = _hash(store, ada.id)
    assert after.startswith("$argon2id$v=19$m=16,t=2,p=1$")
    assert stricter.sign_in("ada", PASSWORD, "192.0.2.1") == ada
    assert _hash(store, ada.id) == after


def test_without_a_fixture_hashing_costs_what_the_rfc_asks_for(store: Store) -> None:
    ada = Accounts(store.transactions).create_user(name="ada", role=Role.VIEWER, password=PASSWORD)
    assert _hash(store, ada.id).startswith("$argon2id$v=19$m=65536,t=3,p=4$")


def test_the_same_letters_are_the_same_password_on_every_keyboard(accounts: Accounts) -> None:
    ada = accounts.create_user(name="ada", role=Role.VIEWER, password="a dozen d\u00fccks")
    assert accounts.sign_in("ADA", "a dozen du\u0308cks", "192.0.2.1") == ada
    assert accounts.sign_in("ada", "a dozen d\ud800cks", "192.0.2.1") is None


@pytest.mark.parametrize("change", [{"role": Role.ENGINEER}, {"disabled": True}, None])
def test_the_last_admin_stays(accounts: Accounts, user: MakeUser, change: dict[str, object] | None) -> None:
    admin, other = user("root", Role.ADMIN), user("ada", Role.ADMIN)

    def go(number: int) -> None:
        if change is None:
            accounts.delete_user(number)
        else:
            accounts.update_user(number, **change)  # type: ignore[arg-type]

    go(other.id)
    with pytest.raises(Conflict, match="last admin"):
        go(admin.id)
    assert accounts.user(admin.id).role is Role.ADMIN
    assert accounts.update_user(admin.id, full_name="The Root").full_name == "The Root"


def test_two_admins_who_remove_each_other_at_once_leave_one(accounts: Accounts, user: MakeUser) -> None:
    admins = [user(f"admin{number}", Role.ADMIN) for number in range(4)]
    begin = threading.Barrier(len(admins))
    refused: list[Conflict] = []

    def remove(number: int) -> None:
        begin.wait(timeout=30)
        try:
            accounts.delete_user(number)
        except Conflict as error:
            refused.append(error)

    threads = [threading.Thread(target=remove, args=(admin.id,)) for admin in admins]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert len(accounts.users()) == 1
    assert len(refused) == 1


def test_users_come_in_pages(accounts: Accounts, user: MakeUser) -> None:
    made = [user(f"user{number}") for number in range(5)]
    first = accounts.users(limit=2)
    assert [*first, *accounts.users(after=first[-1].id)] == made


def test_the_first_admin_is_made_with_the_code_and_by_nothing_else(accounts: Accounts) -> None:
    assert accounts.is_empty()
    void, code = accounts.setup_code(), accounts.setup_code()
    assert code is not None
    assert void is not None
    for wrong in ("", "aaaaa-bbbbb-ccccc-ddddd", void):
        with pytest.raises(NotFound, match="setup code is wrong"):
            accounts.set_up(code=wrong, name="root", password=PASSWORD)
    with pytest.raises(AccountRefused):
        accounts.set_up(code=code, name="root", password="short")
    admin = accounts.set_up(code=f" {code.upper()} ", name="root", password=PASSWORD)
    assert (admin.role, admin.local, accounts.is_empty()) == (Role.ADMIN, True, False)
    with pytest.raises(NotFound):
        accounts.set_up(code=code, name="second", password=PASSWORD)
    assert accounts.setup_code() is None
    assert [each.name for each in accounts.users()] == ["root"]


def test_a_setup_code_is_void_once_there_is_a_user(accounts: Accounts, user: MakeUser) -> None:
    code = accounts.setup_code()
    assert code is not None
    made = user("viewer", Role.VIEWER)
    with pytest.raises(NotFound):
        accounts.set_up(code=code, name="root", password=PASSWORD)
    accounts.delete_user(made.id)
    # Nobody is there again, and yet the code of before opens nothing.
    with pytest.raises(NotFound):
        accounts.set_up(code=code, name="root", password=PASSWORD)


def test_one_code_makes_one_admin_however_many_use_it_at_once(accounts: Accounts) -> None:
    code = accounts.setup_code()
    assert code is not None
    begin = threading.Barrier(4)
    outcome: list[str] = []

    def set_up(name: str) -> None:
        begin.wait(timeout=30)
        try:
            outcome.append(accounts.set_up(code=code or "", name=name, password=PASSWORD).name)
        except NotFound:
            outcome.append("refused")

    threads = [threading.Thread(target=set_up, args=(f"admin{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert outcome.count("refused") == 3
    assert len(accounts.users()) == 1


def test_whom_the_provider_sends_is_known_by_issuer_and_subject_alone(accounts: Accounts, user: MakeUser) -> None:
    local = user("ada", Role.ADMIN)
    claims = {"issuer": "https://id.example", "subject": "1", "full_name": "Ada", "email": "ada@lab.example", "role": Role.VIEWER}
    made, new = accounts.oidc_user(name="Ada", **claims)  # type: ignore[arg-type]
    assert (new, made.name, made.role, made.local) == (True, "Ada-2", Role.VIEWER, False)
    assert made.id != local.id
    again, new = accounts.oidc_user(name="another name", **{**claims, "role": Role.ADMIN})  # type: ignore[arg-type]
    assert (again, new) == (made, False)
    other, new = accounts.oidc_user(name="<script>", **{**claims, "subject": "2"})  # type: ignore[arg-type]
    assert (other.name, new) == ("script", True)
    assert accounts.oidc_user(name="///", **{**claims, "subject": "3"})[0].name == "user"  # type: ignore[arg-type]
    assert accounts.sign_in("Ada-2", PASSWORD, "192.0.2.1") is None

"""Are guesses slowed down, without keeping the owner out?"""

import threading
import time
from datetime import timedelta

import pytest
from sqlalchemy import func, insert, select, update

from rackproof.model.account import TooManyAttempts
from rackproof.model.service import Role
from rackproof.store import Store
from rackproof.store.accounts import Accounts
from rackproof.store.attempts import OF_ADDRESS, OF_NAME, wait_s
from rackproof.store.schema_service import SignIn
from tests.integration.accounts.conftest import MakeUser
from tests.integration.accounts.serving import PASSWORD

HOME, ELSEWHERE = "192.0.2.1", "198.51.100.7"


def _pass(store: Store, seconds: float) -> None:
    """Let time go by, as the database sees it."""
    with store.transactions.step("wait") as connection:
        connection.execute(update(SignIn).values(at=SignIn.at - timedelta(seconds=seconds)))


def _count(store: Store) -> int:
    with store.transactions.step("count") as connection:
        return connection.scalars(select(func.count()).select_from(SignIn)).one()


def _fail(accounts: Accounts, name: str, address: str) -> int:
    """One wrong attempt; how long it must wait [s], 0 where it was looked at."""
    try:
        assert accounts.sign_in(name, "a wrong password", address) is None
    except TooManyAttempts as refused:
        return refused.retry_after_s
    return 0


def _failed(store: Store, name: str, address: str, times: int = 20) -> None:
    """So many attempts failed just now: the next wait is the longest, however slow the machine is."""
    with store.transactions.step("fail") as connection:
        connection.execute(insert(SignIn), [{"name": name, "address": address, "succeeded": False}] * times)


def test_each_failure_doubles_the_wait_up_to_a_bound() -> None:
    assert [wait_s(failures, OF_NAME) for failures in range(13)] == [0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60]
    assert [wait_s(failures, OF_ADDRESS) for failures in (19, 20, 29, 30, 10**9)] == [0, 1, 512, 900, 900]


def test_failures_make_the_next_attempt_wait(store: Store, accounts: Accounts, user: MakeUser) -> None:
    ada = user("ada")
    assert [_fail(accounts, "ada", ELSEWHERE) for _ in range(OF_NAME[0])] == [0] * OF_NAME[0]
    assert _count(store) == OF_NAME[0]
    _failed(store, "ada", ELSEWHERE, 6)
    # Whoever knows the password waits, too: else the answer would tell a guess that it was right.
    with pytest.raises(TooManyAttempts, match="again in") as refused:
        accounts.sign_in("ADA", PASSWORD, ELSEWHERE)
    assert 20 < refused.value.retry_after_s <= 60
    _pass(store, 60)
    assert accounts.sign_in("ada", PASSWORD, ELSEWHERE) == ada


def test_a_refused_attempt_does_not_prolong_the_wait(store: Store, accounts: Accounts, user: MakeUser) -> None:
    user("ada")
    _failed(store, "ada", ELSEWHERE)
    before = _count(store)
    waits = [_fail(accounts, "ada", ELSEWHERE) for _ in range(5)]
    assert all(waits)
    assert waits == sorted(waits, reverse=True)
    assert _count(store) == before


def test_guesses_from_elsewhere_do_not_keep_the_owner_out(store: Store, accounts: Accounts, user: MakeUser) -> None:
    ada = user("ada")
    assert accounts.sign_in("ada", PASSWORD, HOME) == ada
    _pass(store, 3600)
    _failed(store, "ada", ELSEWHERE)
    for address in (ELSEWHERE, "203.0.113.9"):
        with pytest.raises(TooManyAttempts):
            accounts.sign_in("ada", PASSWORD, address)
    assert accounts.sign_in("ada", PASSWORD, HOME) == ada
    # Yet nobody guesses faster from the owner's address.
    _failed(store, "ada", HOME)
    with pytest.raises(TooManyAttempts):
        accounts.sign_in("ada", PASSWORD, HOME)


def test_an_address_that_tries_many_names_waits(store: Store, accounts: Accounts, user: MakeUser) -> None:
    ada = user("ada")
    assert [_fail(accounts, f"nobody{number}", ELSEWHERE) for number in range(OF_ADDRESS[0])] == [0] * OF_ADDRESS[0]
    for number in range(50):
        _failed(store, f"guess{number}", ELSEWHERE, 1)
    assert 600 < _fail(accounts, "another", ELSEWHERE) <= OF_ADDRESS[1]
    assert accounts.sign_in("ada", PASSWORD, HOME) == ada


def test_after_an_hour_it_is_forgotten_and_after_a_month_removed(store: Store, accounts: Accounts, user: MakeUser) -> None:
    user("ada")
    _failed(store, "ada", ELSEWHERE)
    assert _fail(accounts, "ada", ELSEWHERE)
    _pass(store, 3601)
    assert [_fail(accounts, "ada", ELSEWHERE) for _ in range(OF_NAME[0])] == [0] * OF_NAME[0]
    _pass(store, 31 * 86400)
    assert store.retention.tidy()["sign_ins"] == 20 + OF_NAME[0]
    assert _count(store) == 0


def test_a_new_password_holds_nothing_against_the_name(store: Store, accounts: Accounts, user: MakeUser) -> None:
    ada = user("ada")
    _failed(store, "ada", ELSEWHERE)
    assert _fail(accounts, "ada", HOME)
    accounts.set_password(ada.id, "another dozen of ducks")
    assert accounts.sign_in("ada", "another dozen of ducks", HOME) == accounts.user(ada.id)
    assert accounts.sign_in("ada", PASSWORD, HOME) is None


def test_many_attempts_at_once_are_many_attempts(store: Store, accounts: Accounts, user: MakeUser) -> None:
    user("ada")
    _failed(store, "ada", ELSEWHERE)
    # The wait is over for one attempt: it fails, and the next wait is a minute again.
    _pass(store, 120)
    begin = threading.Barrier(8)
    waits: list[int] = []

    def attempt() -> None:
        begin.wait(timeout=60)
        waits.append(_fail(accounts, "ada", ELSEWHERE))

    threads = [threading.Thread(target=attempt) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert (len(waits), waits.count(0)) == (8, 1)


def test_a_disabled_user_does_not_sign_in(accounts: Accounts, user: MakeUser) -> None:
    ada = user("ada")
    accounts.update_user(ada.id, disabled=True)
    assert accounts.sign_in("ada", PASSWORD, HOME) is None


def test_a_name_that_nobody_has_takes_as_long_as_a_wrong_password(store: Store) -> None:
    """At the real cost of hashing: without the hash of nobody, the first would be a hundred times faster.

    In time of the processors: others who use them do not count.
    """
    accounts = Accounts(store.transactions)
    accounts.create_user(name="ada", role=Role.VIEWER, password=PASSWORD)
    assert accounts.sign_in("nobody", PASSWORD, HOME) is None  # the hash of nobody is made

    def took_s(name: str, round_: int) -> float:
        began = time.process_time()
        assert accounts.sign_in(name, "a wrong password", f"192.0.2.{round_}") is None
        return time.process_time() - began

    both = [(took_s("ada", number), took_s("nobody", number)) for number in range(4)]
    assert min(unknown for _, unknown in both) > min(known for known, _ in both) / 4

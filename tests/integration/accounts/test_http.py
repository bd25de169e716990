"""What do a browser and a program meet when they sign in over HTTP?"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from sqlalchemy import insert

from rackproof.model.account import Scope
from rackproof.model.service import Role
from rackproof.store import Store
from rackproof.store.accounts import Accounts
from rackproof.store.schema_service import SignIn
from tests.integration.accounts.conftest import MakeUser
from tests.integration.accounts.serving import PASSWORD, sign_in

PROBLEM = "application/problem+json"


@pytest.fixture
def root(browser: httpx.Client, user: MakeUser) -> httpx.Client:
    """A browser in which an admin is signed in."""
    user("root", Role.ADMIN)
    assert sign_in(browser, "root").status_code == 201
    return browser


@pytest.fixture
def second(served: str) -> Iterator[httpx.Client]:
    """Another browser."""
    with httpx.Client(base_url=f"{served}/api/v1", timeout=30) as client:
        yield client


def _bearer(accounts: Accounts, user: int, *scopes: Scope) -> dict[str, str]:
    secret, _ = accounts.create_token(user, name="t", scopes=scopes, expires=datetime.now(UTC) + timedelta(days=1))
    return {"Authorization": f"Bearer {secret}"}


def _in_a_year() -> str:
    return (datetime.now(UTC) + timedelta(days=300)).isoformat()


def test_signing_in_and_out(browser: httpx.Client, user: MakeUser, store: Store) -> None:
    ada = user("ada")
    assert browser.get("/session").status_code == 401
    wrong = sign_in(browser, "ada", "not the password")
    assert (wrong.status_code, wrong.headers["content-type"]) == (401, PROBLEM)
    assert wrong.json()["detail"] == sign_in(browser, "nobody", "not the password").json()["detail"]
    assert "set-cookie" not in wrong.headers
    answer = sign_in(browser, "Ada")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("rackproof=")
    assert {part.strip().lower() for part in cookie.split(";")[1:]} == {"httponly", "samesite=lax", "path=/", "max-age=2592000"}
    here = browser.get("/session").json()
    assert here == answer.json() | {"user": here["user"]}
    assert (here["user"]["id"], here["by"], here["scopes"]) == (ada.id, "session", ["read", "submit"])
    assert browser.delete("/session").status_code == 204
    assert "rackproof" not in browser.cookies
    assert browser.get("/session", headers={"Cookie": cookie.partition(";")[0]}).status_code == 401
    assert [line.action for line in store.audit.list(user_name="ada")] == ["session.close", "session.open"]


@pytest.mark.parametrize("host", ["rack.example", "192.0.2.1:8000", "localhost.evil.example", "[2001:db8::1]", "["])
def test_away_from_loopback_the_cookie_is_for_https_and_this_host_alone(browser: httpx.Client, user: MakeUser, host: str) -> None:
    user("ada")
    answer = browser.post("/session", json={"name": "ada", "password": PASSWORD}, headers={"Host": host})
    assert answer.status_code == 201
    cookie = answer.headers["set-cookie"]
    name = cookie.partition("=")[0]
    assert name == "__Host-rackproof"
    assert {"secure", "httponly", "path=/"} <= {part.strip().lower() for part in cookie.split(";")}
    assert "domain" not in cookie.lower()
    # What a browser keeps without Secure is not believed elsewhere than on loopback.
    secret = cookie.partition("=")[2].partition(";")[0]
    assert browser.get("/session", headers={"Host": host, "Cookie": f"rackproof={secret}"}).status_code == 401
    assert browser.get("/session", headers={"Host": host, "Cookie": f"{name}={secret}"}).status_code == 200


def test_the_session_changes_at_sign_in(browser: httpx.Client, user: MakeUser) -> None:
    user("ada")
    sign_in(browser, "ada")
    before = browser.cookies["rackproof"]
    sign_in(browser, "ada")
    assert browser.cookies["rackproof"] != before
    browser.cookies.clear()
    assert browser.get("/session", headers={"Cookie": f"rackproof={before}"}).status_code == 401


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 201),
        ({"X-CSRF-Token": ""}, 403),
        ({"X-CSRF-Token": "of another session"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 201),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://["}, 403),
    ],
)
def test_another_site_cannot_send_what_the_browser_would_sign(
    root: httpx.Client, accounts: Accounts, headers: dict[str, str], status: int
) -> None:
    answer = root.post("/users", json={"name": "eve", "role": "admin", "password": PASSWORD}, headers=headers)
    assert answer.status_code == status
    assert len(accounts.users()) == (2 if status == 201 else 1)


def test_the_own_origin_may_send(root: httpx.Client, served: str) -> None:
    body = {"name": "eve", "role": "viewer"}
    assert root.post("/users", json=body, headers={"Origin": served}).status_code == 201


def test_another_site_cannot_sign_somebody_in(browser: httpx.Client, user: MakeUser) -> None:
    user("eve")
    answer = browser.post("/session", json={"name": "eve", "password": PASSWORD}, headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 403
    assert not browser.cookies
    # A form can send this without asking first; it is not taken for JSON.
    plain = browser.post("/session", content=f'{{"name": "eve", "password": "{PASSWORD}"}}', headers={"Content-Type": "text/plain"})
    assert plain.status_code == 422


def test_a_token_needs_no_csrf_and_does_what_its_scopes_say(served: str, accounts: Accounts, user: MakeUser) -> None:
    root = user("root", Role.ADMIN)
    body: dict[str, Any] = {"name": "eve", "role": "viewer"}
    with httpx.Client(base_url=f"{served}/api/v1", timeout=30, headers=_bearer(accounts, root.id, Scope.ADMIN)) as admin:
        assert admin.post("/users", json=body).status_code == 201
        answer = admin.get("/session")
        assert answer.status_code == 403
        assert answer.json()["detail"] == "expected a token with the scope read, found admin"
    with httpx.Client(base_url=f"{served}/api/v1", timeout=30, headers=_bearer(accounts, root.id, Scope.READ, Scope.SUBMIT)) as reader:
        assert reader.get("/session").json()["csrf"] is None
        assert reader.get("/users").status_code == 403
        assert reader.post("/tokens", json={"name": "x", "scopes": ["read"], "expires": _in_a_year()}).status_code == 403
        assert reader.put("/session/password", json={"old": PASSWORD, "new": "another dozen ducks"}).status_code == 403


@pytest.mark.parametrize("value", ["Bearer rp_unknown", "Bearer", "Basic cm9vdDpyb290", "Bearer \u00e9", ""])
def test_a_wrong_authorization_is_not_overlooked_for_a_cookie(root: httpx.Client, value: str) -> None:
    answer = root.get("/session", headers={b"Authorization": value.encode()})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == 'Bearer realm="rackproof", error="invalid_token"'


def test_a_changed_role_counts_from_the_next_request_on(
    root: httpx.Client, second: httpx.Client, accounts: Accounts, user: MakeUser
) -> None:
    ada = user("ada", Role.ADMIN)
    token = _bearer(accounts, ada.id, Scope.ADMIN, Scope.READ)
    sign_in(second, "ada")
    assert second.get("/users").status_code == 200
    assert root.patch(f"/users/{ada.id}", json={"role": "viewer"}).json()["role"] == "viewer"
    assert second.get("/users").status_code == 403
    assert second.get("/users", headers=token).status_code == 403
    assert second.get("/session", headers=token).json()["scopes"] == ["read"]
    assert root.patch(f"/users/{ada.id}", json={"disabled": True}).status_code == 200
    assert second.get("/session").status_code == 401
    assert second.get("/session", headers=token).status_code == 401


def test_users_are_kept_by_admins(root: httpx.Client, accounts: Accounts, store: Store) -> None:
    made = root.post("/users", json={"name": "ada", "role": "engineer", "password": PASSWORD, "full_name": "Ada"})
    assert made.status_code == 201
    number = made.json()["id"]
    assert root.post("/users", json={"name": "ADA", "role": "viewer"}).status_code == 409
    assert root.get(f"/users/{number}").json() == made.json()
    assert [each["name"] for each in root.get("/users").json()["items"]] == ["root", "ada"]
    page = root.get("/users?limit=1").json()
    assert [each["name"] for each in root.get("/users", params={"limit": 1, "cursor": page["next"]}).json()["items"]] == ["ada"]
    assert root.put(f"/users/{number}/password", json={"password": "another dozen of ducks"}).status_code == 204
    assert accounts.sign_in("ada", "another dozen of ducks", "192.0.2.1") is not None
    token = accounts.create_token(number, name="ci", scopes=[Scope.READ], expires=datetime.now(UTC) + timedelta(days=1))[1]
    assert [each["id"] for each in root.get(f"/users/{number}/tokens").json()["items"]] == [token.id]
    assert root.delete(f"/users/{number}/tokens/{token.id}").status_code == 204
    assert root.get(f"/users/{number}/tokens").json()["items"][0]["revoked"] is not None
    assert root.delete(f"/users/{number}").status_code == 204
    assert root.get(f"/users/{number}").status_code == 404
    me = accounts.by_name("root").id
    assert root.delete(f"/users/{me}").status_code == 409
    assert root.patch(f"/users/{me}", json={"role": "engineer"}).status_code == 409
    actions = [line.action for line in store.audit.list(target=f"user:{number}")]
    assert actions == ["user.delete", "user.credentials", "user.create"]
    lines = root.get("/audit?limit=2").json()
    assert [line["action"] for line in lines["items"]] == ["user.delete", "token.revoke"]
    rest = root.get("/audit", params={"cursor": lines["next"]}).json()["items"]
    assert [line["action"] for line in rest] == ["user.credentials", "user.create", "session.open"]
    assert root.get("/audit?user=root&action=user.create").json()["items"][0]["detail"] == {"name": "ada", "role": "engineer"}
    assert PASSWORD not in root.get("/audit").text


def test_an_admin_who_leaves_is_named_in_the_trail(root: httpx.Client, accounts: Accounts, store: Store, user: MakeUser) -> None:
    user("second", Role.ADMIN)
    me = accounts.by_name("root").id
    assert root.delete(f"/users/{me}").status_code == 204
    assert root.get("/session").status_code == 401
    last = store.audit.list()[0]
    assert (last.user_id, last.user_name, last.action) == (None, "root", "user.delete")


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"name": "eve", "role": "viewer", "password": "too short"}, "body.password"),
        ({"name": "eve", "role": "king"}, "body.role"),
        ({"name": "e\0e", "role": "viewer"}, "body"),
        ({"name": "../eve", "role": "viewer"}, "body.name"),
        ({"name": "eve", "role": "viewer", "id": 1}, "body.id"),
    ],
)
def test_a_user_who_cannot_be_is_refused(root: httpx.Client, body: dict[str, object], where: str) -> None:
    answer = root.post("/users", json=body)
    assert (answer.status_code, answer.headers["content-type"]) == (422, PROBLEM)
    assert where in [fault["where"] for fault in answer.json()["problems"]]
    assert "too short" not in answer.text


def test_changing_the_own_password(browser: httpx.Client, second: httpx.Client, user: MakeUser) -> None:
    user("ada")
    sign_in(browser, "ada")
    sign_in(second, "ada")
    new = "another dozen of ducks"
    assert browser.put("/session/password", json={"old": "not the password", "new": new}).status_code == 403
    assert browser.put("/session/password", json={"old": PASSWORD, "new": "short"}).status_code == 422
    assert second.get("/session").status_code == 200
    answer = browser.put("/session/password", json={"old": PASSWORD, "new": new})
    assert answer.status_code == 200
    assert second.get("/session").status_code == 401
    assert browser.get("/session").json()["csrf"] == answer.json()["csrf"]
    assert sign_in(second, "ada", PASSWORD).status_code == 401
    assert sign_in(second, "ada", new).status_code == 201


def test_own_tokens(browser: httpx.Client, served: str, user: MakeUser) -> None:
    user("ada")
    sign_in(browser, "ada")
    asked = {"name": "ci", "scopes": ["read", "submit"], "expires": _in_a_year()}
    made = browser.post("/tokens", json=asked).json()
    assert made["secret"].startswith(made["token"]["hint"])
    assert browser.post("/tokens", json=asked | {"scopes": ["admin"]}).status_code == 422
    assert browser.post("/tokens", json=asked | {"expires": "2999-01-01T00:00:00Z"}).status_code == 422
    assert browser.post("/tokens", json=asked | {"expires": "2030-01-01T00:00:00"}).status_code == 422
    other = browser.post("/tokens", json=asked).json()["token"]["id"]
    assert made["secret"] not in browser.get("/tokens").text
    with httpx.Client(base_url=f"{served}/api/v1", timeout=30, headers={"Authorization": f"Bearer {made['secret']}"}) as program:
        assert [each["id"] for each in program.get("/tokens").json()["items"]] == [other, made["token"]["id"]]
        assert program.delete(f"/tokens/{other}").status_code == 403
        assert program.delete(f"/tokens/{made['token']['id']}").status_code == 204
        assert program.get("/tokens").status_code == 401
    user("eve")
    sign_in(browser, "eve")
    assert browser.delete(f"/tokens/{other}").status_code == 404


def test_the_first_account_over_http(browser: httpx.Client, accounts: Accounts, store: Store) -> None:
    assert browser.get("/setup").json() == {"needed": True}
    code = accounts.setup_code()
    asked = {"code": "wrong", "name": "root", "password": PASSWORD}
    assert browser.post("/setup", json=asked).status_code == 403
    assert browser.post("/setup", json=asked | {"code": code, "password": "short"}).status_code == 422
    assert browser.post("/setup", json=asked | {"code": code}, headers={"Origin": "http://evil.example"}).status_code == 403
    answer = browser.post("/setup", json=asked | {"code": code})
    assert answer.status_code == 201
    assert browser.get("/session").json()["user"]["role"] == "admin"
    assert browser.get("/setup").json() == {"needed": False}
    assert browser.post("/setup", json=asked | {"code": code, "name": "second"}).status_code == 403
    assert [line.action for line in store.audit.list()] == ["user.setup"]


def test_too_many_attempts_are_told_when_to_come_back(browser: httpx.Client, store: Store, user: MakeUser) -> None:
    user("ada")
    with store.transactions.step("fail") as connection:
        connection.execute(insert(SignIn), [{"name": "ada", "address": "127.0.0.1", "succeeded": False}] * 11)
    answer = sign_in(browser, "ada")
    assert answer.status_code == 429
    assert 0 < int(answer.headers["retry-after"]) <= 60
    assert answer.json()["type"] == "urn:rackproof:problem:too-many-attempts"


def test_without_a_provider_there_is_no_oidc(browser: httpx.Client) -> None:
    assert browser.get("/oidc/start").status_code == 404
    assert browser.get("/oidc/callback?state=x&code=y").status_code == 404


def test_a_strangers_body_is_not_read(served: str, root: httpx.Client) -> None:
    with httpx.Client(base_url=f"{served}/api/v1", timeout=30) as stranger:
        answer = stranger.post("/users", content=b'{"broken', headers={"Content-Type": "application/json"})
    assert answer.status_code == 401
    assert root.post("/users", content=b'{"broken', headers={"Content-Type": "application/json"}).status_code == 422

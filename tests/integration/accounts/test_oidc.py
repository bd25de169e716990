"""Does only the person whom the OpenID provider vouches for, in the browser that began, get in?"""

import time
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc.jwk import OctKey, RSAKey

from rackproof.model.service import Role
from rackproof.settings import Settings
from rackproof.store import Store
from rackproof.store.accounts import Accounts
from tests.integration.accounts.conftest import MakeUser, accounts_app
from tests.integration.accounts.provider import CLIENT, OTHER_KEY, SECRET, Provider
from tests.integration.accounts.serving import serving


@pytest.fixture
def provider() -> Iterator[Provider]:
    made = Provider()
    with serving(made.app) as address:
        made.issuer = address
        yield made


@pytest.fixture
def open_browser(settings: Settings, store: Store, accounts: Accounts, provider: Provider) -> Iterator[Callable[[], httpx.Client]]:
    """Opens browsers at a service that is configured for the provider."""
    configured = Settings.load(
        data_dir=settings.data_dir,
        database_url=settings.database_url,
        oidc_issuer=provider.issuer,
        oidc_client_id=CLIENT,
        oidc_client_secret=SECRET,
        oidc_role=Role.ENGINEER,
    )
    browsers: list[httpx.Client] = []
    with serving(accounts_app(configured, store)) as address:

        def make() -> httpx.Client:
            browsers.append(httpx.Client(base_url=f"{address}/api/v1", timeout=30))
            return browsers[-1]

        yield make
        for browser in browsers:
            browser.close()


@pytest.fixture
def browser(open_browser: Callable[[], httpx.Client]) -> httpx.Client:
    return open_browser()


def _to_callback(browser: httpx.Client, **query: str) -> str:
    """Go to the provider and sign in there; the address to which it sends the browser back."""
    start = browser.get("/oidc/start", params=query)
    assert start.status_code == 303, start.text
    there = browser.get(start.headers["location"])
    assert there.status_code == 307
    return str(there.headers["location"])


def _sign_in(browser: httpx.Client, **query: str) -> httpx.Response:
    return browser.get(_to_callback(browser, **query))


def test_a_new_person_gets_an_account_and_is_known_the_next_time(browser: httpx.Client, store: Store, provider: Provider) -> None:
    answer = _sign_in(browser, next="/campaigns?state=RUNNING")
    assert (answer.status_code, answer.headers["location"]) == (303, "/campaigns?state=RUNNING")
    who = browser.get("/session").json()
    assert (who["user"]["name"], who["user"]["full_name"], who["user"]["role"]) == ("ada", "Ada Lovelace", "engineer")
    assert (who["user"]["oidc_issuer"], who["user"]["oidc_subject"], who["user"]["local"]) == (provider.issuer, "subject-1", False)
    assert [name for name in browser.cookies if name.endswith("-oidc")] == []
    provider.claims["preferred_username"] = "another name"
    browser.cookies.clear()
    assert _sign_in(browser).status_code == 303
    assert browser.get("/session").json()["user"]["id"] == who["user"]["id"]
    assert [line.action for line in store.audit.list()] == ["session.open", "session.open", "user.create"]


def test_a_local_account_of_the_same_name_is_not_taken_over(browser: httpx.Client, user: MakeUser) -> None:
    local = user("ada", Role.ADMIN)
    assert _sign_in(browser).status_code == 303
    who = browser.get("/session").json()["user"]
    assert who["id"] != local.id
    assert (who["name"], who["role"]) == ("ada-2", "engineer")


def test_what_is_sent_along_is_pkce_state_and_nonce(browser: httpx.Client) -> None:
    addresses = [browser.get("/oidc/start").headers["location"] for _ in range(2)]
    first, second = (parse_qs(urlsplit(address).query) for address in addresses)
    for name in ("state", "nonce", "code_challenge"):
        assert len(first[name][0]) >= 43
        assert first[name] != second[name]
    assert first["code_challenge_method"] == ["S256"]


def _set(**claims: Any) -> Callable[[dict[str, Any]], None]:
    return lambda found: found.update(claims)


def _without(name: str) -> Callable[[dict[str, Any]], None]:
    return lambda found: found.pop(name) and None


def test_a_token_that_says_something_else_is_refused(browser: httpx.Client, provider: Provider, accounts: Accounts) -> None:
    now = int(time.time())
    cases = [
        (_set(nonce="of another sign-in"), "nonce"),
        (_without("nonce"), "nonce"),
        (_set(aud="another service"), "aud"),
        (_set(aud=["another service", "and another"]), "aud"),
        (_set(aud=[CLIENT, "another service"]), "azp"),
        (_set(azp="another service"), "azp"),
        (_set(iss="http://evil.example"), "iss"),
        (_set(exp=now - 3600), "expired"),
        (_without("exp"), "exp"),
        (_without("sub"), "sub"),
        (_set(sub=""), "sub"),
        (_set(iat=now + 3600), "issued in the future"),
    ]
    for bend, why in cases:
        provider.bend = bend
        answer = _sign_in(browser)
        assert answer.status_code == 401, why
        assert why in answer.json()["detail"]
    assert accounts.users() == []
    assert browser.get("/session").status_code == 401
    provider.bend = _set(aud=[CLIENT, "another service"], azp=CLIENT)
    assert _sign_in(browser).status_code == 303


def test_a_token_that_somebody_else_signed_is_refused(browser: httpx.Client, provider: Provider, accounts: Accounts) -> None:
    provider.key = RSAKey.import_key(OTHER_KEY.as_dict(private=True), {"kid": "first"})
    assert _sign_in(browser).status_code == 401
    provider.key = OctKey.import_key(SECRET, {"kid": "first"})  # type: ignore[assignment]
    provider.header = {"alg": "HS256"}
    assert _sign_in(browser).status_code == 401
    provider.header = {"alg": "none"}
    assert _sign_in(browser).status_code == 401
    assert accounts.users() == []


def test_a_new_key_of_the_provider_is_read_when_it_is_met(browser: httpx.Client, provider: Provider) -> None:
    assert _sign_in(browser).status_code == 303
    provider.key = OTHER_KEY
    assert _sign_in(browser).status_code == 401
    provider.published = [provider.key]
    assert _sign_in(browser).status_code == 303


def test_a_state_is_good_once_and_in_its_browser_alone(
    open_browser: Callable[[], httpx.Client], provider: Provider, accounts: Accounts
) -> None:
    provider.reuse = True
    victim, other = open_browser(), open_browser()
    address = _to_callback(victim)
    # Somebody sends their own way back to another: it would sign that one in as them.
    assert other.get(address).status_code == 401
    _to_callback(other)
    assert other.get(address).status_code == 401
    cookies = dict(victim.cookies)
    assert victim.get(address).status_code == 303
    assert [each.name for each in accounts.users()] == ["ada"]
    victim.cookies.clear()
    victim.cookies.update(cookies)
    assert victim.get(address).status_code == 401
    assert victim.get("/oidc/callback").status_code == 401
    assert victim.get("/oidc/callback?state=&code=x", headers={"Cookie": "rackproof-oidc="}).status_code == 401


def test_a_state_that_is_late_is_refused(browser: httpx.Client, store: Store) -> None:
    address = _to_callback(browser)
    with store.transactions.step("age") as connection:
        connection.exec_driver_sql("UPDATE one_time_codes SET expires = now() - interval '1 second'")
    assert browser.get(address).status_code == 401


def test_a_code_of_another_sign_in_is_refused(browser: httpx.Client, provider: Provider, accounts: Accounts) -> None:
    stolen = parse_qs(urlsplit(_to_callback(browser)).query)["code"][0]
    address = _to_callback(browser)
    mine = parse_qs(urlsplit(address).query)["code"][0]
    # The verifier does not fit: this is what PKCE is for.
    assert browser.get(address.replace(mine, stolen)).status_code == 401
    assert accounts.users() == []


@pytest.mark.parametrize("change", [{"iss": "http://evil.example"}, {"error": "access_denied"}, {"code": ""}])
def test_a_refusal_of_the_provider_is_one_here(browser: httpx.Client, accounts: Accounts, change: dict[str, str]) -> None:
    parts = urlsplit(_to_callback(browser))
    query = {key: values[0] for key, values in parse_qs(parts.query).items()} | change
    answer = browser.get("/oidc/callback", params=query)
    assert (answer.status_code, answer.json()["detail"]) == (401, "the provider did not sign you in")
    assert accounts.users() == []


def test_a_disabled_account_stays_out(browser: httpx.Client, accounts: Accounts) -> None:
    assert _sign_in(browser).status_code == 303
    accounts.update_user(accounts.by_name("ada").id, disabled=True)
    assert browser.get("/session").status_code == 401
    assert _sign_in(browser).status_code == 403
    assert browser.get("/session").status_code == 401


def test_nobody_is_sent_elsewhere(browser: httpx.Client) -> None:
    elsewhere = (
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "/\t/evil.example",
        "javascript:alert(1)",
        "/\nx",
        "",
        "evil",
        "/é",
    )
    for page in elsewhere:
        assert _sign_in(browser, next=page).headers["location"] == "/", page


def test_a_provider_that_does_not_fit_is_not_used(browser: httpx.Client, provider: Provider) -> None:
    wrong: list[dict[str, str | None]] = [
        {"issuer": "http://evil.example"},
        {"jwks_uri": "http://evil.example/keys"},
        {"jwks_uri": None},
        {"authorization_endpoint": "http://evil.example/authorize"},
    ]
    for metadata in wrong:
        provider.metadata = metadata
        answer = browser.get("/oidc/start")
        assert answer.status_code == 502, metadata
        assert "evil" not in answer.text


def test_a_provider_that_is_down_is_said_to_be(browser: httpx.Client, provider: Provider) -> None:
    provider.metadata = {"token_endpoint": "http://127.0.0.1:9/token"}
    assert _sign_in(browser).status_code == 502

"""Do the pages of accounts, users and the audit trail show what is so, to whom it belongs, and do errors look like pages?"""

import html
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import NoReturn

import httpx
import pytest

from rackproof.errors import StoreError
from rackproof.model.account import Scope
from rackproof.model.service import Role
from rackproof.settings import Settings
from rackproof.store import Store
from tests.integration.accounts.serving import serving
from tests.integration.web.house import COOKIE, Client, Site
from tests.integration.web.seeds import ODD, cheap
from web.pages.audit import LINES
from web.pages.users import USERS
from web.site import create_site

TOMORROW = timedelta(days=1)


@pytest.fixture
def empty(settings: Settings, store: Store) -> Iterator[httpx.Client]:
    """A browser on a site without any user."""
    with serving(create_site(settings, cheap(store))) as address, httpx.Client(base_url=address, timeout=60) as browser:
        yield browser


def test_an_account_shows_tokens_and_browsers_but_no_secret(site: Site, client: Client) -> None:
    user = site.store.accounts.by_name("engineer").id
    soon = datetime.now(UTC) + TOMORROW
    secret, _ = site.store.accounts.create_token(user, name=ODD, scopes=[Scope.READ], expires=soon)
    _, revoked = site.store.accounts.create_token(user, name="an old one", scopes=[Scope.SUBMIT], expires=soon)
    site.store.accounts.revoke_token(revoked.id)
    browser = client(Role.ENGINEER)
    browser.headers["user-agent"] = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
    page = browser.get("/account").text
    assert secret not in page
    assert secret[:7] in page
    assert "<script>alert" not in page
    assert f"DELETE /api/v1/tokens/{revoked.id}" not in page
    assert page.count("DELETE /api/v1/tokens/") == 1
    assert page.count(">this one<") == 1
    assert browser.cookies[COOKIE] not in page
    assert "<html" not in browser.get("/account/tokens").text


def test_scopes_are_offered_as_far_as_the_role_reaches(quiet: Client) -> None:
    offered = {role: re.findall(r'data-scope value="(\w+)"', quiet(role).get("/account").text) for role in Role}
    assert offered == {Role.VIEWER: ["read"], Role.ENGINEER: ["read", "submit"], Role.ADMIN: ["read", "submit", "admin"]}


def test_a_token_opens_no_account_page(site: Site) -> None:
    user = site.store.accounts.by_name("admin").id
    secret, _ = site.store.accounts.create_token(user, name="t", scopes=list(Scope), expires=datetime.now(UTC) + TOMORROW)
    answer = httpx.get(f"{site.address}/account", headers={"Authorization": f"Bearer {secret}"}, timeout=60)
    assert answer.status_code == 403


@pytest.mark.parametrize("path", ["/users", "/users/1", "/audit"])
def test_users_and_audit_are_an_admins(quiet: Client, path: str) -> None:
    for role in (Role.VIEWER, Role.ENGINEER):
        answer = quiet(role).get(path)
        assert answer.status_code == 403
        assert answer.headers["content-type"].startswith("text/html")
        assert "Somebody with the role of an admin can change yours." in answer.text
    nobody = quiet(None).get(path)
    assert nobody.status_code == 303
    assert nobody.headers["location"].startswith("/sign-in?next=%2F")
    assert quiet(Role.ADMIN).get(path).status_code == 200


def test_users_are_paged_and_shown_whatever_they_are_called(site: Site, client: Client) -> None:
    for number in range(USERS + 5):
        site.store.accounts.create_user(name=f"user-{number}", role=Role.VIEWER, password=None, full_name=ODD if number == 0 else "")
    browser = client(Role.ADMIN)
    first = browser.get("/users").text
    assert "<script>alert" not in first
    following = re.search(r'<a href="(/users\?after=\d+)" rel="next">', first)
    assert following is not None
    second = browser.get(following[1]).text
    seen = [int(number) for page in (first, second) for number in re.findall(r'<th scope="row"><a href="/users/(\d+)">', page)]
    assert seen == [user.id for user in site.store.accounts.users()]


def test_a_user_page_shows_tokens_and_deeds_and_an_admin_cannot_lock_themselves_out(site: Site, client: Client) -> None:
    engineer, admin = (site.store.accounts.by_name(name) for name in ("engineer", "admin"))
    _, token = site.store.accounts.create_token(engineer.id, name="CI", scopes=[Scope.READ], expires=datetime.now(UTC) + TOMORROW)
    browser = client(Role.ADMIN)
    page = browser.get(f"/users/{engineer.id}").text
    assert f"DELETE /api/v1/users/{engineer.id}/tokens/{token.id}" in page
    assert "campaign.submit" in page
    assert f"DELETE /api/v1/users/{engineer.id}" in page
    own = browser.get(f"/users/{admin.id}").text
    assert f'"DELETE /api/v1/users/{admin.id}"' not in own
    assert 'name="disabled"' not in own
    assert browser.get("/users/99999").status_code == 404


def test_the_audit_trail_is_paged_and_filtered_by_its_links(site: Site, client: Client) -> None:
    admin = site.store.accounts.by_name("admin")
    for number in range(2 * LINES):
        words = {"user_name": "admin" if number % 2 else ODD, "action": "user.change", "target": f"user:{number % 3 + 1}"}
        site.store.audit.record(user=admin, **words, detail={"reason": ODD, "number": number}, address="192.0.2.1")
    browser = client(Role.ADMIN)
    path, seen = "/audit?action=user.change", list[str]()
    while path:
        page = browser.get(path).text
        assert "<script>alert" not in page
        seen += re.findall(r'<span class="soft">number</span> (\d+)', page)
        following = re.search(r'<a href="([^"]+)" rel="next">Older', page)
        path = html.unescape(following[1]) if following else ""
    assert seen == [str(number) for number in range(2 * LINES)][::-1]
    page = browser.get("/audit").text
    links = {html.unescape(link) for link in re.findall(r'href="(/audit\?[^"]+)"', page)}
    target = next(link for link in links if link.startswith("/audit?target="))
    shown = re.findall(r">(user:\d)</a>", browser.get(target).text)
    assert len(shown) >= LINES // 2
    assert len(set(shown)) == 1
    assert "No line fits." in browser.get("/audit?user=nobody").text
    assert '<a href="/users/1">user:1</a>' in page


def test_signing_in_leads_where_one_wanted_to_go_and_never_elsewhere(quiet: Client) -> None:
    nobody = quiet(None)
    assert nobody.get("/schedules?zone=UTC").headers["location"] == "/sign-in?next=%2Fschedules%3Fzone%3DUTC"
    assert 'data-then="/schedules?zone=UTC"' in nobody.get("/sign-in?next=%2Fschedules%3Fzone%3DUTC").text
    for elsewhere in ("https://example.org/", "//example.org", "/\\example.org", "javascript:alert(1)"):
        assert 'data-then="/"' in nobody.get("/sign-in", params={"next": elsewhere}).text, elsewhere
    assert nobody.get("/setup").headers["location"] == "/sign-in"


def test_a_service_without_users_asks_for_the_first(empty: httpx.Client) -> None:
    assert empty.get("/sign-in").headers["location"] == "/setup"
    page = empty.get("/setup")
    assert page.status_code == 200
    assert 'data-api="POST /api/v1/setup"' in page.text


def test_refusals_are_pages_for_people_and_problems_for_programs(quiet: Client) -> None:
    browser = quiet(Role.ADMIN)
    unusable = (f"/trends?name={600 * 'x'}", "/schedules/x", "/audit?user=%00")
    for path, status in (("/nothing/here", 404), ("/testbeds/nowhere", 404), *((path, 422) for path in unusable)):
        answer = browser.get(path)
        assert answer.status_code == status, path
        assert answer.headers["content-type"].startswith("text/html"), path
        assert "script-src 'self'" in answer.headers["content-security-policy"], path
        assert 'href="/">Home</a>' in answer.text, path
        part = browser.get(path, headers={"HX-Request": "true"})
        assert "<html" not in part.text, path
        assert 'role="alert"' in part.text, path
    assert browser.get("/api/v1/testbeds/nowhere").headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize(("error", "status"), [(RuntimeError("a secret of the machine"), 500), (StoreError("no database: a secret"), 503)])
def test_what_fails_is_a_page_that_says_so_and_tells_no_secret(
    site: Site, client: Client, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    def fail() -> NoReturn:
        raise error

    monkeypatch.setattr(site.store.testbeds, "list", fail)
    browser = client(Role.ENGINEER)
    answer = browser.get("/testbeds")
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("text/html")
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "secret" not in answer.text
    assert 'href="/testbeds">Try again</a>' in answer.text
    assert "engineer" in answer.text  # still signed in
    part = browser.get("/parts/testbeds", headers={"HX-Request": "true"})
    assert part.status_code == status
    assert "<html" not in part.text
    assert browser.get("/api/v1/testbeds").headers["content-type"] == "application/problem+json"

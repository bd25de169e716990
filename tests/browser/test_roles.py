"""Who may see and do what? A walk as nobody and as each role over every page and every action, as docs/accounts.md has it."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.routing import APIRoute, iter_route_contexts
from playwright.sync_api import Browser

from api.identity import Requirement, declared
from rackproof.model.service import Role
from tests.browser.actions import ACTIONS, MARKS
from tests.browser.conftest import Visit, visiting
from tests.browser.pages import PAGES, PARTS, Listed, address, furnished
from tests.integration.web.house import Client, Site, clients
from web.site import create_site

#: Of each method and path: the addresses that it has, and the role that it asks for.
Routes = dict[tuple[str, str], tuple[re.Pattern[str], Role | None]]

WHO = (None, *Role)
#: Of what is not there: whoever may do something to it is told so, and nobody else learns it.
MISSING = "987654321"
SIGN_OUT = "DELETE /api/v1/session"
#: What a page lets one do and where it leads: forms that ask the API, marks of what its script sends, links.
_SHOWN = """
    (marks) => ({
        forms: [...document.querySelectorAll("[data-api]")].map((form) => form.dataset.api),
        marks: marks.filter((mark) => document.querySelector(mark)),
        links: [...document.querySelectorAll("a[href]:not([href^='#'])")].map((link) => link.href),
    })
"""


def may(role: Role | None, least: Role | None) -> bool:
    return least is None or (role is not None and role.includes(least))


@pytest.fixture(scope="module")
def numbers(quiet_site: Site) -> dict[str, object]:
    """The numbers of what is there, something of everybody's among it."""
    return furnished(quiet_site)


@pytest.fixture(scope="module")
def routes(quiet_site: Site) -> Routes:
    """Every route, in the order in which they are tried."""
    found: Routes = {}
    for context in iter_route_contexts(create_site(quiet_site.settings, quiet_site.store).routes):
        if isinstance(route := context.original_route, APIRoute):
            requirement = declared(context.dependant)
            least = requirement.role if isinstance(requirement, Requirement) else None
            path = context.path or ""
            for method in route.methods or ():
                found[method, path] = (_addresses(path), least)
    return found


@pytest.fixture(params=WHO, ids=str)
def walker(request: pytest.FixtureRequest, browser: Browser, quiet_site: Site) -> Iterator[tuple[Role | None, Visit]]:
    """A browser of nobody, and of somebody with each role."""
    with visiting(browser, quiet_site, request.param) as visit:
        yield request.param, visit


def test_every_action_is_listed_with_the_role_that_its_route_asks_for(routes: Routes) -> None:
    asked = {f"{method} {path}": least for (method, path), (_, least) in routes.items() if method not in ("GET", "HEAD")}
    assert asked == {action.name: action.least for action in ACTIONS}


def test_every_page_asks_for_the_role_that_is_listed(routes: Routes) -> None:
    listed = {page.route: page.least for page in PAGES if page.route} | {route: least for route, (_, least) in PARTS.items()}
    asked = {path: least for (method, path), (_, least) in routes.items() if method == "GET"}
    assert {route: asked.get(route) for route in listed} == listed


def test_each_sees_what_they_may_and_is_shown_what_they_may_do(
    walker: tuple[Role | None, Visit], numbers: dict[str, object], routes: Routes
) -> None:
    role, visit = walker
    shown: set[str] = set()
    for listed in PAGES:
        found = _go(visit, listed, address(listed.path, numbers), role)
        if found is None:
            continue
        actions = {_action(asked, routes) for asked in found["forms"]} | {MARKS[mark] for mark in found["marks"]}
        shown |= actions
        # Whoever is not signed in comes to the door by every link.
        for link in found["links"] if role is not None else ():
            least = _least(link, visit.site.address, routes)
            assert may(role, least), f"{listed.path} leads a {role} to {link}, which is for a {least}"
    assert shown == {action.name for action in ACTIONS if action.shown and may(role, action.least)}


def _go(visit: Visit, listed: Listed, path: str, role: Role | None) -> dict[str, Any] | None:
    """What a page shows; None where one may not see it, and is shown nothing of it."""
    answer = visit.page.goto(f"{visit.site.address}{path}", wait_until="domcontentloaded")
    assert answer is not None
    if may(role, listed.least):
        assert answer.status == listed.status, path
    elif role is None:
        assert "/sign-in" in visit.page.url, path
    else:
        assert answer.status == 403, path
        assert visit.page.locator("main form").count() == 0, path
        return None
    found: dict[str, Any] = visit.page.evaluate(_SHOWN, list(MARKS))
    return found


def _addresses(route: str) -> re.Pattern[str]:
    numbered = re.sub(r"\\{\w+:int\\}", r"\\d+", re.escape(route))
    return re.compile(re.sub(r"\\{\w+\\}", "[^/]+", numbered) + "$")


def _action(asked: str, routes: Routes) -> str:
    """The action that a form sends."""
    method, path = asked.split()
    return next(f"{method} {route}" for (of, route), (pattern, _) in routes.items() if of == method and pattern.match(path))


def _least(link: str, site: str, routes: Routes) -> Role | None:
    """The role that one needs where a link leads."""
    path = re.sub(r"[?#].*", "", link.removeprefix(site)) or "/"
    return next(least for (method, _), (pattern, least) in routes.items() if method == "GET" and pattern.match(path))


@pytest.mark.parametrize("role", WHO, ids=str)
def test_nobody_does_what_they_may_not_by_asking_for_it_directly(role: Role | None, quiet_site: Site, numbers: dict[str, object]) -> None:
    with clients(quiet_site) as make:
        client = make(role)
        there = {"campaign": numbers["running"], "report": 1, "schedule": numbers["own"], "reservation": 1, "user": numbers["viewer"]}
        there |= {"token": 1, "delivery": 1, "testbed": "bench", "worker": "bench-1", "inventory": "bench", "device": "switch-1"}
        before = _standing(quiet_site, numbers)
        for action in ACTIONS:
            if action.least is not None and not may(role, action.least):
                answer = client.request(action.method, action.route.format(**there), json={})
                refused = 401 if role is None and action.route.startswith("/api/") else 303 if role is None else 403
                assert answer.status_code == refused, (action.name, answer.text)
        for path, least in PARTS.values():
            answer = client.get(address(path, numbers))
            assert answer.status_code == (200 if may(role, least) else 303 if role is None else 403), path
        assert _standing(quiet_site, numbers) == before


def _standing(site: Site, numbers: dict[str, object]) -> list[object]:
    """What those who may not must not have changed."""
    store = site.store
    return [
        store.browse.campaign(int(str(numbers["running"]))).state,
        [(user.name, user.role, user.disabled) for user in store.accounts.users()],
        [(bed.name, bed.state, bed.golden_cron) for bed in store.testbeds.list()],
        [(one.name, one.paused, one.next_at) for one in store.schedules.list()],
        [one.id for bed in ("bench", "lab-2") for one in store.reservations.list(bed)],
        [(one.name, one.revision) for one in store.inventories.list()],
        [one.device for bed in store.testbeds.list() for one in store.devices.list(bed.name)],
    ]


@pytest.mark.parametrize("role", Role, ids=str)
def test_each_gets_past_the_door_with_what_they_may_do(role: Role, site: Site, client: Client) -> None:
    """Without this, a service that refuses everybody would pass."""
    signed_in = client(role)
    allowed = [action for action in ACTIONS if action.least is not None and may(role, action.least)]
    for action in sorted(allowed, key=lambda action: action.name == SIGN_OUT):
        answer = signed_in.request(action.method, re.sub(r"\{\w+\}", MISSING, action.route), json={})
        assert answer.is_success or answer.status_code in {400, 404, 409, 422}, (action.name, answer.text)


def test_what_is_somebody_elses_is_changed_by_them_or_an_admin(quiet_site: Site, numbers: dict[str, object]) -> None:
    """The schedule and the reservation of somebody else."""
    schedule = numbers["schedule"]
    (theirs,) = [one.id for one in quiet_site.store.reservations.list("bench") if one.owner == "ada"]
    with clients(quiet_site) as make:
        engineer, admin = make(Role.ENGINEER), make(Role.ADMIN)
        for action in (f"/api/v1/schedules/{schedule}", f"/api/v1/reservations/{theirs}"):
            page = f"/schedules/{schedule}" if "schedules" in action else "/testbeds/bench"
            assert f'"DELETE {action}"' not in engineer.get(page).text
            assert f'"DELETE {action}"' in admin.get(page).text
            assert engineer.delete(action).status_code == 403
        assert engineer.patch(f"/api/v1/schedules/{schedule}", json={"paused": True}).status_code == 403

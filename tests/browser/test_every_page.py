"""Can every page be used by everybody, on any screen, without moving under one's eyes, and does it keep to itself?"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from fastapi.routing import APIRoute, iter_route_contexts
from playwright.sync_api import Browser, Error, Page

from rackproof.model.service import Role
from rackproof.settings import Settings
from rackproof.store import Store
from tests.browser.conftest import Opener, Visit, until, visiting
from tests.browser.pages import EMPTY, PAGES, PARTS, SETUP, Listed, address, furnished
from tests.integration.accounts.serving import serving
from tests.integration.web.house import Site
from tests.integration.web.seeds import Seeds, cheap
from web.site import create_site

#: The shift of a layout that nobody sees.
SHIFT_MAX = 0.01
#: All scripts of all pages, as they are read by the browser [bytes].
SCRIPTS_MAX = 200_000
#: What is asked by programs alone.
_PROGRAMS = ("/api/v1/", "/healthz", "/readyz", "/metrics")
_SETTLED = """
    document.readyState === "complete" && document.fonts.status === "loaded" && !document.querySelector(".htmx-request")
"""
_DRAWN = "() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))"
_SCRIPTS = """
    () => performance.getEntriesByType("resource")
        .filter((one) => one.initiatorType === "script" || /[.]m?js([?]|$)/.test(one.name)).map((one) => one.name)
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What was found on a page. filled: it showed what it is for; moved: each shift of its layout, with what moved; wide: how much wider
    than a phone it is [px].
    """

    status: int
    filled: bool
    faults: tuple[str, ...]
    moved: tuple[tuple[float, Any], ...]
    wide: int
    scripts: frozenset[str]
    elsewhere: tuple[str, ...]
    complaints: tuple[str, ...]


@pytest.fixture(scope="module")
def seen(browser: Browser, quiet_site: Site) -> dict[str, Seen]:
    """Every page once on a desk and once on a phone, light and dark, as an admin sees it, who sees the most."""
    numbers = furnished(quiet_site)
    refused = Listed(route="/users", path="/users", filled="role=heading[level=1]", status=403)
    found = {}
    with (
        visiting(browser, quiet_site, Role.ADMIN) as desk,
        visiting(browser, quiet_site, Role.ADMIN, theme="dark", phone=True) as phone,
        visiting(browser, quiet_site, Role.VIEWER) as viewer,
        visiting(browser, quiet_site, Role.VIEWER, theme="dark", phone=True) as viewers_phone,
    ):
        for listed in PAGES:
            path = address(listed.path, numbers)
            found[path] = look(desk, phone, listed, path)
        found["/users as a viewer"] = look(viewer, viewers_phone, refused, "/users")
    return found


def look(desk: Visit, phone: Visit, listed: Listed, path: str) -> Seen:
    """Go to a page on a desk, in both themes, and on a phone."""
    before = len(desk.complaints), len(phone.complaints), len(desk.elsewhere), len(phone.elsewhere)
    status, filled = _settled(desk, listed, path)
    moved = desk.page.evaluate("window.moved()")
    scripts = frozenset[str](desk.page.evaluate(_SCRIPTS))
    faults = desk.faults()
    # In the dark only the colours are others.
    desk.page.emulate_media(color_scheme="dark")
    faults += desk.faults("color-contrast")
    desk.page.emulate_media(color_scheme="light")
    filled &= _settled(phone, listed, path)[1]
    moved += phone.page.evaluate("window.moved()")
    wide = phone.page.evaluate("document.documentElement.scrollWidth - innerWidth")
    faults += phone.faults()
    complaints = desk.complaints[before[0] :] + phone.complaints[before[1] :]
    if status >= 400:  # the browser says so of the page itself
        complaints = [one for one in complaints if f"status of {status}" not in one]
    return Seen(
        status=status,
        filled=filled,
        faults=tuple(faults),
        moved=tuple((value, what) for value, what in moved),
        wide=wide,
        scripts=scripts,
        elsewhere=tuple(desk.elsewhere[before[2] :] + phone.elsewhere[before[3] :]),
        complaints=tuple(complaints),
    )


def _settled(visit: Visit, listed: Listed, path: str) -> tuple[int, bool]:
    """Wait until a page is filled and drawn; what it answered, and whether it was filled in time."""
    answer = visit.page.goto(f"{visit.site.address}{path}")
    assert answer is not None
    with suppress(Error):
        visit.page.locator(listed.filled).first.wait_for()
    drawn(visit.page)
    return answer.status, visit.page.locator(listed.filled).first.is_visible()


def drawn(page: Page) -> None:
    """Wait until nothing is on its way any more and what is there was painted."""
    until(page, _SETTLED)
    page.evaluate(_DRAWN)


def test_every_route_is_listed(quiet_site: Site) -> None:
    app = create_site(quiet_site.settings, quiet_site.store)
    routes = set()
    for context in iter_route_contexts(app.routes):
        # What is mounted has no methods of its own.
        methods = context.methods if isinstance(context.original_route, APIRoute) else {"GET"}
        if "GET" in (methods or ()) and not (context.path or "").startswith(_PROGRAMS):
            routes.add(context.path)
    assert routes == {listed.route for listed in (*PAGES, *EMPTY, SETUP) if listed.route} | PARTS.keys()


def test_every_page_is_there_and_filled(seen: dict[str, Seen]) -> None:
    assert [path for path, one in seen.items() if not one.filled] == []
    wanted = {path: listed.status for listed, path in zip(PAGES, seen, strict=False)} | {"/users as a viewer": 403}
    assert {path: one.status for path, one in seen.items()} == wanted


def test_nothing_on_any_page_is_in_anybodys_way(seen: dict[str, Seen]) -> None:
    assert {path: one.faults for path, one in seen.items() if one.faults} == {}


def test_no_page_is_wider_than_a_phone(seen: dict[str, Seen]) -> None:
    assert {path: one.wide for path, one in seen.items() if one.wide > 0} == {}


def test_nothing_moves_once_it_is_drawn(seen: dict[str, Seen]) -> None:
    assert {path: one.moved for path, one in seen.items() if sum(value for value, _ in one.moved) >= SHIFT_MAX} == {}


def test_no_page_asks_another_host_for_anything(seen: dict[str, Seen]) -> None:
    assert {path: one.elsewhere for path, one in seen.items() if one.elsewhere} == {}


def test_no_page_has_anything_to_complain_about(seen: dict[str, Seen]) -> None:
    assert {path: one.complaints for path, one in seen.items() if one.complaints} == {}


def test_the_scripts_of_all_pages_are_small(seen: dict[str, Seen]) -> None:
    scripts = {name for one in seen.values() for name in one.scripts}
    assert any("htmx" in name for name in scripts)
    sizes = {name: len(httpx.get(name, timeout=60).raise_for_status().content) for name in scripts}
    assert sum(sizes.values()) < SCRIPTS_MAX, sizes


@pytest.fixture
def unused(settings: Settings, store: Store, seeds: Seeds) -> Iterator[Site]:
    """A site that nobody has used yet."""
    with serving(create_site(settings, cheap(store))) as where:
        made = Site(address=where, store=store, settings=settings, seeds=seeds)
        with made.closing:
            yield made


def test_pages_of_a_house_that_nobody_has_used_are_as_good(opened: Opener, unused: Site) -> None:
    desk, phone = opened(unused, None), opened(unused, None, theme="dark", phone=True)
    seen = {"/setup": look(desk, phone, SETUP, "/setup")}
    unused.store.accounts.create_user(name="admin", role=Role.ADMIN, password=None)
    desk, phone = opened(unused, Role.ADMIN), opened(unused, Role.ADMIN, theme="dark", phone=True)
    for listed in EMPTY:
        seen[listed.path] = look(desk, phone, listed, listed.path)
    for path, one in seen.items():
        assert (one.status, one.filled, one.faults) == (200, True, ()), path
        assert one.wide <= 0, path
        assert sum(value for value, _ in one.moved) < SHIFT_MAX, (path, one.moved)

"""A real browser on the real site: pages for each role, which must load nothing from elsewhere and complain about nothing."""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Error, Locator, Page, Route, expect, sync_playwright

from rackproof.model.service import Role
from tests.integration.web.house import COOKIE, House, Site, client, house, quiet, quiet_site, seeds, site

__all__ = ["House", "Site", "browser", "client", "house", "opened", "quiet", "quiet_site", "seeds", "site", "visit"]

CHROMIUM = "/usr/bin/chromium"
AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1360, "height": 900}
#: No wait in these tests is longer [ms].
BOUND_MS = 60_000
#: In every page: what its policy forbade is said, and how far its layout moved by itself is summed up.
_WATCHED = """
    document.addEventListener("securitypolicyviolation", (event) => {
        console.error(`forbidden by ${event.violatedDirective}: ${event.blockedURI}`);
    });
    const moved = [];
    const names = (shift) => shift.sources.map(({ node }) => node?.id || node?.className || node?.nodeName);
    const add = (shifts) => moved.push(...shifts.map((one) => [one.value, names(one)]));
    const shifts = new PerformanceObserver((list) => add(list.getEntries()));
    shifts.observe({ type: "layout-shift", buffered: true });
    window.moved = () => { add(shifts.takeRecords()); return moved; };
"""
expect.set_options(timeout=BOUND_MS)


@dataclass(kw_only=True)
class Visit:
    """A browser's page, signed in with a role (None: nobody), and what it did that it should not have done."""

    page: Page
    site: Site
    elsewhere: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def go(self, path: str) -> Page:
        """Go to an address of the site."""
        self.page.goto(f"{self.site.address}{path}")
        return self.page

    def faults(self, *rules: str) -> list[str]:
        """What axe finds that is serious; rules: look for these alone."""
        # The page's policy lets no script in: axe comes in beside it, as a tool of the browser does.
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE.read_text())
        wanted = {"resultTypes": ["violations"], **({"runOnly": list(rules)} if rules else {})}
        found: dict[str, Any] = self.page.evaluate("(wanted) => axe.run(wanted)", wanted)
        return [
            f"{fault['id']} ({fault['impact']}): {node['html'][:160]} {node['failureSummary'][:200]}"
            for fault in found["violations"]
            if fault["impact"] in ("serious", "critical")
            for node in fault["nodes"]
        ]

    def is_clean(self) -> None:
        """Nothing was loaded from another host, and nothing was complained about."""
        assert self.elsewhere == []
        assert self.complaints == []


Opener = Callable[..., Visit]


def seqs(page: Page) -> list[int]:
    """The events in the log, in the order in which they stand there."""
    found: list[int] = page.evaluate("[...document.querySelectorAll('#log li')].map((line) => Number(line.dataset.seq))")
    return found


def until(page: Page, condition: str) -> None:
    """Wait for a condition of the page's scripts. The browser's own wait for one evaluates text, which the pages' policy forbids."""
    end = time.monotonic() + BOUND_MS / 1000
    while not page.evaluate(condition):
        assert time.monotonic() < end, f"it did not come about: {condition}"
        page.wait_for_timeout(20)


def through(door: Locator) -> None:
    """Press what leads to a page, or to the same one anew, and wait until that one is there with its scripts."""
    with door.page.expect_navigation():
        door.click()


def caught(page: Page, address: str, ask: Callable[[], object]) -> Route:
    """Hold back what a page asks of an address first; ask: makes it do so."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append(route)

    page.route(address, hold)
    ask()
    while not held:
        page.wait_for_timeout(50)
    return held[0]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's chromium, started once."""
    if not Path(CHROMIUM).exists():
        pytest.skip(f"there is no {CHROMIUM}")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()


@contextlib.contextmanager
def visiting(
    browser: Browser, site: Site, role: Role | None = Role.ENGINEER, *, theme: str = "light", phone: bool = False
) -> Iterator[Visit]:
    """A page on a site, signed in with a role."""
    context = browser.new_context(
        viewport=PHONE if phone else DESK,  # type: ignore[arg-type]  # a TypedDict
        color_scheme="dark" if theme == "dark" else "light",
        timezone_id="Europe/Zurich",
        locale="en-GB",
        reduced_motion="reduce",
    )
    # The site may end before the test does, and must not wait for what is open.
    site.closing.callback(_close, context)
    if role is not None:
        secret, _ = site.store.accounts.open_session(site.store.accounts.by_name(role.value).id)
        context.add_cookies([{"name": COOKIE, "value": secret, "url": site.address, "httpOnly": True}])
    context.add_init_script(_WATCHED)
    page = context.new_page()
    page.set_default_timeout(BOUND_MS)
    visit = Visit(page=page, site=site)
    host = urlsplit(site.address).netloc

    def asked(address: str) -> None:
        target = urlsplit(address)
        if target.scheme in ("http", "https", "ws", "wss") and target.netloc != host:
            visit.elsewhere.append(address)

    def said(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            visit.complaints.append(f"{message.type}: {message.text}")

    context.on("request", lambda request: asked(request.url))
    page.on("websocket", lambda socket: asked(socket.url))
    page.on("console", said)
    page.on("pageerror", lambda error: visit.complaints.append(f"error: {error}"))
    try:
        yield visit
    finally:
        _close(context)


@pytest.fixture
def opened(browser: Browser) -> Iterator[Opener]:
    """Opens a page on a site, signed in with a role; theme, width. At the end every page must have been clean."""
    visits: list[Visit] = []
    with contextlib.ExitStack() as stack:

        def make(site: Site, role: Role | None = Role.ENGINEER, *, lenient: bool = False, **kind: Any) -> Visit:
            visit = stack.enter_context(visiting(browser, site, role, **kind))
            if not lenient:
                visits.append(visit)
            return visit

        yield make
        for visit in visits:
            visit.is_clean()


@pytest.fixture
def visit(opened: Opener, quiet_site: Site) -> Callable[..., Visit]:
    """Opens a page on the site for tests that only look."""

    def make(role: Role | None = Role.ENGINEER, **kind: Any) -> Visit:
        return opened(quiet_site, role, **kind)

    return make


def _close(context: BrowserContext) -> None:
    with contextlib.suppress(Error):  # it is closed already
        context.close()

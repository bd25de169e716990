"""How soon does Debian's chromium paint the pages, does anything move after that, and how much script do they load?"""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Response, sync_playwright

from benchmarks.service_tree import Row, row
from tests.integration.web.house import COOKIE

_CHROMIUM = "/usr/bin/chromium"
_SIZE: Any = {"width": 1360, "height": 900}
_LOADS = 10
#: What moves so late after the page was painted was not moved by its loading [ms].
_SETTLED_MS = 700
_PAINTED = ("home", "campaigns", "campaign", "new campaign", "compare", "trends", "testbeds")
_FCP_MS, _SCRIPT_KB = 500.0, 200.0

_WATCH = """
window.moved = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.moved += entry.value;
}).observe({ type: "layout-shift", buffered: true });
"""
_PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"


def painted(address: str, secret: str, paths: Mapping[str, str]) -> list[Row]:
    """First contentful paint and layout shift of the main pages, each loaded ten times, and the script of all pages together."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_CHROMIUM, args=["--no-sandbox"])
        try:
            rows = [each for name in _PAINTED for each in _loads(browser, address, secret, name, paths[name])]
            return rows + _scripts(browser, address, secret, [path for path in paths.values() if ".json" not in path])
        finally:
            browser.close()


def _loads(browser: Browser, address: str, secret: str, name: str, path: str) -> list[Row]:
    """The first load is of a browser that has nothing yet; the others have what it keeps."""
    paints, shifts = [], []
    context = browser.new_context(viewport=_SIZE)
    context.add_cookies([{"name": COOKIE, "value": secret, "url": address, "httpOnly": True}])
    context.add_init_script(_WATCH)
    for _ in range(_LOADS):
        page = context.new_page()
        page.goto(f"{address}{path}", wait_until="load")
        page.wait_for_timeout(_SETTLED_MS)
        paint = page.evaluate(_PAINT)
        assert paint is not None, f"{path} was not painted"
        paints.append(float(paint))
        shifts.append(float(page.evaluate("window.moved")))
        page.close()
    context.close()
    return [
        row(
            f"pages.{name}.fcp.median",
            statistics.median(paints),
            "ms",
            f"under {_FCP_MS:g}, {_LOADS} loads",
            statistics.median(paints) < _FCP_MS,
        ),
        row(f"pages.{name}.fcp.worst", max(paints), "ms", f"under {_FCP_MS:g}", max(paints) < _FCP_MS),
        row(f"pages.{name}.cls.median", statistics.median(shifts), "", "0", statistics.median(shifts) == 0),
        row(f"pages.{name}.cls.worst", max(shifts), "", "0", max(shifts) == 0),
    ]


def _scripts(browser: Browser, address: str, secret: str, paths: Sequence[str]) -> list[Row]:
    """Every script once, whichever pages load it, and the most that one page loads."""
    sizes: dict[str, int] = {}
    of_pages: dict[str, int] = {}
    for path in paths:
        context = browser.new_context(viewport=_SIZE)
        context.add_cookies([{"name": COOKIE, "value": secret, "url": address, "httpOnly": True}])
        page = context.new_page()
        answers: list[Response] = []

        def answered(answer: Response, answers: list[Response] = answers) -> None:
            answers.append(answer)

        page.on("response", answered)
        page.goto(f"{address}{path}", wait_until="load")
        scripts = [answer for answer in answers if answer.request.resource_type == "script"]
        found = {urlsplit(answer.url).path: int(answer.headers["content-length"]) for answer in scripts}
        context.close()
        sizes |= found
        of_pages[path] = sum(found.values())
    total, heaviest = sum(sizes.values()) / 1e3, max(of_pages, key=of_pages.__getitem__)
    return [
        row("pages.script", total, "kB", f"under {_SCRIPT_KB:g}: {len(sizes)} files of all pages", total < _SCRIPT_KB),
        row("pages.script.page", of_pages[heaviest] / 1e3, "kB", urlsplit(heaviest).path, None),
    ]

"""Take the pictures of docs/images again: python -m docs.pictures. A site with a filled house, seen by Debian's chromium."""

import io
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

from rackproof.model.service import Role
from rackproof.settings import Settings
from rackproof.store import Store
from tests.integration.accounts.serving import serving
from tests.integration.web.house import COOKIE
from tests.integration.web.seeds import Seeds, filler, seeded
from web.site import create_site

IMAGES = Path(__file__).parent / "images"
CHROMIUM = "/usr/bin/chromium"
#: So many small campaigns stand below the ones that the pictures are of.
MORE = 30
WIDTH = 1280
#: Pixels for each of the page's: text stays sharp on a fine screen.
SCALE = 1.5
BYTES_MAX = 200_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Picture:
    """A page, and when it is complete: so many of that are there."""

    name: str
    path: str
    shows: str
    count: int = 1
    dark: bool = False
    height: int = 800


def pictures(seeds: Seeds) -> tuple[Picture, ...]:
    trend = {"name": "Nightly, kernel scheduler", "quantity": "throughput", "of": "queue=3", "at.load_mbps": "60", "at.scheduler": "SP"}
    return (
        Picture(name="new-campaign", path="/campaigns/new?kind=switch-qos&plan=demo", shows="#foresight table"),
        Picture(name="home", path="/", shows="#now tr.now"),
        Picture(name="running", path=f"/campaigns/{seeds.running}", shows=".live-on, .u-wrap", count=3, height=940),
        Picture(name="running-dark", path=f"/campaigns/{seeds.running}", shows=".live-on, .u-wrap", count=3, height=940, dark=True),
        Picture(name="campaign", path=f"/campaigns/{seeds.failed}", shows=".u-wrap", count=2, height=940),
        Picture(name="findings", path=f"/campaigns/{seeds.passed}/findings", shows=".findings"),
        Picture(name="trial", path=f"/campaigns/{seeds.failed}/trials/3", shows="#samples .u-wrap"),
        Picture(name="compare", path=f"/compare?campaign={seeds.passed}", shows=".charts figure", count=8),
        Picture(name="trends-dark", path=f"/trends?{urlencode(trend)}", shows="#trend .u-wrap", dark=True),
        Picture(name="testbed", path="/testbeds/bench", shows=".lane"),
        Picture(name="morning", path=f"/schedules/runs/{seeds.runs[-1]}", shows="#run table", count=3),
    )


def take(page: Page, picture: Picture) -> bytes:
    """The picture as PNG, in few colours."""
    page.emulate_media(color_scheme="dark" if picture.dark else "light", reduced_motion="reduce")
    page.set_viewport_size({"width": WIDTH, "height": picture.height})
    page.goto(picture.path)
    expect(page.locator(picture.shows)).to_have_count(picture.count)
    page.evaluate("document.fonts.ready")
    few = Image.open(io.BytesIO(page.screenshot())).convert("RGB").quantize(method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    out = io.BytesIO()
    few.save(out, "PNG", optimize=True)
    return out.getvalue()


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="rackproof-pictures-") as folder:
        settings = Settings.load(data_dir=Path(folder))
        with Store.open(settings) as store:
            filler(store, MORE)
            seeds = seeded(store, settings)
            with store.transactions.step("the campaign could not be named") as connection:  # a name of the tests, which no reader would
                connection.exec_driver_sql("UPDATE campaigns SET name = 'One load, one discipline' WHERE id = %(id)s", {"id": seeds.odd})
            secret, _ = store.accounts.open_session(store.accounts.by_name(Role.ENGINEER.value).id)
            with serving(create_site(settings, store)) as address, sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
                context = browser.new_context(
                    base_url=address,
                    device_scale_factor=SCALE,
                    timezone_id="Europe/Zurich",
                    locale="en-GB",
                )
                context.add_cookies([{"name": COOKIE, "value": secret, "url": address, "httpOnly": True}])
                page = context.new_page()
                for picture in pictures(seeds):
                    taken = take(page, picture)
                    if len(taken) > BYTES_MAX:
                        raise SystemExit(f"{picture.name}: {len(taken)} bytes, at most {BYTES_MAX}")
                    (IMAGES / f"{picture.name}.png").write_bytes(taken)
                    print(f"{picture.name}.png: {len(taken) // 1000} kB")
                browser.close()


if __name__ == "__main__":
    main()

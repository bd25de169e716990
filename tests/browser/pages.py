"""Every page of the site: where it is, who may see it, and how one knows that it is filled."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

from rackproof.inventory import parse_inventory
from rackproof.model.account import scopes_of
from rackproof.model.service import Role
from tests.integration.web.house import Site
from tests.integration.web.seeds import a_report
from tests.integration.web.written import plan_text
from tests.inventories import LAB

TOMORROW = timedelta(days=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Listed:
    """A page. route: as the application knows it; path: an address of it, with names for numbers; filled: a selector of what stands
    on it once it shows what it is for; least: the least role that may see it (None: anybody); status: what it answers to an admin.
    """

    route: str
    path: str
    filled: str
    least: Role | None = Role.VIEWER
    status: int = 200


def _page(route: str, path: str, filled: str, least: Role | None = Role.VIEWER, status: int = 200) -> Listed:
    return Listed(route=route, path=path, filled=filled, least=least, status=status)


_CAMPAIGN = "/campaigns/{campaign:int}"
_TRIAL = _CAMPAIGN + "/trials/{index:int}"
_TREND = "/trends?name=Nightly, kernel scheduler"

PAGES: tuple[Listed, ...] = (
    _page("/", "/", "#now table"),
    _page("/search", "/search?q=nightly", "main table"),
    _page("/search", "/search", "main form input"),
    _page("/search", "/search?q=nothing+is+called+this", "main >> text=all of these words"),
    _page("/campaigns", "/campaigns", "#list tbody tr"),
    _page("/campaigns", "/campaigns?verdict=INVALID", "#list tbody tr"),
    _page("/campaigns", "/campaigns?name=nothing+is+called+this", "#list >> text=No campaign is like that"),
    _page("/campaigns/new", "/campaigns/new?kind=switch-qos", "#foresight [data-by]", Role.ENGINEER),
    _page("/campaigns/{campaign}/clone", "/campaigns/{failed}/clone", "#foresight [data-by]", Role.ENGINEER),
    _page(_CAMPAIGN, "/campaigns/{passed}", "#points canvas"),
    _page(_CAMPAIGN, "/campaigns/{failed}", "#points canvas"),
    _page(_CAMPAIGN, "/campaigns/{invalid}", "#points canvas"),
    _page(_CAMPAIGN, "/campaigns/{running}", "#points canvas"),
    _page(_CAMPAIGN, "/campaigns/{waiting[0]}", "#grid [data-trial]"),
    _page(_CAMPAIGN, "/campaigns/{aborted}", "#points canvas"),
    _page(_CAMPAIGN, "/campaigns/{broken}", "#grid [data-trial]"),
    _page(_CAMPAIGN, "/campaigns/{odd}", "#grid [data-trial]"),
    _page(_CAMPAIGN, "/campaigns/{delay}", "#histogram canvas"),
    _page(_CAMPAIGN, "/campaigns/{flaps}", "#points canvas"),
    _page(_CAMPAIGN + "/findings", "/campaigns/{failed}/findings", "main table tbody tr"),
    _page(_CAMPAIGN + "/trials", "/campaigns/{resumed}/trials", "main table tbody tr"),
    _page(_CAMPAIGN + "/measurements", "/campaigns/{invalid}/measurements?name=throughput", "main table tbody tr"),
    _page(_CAMPAIGN + "/provenance", "/campaigns/{passed}/provenance", "main >> text=8c1f0a4be2"),
    _page(_CAMPAIGN + "/configurations", "/campaigns/{passed}/configurations", "main pre"),
    _page(_CAMPAIGN + "/log", "/campaigns/{resumed}/log", "#log li, main li time"),
    _page(_TRIAL, "/campaigns/{passed}/trials/5", "#samples canvas"),
    _page(_TRIAL, "/campaigns/{invalid}/trials/3", "main .callout"),
    _page(_TRIAL, "/campaigns/{flaps}/trials/3", "[data-timeline] canvas"),
    _page(_TRIAL, "/campaigns/{running}/trials/9", "main >> text=This trial has no result yet"),
    _page("/compare", "/compare", "main table tbody tr"),
    _page("/compare", "/compare?campaign={nights[4]}&campaign={nights[5]}", "main figure svg"),
    _page("/trends", "/trends", "#trend canvas"),
    _page("/trends", _TREND + "&quantity=wasted", "#trend canvas"),
    _page("/trends", _TREND + "&quantity=delay.p50&of=queue=0", "#trend canvas"),
    _page("/trends", "/trends?name=nothing", "main .empty"),
    _page("/testbeds", "/testbeds", "main table tbody tr"),
    _page("/testbeds/{name}", "/testbeds/bench", "#now table tbody tr"),
    _page("/testbeds/{name}", "/testbeds/lab-2", "#now .callout"),
    _page("/testbeds/{name}", "/testbeds/lab1", "main svg.cabling"),
    _page("/inventory", "/inventory", "#fits li", Role.ADMIN),
    _page("/inventory", "/inventory?testbed=lab1", "#fits li", Role.ADMIN),
    _page("/schedules", "/schedules", "main table tbody tr"),
    _page("/schedules/new", "/schedules/new", "#moments li", Role.ENGINEER),
    _page("/schedules/runs", "/schedules/runs", "main table tbody tr"),
    _page("/schedules/runs/{run}", "/schedules/runs/{runs[0]}", "#run table tbody tr"),
    _page("/schedules/runs/{run}", "/schedules/runs/{runs[5]}", "#run table tbody tr"),
    _page("/schedules/{schedule}", "/schedules/{schedule}", "main table tbody tr"),
    _page("/schedules/{schedule}", "/schedules/{own}", "main ol li"),
    _page("/schedules/{schedule}/edit", "/schedules/{own}/edit", "#moments li", Role.ENGINEER),
    _page("/account", "/account", "#tokens table tbody tr"),
    _page("/users", "/users", "main table tbody tr", Role.ADMIN),
    _page("/users/{user}", "/users/{engineer}", "main table tbody tr", Role.ADMIN),
    _page("/users/{user}", "/users/{admin}", "main table tbody tr", Role.ADMIN),
    _page("/audit", "/audit", "main table tbody tr", Role.ADMIN),
    _page("/audit", "/audit?user=nobody", "main form", Role.ADMIN),
    _page("/sign-in", "/sign-in?next=/schedules", "role=button[name='Sign in']", None),
    _page("", "/nothing", "role=heading[level=1]", None, 404),
    _page("", "/campaigns/987654321", "role=heading[level=1]", Role.VIEWER, 404),
)
#: Pages of a house that nobody has used yet: each says what to do.
EMPTY: tuple[Listed, ...] = (
    _page("/", "/", "main >> text=No campaign yet"),
    _page("/campaigns", "/campaigns", "main >> text=No campaign yet"),
    _page("/campaigns/new", "/campaigns/new?kind=switch-qos", "#foresight [data-by]"),
    _page("/compare", "/compare", "main >> text=nothing to compare"),
    _page("/trends", "/trends", "main >> text=No campaign is done yet"),
    _page("/testbeds", "/testbeds", "main >> text=No worker has announced a testbed"),
    _page("/schedules", "/schedules", "main >> role=heading[level=1]"),
    _page("/schedules/runs", "/schedules/runs", "main >> role=heading[level=1]"),
    _page("/account", "/account", "main >> text=No token yet"),
)
#: The one page that is there only while nobody has an account.
SETUP = _page("/setup", "/setup", "role=button[name='Make the account']", None)

#: What pages load beside themselves: parts of pages, data of charts, style. The address, and the least role.
PARTS: Mapping[str, tuple[str, Role | None]] = {
    "/parts/now": ("/parts/now", Role.VIEWER),
    "/parts/testbeds": ("/parts/testbeds", Role.VIEWER),
    "/testbeds/{name}/now": ("/testbeds/bench/now", Role.VIEWER),
    _CAMPAIGN + "/parts/standing": ("/campaigns/{running}/parts/standing", Role.VIEWER),
    _CAMPAIGN + "/parts/actions": ("/campaigns/{running}/parts/actions", Role.VIEWER),
    _CAMPAIGN + "/parts/grid": ("/campaigns/{running}/parts/grid", Role.VIEWER),
    _CAMPAIGN + "/chart.json": ("/campaigns/{passed}/chart.json", Role.VIEWER),
    _TRIAL + "/curves.json": ("/campaigns/{passed}/trials/5/curves.json", Role.VIEWER),
    _TRIAL + "/samples.json": ("/campaigns/{passed}/trials/5/samples.json", Role.VIEWER),
    "/schedules/moments": ("/schedules/moments?cron=0 5 * * *", Role.ENGINEER),
    "/schedules/runs/{run}/part": ("/schedules/runs/{runs[5]}/part", Role.VIEWER),
    "/account/tokens": ("/account/tokens", Role.VIEWER),
    "/palette.css": ("/palette.css", None),
    "/fonts/{weight}.otf": ("/fonts/400.otf", None),
    "/static": ("/static/app.js", None),
}


def furnished(site: Site) -> dict[str, object]:
    """Put into a site what pages show only to whom it belongs, or where something went wrong. The numbers that addresses are made of."""
    store, seeds = site.store, site.seeds
    users = {role: store.accounts.by_name(role.value).id for role in Role}
    now = datetime.now(UTC)
    for role in Role:
        store.accounts.create_token(users[role], name="nightly CI", scopes=scopes_of(role), expires=now + TOMORROW)
    own = store.schedules.create(
        name="Weekly", cron="0 4 * * 6", zone="UTC", plans=[plan_text("fine")], owner="engineer", user_id=users[Role.ENGINEER], paused=True
    )
    store.reservations.reserve(
        testbed="lab-2", user_id=users[Role.ENGINEER], owner="engineer", starts=now + TOMORROW, ends=now + 2 * TOMORROW, reason="a cable"
    )
    store.inventories.put(parse_inventory(LAB.encode(), "lab1")[1], LAB, by="ada")
    store.devices.offline("lab1", "switch-1", "it could not be restored", seeds.failed)
    delivery = store.deliveries.of(seeds.runs[5])[0]
    store.deliveries.failed(delivery.id, "the mail server refused it", None)
    store.reports.pin(a_report(store, site.settings, seeds.failed), "engineer")
    return {**asdict(seeds), "own": own.id, **{role.value: number for role, number in users.items()}}


def address(path: str, numbers: Mapping[str, object]) -> str:
    """The address of a page in a house."""
    return path.format(**numbers)

"""Do trends show where a measurement changed, and what was new there?"""

import html
import json
import re
from typing import Any

import httpx
import pytest

from rackproof.model.service import Role
from rackproof.store import schema
from tests.integration.web.house import Client, Site
from tests.integration.web.seeds import NIGHTS, ODD

NAME = "Nightly, kernel scheduler"


@pytest.fixture
def browser(quiet: Client) -> httpx.Client:
    return quiet(Role.VIEWER)


def drawn(page: str) -> dict[str, Any]:
    """What the chart is given; it must be JSON as browsers read it."""
    found = re.search(r"data-trend='([^']*)'", page)
    assert found is not None

    def refused(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    made: dict[str, Any] = json.loads(html.unescape(found[1]), parse_constant=refused)
    return made


def asked(browser: httpx.Client, **query: str) -> str:
    answer = browser.get("/trends", params={"name": NAME, **query})
    assert answer.status_code == 200, answer.text
    return answer.text


def test_without_a_question_the_plan_that_ran_most_is_shown(browser: httpx.Client) -> None:
    page = browser.get("/trends").text
    assert re.search(rf'<option value="{NAME}" selected>{NAME} \({NIGHTS}\)</option>', page)
    assert len(drawn(page)["campaign"]) == NIGHTS


def test_a_change_is_marked_with_what_was_new(browser: httpx.Client, quiet_site: Site) -> None:
    nights = quiet_site.seeds.nights
    page = asked(browser, quantity="wasted")
    chart = drawn(page)
    assert chart["campaign"] == list(nights)
    assert chart["edges"] == [0, NIGHTS - 1, NIGHTS]
    waste_mbps = chart["levels"][1] - chart["levels"][0]
    assert 3 < waste_mbps < 30
    assert all(low < value < high for low, value, high in zip(chart["low"], chart["value"], chart["high"], strict=True))
    assert "It changed once" in page
    assert '<th scope="row">Testbed: kernel</th><td>6.1.0-28-amd64</td><td>6.1.0-31-amd64</td>' in page
    assert f'href="/compare?campaign={nights[-2]}&amp;campaign={nights[-1]}"' in page
    for night in nights:
        assert f'<a href="/campaigns/{night}">{night}</a>' in page


def test_a_steady_one_says_so(browser: httpx.Client) -> None:
    page = asked(browser, quantity="duplicates")
    assert "Steady" in page
    assert "Where it changed" not in page
    assert drawn(page)["levels"] == []


def test_a_point_and_a_subject_can_be_chosen_by_the_address(browser: httpx.Client) -> None:
    whole, one = (drawn(asked(browser, quantity="throughput", of="queue=3", **at)) for at in ({}, {"at.load_mbps": "60"}))
    assert whole["value"] != one["value"]
    page = asked(browser, quantity="throughput", of="queue=3", **{"at.load_mbps": "60"})
    assert re.search(r'<option value="queue=3" selected>queue 3</option>', page)
    assert re.search(r"<option selected>60</option>", page)
    # What is not there is as if it had not been asked for.
    assert drawn(asked(browser, quantity="throughput", of="queue=3", **{"at.load_mbps": "61"})) == whole
    assert asked(browser, quantity="no such thing", of="queue=77")


def test_infinite_values_are_shown_and_break_nothing(browser: httpx.Client) -> None:
    page = asked(browser, quantity="delay.p50", of="queue=0", **{"at.load_mbps": "60", "at.scheduler": "SP"})
    chart = drawn(page)
    assert chart["value"] == [None] * NIGHTS
    assert page.count('<td class="num">∞</td>') == NIGHTS


def test_plans_that_never_ran_and_odd_names_break_nothing(browser: httpx.Client) -> None:
    assert "there is no campaign &#39;nothing&#39; that is done" in browser.get("/trends", params={"name": "nothing"}).text
    page = browser.get("/trends", params={"name": ODD, "quantity": "throughput"}).text
    assert "<script>alert" not in page
    assert "queue &lt;script&gt;alert" in page or "&lt;script&gt;alert" in page
    assert drawn(page)["value"] == [0.0]
    assert "a trend needs more nights" in page


def test_an_empty_house_says_what_to_do_next(site: Site, client: Client) -> None:
    with site.store.transactions.step("campaigns could not be removed") as connection:
        connection.execute(schema.Campaign.__table__.delete())  # type: ignore[attr-defined]  # a table, whatever its type says
    assert 'href="/schedules/new">New schedule' in client(Role.ENGINEER).get("/trends").text
    assert "/schedules/new" not in client(Role.VIEWER).get("/trends").text


def test_more_nights_can_be_asked_for_within_bounds(browser: httpx.Client) -> None:
    for last, chosen in (("200", "200"), ("1000000", "60")):
        page = asked(browser, quantity="wasted", last=last)
        assert f'<option value="{chosen}" selected>' in page
    assert browser.get("/trends", params={"name": NAME, "last": "many"}).status_code == 422

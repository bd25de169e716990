"""The search over everything, over HTTP."""

import re

import httpx
import pytest

from rackproof.model.service import Role
from tests.integration.web.house import Client, Site
from web.pages import search


def found(client: httpx.Client, query: str, **more: str) -> list[int]:
    page = client.get("/search", params={"q": query, **more})
    assert page.status_code == 200
    return [int(number) for number in re.findall(r'<tr><td>Campaign</td><td class="num"><a href="/campaigns/(\d+)"', page.text)]


def test_campaigns_are_found_by_whatever_is_known_of_them(quiet: Client, quiet_site: Site) -> None:
    viewer, seeds = quiet(Role.VIEWER), quiet_site.seeds
    assert found(viewer, str(seeds.failed))[0] == seeds.failed
    assert found(viewer, f"#{seeds.passed}") == [seeds.passed]
    assert found(viewer, "NEW firmware") == [seeds.failed]
    assert set(found(viewer, "fail")) == {seeds.failed, seeds.nights[-1]}
    assert seeds.aborted in found(viewer, "aborted engineer bench")
    assert found(viewer, "nightly") == sorted(seeds.nights, reverse=True)
    assert seeds.waiting[1] in found(viewer, "ada pending")
    assert found(viewer, "fail no-such-word") == []


@pytest.mark.parametrize(
    "query", ["%", "_", "\\", "'", '"; DROP TABLE campaigns', "<script>alert(1)</script>", "99999999999999999999", "#", "é" * 200]
)
def test_signs_are_letters_like_others(quiet: Client, query: str) -> None:
    page = quiet(Role.VIEWER).get("/search", params={"q": query})
    assert page.status_code == 200
    assert "<script>alert" not in page.text


def test_testbeds_and_schedules_are_in_the_list_and_users_for_who_may_see_them(quiet: Client, quiet_site: Site) -> None:
    assert '<a href="/testbeds/lab-2">' in quiet(Role.VIEWER).get("/search?q=lab-2").text
    assert f'<a href="/schedules/{quiet_site.seeds.schedule}">' in quiet(Role.VIEWER).get("/search?q=nightly").text
    assert '<a href="/users">engineer</a>' in quiet(Role.ADMIN).get("/search?q=engineer").text
    assert '<a href="/users">' not in quiet(Role.ENGINEER).get("/search?q=engineer").text.partition("<main")[2]


def test_long_lists_go_on_where_they_ended(quiet: Client, quiet_site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_ROWS", 4)
    viewer = quiet(Role.VIEWER)
    everything: list[int] = []
    address = "/search?q=bench"
    for _ in range(20):
        page = viewer.get(address).text
        rows = [int(number) for number in re.findall(r'<tr><td>Campaign</td><td class="num"><a href="/campaigns/(\d+)"', page)]
        assert 0 < len(rows) <= 4
        everything += rows
        following = re.search(r'<a href="([^"]+)">Older ones', page)
        if following is None:
            break
        address = following[1].replace("&amp;", "&")
    assert everything == sorted(set(everything), reverse=True)
    assert len(everything) > 15


def test_an_empty_search_says_what_can_be_searched(quiet: Client) -> None:
    assert "Every word must be found" in quiet(Role.VIEWER).get("/search").text
    assert "Fewer words find more" in quiet(Role.VIEWER).get("/search?q=nothing+like+it").text
    assert quiet(Role.VIEWER).get("/search", params={"q": "x" * 201}).status_code == 422

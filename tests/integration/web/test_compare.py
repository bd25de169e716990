"""Campaigns side by side, over HTTP."""

import re

from rackproof.model.service import Role
from tests.integration.web.house import Client, Site


def test_what_changed_between_two_nights_is_told_with_what_was_not_the_same(quiet: Client, quiet_site: Site) -> None:
    before, after = quiet_site.seeds.nights[-2:]
    page = quiet(Role.VIEWER).get(f"/compare?campaign={before}&campaign={after}&name=throughput&of=queue")
    assert page.status_code == 200
    assert "16 points in common; at 10 of them the 95 % intervals do not meet" in page.text
    assert page.text.count("<figure") == 8
    assert re.search(r"Testbed.kernel</th><td>6.1.0-28-amd64</td><td>6.1.0-31-amd64", page.text)
    assert re.search(r"seed</th><td>2004</td><td>2005", page.text)
    assert "Host.name" not in page.text
    assert "Host.name" in quiet(Role.VIEWER).get(f"/compare?campaign={before}&campaign={after}&all=1").text


def test_the_devices_of_one_campaign_are_put_side_by_side(quiet: Client, quiet_site: Site) -> None:
    page = quiet(Role.VIEWER).get(f"/compare?campaign={quiet_site.seeds.passed}").text
    assert '<th scope="col" class="num">linux-htb</th><th scope="col" class="num">reference-faulty</th>' in page
    assert "40 points in common; at 5 of them" in page


def test_every_measurement_can_be_chosen(quiet: Client, quiet_site: Site) -> None:
    viewer = quiet(Role.VIEWER)
    address = f"/compare?campaign={quiet_site.seeds.passed}&campaign={quiet_site.seeds.failed}"
    names = re.findall(r'<option[^>]* value="([a-z0-9._]+)">[^<]*</option>', viewer.get(address).text.partition("Of<select")[0])
    assert {"throughput", "delay.p99", "wasted"} <= set(names)
    for name in names:
        for of in ("", "queue", "flow"):
            assert viewer.get(address, params={"name": name, "of": of}).status_code == 200


def test_trials_that_cannot_be_trusted_are_left_out_and_counted(quiet: Client, quiet_site: Site) -> None:
    page = quiet(Role.VIEWER).get(f"/compare?campaign={quiet_site.seeds.invalid}&campaign={quiet_site.seeds.nights[0]}").text
    assert f"2 trials of campaign {quiet_site.seeds.invalid} are left out: not to be trusted." in page


def test_campaigns_in_every_state_can_be_compared(quiet: Client, quiet_site: Site) -> None:
    seeds = quiet_site.seeds
    everything = [seeds.running, seeds.waiting[0], seeds.aborted, seeds.resumed, seeds.interrupted, seeds.broken, seeds.odd]
    page = quiet(Role.VIEWER).get("/compare", params={"campaign": everything})
    assert page.status_code == 200
    assert "<script>alert" not in page.text
    alone = quiet(Role.VIEWER).get(f"/compare?campaign={seeds.broken}")
    assert "has a measurement yet" in alone.text


def test_nothing_chosen_offers_the_newest(quiet: Client, quiet_site: Site) -> None:
    viewer = quiet(Role.VIEWER)
    assert f'name="campaign" value="{quiet_site.seeds.failed}"' in viewer.get("/compare").text
    assert viewer.get("/compare?campaign=999999").status_code == 404
    assert viewer.get("/compare?campaign=x").status_code == 422
    assert quiet(None).get("/compare").status_code == 303


def test_two_generators_that_ran_one_plan_are_held_against_each_other(client: Client, site: Site) -> None:
    before, after = site.seeds.nights[-2:]
    address = f"/compare?campaign={before}&campaign={after}&name=throughput&of=queue"
    assert "Tester disagreement" not in client(Role.VIEWER).get(address).text
    for campaign, generator in ((before, "here: native engine"), (after, "trex-1: TRex 3.08, STL")):
        facts = {"Testbed": {"generator": generator}, "dut": {"name in the rack": "sw-1"}}
        site.store.set_provenance(campaign, facts)
    page = client(Role.VIEWER).get(address).text
    assert (
        f"Campaigns {before} and {after} ran the same plan on the same devices (sw-1) with two generators: here: native engine; "
        "and trex-1: TRex 3.08, STL."
    ) in page
    # Of what the two nights measured, the last one's new kernel wastes a tenth of the link.
    told = re.search(r"At (\d+) of 16 points the interval of their difference leaves zero out; chance alone would do so at about 0.8", page)
    assert told is not None
    assert int(told[1]) >= 10
    assert f'<th scope="col" class="num">{after} less {before} [Mbit/s]</th>' in page
    assert "Delays contain each generator" in client(Role.VIEWER).get(address.replace("throughput", "delay.mean")).text

"""What do the pages show of a trial's frames, of configurations and of a sweep?"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rackproof.model.lsp import PROBE
from rackproof.model.service import Role
from rackproof.model.traffic import RECORD_DTYPE, Samples
from rackproof.store import samples
from tests.integration.web.house import Client, Site
from tests.integration.web.seeds import Seeds
from web.differences import stories
from web.points import axes, named, said, title
from web.samples import Shelf, read


def test_samples_are_thinned_without_losing_an_extreme(quiet: Client, quiet_site: Site, seeds: Seeds) -> None:
    viewer = quiet(Role.VIEWER)
    path = f"/campaigns/{seeds.passed}/trials/5/samples.json"
    whole = viewer.get(f"{path}?points=50").json()
    place = quiet_site.store.browse.trial_samples(seeds.passed, 5).file
    assert place is not None
    raw = quiet_site.store.read_samples(place)
    delays = (raw.rx_ns - raw.tx_ns) / 1e3
    assert whole["rows"] == len(raw)
    assert sum(stream["frames"] for stream in whole["streams"]) == len(raw)
    for stream in whole["streams"]:
        mine = delays[raw.stream == int(stream["stream"])]
        assert stream["frames"] == len(mine)
        assert max(value for value in stream["largest"] if value is not None) == pytest.approx(mine.max(), abs=1e-3)
        assert min(value for value in stream["least"] if value is not None) == pytest.approx(mine.min(), abs=1e-3)
    part = viewer.get(f"{path}?from=0.2&to=0.4&points=100").json()
    at = (raw.rx_ns - raw.rx_ns[0]) / 1e9
    assert sum(stream["frames"] for stream in part["streams"]) == int(((at >= 0.2) & (at <= 0.4)).sum())
    assert (part["from"], part["to"]) == (0.2, 0.4)


@pytest.mark.parametrize("query", ["from=-1", "from=nan", "to=inf", "points=5", "points=100000"])
def test_samples_that_cannot_be_are_refused(quiet: Client, seeds: Seeds, query: str) -> None:
    assert quiet(Role.VIEWER).get(f"/campaigns/{seeds.passed}/trials/5/samples.json?{query}").status_code == 422


def test_a_trial_without_samples_says_so(quiet: Client, seeds: Seeds) -> None:
    viewer = quiet(Role.VIEWER)
    assert viewer.get(f"/campaigns/{seeds.passed}/trials/20/samples.json").status_code == 404
    assert 'id="samples"' not in viewer.get(f"/campaigns/{seeds.passed}/trials/20").text
    assert 'id="samples"' in viewer.get(f"/campaigns/{seeds.passed}/trials/5").text


def test_samples_that_were_removed_or_changed_are_not_shown(site: Site, client: Client, seeds: Seeds, tmp_path: Path) -> None:
    viewer = client(Role.VIEWER)
    with site.store.transactions.step("retention") as connection:
        connection.exec_driver_sql("UPDATE campaigns SET samples_gone = now() WHERE id = %(id)s", {"id": seeds.passed})
        connection.exec_driver_sql(
            "UPDATE trials SET samples_sha256 = repeat('0', 64) WHERE campaign_id = %(id)s AND index = 1", {"id": seeds.failed}
        )
    assert viewer.get(f"/campaigns/{seeds.passed}/trials/5/samples.json").status_code == 410
    assert "The samples were removed" in viewer.get(f"/campaigns/{seeds.passed}/trials/5").text
    assert viewer.get(f"/campaigns/{seeds.failed}/trials/1/samples.json").status_code == 503


def test_a_million_samples_are_thinned_at_once(tmp_path: Path) -> None:
    count = 1_000_000
    records = np.zeros(count, RECORD_DTYPE)
    records["tx_ns"] = np.arange(count) * 1000
    records["rx_ns"] = records["tx_ns"] + 5000
    records["rx_ns"][123_456] += 700
    records["stream"] = np.arange(count) % 8
    file = samples.write(tmp_path, 1, 1, Samples.of(records))
    delays = read(tmp_path, file)
    found = delays.between(0, delays.until_s, 1000)
    assert found["rows"] == count
    assert max(value for value in found["streams"][0]["largest"]) == 5.7
    assert all(value == 5.0 for stream in found["streams"] for value in stream["least"])
    shelf = Shelf(rows_max=10)
    assert shelf.get(tmp_path, file) is shelf.get(tmp_path, file)


def test_what_never_arrived_has_no_delay_and_ways_are_told_apart(tmp_path: Path) -> None:
    records = np.zeros(4, RECORD_DTYPE)
    records["tx_ns"] = [1000, 2000, 3000, 4000]
    records["rx_ns"] = [9000, 0, 5000, -1]
    records["stream"] = 1
    records["port"] = [0, 0, 1, 1]
    delays = read(tmp_path, samples.write(tmp_path, 1, 1, Samples.of(records)))
    assert [(each.name, each.at_s.tolist(), each.delay_us.tolist()) for each in delays.streams] == [
        ("1, port 0", [4e-6], [8.0]),
        ("1, port 1", [0.0], [2.0]),
    ]
    assert (delays.rows, delays.until_s) == (2, 4e-6)


def test_probes_are_one_line_and_so_are_streams_that_nobody_could_tell_apart(tmp_path: Path) -> None:
    records = np.zeros(300, RECORD_DTYPE)
    records["tx_ns"] = np.arange(300) * 1000
    records["rx_ns"] = records["tx_ns"] + 5000
    records["stream"] = np.arange(300) % 100
    records["port"][200:] = PROBE
    delays = read(tmp_path, samples.write(tmp_path, 1, 1, Samples.of(records)))
    assert [(each.name, len(each.at_s)) for each in delays.streams] == [("0 to 99", 200), ("probes", 100)]
    records["stream"] %= 2
    few = read(tmp_path, samples.write(tmp_path, 1, 2, Samples.of(records)))
    assert [(each.name, len(each.at_s)) for each in few.streams] == [("0", 100), ("probes", 100), ("1", 100)]


@pytest.mark.parametrize("scheme", ["folder", "file", "memory"])
def test_samples_are_shown_from_wherever_they_are(
    site: Site, client: Client, seeds: Seeds, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    viewer, path = client(Role.VIEWER), f"/campaigns/{seeds.passed}/trials/5/samples.json?points=50"
    before = viewer.get(path).json()
    place: samples.Place = tmp_path if scheme == "folder" else f"{scheme}://{tmp_path}/objects"
    file = site.store.browse.trial_samples(seeds.passed, 5).file
    assert file is not None
    raw = site.store.read_samples(file)
    monkeypatch.setattr(site.store, "samples_place", place)
    # What was read before is kept; the trial's file is another one.
    assert viewer.get(path).status_code == 404
    moved = samples.write(place, seeds.passed, 5, replace(raw, rx_ns=raw.rx_ns + 1000))
    with site.store.transactions.step("other samples") as connection:
        connection.exec_driver_sql(
            "UPDATE trials SET samples_sha256 = %(sha256)s WHERE campaign_id = %(id)s AND index = 5",
            {"id": seeds.passed, "sha256": moved.sha256},
        )
    after = viewer.get(path).json()
    assert (after["rows"], after["at"]) == (before["rows"], before["at"])
    for old, new in zip(before["streams"], after["streams"], strict=True):
        shifted = [None if delay is None else pytest.approx(delay + 1, abs=1e-3) for delay in old["largest"]]
        assert new["largest"] == shifted


def test_configurations_are_told_as_differences() -> None:
    (same,) = stories({"sw, before sp": "a\nb\n", "sw, as tested with sp": "a\nc\n", "sw, after sp": "a\nb\n"})
    assert (same.device, same.what, same.restored) == ("sw", "sp", True)
    assert [(line.sign, line.text) for line in same.changes[0].lines if line.sign in "+-"] == [("-", "b"), ("+", "c")]
    changed, unknown = stories({"sw, before sp": "a\n", "sw, after sp": "b\n", "other": "x"})
    assert (changed.restored, len(changed.changes)) == (False, 1)
    assert (unknown.device, unknown.restored, dict(unknown.texts)) == ("other", None, {"As it was": "x"})
    # A line that looks like the head of a difference stays a line.
    (odd,) = stories({"sw, before sp": "-- x\n", "sw, as tested with sp": "++ y\n"})
    assert [(line.sign, line.text) for line in odd.changes[0].lines if line.sign in "+-"] == [("-", "-- x"), ("+", "++ y")]


def test_a_sweep_goes_across_and_what_follows_from_another_value_is_left_out() -> None:
    points = [
        {"device": device, "discipline": discipline, "scheduler": scheduler, "load_mbps": load, "senders": 8}
        for device in ("a", "b")
        for discipline, scheduler in (("strict-priority", "SP"), ("wrr-bytes", "WRR 0.1 0.9"), ("wrr-bytes", "WRR 0.5 0.5"))
        for load in (10.0, 20.0)
    ]
    found = axes(points)
    assert (found.across, found.down) == ("load_mbps", ("device", "scheduler"))
    assert title(points[2], found.down) == "a, WRR 0.1 0.9"
    assert axes([]).across is None
    assert axes([{"x": "one"}, {"x": "two"}]).down == ("x",)
    assert named("load_mbps") == ("load", "Mbit/s")
    assert named("senders") == ("senders", "")
    assert said("load_mbps", 22.5) == "22.5 Mbit/s"
    assert said("senders", 8) == "senders 8"

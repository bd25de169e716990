"""A comparison between two real hosts, from the inventory to the report: over SSH, with clocks of chrony, on a path of known delay."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from pypdf import PdfReader

from orchestrator.lab.hosts import opened
from rackproof.model.campaign import CampaignState
from rackproof.model.inventory import Inventory, LinkEntry
from rackproof.model.path import FORWARD, Direction, EmulatedPath, Packets
from rackproof.model.program import Command
from rackproof.model.verdict import Verdict
from rackproof.store import Store
from tests.e2e.plans import rackproof
from tests.lab.pair import PORT, Pair, host_pair

_NEEDED = {"iperf3": "iperf3", "tcpdump": "tcpdump", "ethtool": "ethtool", "chronyd": "chrony"}
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_MISSING = [package for program, package in _NEEDED.items() if shutil.which(program, path=_PATH) is None]

pytestmark = [
    pytest.mark.netns,
    pytest.mark.slow,
    pytest.mark.skipif(os.environ.get("RACKPROOF_LONG") != "1", reason="half a minute of Ansible on two hosts; RACKPROOF_LONG=1 runs it"),
    pytest.mark.skipif(bool(_MISSING), reason=f"needs Debian packages: {', '.join(_MISSING)}"),
]

PLAN = """
kind: congestion-control
name: between two hosts
testbed: lab1
schemes: [reno]
runtime_s: 3
repetitions: 1
path: {hosts: [sender-1, receiver-1]}
"""
#: Nobody sets the clock (-x), for it is this machine's. The sender's is its own reference, the receiver's follows it over the path.
_CHRONY = "cmdport 0\npidfile /run/chrony/chronyd.pid\nbindcmdaddress /run/chrony/chronyd.sock\n"
CHRONY = {
    "sender-1": f"{_CHRONY}local stratum 8\nallow\n",
    "receiver-1": f"{_CHRONY}port 0\nserver 10.82.1.1 iburst minpoll 0 maxpoll 0\n",
}


@pytest.fixture
def pair() -> Iterator[Pair]:
    """Two hosts whose clocks are kept, on a path of 20 Mbit/s and 15 ms."""
    with host_pair() as pair, ExitStack() as stack:
        direction = Direction(rate_bps=20e6, delay_ms=15.0, buffer_bytes=60_000)
        pair.path.apply(EmulatedPath(forward=direction, backward=direction, seed=1))
        for box in pair.boxes:
            box.run("ethtool", "-K", PORT, "gro", "on")
        for entry in pair.entries:
            host = stack.enter_context(opened(entry))
            text = CHRONY[entry.name]
            start = f"mkdir -p -m 750 /run/chrony && printf '{text}' > /run/chrony/conf && exec chronyd -x -d -u root -f /run/chrony/conf"
            host.start(Command(arguments=("sh", "-c", start), environment={"PATH": _PATH}))
            wait = "for _ in $(seq 400); do chronyc -c tracking | grep -q Normal && exit; sleep 0.05; done; exit 1"
            assert host.call(Command(arguments=("sh", "-c", wait)), 60.0).exit_status == 0
        yield pair


def test_a_scheme_is_compared_between_two_hosts(pair: Pair, environment: dict[str, str], store: Store, tmp_path: Path) -> None:
    link = LinkEntry(a=f"sender-1:{PORT}", b=f"receiver-1:{PORT}", speed_mbps=1000.0)
    inventory, plan, pdf = tmp_path / "lab1.yaml", tmp_path / "plan.yaml", tmp_path / "out.pdf"
    inventory.write_text(json.dumps(Inventory(name="lab1", hosts=pair.entries, links=(link,)).as_text_data()))
    plan.write_text(PLAN)
    for arguments in (("testbed", "import", str(inventory)), ("testbed", "check", "lab1"), ("run", str(plan), "--pdf", str(pdf))):
        done = rackproof(*arguments, environment=environment, timeout_s=240)
        assert done.returncode == 0, done.stdout + done.stderr

    check = store.inventories.get("lab1").check
    assert check is not None
    items = {item["what"]: item for item in check["items"]}
    assert (items["host sender-1"]["finding"], items["host receiver-1"]["finding"]) == ("ok", "ok")
    assert "runs programs and captures; its clock is off by" in items["host receiver-1"]["text"]
    record = store.campaign(1)
    assert (record.state, record.testbed) == (CampaignState.DONE, "lab1")
    (trial,) = record.trials
    assert trial.result is not None
    assert trial.result.verdict is Verdict.PASS, trial.result.reason
    numbers = {each.name: each.value for each in trial.result.measurements if each.subject["flow"] == "all"}
    assert numbers["capacity"] == 1000
    assert 5 < numbers["throughput"] <= 20.01
    assert numbers["utilisation"] == pytest.approx(numbers["throughput"] / 1000)
    assert numbers["delay.floor"] == pytest.approx(15.0, abs=1.0)
    assert trial.result.health["capture_drops.sender"] == trial.result.health["capture_drops.receiver"] == 0
    # The path is 15 ms long, and so is what is known of the receiver's clock; the sender's is right by its own account.
    assert trial.result.health["clock_bound.sender_ms"] == 0
    assert 14 < trial.result.health["clock_bound.receiver_ms"] < 40
    assert trial.samples is not None
    packets = Packets.of(store.read_samples(trial.samples), FORWARD)
    assert packets.delivered.sum() > 1000

    # Offloads were turned off on both hosts, and given back.
    assert record.provenance["Devices afterwards"] == dict.fromkeys(("sender-1", "receiver-1"), "as it was found")
    for name in ("sender-1", "receiver-1"):
        when = {key.split()[1]: text for key, text in record.configurations.items() if key.startswith(f"{name}, ")}
        assert when["before"] == when["after"] != when["as"]
        assert f"feature {PORT} generic-receive-offload on" in when["before"]
        assert f"feature {PORT} generic-receive-offload off" in when["as"]
    text = "\n".join(page.extract_text() for page in PdfReader(pdf).pages)
    for words in (
        "sender-1 sends, receiver-1 receives",
        "the slower cable of the two hosts",
        "Sender clock offset",
        "Not captured by the receiver",
    ):
        assert words in " ".join(text.split()), words

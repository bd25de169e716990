"""Do the playbooks of vendors' platforms configure, read back and restore? Against emulated command lines and NETCONF, not hardware.

What the emulations know of the platforms is what the playbooks need; they prove logins, prompts, the order of commands, what is made of
errors, and that nothing is left behind. Whole sessions take long: RACKPROOF_LONG=1 has them.
"""

import importlib.util
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.devices.device import AnsibleDevice
from orchestrator.devices.runner import Ansible
from rackproof.errors import DeviceError
from rackproof.model.functions import DeviceFunction, Discipline, Mpls, MplsInterface, QosScheduler, StaticLabel, Vlan
from rackproof.model.inventory import Credentials, DeviceEntry
from tests.integration.playbooks import netconf, switches
from tests.integration.playbooks.emulated import NAME, PASSWORD, USER, host_key, served
from tests.integration.playbooks.switch import Switch

long = pytest.mark.skipif(os.environ.get("RACKPROOF_LONG") != "1", reason="takes more than ten seconds: RACKPROOF_LONG=1")
with_ncclient = pytest.mark.skipif(importlib.util.find_spec("ncclient") is None, reason="Ansible's NETCONF needs ncclient")

QUEUES = QosScheduler(
    discipline=Discipline.WRR_BYTES,
    port="Ethernet1/3",
    link_rate_bps=1_000_000_000,
    priority_map=(0, 0, 1, 1, 2, 2, 3, 3),
    queue_frames=100,
    weights=(0.1, 0.2, 0.3, 0.4),
)
STRICT = replace(QUEUES, discipline=Discipline.STRICT_PRIORITY, priority_map=(0, 0, 0, 1, 1, 1, 2, 2), weights=())
VLAN = Vlan(vlan_id=10, tagged=("Ethernet1/1",), untagged=("Ethernet1/3",))
PLATFORMS: dict[str, tuple[Callable[[], Switch], str]] = {
    "ios": (switches.ios, "cisco_ios"),
    "nxos": (switches.nxos, "cisco_nxos"),
    "eos": (switches.eos, "arista_eos"),
}


@contextmanager
def reached(
    platform: str, port: int, known_host: str, folder: Path, password: str = "env:DUT_PASSWORD"
) -> Iterator[tuple[AnsibleDevice, list[str]]]:
    """The device, and what it was heard to say."""
    entry = DeviceEntry(
        name=NAME,
        platform=platform,
        address="127.0.0.1",
        port=port,
        known_host=known_host,
        credentials=Credentials(user=USER, password=password),
    )
    heard: list[str] = []
    with Ansible() as ansible:
        yield AnsibleDevice(entry, ansible, state=folder / "state", heard=heard.append), heard


@pytest.fixture(autouse=True)
def _passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DUT_PASSWORD", PASSWORD)
    monkeypatch.setenv("WRONG_PASSWORD", "not this one")


@long
@pytest.mark.parametrize("platform", PLATFORMS)
def test_a_function_comes_and_goes_without_a_trace(platform: str, tmp_path: Path) -> None:
    make, nos = PLATFORMS[platform]
    switch = make()
    found = switch.running
    with served(switch, nos) as port, reached(platform, port, host_key(), tmp_path) as (device, heard):
        device.apply(QUEUES)
        changed = switch.running
        device.restore()
    assert changed != found
    assert switch.running == found
    assert switch.files == {}, "what restore needed is removed from the device"
    assert not any(PASSWORD in said for said in (*heard, *switch.commands))


@long
@pytest.mark.parametrize("platform", ["ios", "nxos", "eos"])
def test_functions_follow_one_another(platform: str, tmp_path: Path) -> None:
    make, nos = PLATFORMS[platform]
    switch = make()
    found = switch.running
    with served(switch, nos) as port, reached(platform, port, host_key(), tmp_path) as (device, heard):
        assert device.facts()["version"]
        for function in (QUEUES, STRICT, VLAN):
            device.apply(function)
            device.check(function)
        configured = switch.running
        heard.clear()
        device.apply(VLAN)
        assert switch.running == configured
        assert f"{NAME}: nothing to change" in heard
        with pytest.raises(DeviceError, match="expected a speed of 100000000 bit/s, found 1000000000"):
            device.check(replace(STRICT, link_rate_bps=100_000_000))
        switch.running = found
        with pytest.raises(DeviceError, match="vlan 10"):
            device.check(VLAN)
        device.restore()
    assert switch.running == found
    assert switch.files == {}


@long
@pytest.mark.parametrize("platform", ["ios", "nxos", "eos"])
def test_a_refused_line_is_quoted_and_what_came_before_it_is_restored(platform: str, tmp_path: Path) -> None:
    make, nos = PLATFORMS[platform]
    switch = make()
    found = switch.running
    switch.rules = [rule for rule in switch.rules if rule.mode not in ("policy-map", "queue")]
    with served(switch, nos) as port, reached(platform, port, host_key(), tmp_path) as (device, _):
        with pytest.raises(DeviceError, match="Invalid input detected"):
            device.apply(QUEUES)
        device.restore()
    assert switch.running == found


@long
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # fakenos expects that whoever comes also signs in
def test_a_wrong_password_and_a_wrong_key_are_told_apart(tmp_path: Path) -> None:
    with served(switches.ios(), "cisco_ios") as port:
        with reached("ios", port, host_key(), tmp_path, "env:WRONG_PASSWORD") as (device, _):
            with pytest.raises(DeviceError, match=r"(?i)authenticat") as refused:
                device.facts()
            assert "not this one" not in str(refused.value)
        key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGJ0x0bq6sV5rEw3q2m0uYF8nV0cV8tq3nJ0kq7Zb1cX"
        with reached("ios", port, key, tmp_path) as (device, _), pytest.raises(DeviceError, match=r"(?i)host key"):
            device.facts()


@long
@with_ncclient
def test_junos_over_netconf(tmp_path: Path) -> None:
    router = netconf.Router(
        committed=["interfaces ge-0/0/1 unit 0 family ethernet-switching vlan members default", "system host-name dut"],
        answers={
            "show interfaces ge-0/0/3 media": "Physical interface: ge-0/0/3, Enabled\n  Speed: 1000mbps, Duplex: Full",
            "show mpls interface": "Interface        State\nge-0/0/1.0       Up\nge-0/0/2.0       Up",
            "show rsvp interface": "Interface        State\nge-0/0/1.0       Up        0   100%",
        },
    )
    mpls = Mpls(
        router_id="10.255.0.1",
        interfaces=(
            MplsInterface(port="ge-0/0/1", address="10.0.1.1/24"),
            MplsInterface(port="ge-0/0/2", address="10.0.2.1/24", rsvp=False),
        ),
        labels=(StaticLabel(in_label=1_000_100, port="ge-0/0/2", next_hop="10.0.2.2"),),
    )
    functions: tuple[DeviceFunction, ...] = (mpls, replace(QUEUES, port="ge-0/0/3"), Vlan(vlan_id=10, tagged=("ge-0/0/4",)))
    found = list(router.committed)
    with netconf.served(router, USER, PASSWORD) as (port, key), reached("junos", port, key, tmp_path) as (device, heard):
        assert device.facts()["version"] == "23.4R1"
        for function in functions:
            device.apply(function)
            device.check(function)
        commits = router.commits
        device.apply(functions[-1])
        assert router.commits == commits, "nothing to change is not committed"
        assert f"{NAME}: nothing to change" in heard
        without_rsvp = replace(mpls, interfaces=tuple(replace(interface, rsvp=True) for interface in mpls.interfaces))
        with pytest.raises(DeviceError, match="ge-0/0/2: expected RSVP up"):
            device.check(without_rsvp)
        with pytest.raises(DeviceError, match="syntax error"):
            device.apply(Vlan(vlan_id=10, tagged=("refused",)))
        assert router.candidate == router.committed, "a refused function leaves nothing in the candidate configuration"
        device.restore()
        assert router.committed == found
        router.candidate.append("system location somebody else's")
        with pytest.raises(DeviceError, match="changes that are not committed"):
            device.configuration()

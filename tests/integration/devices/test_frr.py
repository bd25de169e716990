"""FRR, configured by Ansible over SSH: applied, read back and taken back.

Its labels are configured and read back. They carry frames only where the kernel has MPLS; where it has none, check must say so.
"""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.devices.device import AnsibleDevice
from orchestrator.devices.runner import Ansible
from rackproof.errors import DeviceError
from rackproof.model.functions import Mpls, MplsInterface, StaticLabel
from tests.lab.soft import SoftDevice, frr
from tests.waiting import until

LONG = os.environ.get("RACKPROOF_LONG") == "1"
INTERFACES = (MplsInterface(port="p1", address="10.0.1.1/24", rsvp=False), MplsInterface(port="p2", address="10.0.2.1/24", rsvp=False))
LABELS = (
    StaticLabel(in_label=100, port="p2", next_hop="10.0.2.2", out_label=200),
    StaticLabel(in_label=101, port="p2", next_hop="10.0.2.2"),
)
ROUTER = Mpls(router_id="10.0.0.1", interfaces=INTERFACES, routes={"10.9.0.0/16": "10.0.2.2"})


@pytest.fixture(scope="module")
def router() -> Iterator[SoftDevice]:
    with frr(ports=("p1", "p2")) as router:
        yield router


@pytest.fixture(scope="module")
def ansible() -> Iterator[Ansible]:
    with Ansible() as ansible:
        yield ansible


def test_labels_and_routes_are_configured_read_back_and_taken_back(router: SoftDevice, ansible: Ansible, tmp_path: Path) -> None:
    heard: list[str] = []
    device = AnsibleDevice(router.entry, ansible, state=tmp_path / "state", heard=heard.append)
    _vtysh(router, "configure terminal", "interface p1", "ip address 10.7.1.1/24", "exit", "ip route 10.9.0.0/16 10.7.1.2")
    before = _vtysh(router, "show running-config no-header")
    labelled = Mpls(router_id=ROUTER.router_id, interfaces=INTERFACES, routes=ROUTER.routes, labels=LABELS)

    device.apply(labelled)
    # What the router was told is in force a moment later.
    route = re.compile(r"^10\.9\.0\.0/16 .*via 10\.0\.2\.2 dev p2", re.MULTILINE)
    until(lambda: bool(route.search(router.box.run("ip", "route"))), "the kernel has no such route")
    running = _vtysh(router, "show running-config no-header")
    assert {"mpls lsp 100 10.0.2.2 200", "mpls lsp 101 10.0.2.2 implicit-null"} <= set(running.splitlines())
    heard.clear()
    device.apply(labelled)
    assert any("nothing to change" in line for line in heard)

    _vtysh(router, "configure terminal", "no mpls lsp 100 10.0.2.2 200", "no ip route 10.9.0.0/16 10.0.2.2")
    until(lambda: json.loads(_vtysh(router, "show ip route static json")) == {}, "the route stays")
    until(lambda: "100" not in json.loads(_vtysh(router, "show mpls table json")), "the label stays")
    with pytest.raises(DeviceError) as found:
        device.check(labelled)
    said = str(found.value).splitlines()
    assert "  label 100: expected 200 to 10.0.2.2, found none" in said
    assert "  route 10.9.0.0/16: expected by 10.0.2.2, found none" in said
    if not Path("/proc/sys/net/mpls").exists():
        assert "  label 101: expected in the kernel's table, found only in FRR" in said

    device.restore()
    assert _vtysh(router, "show running-config no-header") == before


@pytest.mark.skipif(not LONG, reason="takes long")
def test_a_router_without_labels_is_as_asked(router: SoftDevice, ansible: Ansible, tmp_path: Path) -> None:
    device = AnsibleDevice(router.entry, ansible, state=tmp_path / "state", heard=lambda _: None)
    device.apply(ROUTER)
    device.check(ROUTER)
    bad = Mpls(router_id="10.0.0.1", interfaces=(MplsInterface(port="p1", address="10.0.1.1/99", rsvp=False),))
    with pytest.raises(DeviceError, match=r"FRR says: line \d+: % Unknown command:  ip address 10.0.1.1/99"):
        device.apply(bad)
    device.restore()


@pytest.mark.skipif(not LONG, reason="takes long")
def test_ldp_is_configured_read_back_and_taken_back(ansible: Ansible, tmp_path: Path) -> None:
    near, far = INTERFACES
    asked = replace(ROUTER, interfaces=(near, replace(far, ldp=True)))
    with frr(ports=("p1", "p2"), ldp=True) as router:
        device = AnsibleDevice(router.entry, ansible, state=tmp_path / "state", heard=lambda _: None)
        before = _vtysh(router, "show running-config no-header")
        device.apply(asked)
        device.check(asked)
        assert re.search(r"^ipv4 p2 +ACTIVE", _vtysh(router, "show mpls ldp interface"), re.MULTILINE)
        _vtysh(router, "configure terminal", "mpls ldp", "address-family ipv4", "no interface p2")
        with pytest.raises(DeviceError, match="p2: expected LDP to be active, found no LDP on it"):
            device.check(asked)
        device.restore()
        assert _vtysh(router, "show running-config no-header") == before


def _vtysh(router: SoftDevice, *commands: str) -> str:
    arguments = [word for command in commands for word in ("-c", command)]
    return router.run("vtysh", "--vty_socket", str(router.run_dir), *arguments)

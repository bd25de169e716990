"""What FRR is told for a label switching router, and what is said of one that is not as asked.

The texts are in the folder frr/; RACKPROOF_RENDER=1 writes them anew.
"""

import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.devices.platforms import objection, platforms
from rackproof.model.functions import Mpls, MplsInterface, StaticLabel
from tests.unit.playbooks.templating import rendered

TEXTS = Path(__file__).parent / "frr"
RENDER = os.environ.get("RACKPROOF_RENDER") == "1"

ROUTER = Mpls(
    router_id="10.0.0.1",
    interfaces=(MplsInterface(port="p1", address="10.0.1.1/24", rsvp=False), MplsInterface(port="p2", address="10.0.2.1/24", rsvp=False)),
    labels=(
        StaticLabel(in_label=100, port="p2", next_hop="10.0.2.2", out_label=200),
        StaticLabel(in_label=101, port="p2", next_hop="10.0.2.2"),
    ),
    routes={"10.9.0.0/16": "10.0.2.2", "10.8.0.0/16": "10.0.1.2"},
)
LDP = """mpls ldp
 router-id 10.0.0.1
 address-family ipv4
  discovery transport-address 10.0.0.1
  interface p2
  exit
 exit-address-family
exit
"""
RUNNING = [
    "frr version 8.4.4",
    "no ip forwarding",
    "ip router-id 10.0.0.9",
    "ip route 10.9.0.0/16 10.7.1.2",
    "ip route 10.99.0.0/16 10.7.1.2",
    "mpls lsp 100 10.0.2.9 300",
    "mpls lsp 1001 10.0.2.9 300",
    "! platform_labels 0",
]


@pytest.mark.parametrize("template", ["template", "target"])
def test_what_the_router_is_told(template: str) -> None:
    text = rendered("frr", f"functions/mpls/{template}.j2", ROUTER, rackproof_configuration=RUNNING)
    path = TEXTS / f"{template}.txt"
    if RENDER:
        path.write_text(text)
    assert text == path.read_text()


def test_ldp_is_told_and_read_back_where_it_is_asked_for() -> None:
    near, far = ROUTER.interfaces
    asked = replace(ROUTER, interfaces=(near, replace(far, ldp=True)))
    assert objection(platforms()["frr"], asked) == ""
    assert objection(platforms()["linux"], asked) == "Linux over SSH, mpls: it has no LDP"
    text = rendered("frr", "functions/mpls/template.j2", asked)
    assert re.findall(r"(?ms)^mpls ldp\n.*?^exit\n", text) == [LDP]
    assert "interface lo\n ip address 10.0.0.1/32\nexit\n" in text
    assert _differences([_hop(200)], [_hop(3)], router=asked, ldp={"p2: ipv4": {"state": "ACTIVE"}}) == []
    assert _differences([_hop(200)], [_hop(3)], router=asked, ldp={}) == ["p2: expected LDP to be active, found no LDP on it"]


def test_a_router_that_does_as_asked_has_no_differences() -> None:
    assert _differences([_hop(200)], [_hop(3)]) == []


@pytest.mark.parametrize(
    ("hops", "said"),
    [
        ([], "label 100: expected 200 to 10.0.2.2, found none"),
        ([{"nexthop": "10.0.2.2", "outLabel": 200}], "label 100: expected in the kernel's table, found only in FRR"),
        ([{"nexthop": "10.0.2.3", "outLabel": 200, "installed": True}], "label 100: expected 200 to 10.0.2.2, found 200 to 10.0.2.3"),
        (
            [{"nexthop": "10.0.2.2", "outLabel": 200, "installed": True, "interface": "p1"}],
            "label 100: expected to leave by p2, found p1",
        ),
    ],
)
def test_a_label_that_is_not_as_asked_is_told(hops: list[dict[str, Any]], said: str) -> None:
    assert _differences(hops, [_hop(3)]) == [said]


def test_an_interface_that_is_down_and_a_route_that_is_gone_are_told() -> None:
    found = _differences([_hop(200)], [_hop(3)], status="down", routes={"10.8.0.0/16": _route("10.0.1.2")})
    assert found == ["p1: expected up, found down", "route 10.9.0.0/16: expected by 10.0.2.2, found none"]


def test_what_the_configuration_lacks_is_told() -> None:
    assert _differences([_hop(200)], [_hop(3)], delta=["ip router-id 10.0.0.1"]) == ["to be changed: ip router-id 10.0.0.1"]


def test_rsvp_is_refused_before_anything_is_touched() -> None:
    asked = Mpls(router_id="10.0.0.1", interfaces=(MplsInterface(port="p1", address="10.0.1.1/24"),))
    assert objection(platforms()["frr"], asked) == "FRR, mpls: it has no RSVP"
    assert objection(platforms()["frr"], ROUTER) == ""


@pytest.mark.parametrize(
    "line", ["password hush", "enable password 8 hush", " neighbor 10.0.0.2 password hush", " ip ospf message-digest-key 1 md5 hush"]
)
def test_passwords_are_secrets(line: str) -> None:
    assert [match[1] for pattern in platforms()["frr"].secrets for match in re.finditer(pattern, f"hostname r1\n{line}\n")] == ["hush"]


def _hop(out: int) -> dict[str, Any]:
    return {"nexthop": "10.0.2.2", "outLabel": out, "installed": True}


def _route(next_hop: str) -> list[dict[str, Any]]:
    return [{"installed": True, "nexthops": [{"ip": next_hop}]}]


def _differences(
    first: list[dict[str, Any]],
    second: list[dict[str, Any]],
    *,
    status: str = "up",
    routes: dict[str, Any] | None = None,
    delta: list[str] | None = None,
    router: Mpls = ROUTER,
    ldp: dict[str, Any] | None = None,
) -> list[str]:
    """What check says of a router with these hops of labels 100 and 101."""
    interfaces = {"p1": {"status": status, "addresses": ["10.0.1.1/24"]}, "p2": {"status": "up", "addresses": ["10.0.2.1/24"]}}
    labels = {"100": {"nexthops": first}, "101": {"nexthops": second}}
    if routes is None:
        routes = {"10.8.0.0/16": _route("10.0.1.2"), "10.9.0.0/16": _route("10.0.2.2")}
    shown = "\n----\n".join(json.dumps(part) for part in (interfaces, labels, routes, *([] if ldp is None else [ldp])))
    text = rendered("frr", "functions/mpls/differences.j2", router, rackproof_delta=delta or [], rackproof_shown={"stdout": shown})
    return [] if text == "None" else text.splitlines()

"""Does a testbed know which kinds of plan it can run, and what it lacks for the others?"""

from typing import Any

from rackproof.inventory import parse_inventory
from rackproof.model.inventory import Inventory
from testplans.needs import Fit, fits
from testplans.registry import kinds
from tests.inventories import LAB


def fit(kind: str, **changes: Any) -> Fit:
    inventory = parse_inventory(LAB.encode(), "lab1")[1]
    changed = Inventory.model_validate({**inventory.model_dump(mode="json"), **changes})
    return {each.kind: each for each in fits(changed)}[kind]


def test_every_kind_is_judged() -> None:
    inventory = parse_inventory(LAB.encode(), "lab1")[1]
    assert [each.kind for each in fits(inventory)] == sorted(kinds())


def test_a_cabled_device_with_roles_can_be_tested() -> None:
    found = fit("switch-qos")
    assert (found.devices, found.missing) == (("switch-1",), ())


def test_missing_roles_are_named_by_the_ports_of_the_plan() -> None:
    assert fit("switch-qos", roles={}).missing == ("roles.switch-qos: which port of switch-1 is which port of the plan",)
    (missing,) = fit("switch-qos", roles={"switch-qos": {"switch-1": {"p*": "enp1s0f0"}}}).missing
    assert missing == "roles.switch-qos.switch-1: a port for out"


def test_missing_cables_are_named_by_port() -> None:
    (missing,) = fit("switch-qos", links=[{"a": "trex-1:0", "b": "switch-1:enp1s0f0", "speed_mbps": 1000}]).missing
    assert missing == "cables from switch-1 to a generator at enp1s0f1 (out)"


def test_without_a_generator_or_a_device_it_says_so() -> None:
    missing = fit("switch-qos", generators=[], links=[]).missing
    assert missing[0] == "a generator"
    assert missing[1].startswith("cables from switch-1 to a generator at enp1s0f0 (p0)")
    assert fit("switch-qos", devices=[], links=[], roles={}).missing == ("a device",)


def test_a_path_needs_two_hosts() -> None:
    hosts = [
        {"name": f"host-{number}", "address": f"192.0.2.{number}", "test_port": "eth1", "test_address": f"10.0.0.{number}/24"}
        for number in (1, 2)
    ]
    assert fit("congestion-control").missing == ("two hosts, the ends of a path; it has none",)
    assert fit("congestion-control", hosts=hosts[:1]).missing == ("two hosts, the ends of a path; it has 1",)
    assert fit("congestion-control", hosts=hosts).missing == ()

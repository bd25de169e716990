"""Is a chain of switches found in an inventory, for the ready plan of the kind xpfe-delay; and what of a bench's links is left out?"""

from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from orchestrator.devices.platforms import objection, platforms
from orchestrator.lab.translating import translated
from orchestrator.lab.wiring import wire
from rackproof.model.inventory import Inventory
from rackproof.model.topology import GENERATOR, Setup, Wire
from rackproof.model.xcf import ForwardingElement
from testplans.needs import fits
from testplans.submission import submission_at

PLAN = Path(__file__).parents[3] / "testplans/xpfe_delay/hardware.yaml"
SWITCHES = [f"switch-{number}" for number in range(1, 5)]
#: The port of the generator at the other end of each switch's own.
TX, RX = "0", {"switch-2": "1", "switch-3": "2", "switch-4": "3"}


def inventory(**changes: Any) -> Inventory:
    """Four switches in a row; every one but the first has a cable back to the generator, so that chains of 2, 3 and 4 end there."""
    links = [{"a": f"trex:{TX}", "b": "switch-1:1", "speed_mbps": 1000}]
    links += [{"a": f"{name}:2", "b": f"trex:{port}", "speed_mbps": 1000} for name, port in RX.items()]
    links += [{"a": f"{a}:4", "b": f"{b}:3", "speed_mbps": 1000} for a, b in pairwise(SWITCHES)]
    first, last = {"uni": "1", "east": "4"}, {"out": "2", "west": "3"}
    roles = {"switch-1": first, "switch-2": {**last, "east": "4"}, "switch-3": {**last, "east": "4"}, "switch-4": last}
    return Inventory.model_validate(
        {
            "name": "lab1",
            "devices": [{"name": name, "platform": "openflow", "address": f"192.0.2.{number}"} for number, name in enumerate(SWITCHES, 1)],
            "generators": [{"name": "trex", "kind": "trex", "address": "192.0.2.9", "ports": ["0", "1", "2", "3"]}],
            "links": links,
            "roles": {"xpfe-delay": roles},
            **changes,
        }
    )


@cache
def setups() -> dict[int, Setup]:
    """The setup of the ready plan by number of hops."""
    ready = submission_at(PLAN)
    return {int(trial.point["hops"]): ready.kind.setup(ready.plan, trial) for trial in ready.trials}


@pytest.mark.parametrize("hops", [2, 3, 4])
def test_a_chain_is_found_and_its_tables_fit(hops: int) -> None:
    setup = setups()[hops]
    wiring = wire(setup.topology, inventory())
    assert wiring.objections == ()
    names = list(setup.functions)
    assert [wiring.devices[name].name for name in names] == SWITCHES[:hops]
    assert wiring.generator_ports == {"tx": TX, "rx": RX[SWITCHES[hops - 1]]}
    assert wiring.device_ports[names[0]] == {"uni": "1", "east": "4"}
    assert wiring.device_ports[names[-1]] == {"out": "2", "west": "3"}
    for name in names:
        for function in setup.functions[name]:
            own = translated(function, wiring.device_ports[name])
            assert objection(platforms()["openflow"], own) == ""
            assert isinstance(own, ForwardingElement)
            assert set(own.uni) | set(own.nni) == set(wiring.device_ports[name].values())
            used = {at.port for service in own.services for at in service.attachments} | {
                port for route in own.routes for port in route.ports
            }
            assert used <= set(own.uni) | set(own.nni)


def test_what_a_bench_emulates_is_left_to_the_cable_except_a_planted_delay() -> None:
    topology = setups()[3].topology
    between = [link for link in topology.links if GENERATOR not in (link.a.node, link.b.node)]
    assert all(link.wire is not None and link.wire.delay_us == 0 for link in between)
    planted = replace(between[1], wire=Wire(rate_bps=1e9, delay_us=10))
    changed = replace(topology, links=tuple(planted if link is between[1] else link for link in topology.links))
    (found,) = wire(changed, inventory()).objections
    assert "10 us cannot be planted behind it, only on the bench" in found
    assert "switches-2:east to switches-3:west is a cable" in found


def test_a_cable_between_switches_that_is_missing_is_said() -> None:
    whole = inventory().model_dump(mode="json")
    links = [link for link in whole["links"] if link["a"] != "switch-2:4"]
    assert wire(setups()[2].topology, inventory(links=links)).objections == ()
    (found,) = wire(setups()[3].topology, inventory(links=links)).objections
    assert "there is no cable between switch-2:4 and switch-3:3" in found


def test_an_inventory_knows_that_it_can_run_a_chain() -> None:
    def fit(**changes: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
        found = next(each for each in fits(inventory(**changes)) if each.kind == "xpfe-delay")
        return found.devices, found.missing

    assert fit() == (tuple(SWITCHES), ())
    roles = inventory().model_dump(mode="json")["roles"]["xpfe-delay"]
    one = {"xpfe-delay": {"switch-1": roles["switch-1"]}}
    assert fit(roles=one)[1] == ("roles.xpfe-delay.switch-1: a port for out",)
    lost = {"xpfe-delay": {**roles, "switch-1": {"east": "4"}}}
    assert fit(roles=lost)[1] == ("roles.xpfe-delay.switch-1: a port for uni",)

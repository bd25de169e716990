"""What Junos, EOS, NX-OS and IOS are told, against texts on file; and what they are not asked to do, said before anything starts.

The texts are in the folder rendered/; RACKPROOF_RENDER=1 writes them anew.
"""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.devices.platforms import objection, playbooks_folder, read
from rackproof.model.functions import (
    DeviceFunction,
    Discipline,
    HostTuning,
    Mpls,
    MplsInterface,
    OpenFlowPipeline,
    QosScheduler,
    StaticLabel,
    Vlan,
)
from tests.unit.playbooks.templating import rendered

RENDERED = Path(__file__).parent / "rendered"
RENDER = os.environ.get("RACKPROOF_RENDER") == "1"
PLATFORMS = ("eos", "ios", "junos", "nxos")
#: Names of three ports, as the platform writes them.
PORTS = {
    "eos": ("Ethernet1", "Ethernet2", "Ethernet3"),
    "ios": ("GigabitEthernet1/0/1", "GigabitEthernet1/0/2", "GigabitEthernet1/0/3"),
    "junos": ("ge-0/0/1", "ge-0/0/2", "ge-0/0/3"),
    "nxos": ("Ethernet1/1", "Ethernet1/2", "Ethernet1/3"),
}
#: What is there before, where it matters.
RUNNING = {
    "ios": "interface GigabitEthernet1/0/3\n service-policy output OTHER\n!\n",
    "nxos": (
        "interface Ethernet1/1\n\ninterface Ethernet1/2\n  switchport mode trunk\n  service-policy type qos input OTHER\n\n"
        "interface Ethernet1/2.5\n\ninterface Ethernet1/3\n  switchport mode trunk\n  service-policy type queuing output OTHER\n"
    ),
}


def functions(platform: str) -> dict[str, DeviceFunction]:
    """Every function of the four platforms, in the shapes that differ."""
    first, second, third = PORTS[platform]
    base = 1_000_000 if platform == "junos" else 100
    robin = QosScheduler(
        discipline=Discipline.WRR_BYTES,
        port=third,
        link_rate_bps=1_000_000_000,
        priority_map=(0, 0, 1, 1, 2, 2, 3, 3),
        queue_frames=100,
        weights=(0.1, 0.2, 0.3, 0.4),
    )
    return {
        "round-robin": robin,
        "strict": replace(robin, discipline=Discipline.STRICT_PRIORITY, priority_map=(0, 0, 0, 1, 1, 1, 2, 2), weights=()),
        "vlan": Vlan(vlan_id=10, tagged=(first, second), untagged=(third,)),
        "mpls": Mpls(
            router_id="10.255.0.1",
            interfaces=(MplsInterface(port=first, address="10.0.1.1/24"), MplsInterface(port=second, address="10.0.2.1/30", rsvp=False)),
            labels=(
                StaticLabel(in_label=base, port=second, next_hop="10.0.2.2", out_label=200),
                StaticLabel(in_label=base + 1, port=second, next_hop="10.0.2.2"),
            ),
            routes={"10.9.0.0/16": "10.0.1.2"},
        ),
    }


def scheduler(**changes: object) -> QosScheduler:
    """The round robin of NX-OS with changes."""
    base = functions("nxos")["round-robin"]
    assert isinstance(base, QosScheduler)
    return replace(base, **changes)  # type: ignore[arg-type]


def told(platform: str, function: DeviceFunction, options: Mapping[str, str] | None = None) -> str:
    """What the device is told."""
    name = "qos-scheduler" if isinstance(function, QosScheduler) else type(function).__name__.lower()
    running = RUNNING.get(platform, "")
    return rendered(platform, f"functions/{name}/template.j2", function, rackproof_running=running, rackproof_options=dict(options or {}))


FIVE_STRICT = scheduler(discipline=Discipline.STRICT_PRIORITY, weights=(), priority_map=(0, 0, 1, 1, 2, 2, 3, 4))
CASES = [(platform, name) for platform in PLATFORMS for name in functions(platform) if (platform, name) != ("nxos", "mpls")]


@pytest.mark.parametrize(("platform", "name"), CASES)
def test_a_function_is_written_as_on_file(platform: str, name: str) -> None:
    function = functions(platform)[name]
    assert objection(read(playbooks_folder() / platform), function) == ""
    text, path = told(platform, function), RENDERED / platform / f"{name}.txt"
    if RENDER:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def test_every_text_on_file_is_compared() -> None:
    assert {(path.parent.name, path.stem) for path in RENDERED.glob("*/*.txt") if path.parent.name in PLATFORMS} == set(CASES)


def test_nxos_sorts_frames_on_the_ports_that_an_option_names() -> None:
    text = told("nxos", scheduler(), {"ingress_ports": "Ethernet1/7, Ethernet1/8"})
    assert [line for line in text.splitlines() if line.startswith("interface")] == [f"interface Ethernet1/{number}" for number in (3, 7, 8)]


def test_ios_has_no_class_for_a_queue_without_priorities() -> None:
    text = told("ios", scheduler(priority_map=(0, 0, 0, 0, 2, 2, 2, 2), weights=(0.2, 0.3, 0.5)))
    assert "class-map match-any RACKPROOF-COS-4-5-6-7" in text
    assert text.count("bandwidth remaining ratio") == 2


@pytest.mark.parametrize(
    ("platform", "function", "why"),
    [
        ("ios", FIVE_STRICT, "strict priority over at most 3 queues; 5 are"),
        ("nxos", FIVE_STRICT, "strict priority over at most 4 queues; 5 are"),
        ("eos", scheduler(discipline=Discipline.WRR_PACKETS), "it has no wrr-packets"),
        ("junos", scheduler(weights=(0.125, 0.125, 0.25, 0.5)), "the weight of queue 0 .* 12.5 is not a multiple of 1"),
        ("nxos", scheduler(weights=(0.005, 0.195, 0.3, 0.5)), "the weight of queue 0 .* 0.5 is below 1"),
        ("nxos", functions("nxos")["mpls"], "Cisco NX-OS cannot do mpls"),
        ("junos", functions("eos")["mpls"], "the incoming label 100 is below 1000000"),
        ("eos", functions("junos")["mpls"], "the incoming label 1000000 is above 99999"),
        ("ios", Vlan(vlan_id=1), "VLAN 1 is below 2"),
        ("eos", OpenFlowPipeline(ports=(), flows=()), "Arista EOS cannot do openflow-pipeline"),
        ("junos", HostTuning(), "Juniper Junos cannot do host-tuning"),
    ],
)
def test_what_a_platform_cannot_do_is_refused_in_words(platform: str, function: DeviceFunction, why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        assert not objection(read(playbooks_folder() / platform), function)


def test_five_queues_on_a_switch_with_four() -> None:
    four = read(playbooks_folder() / "nxos")
    limits = four.functions["qos-scheduler"].model_copy(update={"queues_max": 4})
    four = four.model_copy(update={"functions": {"qos-scheduler": limits}})
    five = scheduler(priority_map=(0, 1, 2, 3, 4, 4, 4, 4), weights=(0.2,) * 5)
    assert objection(four, five) == "Cisco NX-OS, qos-scheduler: it has 1 to 4 queues; 5 are asked for"

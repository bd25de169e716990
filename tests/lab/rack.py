"""A rack for tests: a Linux switch that is managed over SSH, the native generator cabled to it and to itself, and the inventory of both."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from orchestrator.bench import links
from tests.lab.cables import until_running
from tests.lab.sshd import LinuxBox, linux_box

#: What veth says of its speed [Mbit/s].
SPEED_MBPS = 10_000
SWITCH = "switch-1"

INVENTORY = """
name: {name}
description: A Linux switch and the engine beside it, cabled by veth.
devices:
  - name: {switch}
    platform: linux
    address: {box.address}
    port: {box.port}
    known_host: {box.known_host}
    credentials: {{user: root, private_key: "file:{box.private_key}", become: "env:LAB_BECOME"}}
generators:
  - name: engine
    kind: native
    ports: [eth1, eth2, cal0, cal1]
    options: {{namespace: {namespace}}}
links:
  - {{a: "engine:eth1", b: "{switch}:eth1", speed_mbps: {speed}, media: virtual}}
  - {{a: "engine:eth2", b: "{switch}:eth2", speed_mbps: {speed}, media: virtual}}
  - {{a: "engine:cal0", b: "engine:cal1", speed_mbps: {speed}, media: virtual}}
roles:
  switch-qos:
    {switch}: {{"p*": eth1, out: eth2}}
"""

PLAN = """
kind: switch-qos
name: {name}
testbed: bench
devices: [switch-1]
disciplines: [{disciplines}]
queues: {{length_frames: 20}}
traffic: {{senders: 8, frame_bytes: 512, arrivals: poisson}}
link: {{rate_mbps: 20, layer: L1}}
load: {{per_sender_mbps: [{loads}]}}
trial: {{duration_s: {duration_s}, warmup_s: 0.1, batches: 10}}
# What these tests are about is the way through a lab; trials this short beside other work say little of a switch.
criteria:
  fairness_spread_max: null
  loss_below_saturation_max: null
  sp_leak_share_max: 0.6
  sp_top_share_min: 0.4
  wrr_share_deviation_max: 0.4
  waste_share_max: 0.6
  throughput_deviation_max: 0.6
validity: {{lateness_p99_us_max: 200000, stalled_share_max: 0.9}}
"""


@dataclass(frozen=True, kw_only=True)
class Rack:
    """box: the switch; inventory: of a testbed of that name, as YAML."""

    name: str
    box: LinuxBox

    @property
    def inventory(self) -> str:
        namespace = f"/proc/{os.getpid()}/fd/{self.box.far.fd}"
        return INVENTORY.format(name=self.name, switch=self.box.name, box=self.box, namespace=namespace, speed=SPEED_MBPS)

    def scheduler(self) -> str:
        """What schedules the egress port, past SSH and past Rackproof."""
        return self.box.run("tc", "qdisc", "show", "dev", "eth2")


@contextmanager
def rack(name: str = "lab1") -> Iterator[Rack]:
    """A rack that stands; skips the test where there can be none."""
    with linux_box(SWITCH, ports=("eth1", "eth2")) as box:
        links.cable(box.far, "cal0", box.far, "cal1")
        until_running(box.far, "eth1", "eth2", "cal0", "cal1")
        yield Rack(name=name, box=box)


def plan(*, name: str = "short", disciplines: str = "strict-priority", loads: str = "2, 12", duration_s: float = 0.3) -> str:
    """A plan of (disciplines x loads) short trials."""
    return PLAN.format(name=name, disciplines=disciplines, loads=loads, duration_s=duration_s)

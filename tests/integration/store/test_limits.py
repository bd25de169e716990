"""Does what a worker found a testbed to carry come back from the database as it was?"""

import math

from orchestrator.service.probing import plain
from rackproof.ports import Limits
from rackproof.store import Store

LIMITS = Limits(
    send_fps=5e5,
    receive_fps=4e5,
    link_rate_bps_max={"reference": 1e10, "unbounded": math.inf},
    device_models={"reference": "", "linux-htb": "the kernel has no HTB"},
    options={"reference": frozenset({"leak", "waste"}), "linux-htb": frozenset()},
)


def test_limits_come_back_as_they_were(store: Store) -> None:
    store.testbeds.announce("bench", "bench", ["host:this"])
    assert store.testbeds.get("bench").carries is None
    store.testbeds.announce("bench", "bench", ["host:this"], limits=plain(LIMITS))
    assert store.testbeds.get("bench").carries == LIMITS


def test_what_a_worker_of_another_version_said_is_not_understood(store: Store) -> None:
    store.testbeds.announce("bench", "bench", ["host:this"], limits={"links": 4})
    found = store.testbeds.get("bench")
    assert (found.limits, found.carries) == ({"links": 4}, None)

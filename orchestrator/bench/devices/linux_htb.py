"""linux-htb: the kernel's bridge with a hierarchical token bucket on the egress port; works on any kernel.

Strict priority: one leaf class per queue with almost no rate of its own, which borrows from the link in the order of HTB's priorities.
Weighted round robin: leaves of one priority, whose quanta have the ratio of the weights.
"""

from functools import partial

from orchestrator.bench import tc
from orchestrator.bench.devices import kernel_switch
from orchestrator.bench.devices.kernel_switch import LEAF_MAJOR, WIRE_OVERHEAD_BYTES, KernelSwitch
from orchestrator.bench.namespaces import Namespace
from rackproof.model.functions import Discipline, QosScheduler

MODEL = "linux-htb"
OPTIONS: frozenset[str] = frozenset()
#: At 1 Gbit/s on two cores the sender is caught in the kernel's dequeue; measured.
LINK_RATE_BPS_MAX = 200e6

#: The rate that a leaf has of its own, below which HTB refuses a class: what leaks to lower priorities by construction.
LEAF_RATE_BPS = 8_000
BURST_BYTES = 4_000


def configure(namespace: Namespace, scheduler: QosScheduler) -> None:
    """Add qdisc, classes, queues and classifier to the scheduler's port."""
    port, link_bps = scheduler.port, scheduler.link_rate_bps
    leaf_class = partial(tc.htb_class, rate_bps=LEAF_RATE_BPS, ceil_bps=link_bps, burst_bytes=BURST_BYTES)
    root = tc.handle(1)
    trunk = tc.handle(1, 1)
    tc.add_qdisc(namespace, port, "htb", parent=tc.ROOT, number=root, options=tc.htb_root(), overhead_bytes=WIRE_OVERHEAD_BYTES)
    tc.add_class(
        namespace,
        port,
        "htb",
        parent=root,
        number=trunk,
        options=tc.htb_class(rate_bps=link_bps, ceil_bps=link_bps, burst_bytes=BURST_BYTES),
    )
    for queue in range(scheduler.queues):
        if scheduler.discipline is Discipline.STRICT_PRIORITY:
            options = leaf_class(prio=scheduler.queues - 1 - queue, quantum_bytes=scheduler.quantum_bytes)
        else:
            share = scheduler.weights[queue] / min(scheduler.weights)
            options = leaf_class(prio=0, quantum_bytes=round(scheduler.quantum_bytes * share))
        leaf = tc.handle(1, LEAF_MAJOR + queue)
        tc.add_class(namespace, port, "htb", parent=trunk, number=leaf, options=options)
        tc.add_qdisc(namespace, port, "pfifo", parent=leaf, number=tc.handle(LEAF_MAJOR + queue), options=tc.pfifo(scheduler.queue_frames))
    tc.add_filter(
        namespace,
        port,
        "bpf",
        parent=root,
        priority=1,
        protocol=tc.ETH_P_ALL,
        options=tc.bpf_by_vlan_priority([tc.handle(1, LEAF_MAJOR + queue) for queue in scheduler.priority_map]),
    )


objection = partial(kernel_switch.objection, MODEL)
probe = partial(kernel_switch.probe, configure)
Model = partial(KernelSwitch, configure=configure, model=MODEL)

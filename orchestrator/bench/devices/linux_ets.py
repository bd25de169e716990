"""linux-ets: the kernel's bridge with a token bucket, enhanced transmission selection and flower; where the kernel has them."""

from functools import partial

from orchestrator.bench import tc
from orchestrator.bench.devices import kernel_switch
from orchestrator.bench.devices.kernel_switch import LEAF_MAJOR, WIRE_OVERHEAD_BYTES, KernelSwitch
from orchestrator.bench.namespaces import Namespace
from rackproof.model.functions import Discipline, QosScheduler

MODEL = "linux-ets"
OPTIONS: frozenset[str] = frozenset()
LINK_RATE_BPS_MAX = 200e6

BURST_BYTES = 4_000
FRAME_BYTES_MAX = 1_600


def configure(namespace: Namespace, scheduler: QosScheduler) -> None:
    """Add qdiscs, bands and classifiers to the scheduler's port; ETS serves band 0 first, so band b is queue (queues - 1 - b)."""
    port, queues = scheduler.port, scheduler.queues
    limit = queues * scheduler.queue_frames * (FRAME_BYTES_MAX + WIRE_OVERHEAD_BYTES)
    tc.add_qdisc(
        namespace,
        port,
        "tbf",
        parent=tc.ROOT,
        number=tc.handle(2),
        options=tc.tbf(rate_bps=scheduler.link_rate_bps, burst_bytes=BURST_BYTES, limit_bytes=limit),
        overhead_bytes=WIRE_OVERHEAD_BYTES,
    )
    if scheduler.discipline is Discipline.STRICT_PRIORITY:
        bands = tc.ets(bands=queues, strict=queues, quanta=[])
    else:
        least = min(scheduler.weights)
        quanta = [round(scheduler.quantum_bytes * weight / least) for weight in reversed(scheduler.weights)]
        bands = tc.ets(bands=queues, strict=0, quanta=quanta)
    tc.add_qdisc(namespace, port, "ets", parent=tc.handle(2, 1), number=tc.handle(1), options=bands)
    for queue in range(queues):
        tc.add_qdisc(
            namespace,
            port,
            "pfifo",
            parent=tc.handle(1, queues - queue),
            number=tc.handle(LEAF_MAJOR + queue),
            options=tc.pfifo(scheduler.queue_frames),
        )
    for priority, queue in enumerate(scheduler.priority_map):
        tc.add_filter(
            namespace,
            port,
            "flower",
            parent=tc.handle(1),
            priority=priority + 1,
            protocol=tc.ETH_P_8021Q,
            options=tc.flower_vlan_priority(priority, tc.handle(1, queues - queue)),
        )


objection = partial(kernel_switch.objection, MODEL)
probe = partial(kernel_switch.probe, configure)
Model = partial(KernelSwitch, configure=configure, model=MODEL)

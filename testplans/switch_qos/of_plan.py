"""What the ideal switch does under a plan: the pure model with the plan's senders, queues and layer put in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rackproof.model.functions import Discipline
from rackproof.units import Layer, wire_bits
from testplans.switch_qos import ideal
from testplans.switch_qos.ideal import Demand
from testplans.switch_qos.plan import Scheduler, SwitchQosPlan

#: A queue counts as saturated where it must lose more than this share of its frames: below, chance decides.
SATURATED_SHARE = 0.02
#: At most this share of the link offered: no loss is expected of any arrivals that queues are made for.
UNSATURATED_SHARE = 0.95
#: From this share of the link offered on, the link must be full all the time.
FULL_SHARE = 1.05
#: So near to a saturation point bursts of real arrivals decide what the fluid model takes as given.
NEAR_SHARE = 0.03


@dataclass(frozen=True, kw_only=True, slots=True)
class IdealPoint:
    """The ideal switch at one load. Rates [Mbit/s] are at the plan's layer; queues and flows without traffic are absent.

    queue_offered_mbps, queue_mbps: offered to and got by a queue; flow_mbps: got by a sender's flow, in proportion to what it offers;
    link_share: layer-1 load offered over the link's rate; capacity_mbps: what the link carries of this mix when it is full.
    """

    queue_offered_mbps: Mapping[int, float]
    queue_mbps: Mapping[int, float]
    flow_mbps: Mapping[int, float]
    link_share: float
    capacity_mbps: float

    @property
    def total_mbps(self) -> float:
        """Throughput of the port."""
        return sum(self.queue_mbps.values())

    @property
    def saturated(self) -> tuple[int, ...]:
        """Queues that lose frames, ascending."""
        offered = self.queue_offered_mbps
        return tuple(queue for queue, rate in self.queue_mbps.items() if rate < offered[queue] * (1 - SATURATED_SHARE))

    @property
    def starved(self) -> tuple[int, ...]:
        """Queues that get nothing, ascending."""
        return tuple(queue for queue, rate in self.queue_mbps.items() if rate <= self.capacity_mbps * 1e-9)


def point(plan: SwitchQosPlan, scheduler: Scheduler, load_mbps: float) -> IdealPoint:
    """The ideal at a load per sender."""
    return served(
        plan, scheduler, [Demand(rate_fps=plan.sender_fps(s, load_mbps), frame_bytes=plan.mean_frame_bytes(s)) for s in senders(plan)]
    )


def senders(plan: SwitchQosPlan) -> range:
    """Numbers of the senders."""
    return range(plan.traffic.senders)


def served(plan: SwitchQosPlan, scheduler: Scheduler, flows: Sequence[Demand]) -> IdealPoint:
    """The ideal for given flows, one a sender (what was really offered, for instance)."""
    queues = _by_queue(plan, flows)
    wire = ideal.served_bps(queues, plan.link.rate_bps, scheduler.discipline, scheduler.weights)
    used = plan.used_queues
    layer = plan.link.layer
    offered = {queue: queues[queue].rate_fps * wire_bits(queues[queue].frame_bytes, layer) / 1e6 for queue in used}
    got = {queue: wire[queue] * _layer_share(queues[queue], layer) / 1e6 for queue in used}
    fraction = {queue: got[queue] / offered[queue] if offered[queue] else 0.0 for queue in used}
    flow = {
        sender: demand.rate_fps * wire_bits(demand.frame_bytes, layer) / 1e6 * fraction[plan.queue_of(sender)]
        for sender, demand in enumerate(flows)
    }
    wire_total = sum(wire)
    return IdealPoint(
        queue_offered_mbps=offered,
        queue_mbps=got,
        flow_mbps=flow,
        link_share=sum(queue.wire_bps for queue in queues) / plan.link.rate_bps,
        capacity_mbps=sum(got.values()) / wire_total * plan.link.rate_bps if wire_total else plan.link.rate_mbps,
    )


def saturation_points(plan: SwitchQosPlan, scheduler: Scheduler) -> dict[str, float]:
    """The paper's points A to D, or E and F, as loads per sender [Mbit/s at the plan's layer]."""
    flows = [Demand(rate_fps=plan.sender_fps(sender, 1.0), frame_bytes=plan.mean_frame_bytes(sender)) for sender in senders(plan)]
    return ideal.saturation_factors(_by_queue(plan, flows), plan.link.rate_bps, scheduler.discipline, scheduler.weights)


def expected_shares(plan: SwitchQosPlan, scheduler: Scheduler) -> dict[int, float]:
    """Share of the port's throughput at the plan's layer that each used queue gets from a round robin while all are backlogged."""
    flows = [Demand(rate_fps=plan.sender_fps(sender, 1.0), frame_bytes=plan.mean_frame_bytes(sender)) for sender in senders(plan)]
    queues = _by_queue(plan, flows)
    wire = ideal.wire_weights(queues, scheduler.weights, scheduler.discipline)
    at_layer = {queue: wire[queue] * _layer_share(queues[queue], plan.link.layer) for queue in plan.used_queues}
    return {queue: value / sum(at_layer.values()) for queue, value in at_layer.items()}


def delays_us(plan: SwitchQosPlan, load_mbps: float) -> dict[int, float]:
    """Mean delay [us] of each used queue under strict priority and Poisson arrivals; inf where the queue is not stable."""
    flows = [Demand(rate_fps=plan.sender_fps(sender, load_mbps), frame_bytes=plan.mean_frame_bytes(sender)) for sender in senders(plan)]
    sizes: list[dict[int, float]] = [{} for _ in range(plan.queues.count)]
    for sender, flow in enumerate(flows):
        mine = sizes[plan.queue_of(sender)]
        parts = plan.traffic.frame_sizes(plan.traffic.sender_priorities[sender])
        total = sum(part.weight for part in parts)
        for part in parts:
            mine[part.frame_bytes] = mine.get(part.frame_bytes, 0.0) + flow.rate_fps * part.weight / total
    delays = ideal.priority_delays_s(_by_queue(plan, flows), sizes, plan.link.rate_bps)
    return {queue: delays[queue] * 1e6 for queue in plan.used_queues}


def has_delay_ratios(scheduler: Scheduler) -> bool:
    """Whether the paper expects delay ratios of the discipline."""
    return scheduler.discipline is not Discipline.STRICT_PRIORITY


def _by_queue(plan: SwitchQosPlan, flows: Sequence[Demand]) -> list[Demand]:
    return [ideal.merged([flows[sender] for sender in plan.senders_of(queue)]) for queue in range(plan.queues.count)]


def _layer_share(demand: Demand, layer: Layer) -> float:
    return wire_bits(demand.frame_bytes, layer) / wire_bits(demand.frame_bytes, Layer.L1)


def nearby(points: Mapping[str, float], load_mbps: float) -> str:
    """The saturation point that a load is so near to that the fluid model is no measure, "" for none."""
    return next((name for name, at in points.items() if abs(load_mbps / at - 1) < NEAR_SHARE), "")

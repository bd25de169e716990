"""What does each criterion look at? For each, the loads where it means something, and the numbers that it compares to its limit."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from rackproof.model.campaign import TrialRecord
from rackproof.model.functions import Discipline
from rackproof.model.measurement import Interval
from testplans.switch_qos import of_plan
from testplans.switch_qos.evidence import Cell, Evidence, Number, measured
from testplans.switch_qos.parts import Scheduler

#: Congestion is enough to judge fairness where the ideal switch drops at least this share of a queue's frames ...
CONGESTED_SHARE = 0.05
#: ... and gives the queue at least this share of the link: a starved queue has nothing to share out.
SERVED_SHARE = 0.01
#: The limit must be so many times the half-width, or the measurement is too coarse to judge by (cf. the capability index of JCGM 106:2012).
RESOLUTION = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """One number that could decide a criterion.

    text: what it is, in words; where: at which loads; short: what tells it from the other candidates. load_mbps, queue: where, if at one.
    resolved: its interval is narrow enough to say anything.
    """

    number: Number
    text: str
    where: str
    short: str
    load_mbps: float | None = None
    queue: int | None = None
    resolved: bool = True


def _at(cell: Cell, number: Number, text: str, queue: int | None = None) -> Candidate:
    where = f"{cell.load_mbps:g} Mbit/s"
    return Candidate(number=number, text=text, where=f"at {where} per sender", short=where, load_mbps=cell.load_mbps, queue=queue)


Relevant = Callable[[Evidence, Cell], bool]
Candidates = Callable[[Evidence, Sequence[Cell], float], Iterator[Candidate]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Criterion:
    """How a criterion is judged: the disciplines and loads that it is for, the numbers, and on which side of the limit they must lie."""

    title: str
    unit: str
    at_most: bool
    applies: Callable[[Scheduler], bool]
    relevant: Relevant
    candidates: Candidates


def _strict(scheduler: Scheduler) -> bool:
    return scheduler.discipline is Discipline.STRICT_PRIORITY


def _round_robin(scheduler: Scheduler) -> bool:
    return not _strict(scheduler)


def _any(_scheduler: Scheduler) -> bool:
    return True


def _always(_evidence: Evidence, _cell: Cell) -> bool:
    return True


def _starving(_evidence: Evidence, cell: Cell) -> bool:
    return bool(cell.ideal.starved) and not cell.near


def _leak(_evidence: Evidence, cells: Sequence[Cell], _limit: float) -> Iterator[Candidate]:
    for cell in cells:
        starved = cell.ideal.starved
        number = cell.derived(partial(_together, starved))
        if number is not None:
            names = ", ".join(f"q{queue}" for queue in starved)
            yield _at(cell, number, f"the share of {names} in the throughput, which strict priority starves,")


def _together(queues: Sequence[int], record: TrialRecord) -> tuple[float, Interval | None, int] | None:
    """Share of several queues in the throughput."""
    found = [m for queue in queues if (m := measured(record, "throughput_ratio", queue=str(queue))) is not None]
    if len(found) < len(queues):
        return None
    value, frames = math.fsum(m.value for m in found), sum(m.n for m in found)
    intervals = [m.interval for m in found if m.interval is not None]
    if len(intervals) < len(found):
        return value, None, frames
    # Leaks may rise and fall together: half-widths add up.
    low, high = math.fsum(i.low for i in intervals), math.fsum(i.high for i in intervals)
    return value, Interval(low=low, high=high, method=intervals[0].method), frames


def _sharp(_evidence: Evidence, cell: Cell) -> bool:
    return not cell.near


def _top_share(evidence: Evidence, cells: Sequence[Cell], _limit: float) -> Iterator[Candidate]:
    """What the highest queue got of its due: of its offer below its saturation (from the loss, which is exact), of the link beyond."""
    top = evidence.plan.used_queues[-1]
    for cell in cells:
        if top in cell.ideal.saturated:
            number, text = cell.derived(partial(_due_share, top)), f"the throughput of q{top}, the highest queue, by the ideal"
        else:
            number, text = (
                cell.derived(partial(_delivered_share, top)),
                f"the share of the frames of q{top}, the highest queue, that arrived",
            )
        if number is not None:
            yield _at(cell, number, text, queue=top)


def _due_share(queue: int, record: TrialRecord) -> tuple[float, Interval | None, int] | None:
    got, off = measured(record, "throughput", queue=str(queue)), measured(record, "deviation.throughput", queue=str(queue))
    if got is None or off is None or off.interval is None or got.value <= off.value:
        return None
    due = got.value - off.value
    interval = Interval(low=1 + off.interval.low / due, high=1 + off.interval.high / due, method=off.interval.method)
    return got.value / due, interval, got.n


def _delivered_share(queue: int, record: TrialRecord) -> tuple[float, Interval | None, int] | None:
    loss = measured(record, "frame_loss_rate", queue=str(queue))
    if loss is None:
        return None
    interval = loss.interval
    if interval is not None:
        interval = Interval(low=1 - interval.high, high=1 - interval.low, method=interval.method)
    return 1 - loss.value, interval, loss.n


def _guaranteed(evidence: Evidence, cell: Cell) -> bool:
    """All queues are backlogged: beyond F."""
    points = of_plan.saturation_points(evidence.plan, evidence.scheduler)
    return cell.load_mbps > points["F"] and not cell.near


def _shares(evidence: Evidence, cells: Sequence[Cell], _limit: float) -> Iterator[Candidate]:
    expected = of_plan.expected_shares(evidence.plan, evidence.scheduler)
    for cell in cells:
        for queue, share in expected.items():
            found = cell.number("throughput_ratio", queue=str(queue))
            if found is None:
                continue
            interval = found.interval
            if interval is not None:
                interval = Interval(low=interval.low - share, high=interval.high - share, method=interval.method)
            number = Number(value=found.value - share, interval=interval, n=found.n).magnitude()
            yield _at(
                cell,
                number,
                queue=queue,
                text=f"the difference of q{queue}'s share of the throughput ({100 * found.value:.2f} %) from its {100 * share:.2f} %",
            )


def _full(_evidence: Evidence, cell: Cell) -> bool:
    return cell.ideal.link_share >= of_plan.FULL_SHARE


def _waste(_evidence: Evidence, cells: Sequence[Cell], _limit: float) -> Iterator[Candidate]:
    for cell in cells:
        number = cell.number("wasted")
        if number is not None:
            yield _at(cell, number.scaled(cell.ideal.capacity_mbps), text="the share of the link that was wasted")


def congested(cell: Cell, queue: int) -> bool:
    """Whether flows that share the queue compete for it and get something."""
    offered, got = cell.ideal.queue_offered_mbps[queue], cell.ideal.queue_mbps[queue]
    return got <= offered * (1 - CONGESTED_SHARE) and got >= cell.ideal.capacity_mbps * SERVED_SHARE and not cell.near


def _shared_congestion(evidence: Evidence, cell: Cell) -> bool:
    return any(congested(cell, queue) and len(evidence.plan.senders_of(queue)) > 1 for queue in evidence.plan.used_queues)


def _fairness(evidence: Evidence, cells: Sequence[Cell], limit: float) -> Iterator[Candidate]:
    """One number a queue, pooled over the loads at which it is congested: single loads resolve little where a queue is slow."""
    for queue in evidence.plan.used_queues:
        senders = evidence.plan.senders_of(queue)
        here = [cell for cell in cells if congested(cell, queue)]
        records = [record for cell in here for record in cell.valid]
        if len(senders) < 2 or not records:
            continue
        number = pooled_spread(records, queue, senders)
        if number is None:
            continue
        # The interval may be cut at 0, so its upper half is the half-width.
        half = number.interval.high - number.value if number.interval is not None else math.inf
        loads = ", ".join(f"{cell.load_mbps:g}" for cell in here)
        yield Candidate(
            number=number,
            text=f"the largest relative difference in delivery between the flows of q{queue}",
            where=f"over the loads that congest it ({loads} Mbit/s per sender)",
            short=f"q{queue}",
            queue=queue,
            resolved=half <= limit / RESOLUTION,
        )


def pooled_spread(records: Sequence[TrialRecord], queue: int, senders: Sequence[int]) -> Number | None:
    """Largest relative difference in delivery between the flows of a queue over several trials; each weighs as the frames that it holds."""
    got, offered = dict.fromkeys(senders, 0.0), dict.fromkeys(senders, 0.0)
    weight, variance, frames, method = 0.0, 0.0, 0, ""
    for record in records:
        spread = measured(record, "fairness.spread", queue=str(queue))
        if spread is None or spread.interval is None:
            return None
        for sender in senders:
            throughput, offer = measured(record, "throughput", flow=str(sender)), measured(record, "offered", flow=str(sender))
            if throughput is None or offer is None:
                return None
            got[sender] += throughput.value
            offered[sender] += offer.value
        frames += spread.n
        weight += spread.n
        variance += (spread.n * (spread.interval.high - spread.value)) ** 2
        method = spread.interval.method
    delivered = [got[sender] / offered[sender] for sender in senders if offered[sender] > 0]
    if not delivered or sum(delivered) == 0 or weight == 0:
        return None
    value = (max(delivered) - min(delivered)) / (sum(delivered) / len(delivered))
    half = math.sqrt(variance) / weight
    return Number(value=value, interval=Interval(low=max(value - half, 0.0), high=value + half, method=f"{method}, pooled"), n=frames)


def _deviation(evidence: Evidence, cells: Sequence[Cell], _limit: float) -> Iterator[Candidate]:
    for cell in cells:
        for queue in evidence.plan.used_queues:
            number = cell.number("deviation.throughput", queue=str(queue))
            if number is not None:
                off = f"{abs(number.value):.3g} Mbit/s {'above' if number.value > 0 else 'below'}"
                yield _at(
                    cell,
                    number.scaled(cell.ideal.capacity_mbps).magnitude(),
                    queue=queue,
                    text=f"the deviation of q{queue} from the ideal throughput ({off}) by the link's capacity",
                )


def _unsaturated(_evidence: Evidence, cell: Cell) -> bool:
    return cell.ideal.link_share <= of_plan.UNSATURATED_SHARE


def _loss(_evidence: Evidence, cells: Sequence[Cell], _limit: float) -> Iterator[Candidate]:
    for cell in cells:
        number = cell.number("frame_loss_rate")
        if number is not None:
            yield _at(cell, number, text="the frame loss rate of a link that is not full")


def _top_delay(evidence: Evidence, cells: Sequence[Cell], _limit: float) -> Iterator[Candidate]:
    top = evidence.plan.used_queues[-1]
    for cell in cells:
        number = cell.number("delay.p99", queue=str(top))
        if number is not None:
            yield _at(cell, number, text=f"the 99th percentile of the delay of q{top}", queue=top)


#: By id, as in limits.CRITERIA.
CANDIDATES: Mapping[str, Criterion] = {
    "sp.leak": Criterion(title="the leak", unit="1", at_most=True, applies=_strict, relevant=_starving, candidates=_leak),
    "sp.top_share": Criterion(
        title="the service of the highest queue", unit="1", at_most=False, applies=_strict, relevant=_sharp, candidates=_top_share
    ),
    "wrr.share": Criterion(title="the shares", unit="1", at_most=True, applies=_round_robin, relevant=_guaranteed, candidates=_shares),
    "waste": Criterion(title="waste", unit="1", at_most=True, applies=_any, relevant=_full, candidates=_waste),
    "fairness": Criterion(title="fairness", unit="1", at_most=True, applies=_any, relevant=_shared_congestion, candidates=_fairness),
    "throughput.deviation": Criterion(
        title="the deviation from the ideal", unit="1", at_most=True, applies=_any, relevant=_sharp, candidates=_deviation
    ),
    "loss.below_saturation": Criterion(
        title="loss below saturation", unit="1", at_most=True, applies=_any, relevant=_unsaturated, candidates=_loss
    ),
    "delay.top": Criterion(title="the delay", unit="us", at_most=True, applies=_any, relevant=_always, candidates=_top_delay),
}

"""What did one trial measure? Every number with its interval, and whether it can be trusted."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from rackproof.model.measurement import Curve, Interval, Measurement
from rackproof.model.traffic import Calibration
from rackproof.model.trial import Observation, Trial, TrialResult
from rackproof.stats import batches, fairness
from rackproof.stats.counts import clopper_pearson
from rackproof.stats.delta_q import delta_q
from rackproof.stats.quantiles import Select, of_ordered, quantile_intervals, quantiles
from rackproof.stats.selection import selector
from rackproof.units import NS_PER_S, Layer, wire_bits
from testplans.results import result
from testplans.switch_qos import counted, of_plan, validity
from testplans.switch_qos.flows import Delays, FlowData, counts, flows_data
from testplans.switch_qos.ideal import Demand
from testplans.switch_qos.of_plan import IdealPoint
from testplans.switch_qos.plan import Scheduler, SwitchQosPlan

Floats = npt.NDArray[np.float64]

QUANTILES: Mapping[str, float] = {"delay.p50": 0.5, "delay.p95": 0.95, "delay.p99": 0.99, "delay.p999": 0.999}


def analyse(plan: SwitchQosPlan, trial: Trial, observation: Observation, calibration: Calibration) -> TrialResult:
    """Measurements of one trial. INVALID where it did not do what was intended; what was measured is kept all the same."""
    capture = observation.capture
    why = validity.missing_flows(plan, capture)
    if why:
        return result(observation, why)
    load_mbps = float(trial.point["load_mbps"])
    scheduler = plan.scheduler(str(trial.point["scheduler"]))
    if counted.is_counted(capture):
        flows = counted.counted_flows(capture, plan.traffic.senders, plan.link.layer)
    else:
        flows = flows_data(capture, plan.traffic.sender_priorities, plan.link.layer)
    why = validity.reason(plan, load_mbps, observation, flows, of_plan.point(plan, scheduler, load_mbps), calibration)
    seconds = np.diff(capture.batch_starts_ns) / NS_PER_S
    measurements = [*_subjects(plan, flows, seconds), *_queues(plan, scheduler, flows, seconds)]
    known = [measurement for measurement, _ in measurements if measurement is not None]
    return result(observation, why, known, [curve for _, curve in measurements if curve is not None])


Found = tuple[Measurement | None, Curve | None]


def _subjects(plan: SwitchQosPlan, flows: Sequence[FlowData], seconds: Floats) -> Iterator[Found]:
    for sender, flow in enumerate(flows):
        for measurement in _subject([flow], seconds, {"flow": str(sender)}, of_ordered(np.sort(flow.delays_us))):
            yield measurement, None
    for queue in plan.used_queues:
        members = [flows[sender] for sender in plan.senders_of(queue)]
        ordered = np.concatenate([flow.delays_us for flow in members])
        ordered.sort()
        subject = {"queue": str(queue)}
        for measurement in _subject(members, seconds, subject, of_ordered(ordered)):
            yield measurement, None
        yield None, _delta_q(ordered, members, subject)
        del ordered
    for measurement in _subject(flows, seconds, {}, selector([flow.delays_us for flow in flows])):
        yield measurement, None


def _subject(flows: Sequence[FlowData], seconds: Floats, subject: dict[str, str], select: Select) -> Iterator[Measurement]:
    sent = _sum([flow.sent_frames for flow in flows])
    received = _sum([flow.received for flow in flows])
    rx_frames = _sum([flow.rx_frames for flow in flows])
    sent_all, received_all = int(sent.sum()), int(received.sum())
    offered = float(_sum([flow.sent_bits for flow in flows]).sum()) / float(seconds.sum()) / 1e6
    throughput, interval = batches.ratio(_sum([flow.rx_bits for flow in flows]) / 1e6, seconds, "batch means")
    # What is offered was counted as it was sent: it has no uncertainty.
    yield Measurement(name="offered", unit="Mbit/s", value=offered, n=sent_all, subject=subject)
    yield Measurement(
        name="throughput",
        unit="Mbit/s",
        value=throughput,
        n=int(rx_frames.sum()),
        interval=_positive(_resolved(interval, throughput, _each(throughput, rx_frames))),
        subject=subject,
    )
    yield _loss(sent, received, rx_frames, subject)
    yield from _delays(flows, received_all, select, subject)
    pairs = _sum([flow.variation_pairs for flow in flows])
    variation, interval = batches.ratio(_sum([flow.variation_sums for flow in flows]), pairs)
    if pairs.sum() > 0:
        yield Measurement(
            name="delay_variation", unit="us", value=variation, n=int(pairs.sum()), interval=_positive(interval), subject=subject
        )
    for name in ("reordered", "duplicates"):
        value = float(sum(getattr(flow, name) for flow in flows))
        yield Measurement(name=name, unit="frames", value=value, n=received_all, subject=subject)


def _loss(sent: Floats, received: Floats, rx_frames: Floats, subject: dict[str, str]) -> Measurement:
    sent_all = int(sent.sum())
    lost_all = sent_all - int(received.sum())
    if sent_all == 0:
        return Measurement(name="frame_loss_rate", unit="1", value=0.0, n=0, subject=subject)
    if received.size == sent.size:
        value, interval = batches.ratio(sent - received, sent)
    else:
        # Of the span alone is it known what was lost. What arrived in each batch was in part sent before: its spread is the wider one.
        value = lost_all / sent_all
        interval = counted.spread_of_loss(value, sent, rx_frames)
    if lost_all in (0, sent_all):
        # Nothing varies between batches, and yet the rate is not known exactly.
        interval = clopper_pearson(lost_all, sent_all)
    elif interval is not None:
        interval = Interval(low=max(interval.low, 0.0), high=min(interval.high, 1.0), method=interval.method)
    return Measurement(name="frame_loss_rate", unit="1", value=value, n=sent_all, interval=interval, subject=subject)


def _delays(flows: Sequence[FlowData], received: int, select: Select, subject: dict[str, str]) -> Iterator[Measurement]:
    if received == 0:
        # A starved queue: its frames are still waiting (the paper's Table 3 prints infinity).
        for name in ("delay.mean", *QUANTILES, "delay.max"):
            yield Measurement(name=name, unit="us", value=math.inf, n=0, subject=subject)
        return
    frames = _sum([flow.delay_frames for flow in flows])
    count = int(frames.sum())
    if count == 0:
        return  # the generator counts frames, and no delays
    mean, interval = batches.ratio(_sum([flow.delay_sums for flow in flows]), frames)
    yield Measurement(name="delay.mean", unit="us", value=mean, n=count, interval=interval, subject=subject)
    shares = list(QUANTILES.values())
    values = quantiles(select, count, shares)
    below = [_sum([counts(flow.delays_us <= np.float32(value), flow.cuts) for flow in flows]) for value in values]
    intervals = quantile_intervals(select, count, shares, values, below, frames)
    for name, value, interval in zip(QUANTILES, values, intervals, strict=True):
        yield Measurement(name=name, unit="us", value=value, n=count, interval=interval, subject=subject)
    yield Measurement(name="delay.max", unit="us", value=select([count - 1])[0], n=count, subject=subject)


def _delta_q(ordered: Delays, flows: Sequence[FlowData], subject: dict[str, str]) -> Curve | None:
    sent, received = (int(_sum(parts).sum()) for parts in ([flow.sent_frames for flow in flows], [flow.received for flow in flows]))
    if received and not len(ordered):
        return None
    x, y = delta_q(ordered, sent)
    if len(ordered) != received:
        # A counting generator may know the delay of some frames alone: how they are spread is theirs, how many arrived is counted.
        y = tuple(share * received / len(ordered) for share in y)
    return Curve(
        name="delta_q", x_name="delay", x_unit="us", y_name="cumulative probability", y_unit="1", x=x, y=y, n=sent, subject=subject
    )


def _queues(plan: SwitchQosPlan, scheduler: Scheduler, flows: Sequence[FlowData], seconds: Floats) -> Iterator[Found]:
    for measurement in (*_against_ideal(plan, scheduler, flows, seconds), *_ratios(plan, flows), *_fairness(plan, flows)):
        yield measurement, None


def _against_ideal(plan: SwitchQosPlan, scheduler: Scheduler, flows: Sequence[FlowData], seconds: Floats) -> Iterator[Measurement]:
    """Deviation of each queue from the ideal, and what the port wasted, for what was really offered and not for what was intended."""
    span = float(seconds.sum())
    whole = of_plan.served(plan, scheduler, [_demand(flow, slice(None), span, plan.link.layer) for flow in flows])
    parts = [
        of_plan.served(plan, scheduler, [_demand(flow, slice(b, b + 1), float(s), plan.link.layer) for flow in flows])
        for b, s in enumerate(seconds)
    ]
    for queue in plan.used_queues:
        got = _sum([flows[sender].rx_bits for sender in plan.senders_of(queue)]) / 1e6
        value = float(got.sum()) / span - whole.queue_mbps[queue]
        counted = _sum([flows[sender].rx_frames for sender in plan.senders_of(queue)])
        spread = _centred(value, got / seconds - [part.queue_mbps[queue] for part in parts])
        interval = _resolved(spread, value, _each(float(got.sum()) / span, counted))
        frames = int(counted.sum())
        yield Measurement(
            name="deviation.throughput", unit="Mbit/s", value=value, n=frames, interval=interval, subject={"queue": str(queue)}
        )
    bits = _sum([flow.rx_bits for flow in flows])
    wire = _sum([flow.rx_wire_bits for flow in flows])
    scale = float(bits.sum() / wire.sum()) if wire.sum() else 1.0

    def wasted(point: IdealPoint, wire_mbps: float) -> float:
        return (min(point.link_share, 1.0) * plan.link.rate_mbps - wire_mbps) * scale

    value = wasted(whole, float(wire.sum()) / span / 1e6)
    by_batch = np.array([wasted(part, float(rate)) for part, rate in zip(parts, wire / seconds / 1e6, strict=True)])
    counted = _sum([flow.rx_frames for flow in flows])
    interval = _resolved(_centred(value, by_batch), value, _each(float(bits.sum()) / span / 1e6, counted))
    yield Measurement(name="wasted", unit="Mbit/s", value=value, n=int(counted.sum()), interval=interval)


def _demand(flow: FlowData, part: slice, seconds: float, layer: Layer) -> Demand:
    frames = int(flow.sent_frames[part].sum())
    if frames == 0:
        return Demand(rate_fps=0.0, frame_bytes=64.0)
    overhead_bits = wire_bits(0, layer)
    return Demand(rate_fps=frames / seconds, frame_bytes=(float(flow.sent_bits[part].sum()) / frames - overhead_bits) / 8)


def _ratios(plan: SwitchQosPlan, flows: Sequence[FlowData]) -> Iterator[Measurement]:
    """Each queue's part of the port's throughput, and its mean delay by the sum of all mean delays (the paper's Tables 4 and 5)."""
    queues = plan.used_queues
    bits = np.array([_sum([flows[sender].rx_bits for sender in plan.senders_of(queue)]) for queue in queues])
    delays = np.array([_sum([flows[sender].delay_sums for sender in plan.senders_of(queue)]) for queue in queues])
    frames = np.array([_sum([flows[sender].delay_frames for sender in plan.senders_of(queue)]) for queue in queues])
    for at, queue in enumerate(queues):
        subject = {"queue": str(queue)}
        if bits.sum() > 0:
            value, interval = batches.ratio(bits[at], bits.sum(axis=0))
            n = int(sum(flows[sender].rx_frames.sum() for sender in plan.senders_of(queue)))
            yield Measurement(name="throughput_ratio", unit="1", value=value, n=n, interval=_share(interval), subject=subject)
        if (frames.sum(axis=1) > 0).all():
            value, interval = batches.jackknife(partial(_delay_ratio, at), np.vstack([delays, frames]), bounds=(0.0, 1.0))
            yield Measurement(name="delay_ratio", unit="1", value=value, n=int(frames[at].sum()), interval=interval, subject=subject)


def _delay_ratio(at: int, sums: Floats) -> Floats:
    """The mean delay of one queue by the sum of all; the upper half of the rows are sums of delays, the lower half their counts."""
    with np.errstate(invalid="ignore", divide="ignore"):
        means = _quotient(sums)
        return np.asarray(means[at] / means.sum(axis=0), np.float64)


def _quotient(sums: Floats) -> Floats:
    """The upper half of the rows by the lower half."""
    upper, lower = np.split(sums, 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(upper / lower, np.float64)


def _jain(sums: Floats) -> Floats:
    return fairness.jain(_quotient(sums))


def _difference(high: int, low: int, sums: Floats) -> Floats:
    return fairness.difference(high, low, _quotient(sums))


def _fairness(plan: SwitchQosPlan, flows: Sequence[FlowData]) -> Iterator[Measurement]:
    """How alike the flows of a queue are in the share of their offer that they get: chance differences in the offer take no part in it."""
    for queue in plan.used_queues:
        members = [flows[sender] for sender in plan.senders_of(queue)]
        got = np.array([flow.rx_bits for flow in members], np.float64)
        offered = np.array([flow.sent_bits for flow in members], np.float64)
        if got.sum() == 0 or not (offered.sum(axis=1) > 0).all():
            continue
        delivered = got.sum(axis=1) / offered.sum(axis=1)
        high, low, count = int(delivered.argmax()), int(delivered.argmin()), len(members)
        sums = np.vstack([got, offered])
        n = int(sum(flow.rx_frames.sum() for flow in members))
        subject = {"queue": str(queue)}
        if count == 1:
            yield Measurement(name="fairness.jain", unit="1", value=1.0, n=n, subject=subject)
            yield Measurement(name="fairness.spread", unit="1", value=0.0, n=n, subject=subject)
            continue
        index, interval = batches.jackknife(_jain, sums, bounds=(1 / count, 1.0))
        yield Measurement(name="fairness.jain", unit="1", value=index, n=n, interval=interval, subject=subject)
        value, interval = batches.jackknife(partial(_difference, high, low), sums, bounds=(0.0, float(count)))
        yield Measurement(name="fairness.spread", unit="1", value=value, n=n, interval=interval, subject=subject)


def _sum(parts: Sequence[npt.NDArray[np.int64] | Floats]) -> Floats:
    return np.asarray(np.sum(parts, axis=0, dtype=np.float64), np.float64)


def _centred(value: float, by_batch: Floats) -> Interval:
    """The interval of a value over all data from one value a batch."""
    error = batches.standard_error(by_batch - by_batch.mean())
    return batches.around(value, error, by_batch.size, "batch means")


def _each(rate_mbps: float, frames: Floats) -> float:
    """What one frame more or less makes of a rate."""
    counted = float(frames.sum())
    return rate_mbps / counted if counted else 0.0


def _resolved(interval: Interval | None, value: float, resolution: float) -> Interval | None:
    """No interval is narrower than one frame to either side: which frames are within the span is a matter of its ends."""
    if interval is None:
        return None
    return replace(interval, low=min(interval.low, value - resolution), high=max(interval.high, value + resolution))


def _positive(interval: Interval | None) -> Interval | None:
    return None if interval is None else Interval(low=max(interval.low, 0.0), high=interval.high, method=interval.method)


def _share(interval: Interval | None) -> Interval | None:
    positive = _positive(interval)
    return None if positive is None else Interval(low=positive.low, high=min(positive.high, 1.0), method=positive.method)

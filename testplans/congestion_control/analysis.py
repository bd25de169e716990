"""What did one trial measure? Every number with its interval, the curves, and whether it can be trusted."""

import re
from collections.abc import Iterator, Mapping, Sequence

from rackproof.model.measurement import Measurement
from rackproof.model.path import FORWARD, Packets
from rackproof.model.traffic import Calibration
from rackproof.model.trial import Observation, Trial, TrialResult
from testplans.congestion_control.expansion import schemes_of
from testplans.congestion_control.metrics import ALL, NS_PER_MS, Number, Span, Stream, flows_of, of_stream, streams
from testplans.congestion_control.metrics_curves import curves
from testplans.congestion_control.metrics_sharing import sharing
from testplans.congestion_control.opportunities import Opportunities
from testplans.congestion_control.plan import CongestionControlPlan
from testplans.congestion_control.schemes import registry
from testplans.congestion_control.validity import Expectations, reason
from testplans.results import result

_END = re.compile(r"flow\.\d+\.end_ns")


def analyse(plan: CongestionControlPlan, trial: Trial, observation: Observation, calibration: Calibration) -> TrialResult:  # noqa: ARG001
    """Measurements of one trial of a plan. An emulated path keeps its schedule in virtual time: the calibration's floor is in no delay.

    Between real hosts the capacity is the link speed of the inventory, and the floor the least delay seen.
    """
    forward = plan.path.known
    link_mbps = observation.capture.health.get("link_speed_mbps")
    verified = {flow: registry.scheme(name).verify for flow, name in enumerate(schemes_of(trial), 1)}
    return measure(
        observation,
        Expectations(
            runtime_s=plan.runtime_s,
            runtime_share_min=plan.validity.runtime_share_min,
            algorithms={flow: verify.ss or verify.output or "" for flow, verify in verified.items() if verify is not None},
            lateness_p99_us_max=plan.validity.lateness_p99_us_max,
            hosts=plan.path.hosts,
        ),
        capacity_bps=forward.capacity_bps if forward is not None else link_mbps * 1e6 if link_mbps is not None else None,
        floor_ms=forward.delay_ms if forward is not None else None,
    )


def measure(
    observation: Observation,
    expectations: Expectations,
    *,
    capacity_bps: float | None = None,
    floor_ms: float | None = None,
) -> TrialResult:
    """Measurements and curves of one trial. INVALID where it did not do what was intended; what was measured is kept all the same.

    capacity_bps: what the path can carry; delivery opportunities among the samples say it better. floor_ms: the least one-way delay that
    the path is set to; None: the least that was seen.
    """
    samples = observation.capture.samples
    packets = Packets.of(samples, FORWARD)
    opportunities = Opportunities.of(samples, FORWARD)
    spans = _spans(observation.counters)
    together, each = streams(packets, flows_of(packets, spans))
    if floor_ms is None and len(together.ordered_ns):
        floor_ms = float(together.ordered_ns[0]) / NS_PER_MS
    whole = list(of_stream(together, floor_ms))
    numbers = {str(flow): whole if stream is together else list(of_stream(stream, floor_ms)) for flow, stream in each.items()}
    for flow, stream in each.items():
        numbers[str(flow)] = [*numbers[str(flow)], *_processors(observation.counters, [flow], stream)]
    capacity = opportunities.capacity_bps or capacity_bps
    numbers[ALL] = [*whole, *_of_path(together, capacity), *sharing(each, spans), *_processors(observation.counters, list(each), together)]
    why = reason(observation, packets, expectations)
    measurements = [
        Measurement(name=name, unit=unit, value=value, n=n, interval=interval, subject={"flow": label})
        for label, found in numbers.items()
        for name, unit, value, n, interval in found
    ]
    return result(observation, why, measurements, curves(together, each, opportunities))


def _spans(counters: Mapping[str, int]) -> dict[int, Span]:
    """When each flow ran, by the counters of its start and end."""
    ends = {int(name.split(".")[1]): value for name, value in counters.items() if _END.fullmatch(name)}
    starts = {flow: counters.get(f"flow.{flow}.start_ns") for flow in ends}
    return {flow: Span(start_ns=start, end_ns=ends[flow]) for flow, start in starts.items() if start is not None}


def _of_path(together: Stream, capacity_bps: float | None) -> Iterator[Number]:
    delivered = len(together.egress_ns)
    if capacity_bps:
        yield "capacity", "Mbit/s", capacity_bps / 1e6, delivered, None
        yield "utilisation", "1", together.throughput_bps / capacity_bps, delivered, None
    if delivered and (delay_ms := together.delay_ms(0.95)) > 0:
        yield "power", "Mbit/s per ms", together.throughput_bps / 1e6 / delay_ms, delivered, None


def _processors(counters: Mapping[str, int], flows: Sequence[int], stream: Stream) -> Iterator[Number]:
    """Processor time of each side by what it delivered; nothing where a flow's is not known, or nothing was delivered."""
    gigabits = float(stream.left_bits.sum()) / 1e9
    for side in ("sender", "receiver"):
        known = [counters[name] for flow in flows if (name := f"cpu_us.{side}.{flow}") in counters]
        if known and len(known) == len(flows) and gigabits:
            yield f"cpu.{side}", "s/Gbit", sum(known) / 1e6 / gigabits, len(stream.egress_ns), None

"""The ideal model against the issue's numbers, the paper's tables, and laws that no scheduler can break."""

import csv
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackproof.model.functions import Discipline
from rackproof.units import Layer, wire_bits
from testplans.switch_qos import ideal, of_plan
from testplans.switch_qos.ideal import Demand
from tests.unit.switch_qos.plans import plan, published

EQUAL = [0.1, 0.2, 0.3, 0.4]


def test_strict_priority_saturates_at_the_papers_points() -> None:
    found = of_plan.saturation_points(plan(), plan().disciplines[0])
    assert found == pytest.approx({"A": 125.0, "B": 1000 / 6, "C": 250.0, "D": 500.0})


def test_round_robin_saturates_at_the_papers_points() -> None:
    assert of_plan.saturation_points(plan(), plan().disciplines[1]) == pytest.approx({"E": 125.0, "F": 200.0})


@pytest.mark.parametrize("weights", [[0.1, 0.2, 0.3, 0.4], [0.1, 0.1, 0.3, 0.5]])
def test_published_delay_ratios(weights: list[float]) -> None:
    """Table 5."""
    with published("switch_wrr_delay.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["switch"] == "expected"]
    row = next(row for row in rows if [float(row[f"w{queue}"]) for queue in range(4)] == weights)
    assert [round(ratio, 2) for ratio in ideal.published_delay_ratios(weights)] == [
        pytest.approx(float(row[f"q{queue}_ratio"]), abs=0.0051) for queue in range(4)
    ]
    assert sum(ideal.published_delay_ratios(weights)) == pytest.approx(1.0)


def test_delay_ratios_to_two_digits() -> None:
    assert [f"{ratio:.2f}" for ratio in ideal.published_delay_ratios([0.1, 0.2, 0.3, 0.4])] == ["0.52", "0.27", "0.15", "0.06"]
    assert [f"{ratio:.2f}" for ratio in ideal.published_delay_ratios([0.1, 0.1, 0.3, 0.5])] == ["0.53", "0.32", "0.11", "0.04"]


def test_published_throughput() -> None:
    """Tables 2 and 4, expected rows: 600 Mbit/s a sender into 1 Gbit/s."""
    with published("switch_sp_throughput.csv").open() as file:
        expected = next(row for row in csv.DictReader(file) if row["switch"] == "expected")
    strict = of_plan.point(plan(), plan().disciplines[0], 600)
    assert strict.queue_mbps == pytest.approx({queue: float(expected[f"q{queue}_mbps"]) for queue in range(4)})
    assert strict.starved == (0, 1, 2)
    with published("switch_wrr_throughput.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["switch"] == "expected"]
    for row in rows:
        weights = [float(row[f"w{queue}"]) for queue in range(4)]
        given_plan = plan(disciplines=[{"discipline": "wrr-packets", "weights": weights}])
        shares = of_plan.expected_shares(given_plan, given_plan.disciplines[0])
        assert shares == pytest.approx({queue: float(row[f"q{queue}_ratio"]) for queue in range(4)})


def test_between_the_points() -> None:
    """Figure 3: what each queue gets at 150 Mbit/s a sender."""
    strict = of_plan.point(plan(), plan().disciplines[0], 150)
    assert strict.queue_mbps == pytest.approx({0: 100, 1: 300, 2: 300, 3: 300})
    assert strict.saturated == (0,)
    robin = of_plan.point(plan(), plan().disciplines[1], 150)
    assert robin.queue_mbps == pytest.approx({0: 400 / 3, 1: 800 / 3, 2: 300, 3: 300})
    assert robin.saturated == (0, 1)
    assert robin.flow_mbps[0] == pytest.approx(200 / 3)


def test_weights_per_packet_favour_large_frames_and_weights_per_byte_do_not() -> None:
    sizes = {0: 1518, 1: 1518, 2: 1024, 3: 1024, 4: 512, 5: 512, 6: 256, 7: 256}
    mixed = plan(traffic__frame_bytes_by_priority=sizes, link__layer="L2", load__per_sender_mbps=[100])
    packets = of_plan.expected_shares(mixed, mixed.disciplines[1])
    octets = [weight * size for weight, size in zip(EQUAL, (1518, 1024, 512, 256), strict=True)]
    assert packets == pytest.approx({queue: value / sum(octets) for queue, value in enumerate(octets)})
    by_bytes = plan(
        traffic__frame_bytes_by_priority=sizes,
        link__layer="L2",
        load__per_sender_mbps=[100],
        disciplines=[{"discipline": "wrr-bytes", "weights": EQUAL}],
    )
    assert of_plan.expected_shares(by_bytes, by_bytes.disciplines[0]) == pytest.approx(dict(enumerate(EQUAL)))


def test_one_class_is_m_d_1() -> None:
    """Equal frames and one queue: Pollaczek-Khinchine, W = rho S / (2 (1 - rho))."""
    service = wire_bits(1518, Layer.L1) / 1e8
    (delay,) = ideal.priority_delays_s([Demand(rate_fps=0.8 / service, frame_bytes=1518)], [{1518: 1}], 1e8)
    assert delay == pytest.approx(service * (1 + 0.8 / (2 * 0.2)))


def test_priorities_conserve_work() -> None:
    """Kleinrock's conservation law: the load-weighted sum of the waits is that without priorities."""
    service = wire_bits(1000, Layer.L1) / 1e8
    loads = [0.1, 0.2, 0.25, 0.3]
    demands = [Demand(rate_fps=load / service, frame_bytes=1000) for load in loads]
    waits = [delay - service for delay in ideal.priority_delays_s(demands, [{1000: 1}] * 4, 1e8)]
    total = sum(loads)
    assert sum(load * wait for load, wait in zip(loads, waits, strict=True)) == pytest.approx(total**2 * service / 2 / (1 - total))
    assert waits == sorted(waits, reverse=True)


def test_top_queue_waits_for_one_frame_of_an_overloaded_lower_one() -> None:
    """The link is always busy with equal frames: R is half a service time, whatever is offered below."""
    service = wire_bits(1518, Layer.L1) / 1e8
    demands = [Demand(rate_fps=10 / service, frame_bytes=1518), Demand(rate_fps=0.4 / service, frame_bytes=1518)]
    low, top = ideal.priority_delays_s(demands, [{1518: 1}] * 2, 1e8)
    assert low == math.inf
    assert top == pytest.approx(service / 2 / 0.6 + service)


DEMANDS = st.lists(st.builds(Demand, rate_fps=st.floats(0, 3e5), frame_bytes=st.floats(64, 1522)), min_size=4, max_size=4)
WEIGHTS = st.lists(st.floats(0.01, 1), min_size=4, max_size=4).map(lambda raw: [weight / sum(raw) for weight in raw])


@given(DEMANDS, WEIGHTS, st.sampled_from(list(Discipline)))
def test_work_is_conserved_and_nobody_gets_more_than_was_offered(
    demands: list[Demand], weights: list[float], discipline: Discipline
) -> None:
    got = ideal.served_bps(demands, 1e9, discipline, weights)
    offered = [demand.wire_bps for demand in demands]
    assert sum(got) == pytest.approx(min(sum(offered), 1e9), rel=1e-9, abs=1e-3)
    assert all(0 <= mine <= offer * (1 + 1e-12) for mine, offer in zip(got, offered, strict=True))


@given(DEMANDS, WEIGHTS, st.sampled_from([Discipline.WRR_BYTES, Discipline.WRR_PACKETS]))
def test_round_robin_keeps_its_guarantees(demands: list[Demand], weights: list[float], discipline: Discipline) -> None:
    got = ideal.served_bps(demands, 1e9, discipline, weights)
    shares = ideal.wire_weights(demands, weights, discipline)
    for mine, demand, share in zip(got, demands, shares, strict=True):
        assert mine >= min(demand.wire_bps, share * 1e9) * (1 - 1e-9)


@given(DEMANDS, WEIGHTS, st.sampled_from(list(Discipline)), st.floats(1, 3))
def test_more_load_never_lowers_the_total(demands: list[Demand], weights: list[float], discipline: Discipline, factor: float) -> None:
    more = [Demand(rate_fps=demand.rate_fps * factor, frame_bytes=demand.frame_bytes) for demand in demands]
    before, after = (sum(ideal.served_bps(these, 1e9, discipline, weights)) for these in (demands, more))
    assert after >= before * (1 - 1e-9)


@given(DEMANDS.filter(lambda demands: sum(demand.rate_fps for demand in demands) > 1), WEIGHTS, st.sampled_from(list(Discipline)))
def test_queues_lose_beyond_their_point_and_not_before(demands: list[Demand], weights: list[float], discipline: Discipline) -> None:
    points = ideal.saturation_factors(demands, 1e9, discipline, weights)
    first = min(points.values())
    for factor, full in ((first * 0.999, False), (first * 1.001, True)):
        scaled = [Demand(rate_fps=demand.rate_fps * factor, frame_bytes=demand.frame_bytes) for demand in demands]
        lost = sum(demand.wire_bps for demand in scaled) - sum(ideal.served_bps(scaled, 1e9, discipline, weights))
        assert (lost > 1) is full

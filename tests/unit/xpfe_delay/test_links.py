"""Does what the links wrote down tell the delay of each hop, whatever their lateness, and what became of each frame?"""

import dataclasses

import numpy as np
import pytest

from rackproof.model.traffic import Samples
from rackproof.model.xcf import FIRST_LINK
from testplans.xpfe_delay.flow import Flow, flow
from tests.unit.xpfe_delay.records import BEGAN_NS, Chain, observe, plan, true_delay_us


def seen(chain: Chain, *, taps: bool = True) -> Flow:
    given = plan(hops=[chain.hops], testbed="bench" if taps or chain.hops == 1 else "lab1")
    return flow(given, observe(given, chain, taps=taps).capture, chain.hops - 1 if taps else 0)


def corrected_us(found: Flow) -> "np.typing.NDArray[np.float64]":
    delays = found.measured(found.path.delay_us)
    return delays[~np.isnan(delays)]


def test_lateness_is_taken_out_frame_by_frame() -> None:
    late, punctual = (seen(Chain(hops=4, late_us=late_us)) for late_us in (8.0, 0.0))
    assert float(np.nanmean(late.measured(late.path.raw_us))) > true_delay_us(Chain(hops=4)) + 20
    # What 1 % of the frames are late by stays in: 0.08 us at each of three links.
    assert float(corrected_us(late).mean()) == pytest.approx(true_delay_us(Chain(hops=4)) + 0.24, abs=0.05)
    # Not only on average: it is as if the links had been on time.
    whole, tail = (float(np.percentile(corrected_us(late), share) - np.percentile(corrected_us(punctual), share)) for share in (50, 99))
    assert tail == pytest.approx(whole, abs=0.05)


def test_on_time_the_correction_changes_nothing() -> None:
    found = seen(Chain(late_us=0.0))
    assert corrected_us(found) == pytest.approx(found.measured(found.path.raw_us), abs=1e-3)


def test_a_planted_delay_is_found_at_its_hop_and_stays_in_the_delay() -> None:
    chain = Chain(hops=4, planted_us={2: 10.0})
    found = seen(chain)
    assert [wire.excess_ns / 1e3 for wire in found.path.wires] == pytest.approx([0, 10, 0], abs=0.1)
    assert float(corrected_us(found).mean()) == pytest.approx(true_delay_us(chain), abs=0.1)
    assert [float(np.nanmean(found.path.element_us(hop))) for hop in range(1, 5)] == pytest.approx([2.0] * 4, abs=0.05)


def test_a_host_that_stands_still_leaves_no_queue_behind() -> None:
    # 3 ms in which no link hands anything on: 30 frames then come to the next link together, which no cable would do.
    stalled = seen(Chain(stall=(0.5, 0.503)))
    assert float(np.nanmax(stalled.measured(stalled.path.raw_us))) > 2000
    assert float(corrected_us(stalled).max()) < true_delay_us(Chain()) + 1
    assert float(np.nanmax(stalled.path.wires[1].queueing_ns)) < 1000


def test_a_host_that_sends_in_a_bunch_makes_no_frame_slower() -> None:
    punctual, late = (seen(Chain(hops=4, sent_late=sent_late)) for sent_late in ((0.0, 0.0), (0.5, 0.504)))
    assert float(np.nanmax(late.measured(late.path.raw_us))) > true_delay_us(Chain(hops=4)) + 200
    assert float(corrected_us(late).max()) == pytest.approx(float(corrected_us(punctual).max()), abs=0.5)
    assert float(corrected_us(late).mean()) == pytest.approx(float(corrected_us(punctual).mean()), abs=0.02)


def test_nor_does_it_over_a_chain_that_has_no_link() -> None:
    late = seen(Chain(hops=1, sent_late=(0.5, 0.504), lags_us=1.5), taps=False)
    assert float(np.nanmax(late.measured(late.path.raw_us))) > 50
    assert float(corrected_us(late).max()) < 3


def test_gaps_of_chance_are_left_alone_but_no_port_sends_faster_than_its_rate() -> None:
    given = plan(hops=[2], arrivals="poisson")
    found = flow(given, observe(given, Chain(hops=2, sent_late=(0.5, 0.504))).capture, 1).path
    assert int(np.count_nonzero(found.begins_ns != found.sent_ns)) == 43  # the bunch but its first, and four behind it
    assert float(np.diff(found.begins_ns).min()) == pytest.approx(1020 * 8)


def test_frames_that_wait_for_each_other_on_a_cable_wait_here() -> None:
    # 1042 octets take 8.336 us; 120,000 such frames a second come 8.33 us apart, so that a queue grows by 2 ns a frame.
    found = seen(Chain(fps=120_000, jitter_us=0.0, late_us=2.0))
    waited = found.measured(found.path.wires[0].queueing_ns) / 1e3
    assert float(waited[-1] - waited[0]) == pytest.approx((8.336 - 1e6 / 120e3) * len(waited), rel=0.02)
    assert float(np.nanmax(found.path.wires[1].queueing_ns)) < 100


def test_background_takes_its_time_on_the_link() -> None:
    given = plan(hops=[2])
    capture = observe(given, Chain(hops=2, jitter_us=0.0, late_us=0.0)).capture
    samples = capture.samples
    # Beside every frame one of stream 1 that came 1 us before it.
    on_link = np.flatnonzero(samples.port == FIRST_LINK)
    extra = {name: getattr(samples, name)[on_link] for name in ("tx_ns", "rx_ns", "sequence", "stream", "frame_bytes", "port", "pcp")}
    extra |= {"stream": np.ones(len(on_link), np.uint16), "tx_ns": extra["tx_ns"] - 1000}
    extra["rx_ns"] = extra["tx_ns"] + 8336
    late = samples.rx_ns.copy()
    late[on_link] += 7336
    columns = {**{name: getattr(samples, name) for name in extra}, "rx_ns": late}
    both = Samples(**{name: np.concatenate([column, extra[name]]) for name, column in columns.items()})
    found = flow(given, dataclasses.replace(capture, samples=both), 1)
    assert found.measured(found.path.wires[0].queueing_ns) / 1e3 == pytest.approx(7.336, abs=0.002)
    assert found.path.wires[0].excess_ns == pytest.approx(0, abs=5)


def test_what_happens_to_frames_is_told_apart_by_hop() -> None:
    found = seen(
        Chain(
            hops=3,
            lose={2: (3000, 3001), 3: (3500,)},
            drop={1: (4000,), 2: (4001, 4002)},
            copy={1: (5000,), 3: (5001, 5002)},
            late_order={1: (6000,), 2: (6100, 6200)},
        )
    )
    assert [fate.lost_in_element for fate in found.fates] == [0, 2, 1]
    assert [fate.lost_on_link for fate in found.fates] == [1, 2, 0]
    assert [fate.duplicates for fate in found.fates] == [1, 0, 2]
    assert [fate.reordered for fate in found.fates] == [1, 2, 0]
    assert [fate.came for fate in found.fates] == [10_000, 9_999, 9_995]
    assert (found.sent, found.received, found.duplicates, found.reordered) == (10_000, 9_994, 3, 3)


def test_frames_of_the_warm_up_count_for_nothing() -> None:
    found = seen(Chain(lose={1: (10,)}, copy={2: (20,)}))
    assert [(fate.lost, fate.duplicates) for fate in found.fates] == [(0, 0)] * 3
    assert len(corrected_us(found)) == 10_000


def test_without_records_the_delay_is_as_it_was() -> None:
    found = seen(Chain(late_us=0.0), taps=False)
    assert (found.path.hops, found.path.wires) == (1, ())
    assert float(corrected_us(found).mean()) == pytest.approx(true_delay_us(Chain()), abs=0.05)
    assert [fate.lost for fate in found.fates] == [0]


def test_a_handing_over_that_was_written_down_too_late_makes_no_frame_faster() -> None:
    given = plan(hops=[3])
    capture = observe(given, Chain(late_us=0.0)).capture
    late = capture.samples.rx_ns.copy()
    late[np.flatnonzero(capture.samples.port == FIRST_LINK)[3000:3100]] += 300_000
    found = flow(given, dataclasses.replace(capture, samples=dataclasses.replace(capture.samples, rx_ns=late)), 2)
    assert float(corrected_us(found).min()) > true_delay_us(Chain()) - 1


def test_times_are_exact_to_a_nanosecond() -> None:
    found = seen(Chain(jitter_us=0.0, late_us=0.0, element_us=2.0))
    assert found.path.origin_ns == BEGAN_NS
    assert set(np.rint(1e3 * corrected_us(found)).tolist()) == {3 * 2000 + 2 * 8336}

"""Measurements of trials whose truth is known."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from rackproof.model.traffic import Samples, Tally
from rackproof.model.trial import TrialResult
from rackproof.model.verdict import Verdict
from testplans.mpls_flap.analysis import analyse
from testplans.mpls_flap.flaps import lost_tears
from testplans.mpls_flap.plan import BATCHES
from testplans.mpls_flap.signals import signals
from tests.unit.mpls_flap.devices import Truth
from tests.unit.mpls_flap.synthetic import BEGAN_NS, CALIBRATION, observe, plan, trial

#: Three milliseconds of work an LSP: 30 come up within the first window of a second. Eleven milliseconds: of 120 some 40 do.
SMALL = Truth()
SLOW = Truth(tear_ms=3, path_ms=4, resv_ms=4.1, flapped=120)


@cache
def analysed(truth: Truth) -> TrialResult:
    asked = plan(truth)
    return analyse(asked, trial(asked), observe(truth), CALIBRATION)


def value(result: TrialResult, name: str, **subject: str) -> float:
    (found,) = (each for each in result.measurements if each.name == name and dict(each.subject) == subject)
    return found.value


def curve(result: TrialResult, name: str, **subject: str) -> tuple[np.ndarray, np.ndarray]:
    (found,) = (each for each in result.curves if each.name == name and dict(each.subject) == subject)
    return np.array(found.x), np.array(found.y)


def counts(result: TrialResult, flap: str) -> Mapping[str, float]:
    names = ("up", "k", "tears_sent", "tears_received", "tears_lost", "failed")
    return {name: value(result, f"flap.{name}", flap=flap) for name in names}


def test_a_clean_router_brings_all_back() -> None:
    result = analysed(SMALL)
    assert (result.verdict, result.reason) == (Verdict.PASS, "")
    for flap in ("1", "2"):
        assert counts(result, flap) == {"up": 30, "k": 30, "tears_sent": 30, "tears_received": 30, "tears_lost": 0, "failed": 0}
    assert value(result, "k.paper") == 30
    assert (value(result, "path_tears.received"), value(result, "path_tears.raw")) == (60, 60)
    assert (value(result, "established"), value(result, "phantoms"), value(result, "failed")) == (50, 0, 0)
    for name in ("wrong_label", "stale", "lost_up", "misclassed"):
        assert value(result, f"probes.{name}") == 0


def test_a_slow_one_is_counted_the_same_way_twice() -> None:
    """K counted directly is P - N, but for the tears that had not come when listening ended."""
    result = analysed(SLOW)
    first = counts(result, "1")
    assert 30 < first["k"] < 50
    assert first["failed"] == 120 - first["k"]
    assert counts(result, "2")["up"] == first["k"] == counts(result, "2")["tears_sent"]
    late = first["k"] - counts(result, "2")["tears_received"]
    assert value(result, "k.paper") == first["k"] - late
    assert first["tears_lost"] == counts(result, "2")["tears_lost"] == value(result, "unanswered") == 0


def test_times_are_those_of_the_queue() -> None:
    """Tears come 0.5 ms apart and take 1 ms each: the last of 30 waits for all before it."""
    result = analysed(SMALL)
    assert 30 * 1.0 - 29 * 0.5 <= value(result, "teardown.max", flap="1") < 30 * 1.0
    assert value(result, "gap.max", flap="1") == pytest.approx(0.02, abs=0.001)
    assert value(result, "outage.mean", flap="1") == pytest.approx(
        value(result, "teardown.mean", flap="1") + value(result, "establish.mean", flap="1") + 0.05 + 0.02, abs=0.1
    )
    x, y = curve(result, "teardown", flap="1")
    assert y[-1] == 1.0
    assert (np.diff(x) >= 0).all()


def test_lost_tears_are_told_from_late_ones() -> None:
    lost = analysed(replace(SMALL, lost_tears=frozenset({25, 33})))
    assert counts(lost, "1") == {"up": 30, "k": 28, "tears_sent": 30, "tears_received": 28, "tears_lost": 2, "failed": 2}
    assert value(lost, "k.paper") == 26
    assert value(lost, "flap.retries", flap="1") == 0
    slow = analysed(replace(SLOW, tear_ms=30))
    assert counts(slow, "1")["tears_received"] < 100
    assert counts(slow, "1")["tears_lost"] == 0


def test_loss_and_delay_by_phase() -> None:
    result = analysed(replace(SMALL, lost=0.001, lost_flapping=0.02, seed=4))
    assert value(result, "sent", phase="prior") == 20_000
    assert value(result, "sent", phase="during") == pytest.approx(30_000, abs=30)
    assert value(result, "loss", phase="prior") == pytest.approx(0.001, abs=0.0006)
    assert value(result, "loss", phase="during") == pytest.approx(0.021, abs=0.003)
    assert value(result, "effect.loss") == pytest.approx(0.02, abs=0.003)
    assert value(result, "delay.mean", phase="during") == pytest.approx(40, abs=0.2)
    assert value(result, "delay.p99", phase="prior") == pytest.approx(40 + 4 * 2.326, abs=0.5)
    assert value(result, "ipdv.p99", phase="prior") == pytest.approx(4 * 2**0.5 * 2.576, abs=0.8)
    assert value(result, "throughput", phase="prior") == pytest.approx(10.24, abs=0.05)
    _, shares = curve(result, "lsp.loss", phase="during")
    assert shares.mean() == pytest.approx(value(result, "loss", phase="during"), abs=1e-4)
    _, lost = curve(result, "timeline.lost", flap="1")
    assert lost.sum() > 300


def test_what_is_stolen_shows_while_messages_are_under_way() -> None:
    result = analysed(replace(SMALL, stolen_us=2000.0))
    assert value(result, "effect.busy") == pytest.approx(2000, rel=0.1)
    assert 100 < value(result, "effect.delay") < 500
    x, y = curve(result, "timeline.delay", flap="1")
    assert y[(x > 0.01) & (x < 0.08)].mean() > 1000
    assert y[x < 0].mean() == pytest.approx(40, abs=1)


def test_a_stall_of_the_host_is_no_effect() -> None:
    stalled = analysed(replace(SMALL, stalls_s=((1.3, 0.03), (0.4, 0.02))))
    assert value(stalled, "delay.max", phase="during") > 20_000
    assert value(stalled, "effect.busy") == pytest.approx(0, abs=1)
    assert value(stalled, "gap.early") == value(stalled, "probes.wrong_label") == value(stalled, "probes.stale") == 0


def test_a_growing_queue_has_a_slope_and_loses_nothing() -> None:
    """It grows by more than listening goes on: what was on the way at the end is not lost."""
    growing = analysed(replace(SMALL, growth_us_per_s=100_000.0))
    assert value(growing, "delay.slope", phase="prior") == pytest.approx(100_000, rel=0.01)
    assert value(growing, "loss", phase="during") == 0


def test_one_that_answers_before_it_forwards() -> None:
    early = analysed(replace(SMALL, ready_ms=20.0))
    assert value(early, "gap.p50", flap="1") == pytest.approx(20, abs=0.6)
    assert value(early, "gap.early") == 60
    assert value(analysed(replace(SMALL, ready_ms=1e9)), "gap.early") == 60
    assert value(analysed(replace(SMALL, ready_ms=2.0)), "gap.early") == 0


def test_labels_that_stay_and_labels_that_are_wrong() -> None:
    stale = analysed(replace(SMALL, stale=True))
    assert value(stale, "probes.stale") > 50
    assert value(stale, "probes.wrong_label") == 0
    wrong = analysed(replace(SMALL, wrong=frozenset({22, 30, 41})))
    assert value(wrong, "probes.wrong_label.lsps") == 3
    assert value(wrong, "probes.stale") == 0


def test_one_that_never_comes_up_is_told_from_those_still_waited_for() -> None:
    never = analysed(replace(SMALL, never=frozenset({27})))
    assert (value(never, "failed"), value(never, "unanswered")) == (1, 1)
    waiting = analysed(replace(SLOW, tear_ms=8))
    assert value(waiting, "failed") > 0
    assert value(waiting, "unanswered") == 0


def test_timelines_line_up() -> None:
    result = analysed(SMALL)
    x, up = curve(result, "timeline.up", flap="2")
    _, sent = curve(result, "timeline.tears_sent", flap="2")
    _, back = curve(result, "timeline.resvs_received", flap="2")
    assert x[0] == -0.5
    assert (up[0], up[-1]) == (30, 30)
    assert up.min() <= 1
    assert (sent[-1], back[-1]) == (30, 30)
    assert np.array_equal(up, 30 - sent + back)
    assert len(x) <= 600


def test_traffic_without_flaps_is_not_analysed() -> None:
    observation = observe(SMALL)
    asked = plan(SMALL)
    capture = observation.capture
    kept = capture.samples.port < 2000
    samples = Samples(**{name: getattr(capture.samples, name)[kept] for name in capture.samples.__slots__})
    result = analyse(asked, trial(asked), replace(observation, capture=replace(capture, samples=samples)), CALIBRATION)
    assert result.verdict is Verdict.INVALID
    assert "flaps" in result.reason


def test_a_generator_that_counts_says_what_was_lost_and_nothing_of_the_delay() -> None:
    """Frames that were under way as a batch ended came in the next: they are not lost."""
    observation, asked = observe(SMALL), plan(SMALL)
    capture = observation.capture
    tallies = {}
    for lsp, sent in capture.sent.items():
        by_batch = np.diff(sent.first_sequence)
        came = by_batch - np.append(1, np.zeros(BATCHES - 1, np.int64)) + np.append([0, 1], np.zeros(BATCHES - 2, np.int64))
        came[-3] -= 2
        tallies[lsp] = Tally(
            rx_frames=came, rx_octets=came * 64, received=int(by_batch.sum()) - 2, delays_us=np.empty(0), delay_frames=np.empty(0, np.int64)
        )
    events = capture.samples.port >= 2000
    samples = Samples(**{name: getattr(capture.samples, name)[events] for name in capture.samples.__slots__})
    result = analyse(asked, trial(asked), replace(observation, capture=replace(capture, samples=samples, tallies=tallies)), CALIBRATION)
    assert result.verdict is Verdict.PASS
    assert value(result, "loss", phase="prior") == 0
    lost = 2 * SMALL.stable / value(result, "sent", phase="during")
    assert value(result, "loss", phase="during") == pytest.approx(lost)
    assert value(result, "effect.loss") == pytest.approx(lost)
    assert counts(result, "1")["k"] == 30
    assert not any(each.name == "effect.delay" for each in result.measurements)


def test_probes_that_wait_in_a_queue_as_the_trial_ends_are_not_lost() -> None:
    """Nothing that was sent in the second window has come."""
    observation, asked = observe(SMALL), plan(SMALL)
    capture = observation.capture
    late = (capture.samples.port == 2000) & (capture.samples.tx_ns > BEGAN_NS + round(SMALL.flaps_s[1] * 1e9))
    samples = replace(capture.samples, rx_ns=np.where(late, 0, capture.samples.rx_ns), sequence=np.where(late, 0, capture.samples.sequence))
    result = analyse(asked, trial(asked), replace(observation, capture=replace(capture, samples=samples)), CALIBRATION)
    assert value(result, "gap.early") == value(result, "probes.lost_up") == 0


def test_one_route_may_be_slower_than_another() -> None:
    """No tear came the one way round the ring: that is late, and would be lost only on the same way."""
    found = signals(observe(SMALL).capture.samples, SMALL.stable, SMALL.flapped, SMALL.windows_s)
    assert found is not None
    all_of = found.instances
    odd = replace(all_of, tear_received_s=np.where(all_of.lsp % 2 == 1, np.inf, all_of.tear_received_s))
    assert lost_tears(odd, routes=2).sum() == 0
    assert lost_tears(odd, routes=1).sum() >= SMALL.flapped - 1


def test_a_tear_that_came_only_when_sent_again_was_lost_before() -> None:
    found = signals(observe(SMALL).capture.samples, SMALL.stable, SMALL.flapped, SMALL.windows_s)
    assert found is not None
    all_of = found.instances
    first = int(np.argmin(all_of.tear_sent_s))
    sent_s = all_of.tear_sent_s[first]
    for again_s, lost in ((sent_s + 0.5, 1), (sent_s + 0.9, 0)):
        changed = replace(all_of, tear_received_s=all_of.tear_received_s.copy(), tear_again_s=all_of.tear_again_s.copy())
        changed.tear_received_s[first], changed.tear_again_s[first] = sent_s + 0.7, again_s
        assert lost_tears(changed, routes=1).sum() == lost


def test_intervals_have_the_confidence_that_the_plan_asks_for() -> None:
    asked = plan(SMALL, confidence=0.8)
    found = analyse(asked, trial(asked), observe(SMALL), CALIBRATION)
    for name in ("delay.mean", "delay.p50", "loss", "throughput", "delay.slope", "teardown.mean", "effect.delay", "effect.busy"):
        loose = next(each.interval for each in found.measurements if each.name == name)
        strict = next(each.interval for each in analysed(SMALL).measurements if each.name == name)
        assert loose is not None
        assert strict is not None
        assert (loose.confidence, strict.confidence) == (0.8, 0.95)
        assert loose.half_width <= strict.half_width

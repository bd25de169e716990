import math
import os
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from rackproof.model.measurement import Curve, Measurement
from rackproof.stats.delta_q import delta_q
from testplans.xpfe_delay.convolution import CURVE, convolved, path
from testplans.xpfe_delay.prediction import assumes, check, model
from testplans.xpfe_delay.view import Key, Point, View, view
from tests.unit.xpfe_delay.chains import delays, number, ran, store_and_forward
from tests.unit.xpfe_delay.coverage import of_checks, of_predictions

#: Campaigns from which coverage is counted, and what it must be.
CAMPAIGNS, LEAST, MOST = (1000, 0.93, 0.97) if os.environ.get("RACKPROOF_LONG") == "1" else (30, 0.9, 1.0)


def test_hop_counts_beyond_those_measured_are_predicted() -> None:
    found = model(view(delays(store_and_forward)), "xpfe", "delay.mean")
    assert found is not None
    for hops in (1, 5, 8):
        key = Key("xpfe", hops, 1200, 500.0)
        predicted = found.at(hops, 1200, 500.0)
        assert predicted is not None
        assert predicted.interval is not None
        assert predicted.value == pytest.approx(store_and_forward(key))
        assert predicted.interval.contains(store_and_forward(key))


@pytest.mark.parametrize("share", [of_predictions, of_checks])
@pytest.mark.parametrize("scatter", [0.0, 1.0])
def test_the_truth_lies_within_the_interval_of_the_prediction(share: Callable[[int, float, int], float], scatter: float) -> None:
    # 95 in 100 are meant. Where there is no scatter, some is found by chance, and the intervals are a little wide.
    assert LEAST <= share(CAMPAIGNS, scatter, 7) <= (MOST if scatter else 1.0)


def test_each_hop_count_is_left_out_in_turn() -> None:
    found = check(view(delays(store_and_forward)), "xpfe", "delay.p99")
    assert {point.key.hops for point in found.points} == {2, 3, 4}
    assert (found.within, len(found.points)) == (45, 45)
    assert found.error < 1e-6
    assert found.text.startswith("With each hop count left out in turn, 45 of 45 points lie within the interval")


def test_delay_that_does_not_grow_in_a_line_is_found_out() -> None:
    found = check(view(delays(lambda key: 2.0 ** (2 * key.hops), hops=[2, 3, 4, 5])), "xpfe", "delay.mean")
    assert found.within < 45
    assert found.error > 50


def test_two_hop_counts_predict_but_cannot_be_checked() -> None:
    seen = view(delays(store_and_forward, hops=[2, 4]))
    found, checked = model(seen, "xpfe", "delay.mean"), check(seen, "xpfe", "delay.mean")
    assert found is not None
    three = found.at(3, 500, 250.0)
    assert three is not None
    assert three.value == pytest.approx(32.0)
    assert (checked.points, math.isnan(checked.error)) == ((), True)
    assert checked.text == "The prediction cannot be checked: 2 hop counts were measured, 3 are needed."


def test_points_far_off_are_left_out_and_named() -> None:
    odd = Key("xpfe", 3, 500, 250.0)
    seen = view(delays(lambda key: 7000.0 if key == odd else store_and_forward(key)))
    found, checked = model(seen, "xpfe", "delay.mean"), check(seen, "xpfe", "delay.mean")
    assert found is not None
    assert "Left out, for far off what all others agree on: 3 hops, 500 bytes, 250 Mbit/s." in assumes(found)
    assert [point.key for point in checked.points if not point.within] == [odd]


def test_a_number_that_its_samples_cannot_bound_is_left_alone() -> None:
    def trial(key: Key, _repetition: int) -> list[Measurement | Curve]:
        lost = key == Key("xpfe", 3, 500, 250.0)
        return [number("delay.p99", 900.0 if lost else store_and_forward(key), None if lost else 0.1)]

    found = check(view(ran(trial)), "xpfe", "delay.p99")
    assert (found.within, len(found.points)) == (44, 44)


def test_one_hop_count_predicts_nothing() -> None:
    seen = view(delays(store_and_forward, hops=[2]))
    assert model(seen, "xpfe", "delay.mean") is None
    assert "1 hop count was measured" in check(seen, "xpfe", "delay.mean").text


def test_it_is_said_what_a_prediction_assumes() -> None:
    sure = model(view(delays(store_and_forward)), "xpfe", "delay.mean")
    unsure = model(view(delays(store_and_forward, hops=[2, 3], frame_bytes=[500, 1500])), "xpfe", "delay.mean")
    assert sure is not None
    assert unsure is not None
    assert "33 degrees of freedom" in assumes(sure)
    assert "No point is left" in assumes(unsure)


# ---- along the path

PLACE = Key("xpfe", 4, 500, 250.0)
FRAMES = 20_000


def _curve(delays_us: np.ndarray[tuple[int], np.dtype[np.float64]], sent: int, hop: int) -> Curve:
    x, y = delta_q(np.sort(delays_us), sent)
    return Curve(name=CURVE, x_name="delay", x_unit="us", y_name="arrived", y_unit="1", x=x, y=y, n=sent, subject={"hop": str(hop)})


def _chain(hops: list[int], lost: float = 0.0) -> Point:
    """Hops whose delays are gamma distributed and independent."""
    return _campaign(hops, lost).points[Key("xpfe", hops[-1], 500, 250.0)]


def _campaign(hops: list[int], lost: float = 0.0) -> View:
    rng = np.random.default_rng(3)

    def trial(key: Key, _repetition: int) -> list[Measurement | Curve]:
        parts = [2.0 + rng.gamma(2.0, 0.5, FRAMES) for _ in range(key.hops)]
        whole = np.sum(parts, axis=0)
        ends = [number("delay.mean", float(whole.mean()), 0.05), number("delay.p99", float(np.quantile(whole, 0.99)), 0.1)]
        arrived = int(FRAMES * (1 - lost))
        return [*ends, *(_curve(part[:arrived], FRAMES, hop) for hop, part in enumerate(parts, 1))]

    return view(ran(trial, hops=hops, frame_bytes=[500], rates_mbps=[250]))


def test_delta_q_of_independent_hops_adds_up_by_convolution() -> None:
    whole = path(_chain([4]), 4)
    assert whole is not None
    # Four gamma variables of one scale sum to one of four times the shape.
    assert whole.mean == pytest.approx(12.0, abs=0.03)
    assert whole.percentile(99) == pytest.approx(8.0 + stats.gamma(8.0, scale=0.5).ppf(0.99), abs=0.05)
    assert whole.percentile(50) == pytest.approx(8.0 + stats.gamma(8.0, scale=0.5).ppf(0.5), abs=0.03)
    assert whole.loss == pytest.approx(0.0, abs=1e-9)


def test_loss_along_the_path_is_what_no_hop_lets_through() -> None:
    whole = path(_chain([4], lost=0.1), 4)
    assert whole is not None
    assert whole.loss == pytest.approx(1 - 0.9**4, abs=1e-6)


def test_longer_and_shorter_paths_are_made_of_the_hops_that_there_are() -> None:
    point = _chain([4])
    for hops in (2, 3, 7):
        whole = path(point, hops)
        assert whole is not None
        assert whole.mean == pytest.approx(3.0 * hops, abs=0.05)
        assert whole.percentile(99) == pytest.approx(2.0 * hops + stats.gamma(2.0 * hops, scale=0.5).ppf(0.99), abs=0.1)


def test_an_odd_hop_is_met_once() -> None:
    def trial(key: Key, _repetition: int) -> list[Measurement | Curve]:
        takes = [2.0, 12.0, 3.0, 4.0]
        return [_curve(np.full(100, took), 100, hop) for hop, took in enumerate(takes[: key.hops], 1)]

    point = view(ran(trial, hops=[4], frame_bytes=[500], rates_mbps=[250])).points[PLACE]
    means = [whole.mean for hops in (2, 3, 4, 6) if (whole := path(point, hops, {2})) is not None]
    assert means == pytest.approx([6.0, 18.0, 21.0, 27.0])


def test_a_chain_without_inner_hops_says_nothing_of_longer_ones() -> None:
    point = _chain([2])
    assert path(point, 2) is not None
    assert path(point, 3) is None


def test_convolution_stands_beside_what_was_measured_and_predicts_other_hop_counts() -> None:
    found = list(convolved(_campaign([2, 3, 4]), "xpfe"))
    assert [(each.key.hops, each.source) for each in found] == [(2, 2), (2, 4), (3, 3), (3, 4), (4, 4), (4, 3)]
    for each in found:
        assert each.mean == pytest.approx(each.measured_mean.value, abs=0.1)
        assert each.percentile == pytest.approx(each.measured_percentile.value, abs=0.15)


def test_without_distributions_per_hop_nothing_is_convolved() -> None:
    seen = view(delays(store_and_forward))
    assert list(convolved(seen, "xpfe")) == []
    assert path(seen.points[PLACE], 4) is None

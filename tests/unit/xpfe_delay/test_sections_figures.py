"""Figures show where the delays are, and say what they leave out."""

import numpy as np
import pytest

from reports import figures, style
from reports.document import Figure
from reports.multiples import ceiling, measured
from reports.sketch import Panel, Sketch
from testplans.xpfe_delay import figures_delay
from testplans.xpfe_delay.figures import distribution_mark, distribution_words, hop_mark


def test_a_few_late_frames_do_not_squeeze_the_histogram() -> None:
    edges = np.linspace(0.0, 1000.0, 1001)
    density = np.zeros(1000)
    density[10:20] = 0.0999
    density[900] = 0.001
    low, high = figures_delay.window(list(edges), list(density))
    assert low == pytest.approx(10, abs=1)
    assert high == pytest.approx(20, abs=1)


def test_a_histogram_of_one_bin_has_a_window() -> None:
    low, high = figures_delay.window([5.0, 6.0], [1.0, 0.0])
    assert (low < 5.0, high > 6.0) == (True, True)


def test_what_lies_outside_is_said_with_the_longest_delay() -> None:
    x, y = [*np.linspace(10.0, 20.0, 11), 900.0], [0.0998] * 10 + [0.0, 0.0]
    data = {"histogram": {"x": x, "y": y}, "fits": {}, "chosen": "", "delta_q": [], "longest": 1234.0}
    drawing = figures.draw(Figure(caption="", alt="", draw=figures_delay.trial, data=data, sketched=True))
    assert drawing.error == ""
    assert "0.2 % of the frames lie outside, up to 1,234 µs" in drawing.svg


def test_the_single_gaussian_is_blue_and_mixtures_are_red_as_in_the_paper() -> None:
    assert distribution_mark("gaussian") == style.queue(3)
    assert distribution_mark("mixture-2") == distribution_mark("mixture-5") == style.queue(0)
    assert distribution_words("mixture-3") == "mixture of 3 Gaussians"
    marks = {distribution_mark(name).colour for name in ("gaussian", "gamma", "log-normal", "exponential", "mixture-2")}
    assert len(marks) == 5


def test_eight_hops_have_eight_colours() -> None:
    assert len({hop_mark(hop).colour for hop in range(1, 9)}) == 8


def test_one_point_far_above_the_others_does_not_press_them_down() -> None:
    points = [{"x": 500.0, "y": y, "low": y - 1, "high": y + 1} for y in (10.0, 20.0, 30.0)]
    assert ceiling(points) == pytest.approx(31 * 1.06)
    assert ceiling([*points, {"x": 500.0, "y": 5000.0, "low": 4000.0, "high": 6000.0}]) < 120
    assert ceiling([]) == 1.0


def test_a_point_above_the_picture_is_a_triangle_at_its_edge() -> None:
    sketch = Sketch(2.0, 2.0)
    panel = Panel(sketch, 0.0, 0.0, 100.0, 100.0)
    panel.limits((0.0, 10.0), (0.0, 50.0))
    measured(panel, {"x": 5.0, "y": 20.0, "low": 19.0, "high": 70.0}, "#000000")
    assert "circle" in sketch.svg()
    assert "polygon" not in sketch.svg()
    # The interval ends at the edge.
    assert "50.00,0.00" in sketch.svg()
    measured(panel, {"x": 5.0, "y": 70.0, "low": 60.0, "high": 80.0}, "#000000")
    assert 'points="47.00,5.00 53.00,5.00 50.00,0.00"' in sketch.svg()

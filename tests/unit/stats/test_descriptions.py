"""Order, fairness, variation, delta-Q and selection against answers that can be counted by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackproof.stats import fairness
from rackproof.stats.delta_q import POINTS_MAX, delta_q
from rackproof.stats.order import order_of
from rackproof.stats.selection import TOGETHER_MAX, order_statistics, selector
from rackproof.stats.variation import follows, ipdv


@pytest.mark.parametrize(
    ("arrived", "reordered", "duplicates"),
    [
        ([], 0, 0),
        ([5], 0, 0),
        ([1, 2, 3], 0, 0),
        ([1, 3, 4], 0, 0),  # a loss is no reordering
        ([1, 2, 4, 3, 5], 1, 0),
        ([4, 1, 2, 3], 3, 0),  # one early frame makes three late ones: RFC 4737, section 3.3
        ([1, 2, 2, 3], 0, 1),
        ([1, 2, 3, 1, 1], 0, 2),  # a late copy is a copy, not a late frame
        ([3, 1, 3, 2, 1], 2, 2),
    ],
)
def test_order(arrived: list[int], reordered: int, duplicates: int) -> None:
    found = order_of(np.array(arrived, np.uint32))
    assert (found.reordered, found.duplicates) == (reordered, duplicates)


@given(st.lists(st.integers(0, 30), max_size=40))
def test_order_against_the_definition(arrived: list[int]) -> None:
    expected, seen, late, copies = 0, set(), 0, 0
    for number in arrived:
        if number in seen:
            copies += 1
            continue
        seen.add(number)
        if number >= expected:
            expected = number + 1
        else:
            late += 1
    found = order_of(np.array(arrived, np.int64))
    assert (found.reordered, found.duplicates) == (late, copies)
    if found.first is not None:
        assert [arrived[at] for at in found.first] == sorted(set(arrived))


def test_jain() -> None:
    columns = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    index = fairness.jain(columns)
    assert index[0] == pytest.approx(1.0)
    assert index[1] == pytest.approx(0.25)
    assert np.isnan(index[2])


def test_largest_relative_difference() -> None:
    assert fairness.spread(np.array([57.0, 38.0])) == pytest.approx(19 / 47.5)
    assert fairness.difference(1, 0, np.array([[57.0], [38.0]]))[0] == pytest.approx(-19 / 47.5)
    assert np.isnan(fairness.spread(np.array([0.0, 0.0])))


def test_variation_skips_what_was_not_sent_in_a_row() -> None:
    sequence, delays = np.array([1, 2, 4, 5], np.uint32), np.array([10, 13, 100, 98], np.float32)
    pairs = follows(sequence)
    assert pairs.tolist() == [False, True, False, True]
    assert ipdv(delays, pairs).tolist() == [0, 3, 0, 2]


@given(st.integers(0, 3000), st.integers(0, 500))
def test_delta_q_is_an_improper_distribution(arrived: int, lost: int) -> None:
    delays = np.sort(np.random.default_rng(arrived).exponential(10, arrived))
    x, y = delta_q(delays, arrived + lost)
    assert len(x) == len(y) <= POINTS_MAX
    assert list(x) == sorted(x)
    assert list(y) == sorted(y)
    assert y[-1] == (arrived / (arrived + lost) if arrived else 0.0)
    if arrived:
        assert x[-1] == delays[-1]


@pytest.mark.parametrize("size", [10, TOGETHER_MAX + 1000])
def test_selection_is_exact(size: int) -> None:
    rng = np.random.default_rng(5)
    parts = [(rng.standard_normal(size // 2) * scale).astype(np.float32) for scale in (1, 1e-3, 1e4)]
    parts.append(np.full(size // 2, np.float32(0.25)))
    ordered = np.sort(np.concatenate(parts))
    ranks = [0, 1, len(ordered) // 3, len(ordered) // 2, len(ordered) - 2, len(ordered) - 1]
    expected = [float(ordered[rank]) for rank in ranks]
    assert order_statistics(parts, ranks) == expected
    assert selector(parts)(ranks) == expected

"""Frames of stable LSPs: which came twice, which out of order, which not, and when those were sent."""

from dataclasses import fields

import numpy as np
import pytest

from rackproof.model.traffic import Capture, Samples
from testplans.mpls_flap.lanes import lanes
from tests.unit.mpls_flap.devices import Truth
from tests.unit.mpls_flap.synthetic import BEGAN_NS, observe

TRUTH = Truth(stable=4, flapped=2, fps=4000)


def capture(rows: np.ndarray) -> Capture:
    """The rows of the frames in this order of arrival."""
    whole = observe(TRUTH).capture
    frames = np.flatnonzero(whole.samples.port < 2000)[rows]
    samples = Samples(**{column.name: getattr(whole.samples, column.name)[frames] for column in fields(Samples)})
    return Capture(samples=samples, sent=whole.sent, batch_starts_ns=whole.batch_starts_ns)


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    return np.arange(int((observe(TRUTH).capture.samples.port < 2000).sum()))


def test_all_that_was_sent_came(rows: np.ndarray) -> None:
    found = lanes(capture(rows), range(4), BEGAN_NS)
    assert found is not None
    assert len(found.sent_s) == 4 * 1000 * 2.5 - 4
    assert len(found.lost_s) == len(found.again_s) == len(found.behind_s) == 0
    assert found.follows.sum() == len(found.sent_s) - 4
    assert found.delay_us.mean() == pytest.approx(40, abs=0.5)
    assert (np.diff(found.lane) >= 0).all()


def test_frames_that_did_not_come_are_put_where_they_were_sent(rows: np.ndarray) -> None:
    gone = np.arange(4000, 4008)
    whole, found = (lanes(capture(which), range(4), BEGAN_NS) for which in (rows, np.delete(rows, gone)))
    assert whole is not None
    assert found is not None
    assert sorted(found.lost_lane) == [0, 0, 1, 1, 2, 2, 3, 3]
    sent_s = (capture(rows).samples.tx_ns[gone] - BEGAN_NS) / 1e9
    assert np.sort(found.lost_s) == pytest.approx(np.sort(sent_s), abs=2e-3)
    assert whole.follows.sum() - found.follows.sum() == 8 + 4


def test_copies_and_late_frames_are_counted_once_each(rows: np.ndarray) -> None:
    twice = np.insert(rows, 5000, [4980, 4981])
    late = np.concatenate([np.delete(rows, 6000)[:6010], [6000], rows[6011:]])
    copied, behind = (lanes(capture(which), range(4), BEGAN_NS) for which in (twice, late))
    assert copied is not None
    assert behind is not None
    assert (len(copied.again_s), len(copied.behind_s), len(copied.lost_s)) == (2, 0, 0)
    assert (len(behind.again_s), len(behind.behind_s), len(behind.lost_s)) == (0, 1, 0)


def test_only_the_wanted_lsps(rows: np.ndarray) -> None:
    found = lanes(capture(rows), range(2, 4), BEGAN_NS)
    assert found is not None
    assert found.lsps.tolist() == [2, 3]
    assert set(found.lane) == {0, 1}
    assert lanes(capture(rows), range(4, 9), BEGAN_NS) is None

"""Does a line bend, and where? Two straight pieces that meet in a knee, against one line.

The knee is where the squares are least (D. J. Hudson, J. Am. Stat. Assoc. 61, 1966); its interval holds all knees whose squares are not
larger by more than chance allows (profile likelihood). Whether there is one at all is no plain F test, for without a knee its place means
nothing: how much two pieces gain over one line, where there is only noise, depends on the places of the points alone, and is drawn.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import fdtri

from rackproof.model.measurement import Interval
from rackproof.stats.batches import CONFIDENCE, Floats

#: Knees that are tried.
_PLACES = 201
#: Draws of noise alone.
_DRAWS = 999


@dataclass(frozen=True, kw_only=True, slots=True)
class Knee:
    """Where y bends over x. slope_before, slope_after: of y; p: how often noise about one line gains as much; n: points."""

    value: float
    interval: Interval
    slope_before: float
    slope_after: float
    p: float
    n: int


def knee(
    x: Sequence[float],
    y: Sequence[float],
    *,
    origin: bool = False,
    resolution: float = 0.0,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Knee | None:
    """The knee; None where one line explains as much, or the points are too few to say: 5 at 4 places, with origin 4 at 3.

    Each piece has 2 places at least, the knee's among them. origin: the first piece goes through it, as the one line does. resolution: y is
    no finer than this (1 for counts), however well it fits.
    """
    places, values = np.asarray(x, np.float64), np.asarray(y, np.float64)
    distinct, free = np.unique(places), 3 if origin else 4
    if len(distinct) < free or len(places) <= free:
        return None
    tried = np.linspace(distinct[0 if origin else 1], distinct[-2], _PLACES)
    # What two pieces explain beyond one line lies in one direction, for each knee another.
    bases = np.linalg.qr(_designs(places, tried, origin=origin))[0]
    line, bends = bases[0, :, :-1], bases[:, :, -1]
    degrees = len(places) - free

    def squares_of(rows: Floats) -> tuple[Floats, Floats]:
        """Squares of the residuals of one line, rows; of two pieces, knees by rows."""
        straight = np.square(rows).sum(axis=1) - np.square(rows @ line).sum(axis=1)
        return straight, np.maximum(straight - np.square(bends @ rows.T), 0.0)

    (straight,), pieces = squares_of(values[None])
    squares = pieces[:, 0]
    least = max(float(squares.min()), resolution**2 / 12 * degrees, math.ulp(float(values @ values) + 1.0))
    noise = np.random.default_rng(seed).standard_normal((_DRAWS, len(places)))
    by_chance, of_chance = squares_of(noise)
    gains = by_chance / of_chance.min(axis=0) - 1
    p = (1 + int(np.count_nonzero(gains >= (straight - squares.min()) / least))) / (1 + _DRAWS)
    if p > 1 - confidence:
        return None
    best = float(tried[squares.argmin()])
    within = tried[squares <= squares.min() + least / degrees * float(fdtri(1, degrees, confidence))]
    step = float(tried[1] - tried[0])
    low, high = max(float(within[0]) - step, float(tried[0])), min(float(within[-1]) + step, float(tried[-1]))
    found = np.linalg.lstsq(_designs(places, np.array([best]), origin=origin)[0], values, rcond=None)[0].tolist()
    before, bend = found[-2:]
    return Knee(
        value=best,
        interval=Interval(low=min(low, best), high=max(high, best), confidence=confidence, method="profile likelihood of two pieces"),
        slope_before=before,
        slope_after=before + bend,
        p=p,
        n=len(places),
    )


def _designs(places: Floats, knees: Floats, *, origin: bool) -> Floats:
    """Knees by points by coefficients: the constant where there is one, the slope, and what it changes by behind the knee."""
    behind = np.maximum(places[None, :] - knees[:, None], 0.0)
    columns = [np.broadcast_to(places, behind.shape), behind]
    return np.stack(columns if origin else [np.ones_like(behind), *columns], axis=2)

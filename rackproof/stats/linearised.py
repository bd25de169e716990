"""How sure are the mean and the percentiles of a fitted distribution?

Each sample moves the fitted parameters by its influence (score by the inverse of the information: van der Vaart, Asymptotic Statistics,
section 5.3), and with them mean and percentiles. Drawing blocks of influences is refitting to drawn blocks of samples, in one step of
Newton's method: dependent samples are treated as such, and a fit of a wrong family still gets the spread right, though not the place.
"""

from collections.abc import Sequence

import numpy as np

from rackproof.stats.distributions import Fit
from rackproof.stats.groups import Floats, Groups

_STEP = 1e-3


def influences(fit: Fit, fine: Groups, coarse: Groups, shares: Sequence[float]) -> Floats:
    """By how much a sample moves the mean and each percentile, per group of `fine`: quantities by groups. coarse: for second
    derivatives.
    """
    moves = fit.family.moves(fit.row) * _STEP
    scores = _scores(fit, fine.values, fit.row, moves)
    information = np.empty((len(moves), len(moves)))
    for at, move in enumerate(moves):
        ahead, behind = (_scores(fit, coarse.values, fit.row + sign * move, moves) @ coarse.counts for sign in (1, -1))
        information[at] = -(ahead - behind) / (2 * _STEP) / coarse.counts.sum()
    if not (np.isfinite(information).all() and np.isfinite(scores).all()):
        # The fitted location lies so close below the smallest sample that no derivative exists.
        return np.full((1 + len(shares), len(fine.values)), np.nan)
    ahead, behind = (_quantities(fit, fit.row + sign * moves, shares) for sign in (1, -1))
    gradient = (ahead - behind) / (2 * _STEP)
    return np.asarray(gradient.T @ np.linalg.pinv((information + information.T) / 2, rcond=1e-10, hermitian=True) @ scores)


def _scores(fit: Fit, values: Floats, row: Floats, moves: Floats) -> Floats:
    """Derivatives of the log density along the moves: moves by values."""
    ahead, behind = (fit.family.log_density(values, row + sign * moves) for sign in (1, -1))
    with np.errstate(invalid="ignore"):
        return np.asarray((ahead - behind) / (2 * _STEP))


def _quantities(fit: Fit, rows: Floats, shares: Sequence[float]) -> Floats:
    """Mean and percentiles: rows by quantities."""
    return np.column_stack([fit.family.mean(rows), fit.family.quantile(np.array(shares), rows)])

"""How sure is a share of independent events that were counted?"""

import math

from scipy.special import betaincinv

from rackproof.model.measurement import Interval
from rackproof.stats.batches import CONFIDENCE

_Z = 1.959963984540054


def wilson(events: int, trials: int) -> Interval | None:
    """Wilson's score interval of a share (J. Am. Stat. Assoc. 22, 1927), close to 95 % on average; None without trials."""
    if trials == 0:
        return None
    share = events / trials
    scale = 1 + _Z**2 / trials
    centre = (share + _Z**2 / (2 * trials)) / scale
    half = _Z / scale * math.sqrt(share * (1 - share) / trials + _Z**2 / (4 * trials**2))
    # At no event, or nothing but events, centre and half-width meet: rounding must not leave the share outside.
    return Interval(low=min(max(centre - half, 0.0), share), high=max(min(centre + half, 1.0), share), method="Wilson")


def clopper_pearson(events: int, trials: int) -> Interval | None:
    """Exact interval of a share (Biometrika 26, 1934), never below 95 %; None without trials."""
    if trials == 0:
        return None
    alpha = 1 - CONFIDENCE
    low = 0.0 if events == 0 else float(betaincinv(events, trials - events + 1, alpha / 2))
    high = 1.0 if events == trials else float(betaincinv(events + 1, trials - events, 1 - alpha / 2))
    return Interval(low=low, high=high, method="Clopper-Pearson")

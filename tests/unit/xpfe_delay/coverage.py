"""How often does the truth lie within the intervals of what is concluded over a campaign? Counted over made-up campaigns."""

from collections.abc import Iterator

import numpy as np

from rackproof.model.measurement import Measurement
from testplans.xpfe_delay.decomposition import decompose
from testplans.xpfe_delay.prediction import check, model
from testplans.xpfe_delay.view import Key, View, view
from tests.unit.xpfe_delay.chains import Z, delays, store_and_forward

#: Standard error of each number [us].
ERROR = 0.3
#: Places beyond what is measured: hops, size, rate.
BEYOND = ((5, 500, 250.0), (6, 1000, 500.0), (8, 1500, 750.0))


def of_predictions(campaigns: int, scatter: float, seed: int) -> float:
    """Share of predictions beyond the measured hop counts that hold a truth which itself scatters about the model [us]."""
    rng = np.random.default_rng(seed)
    found = []
    for seen in _campaigns(campaigns, scatter, rng):
        predictor = model(seen, "xpfe", "delay.mean")
        assert predictor is not None
        for hops, size, rate in BEYOND:
            truth = store_and_forward(Key("xpfe", hops, size, rate)) + rng.normal(0, scatter)
            found.append(_holds(predictor.at(hops, size, rate), truth))
    return float(np.mean(found))


def of_parts(campaigns: int, scatter: float, seed: int) -> float:
    """Share of the parts of a hop's delay (per byte, fixed, by load) that hold the true one."""
    found = []
    for seen in _campaigns(campaigns, scatter, np.random.default_rng(seed)):
        parts = decompose(seen, "xpfe")
        assert parts is not None
        truths = ((parts.per_byte(500.0), 12.0), (parts.fixed(500.0), 5.0), (parts.load(800, 750.0), 6.0))
        found += [_holds(part, truth) for part, truth in truths]
    return float(np.mean(found))


def of_checks(campaigns: int, scatter: float, seed: int) -> float:
    """Share of points that lie within the interval which the other hop counts predict."""
    rng = np.random.default_rng(seed)
    return float(np.mean([check(seen, "xpfe", "delay.mean").within / 45 for seen in _campaigns(campaigns, scatter, rng)]))


def _campaigns(many: int, scatter: float, rng: np.random.Generator) -> Iterator[View]:
    for _ in range(many):
        noise = iter(rng.normal(0, np.hypot(ERROR, scatter), 45))
        yield view(delays(lambda key, noise=noise: store_and_forward(key) + next(noise), half=Z * ERROR))  # type: ignore[misc]


def _holds(found: Measurement | None, truth: float) -> bool:
    return found is not None and found.interval is not None and found.interval.contains(truth)

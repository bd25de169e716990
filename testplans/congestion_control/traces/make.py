"""`python -m testplans.congestion_control.traces.make`: write the traces of this folder anew; the same seed gives the same files.

The rate of a cellular link wanders: its logarithm is an Ornstein-Uhlenbeck process (standard deviation 0.45, correlation time 1 s),
broken by pauses of 100 to 300 ms, one in 5 s on average. Within a millisecond the number of opportunities is drawn from Poisson's law.
"""

from pathlib import Path

import numpy as np

from testplans.congestion_control.path import OPPORTUNITY_BYTES, TRACES

SEED = 40
SPAN_MS = 15_000
MEAN_BPS = 40e6
_SIGMA = 0.45
_CORRELATION_MS = 1000.0
_PAUSES_PER_MS = 1 / 5000
_PAUSE_MS = (100, 300)


def cellular() -> list[int]:
    """Opportunities of a cellular-like link, MEAN_BPS on average over SPAN_MS [ms since the start]."""
    draws = np.random.default_rng(SEED)
    keep = np.exp(-1 / _CORRELATION_MS)
    steps = draws.normal(0.0, _SIGMA * np.sqrt(1 - keep**2), SPAN_MS)
    level = np.empty(SPAN_MS)
    now = 0.0
    for at, step in enumerate(steps):
        now = keep * now + step
        level[at] = now
    rate = np.exp(level)
    for start in np.flatnonzero(draws.random(SPAN_MS) < _PAUSES_PER_MS):
        rate[start : start + int(draws.integers(*_PAUSE_MS))] = 0.0
    rate *= MEAN_BPS / rate.mean() / (OPPORTUNITY_BYTES * 8e3)
    found = np.repeat(np.arange(1, SPAN_MS + 1), draws.poisson(rate)).tolist()
    # The list begins anew after its last entry: that is where its period ends.
    return [*found, SPAN_MS] if found[-1] != SPAN_MS else found


def main() -> None:
    """Write the files."""
    Path(TRACES / "cellular-40.trace").write_text("".join(f"{at}\n" for at in cellular()))


if __name__ == "__main__":
    main()

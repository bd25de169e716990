"""How true and how fast is what is concluded over a multi-hop delay campaign? Prints one JSON row per target.

Coverage is measured over 1,000 made-up campaigns of 45 points each. Time is that of findings and convolutions of the paper's campaign with
measurements and curves as a bench gives them.
"""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

from testplans.xpfe_delay.convolution import convolved
from testplans.xpfe_delay.criteria import conclude
from testplans.xpfe_delay.view import view
from tests.unit.xpfe_delay.campaigns import made_up
from tests.unit.xpfe_delay.coverage import of_checks, of_parts, of_predictions

CAMPAIGNS = 1000
#: Truths scatter about the model as much as in the paper's tables.
SCATTER_US = 2.5
COVERED = (0.93, 0.97)
CONCLUDE_S, CONVOLVE_S = 1.0, 3.0
REPEATS = 5
SEED = 7

Row = dict[str, Any]


def main() -> int:
    """Measure and print; the exit code is 0 whatever was measured."""
    for row in (*covered(), *speed()):
        print(json.dumps(row), flush=True)
    return 0


def covered() -> Iterator[Row]:
    """Share of intervals that held the truth."""
    for name, share in (("prediction", of_predictions), ("parts", of_parts), ("left_out", of_checks)):
        found = share(CAMPAIGNS, SCATTER_US, SEED)
        yield {
            "name": f"multihop.coverage[{name}]",
            "value": round(found, 4),
            "unit": "1",
            "target": "{:g} to {:g}".format(*COVERED),
            "met": COVERED[0] <= found <= COVERED[1],
        }


def speed() -> Iterator[Row]:
    """The best of a few, each from the campaign on."""
    campaign = made_up(like="bench")
    for name, work, target in (
        ("conclude", lambda: conclude(campaign), CONCLUDE_S),
        ("convolve", lambda: list(convolved(view(campaign), "xpfe")), CONVOLVE_S),
    ):
        best = min(_time(work) for _ in range(REPEATS))
        yield {
            "name": f"multihop.{name}.time",
            "value": round(best, 3),
            "unit": "s",
            "target": f"at most {target:g}",
            "met": best <= target,
        }


def _time(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    raise SystemExit(main())

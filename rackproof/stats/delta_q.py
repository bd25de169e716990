"""What does an element do to a flow? Delta-Q: delay and loss as one improper distribution.

The cumulative probability that a frame has arrived within a delay; the mass that is missing at the end was lost (D. Reeve, A New Blueprint
for Network QoS, 2003).
"""

import numpy as np
import numpy.typing as npt

POINTS_MAX = 200


def delta_q(
    ordered: npt.NDArray[np.float32] | npt.NDArray[np.float64], sent: int, points: int = POINTS_MAX
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Delays and cumulative probabilities, at most `points` of each; the last probability is 1 - loss.

    ordered: ascending delays of the frames that arrived of the `sent` frames. Half of the points are spread evenly over the probability and
    the others over its tail, closer and closer to the end. Without an arrival the curve is the single point (0, 0).
    """
    count = len(ordered)
    if count == 0 or sent == 0:
        return (0.0,), (0.0,)
    if count <= points:
        ranks = np.arange(1, count + 1)
    else:
        even = np.linspace(1, count, points // 2)
        tail = count - np.geomspace(1, count, points - points // 2) + 1
        ranks = np.unique(np.rint(np.concatenate([even, tail])).astype(np.int64).clip(1, count))
    x = ordered[ranks - 1]
    return tuple(float(value) for value in x), tuple(float(value) for value in ranks / sent)

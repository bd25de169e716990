"""By how much do two independent measurements of the same thing differ?"""

import math

from rackproof.model.measurement import Interval


def difference(first: float, of_first: Interval | None, second: float, of_second: Interval | None) -> tuple[float, Interval | None]:
    """What must be added to the first, with its interval from theirs, which must be of one confidence and independent.

    None where either has none, or the difference is not finite. The method of variance estimates recovery (Zou and Donner 2008,
    Statistics in Medicine 27, 1693): it needs no symmetry, and no wider interval than theirs where one of them is exact.
    """
    value = second - first
    if of_first is None or of_second is None or not math.isfinite(value):
        return value, None
    down = math.hypot(second - of_second.low, of_first.high - first)
    up = math.hypot(of_second.high - second, first - of_first.low)
    return value, Interval(
        low=value - down, high=value + up, confidence=min(of_first.confidence, of_second.confidence), method="MOVER of both intervals"
    )

"""Words, cells and notes that all sections share."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from rackproof.model.measurement import Interval, Measurement
from rackproof.model.verdict import worst
from reports.document import Cell
from reports.text import ABSENT, decimals_for, measured, number, plural
from testplans.xpfe_delay.classes import TrafficClass
from testplans.xpfe_delay.parts import Chain, Forwarding
from testplans.xpfe_delay.plan import XpfeDelayPlan
from testplans.xpfe_delay.view import Key, Point, View

_BLOCKS = re.compile(r"blocks of (\d+)")
#: Rates side by side in one table.
RATES_A_TABLE = 3


def hops_words(hops: int) -> str:
    """How many hops."""
    return plural(hops, "hop")


def rate_words(rate_mbps: float) -> str:
    """The plan's rate."""
    return f"{rate_mbps:g} Mbit/s"


def percentile_words(percent: float) -> str:
    """The ordinal of a percentile."""
    last = f"{percent:g}"
    ending = "th" if "." in last or last[-2:] in {"11", "12", "13"} else {"1": "st", "2": "nd", "3": "rd"}.get(last[-1], "th")
    return f"{last}{ending} percentile"


def budget_words(of: TrafficClass) -> str:
    """The budget with its unit: "100 µs", "1 ms"."""
    return f"{number(of.budget_us / 1000)} ms" if of.budget_us >= 1000 else f"{number(of.budget_us)} µs"


def point_words(key: Key) -> str:
    """The point without its chain."""
    return f"{hops_words(key.hops)}, {key.frame_bytes} bytes, {rate_words(key.rate_mbps)}"


def confidence_words(plan: XpfeDelayPlan) -> str:
    """The confidence of intervals: "95 %"."""
    return f"{number(100 * plan.verdict.confidence, 3)} %"


def rates_words(plan: XpfeDelayPlan) -> str:
    """Whether what was offered were the rates of the plan, in one sentence."""
    if plan.rate_scale == 1:
        return "The rates are the plan's own."
    real = ", ".join(number(plan.offered_mbps(rate)) for rate in plan.rates_mbps)
    return (
        f"The rates are scaled: trials are called by the rates of the plan, but only {number(100 * plan.rate_scale, 3)} % of each was "
        f"offered ({real} Mbit/s)."
    )


def value(found: Measurement | None, digits: int = 4) -> Cell:
    """A number with its interval."""
    return Cell(text=measured(found, digits=digits), muted=found is None)


def compact(found: Measurement | None) -> Cell:
    """A number and half of its interval, however lopsided that is: for tables that have no room for both ends."""
    half = found.interval.half_width if found and found.interval else 0.0
    if found is None or not 0 < half < math.inf:
        return value(found)
    decimals = decimals_for(half)
    return Cell(text=f"{number(found.value, decimals=decimals)} ± {number(half, decimals=decimals)}")


def interval_words(interval: Interval | None, decimals: int = 2) -> str:
    """Both ends as the paper prints them; an end that is not known is a dash."""
    if interval is None:
        return ABSENT
    ends = [number(end, decimals=decimals) if math.isfinite(end) else ABSENT for end in (interval.low, interval.high)]
    return ABSENT if ends == [ABSENT, ABSENT] else ", ".join(ends)


def missing(point: Point | None) -> Cell:
    """Why a point has no numbers."""
    if point is None:
        return Cell(text="not measured", muted=True)
    return Cell(text=point.why_not or "no valid trial", verdict=worst(point.missing) if point.missing else None)


def methods(seen: View, prefix: str) -> str:
    """How the intervals of delays were made; prefix: "delay." (distribution-free) or "delay.fit."."""
    fitted = prefix == "delay.fit."
    found: dict[str, list[int]] = {}
    for point in seen.points.values():
        for record in point.valid:
            for each in record.result.measurements if record.result else ():
                if each.interval is not None and each.name.startswith("delay.") and each.name.startswith("delay.fit.") == fitted:
                    words = re.sub(r"refits of the [\w-]+", "refits", each.interval.method)
                    found.setdefault(_BLOCKS.sub("blocks of {}", words), []).extend(map(int, _BLOCKS.findall(words)))
    return "; ".join(words.format(_range(blocks)) for words, blocks in found.items()) or "none was made"


def _range(values: Sequence[int]) -> str:
    if not values:
        return ""
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low} to {high}"


def chunks(rates: tuple[float, ...]) -> Iterator[tuple[float, ...]]:
    """The rates, as many at a time as a table has room for."""
    for start in range(0, len(rates), RATES_A_TABLE):
        yield rates[start : start + RATES_A_TABLE]


def forwarding_words(chain: Chain) -> str:
    """What the elements of a chain do to frames."""
    return "MAC-in-MAC between the elements" if chain.forwarding is Forwarding.MAC_IN_MAC else "frames as they are"


def facts_of(seen: View, device: str) -> Mapping[str, str]:
    """What was written down of a device before the first trial."""
    return seen.campaign.provenance.get(f"Device {device}", {})

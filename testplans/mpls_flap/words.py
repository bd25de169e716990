"""How points, tests, numbers and phases are written in reports of this kind."""

import math
import re
from collections.abc import Mapping, Sequence

from rackproof.model.measurement import Measurement
from rackproof.model.verdict import worst
from reports.document import Cell
from reports.text import ABSENT, count, decimals_for, measured, number, plural
from testplans.mpls_flap.plan import MplsFlapPlan
from testplans.mpls_flap.view import Key, Point, View

_FAMILY = re.compile(r"(.+)\.[^.]+")
#: With more points than this, each section of a report begins a page.
_FEW = 24


def family(test: str) -> str:
    """What a test's name has in common with those of other frame sizes: "1" of "1.2"; the name where it has no such part."""
    found = _FAMILY.fullmatch(test)
    return found[1] if found else test


def families(tests: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The tests by their family, both in their order."""
    found: dict[str, tuple[str, ...]] = {}
    for test in tests:
        found[family(test)] = (*found.get(family(test), ()), test)
    return found


def names_of(seen: View) -> tuple[str, ...]:
    """The tests of the campaign."""
    return tuple(dict.fromkeys(key.test for key in seen.points))


def keys_of(seen: View, network: str, test: str) -> tuple[Key, ...]:
    """The points of a network and a test, the fewest flapped LSPs first."""
    return tuple(sorted(key for key in seen.points if (key.network, key.test) == (network, test)))


def roomy(seen: View) -> bool:
    """Whether there is so much to show that each section begins a page."""
    return len(seen.points) > _FEW


def size_words(frame_bytes: int) -> str:
    """A frame size."""
    return f"{frame_bytes} bytes"


def rate_words(rate_mbps: float) -> str:
    """The plan's rate."""
    return f"{rate_mbps:g} Mbit/s"


def flapped_words(key: Key) -> str:
    """How many LSPs: "100 stable, 300 flapped"."""
    return f"{key.stable} stable, {key.flapped} flapped"


def sweep_words(seen: View, test: str) -> str:
    """What a test sends: "1.1: 64 bytes, 500 Mbit/s"."""
    key = next(key for key in seen.points if key.test == test)
    return f"{test}: {size_words(key.frame_bytes)}, {rate_words(key.rate_mbps)}"


def network_words(seen: View, network: str) -> str:
    """The network with its shape: "soft-lsr, chain of 3"."""
    return seen.plan.network(network).title


def confidence_words(plan: MplsFlapPlan) -> str:
    """The confidence of intervals: "95 %"."""
    return f"{number(100 * plan.confidence, 3)} %"


def rates_words(plan: MplsFlapPlan) -> str:
    """Whether what was offered were the rates of the plan, in one sentence."""
    if plan.rate_scale == 1:
        return "The rates are the plan's own."
    return (
        f"The rates are scaled: trials are called by the rates of the plan, but only {number(100 * plan.rate_scale, 3)} % of each was "
        "offered."
    )


def windows_words(plan: MplsFlapPlan) -> str:
    """How long the windows are: "5 s, then 2 s"."""
    return ", then ".join(f"{window:g} s" for window in plan.phases.windows_s)


def whole(found: Measurement | None) -> Cell:
    """A count; a mean over repetitions keeps its decimals and its interval."""
    if found is None:
        return Cell(text=ABSENT, muted=True)
    text = count(found.value) if found.interval is None and found.value == round(found.value) else measured(found)
    return Cell(text=text)


def compact(found: Measurement | None) -> Cell:
    """A number and half of its interval, however lopsided that is: for tables that have no room for both ends."""
    half = found.interval.half_width if found and found.interval else 0.0
    if found is None or not 0 < half < math.inf:
        return Cell(text=measured(found), muted=found is None)
    decimals = decimals_for(half)
    return Cell(text=f"{number(found.value, decimals=decimals)} ± {number(half, decimals=decimals)}")


def missing(point: Point) -> Cell:
    """Why a point has no numbers."""
    return Cell(text=point.why_not or "no valid trial", verdict=worst(point.missing) if point.missing else None)


def flaps_of(seen: View) -> range:
    """The flaps' numbers, from 1."""
    return range(1, len(seen.plan.phases.windows_s) + 1)


def facts_of(seen: View, device: str) -> Mapping[str, str]:
    """What was written down of a device before the first trial."""
    return seen.campaign.provenance.get(f"Device {device}", {})


def ranges(numbers: Sequence[int]) -> str:
    """Numbers in few words: "100, 200", "100 to 900 (9)"."""
    if len(numbers) <= 4:
        return ", ".join(map(str, numbers))
    return f"{numbers[0]} to {numbers[-1]} ({plural(len(numbers), 'value')})"

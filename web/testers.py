"""Do two generators that ran the same plan on the same devices agree? Pure: from campaigns side by side to what their testers differ in."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rackproof.model.measurement import Interval
from rackproof.stats.disagreement import difference
from web.comparing import Comparison, Row

#: So many points are named; the farthest from agreement first.
NAMED_MAX = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """What ran. tester: the generator in words, "" where it is not written down. devices: what they are called in the rack."""

    plan_sha256: str
    tester: str
    devices: tuple[str, ...]
    delay_floor_us: float | None

    @classmethod
    def of(cls, plan_sha256: str, provenance: Mapping[str, Mapping[str, Any]], delay_floor_us: float | None) -> "Ran":
        """From what a campaign wrote down before its first trial."""
        tester = str(provenance.get("Testbed", {}).get("generator", ""))
        devices = sorted(str(facts["name in the rack"]) for facts in provenance.values() if "name in the rack" in facts)
        return cls(plan_sha256=plan_sha256, tester=tester, devices=tuple(devices), delay_floor_us=delay_floor_us)


@dataclass(frozen=True, kw_only=True, slots=True)
class Differing:
    """One point at which the interval of the difference leaves zero out. share: the difference by the first one's value."""

    row: Row
    value: float
    interval: Interval
    share: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Disagreement:
    """Two campaigns of one plan with different testers.

    compared: points that both have with intervals; differing_all: at how many of them the interval of the difference leaves zero out;
    by_chance: at how many it would if the testers agreed; differing: those points, the farthest from agreement first, as many as are named;
    share_max: the largest difference of all points, by the first one's value.
    """

    campaigns: tuple[int, int]
    testers: tuple[str, str]
    devices: tuple[str, ...]
    delay_floors_us: tuple[float | None, float | None]
    compared: int
    differing_all: int
    by_chance: float
    share_max: float | None
    differing: tuple[Differing, ...]


def disagreements(compared: Comparison, ran: Mapping[int, Ran]) -> list[Disagreement]:
    """The first column beside each other one that is the same but for the tester."""
    found = []
    for at, column in enumerate(compared.columns[1:], start=1):
        first = compared.columns[0]
        one, other = ran[first.campaign], ran[column.campaign]
        same = (one.plan_sha256, one.devices, first.by) == (other.plan_sha256, other.devices, column.by)
        if same and one.tester and other.tester and one.tester != other.tester:
            found.append(_disagreement((first.campaign, column.campaign), one, other, _differences(compared.rows, at)))
    return found


def _disagreement(campaigns: tuple[int, int], one: Ran, other: Ran, all_of_them: Sequence[Differing]) -> Disagreement:
    differing = [each for each in all_of_them if not each.interval.contains(0.0)]
    return Disagreement(
        campaigns=campaigns,
        testers=(one.tester, other.tester),
        devices=one.devices,
        delay_floors_us=(one.delay_floor_us, other.delay_floor_us),
        compared=len(all_of_them),
        differing_all=len(differing),
        by_chance=sum(1 - each.interval.confidence for each in all_of_them),
        share_max=max((each.share for each in all_of_them if each.share is not None), key=abs, default=None),
        differing=tuple(sorted(differing, key=_distance, reverse=True)[:NAMED_MAX]),
    )


def _differences(rows: Sequence[Row], at: int) -> list[Differing]:
    found = []
    for row in rows:
        first, other = row.cells[0], row.cells[at]
        if first is None or other is None:
            continue
        value, interval = difference(first.value, first.interval, other.value, other.interval)
        if interval is not None:
            found.append(Differing(row=row, value=value, interval=interval, share=value / abs(first.value) if first.value else None))
    return found


def _distance(one: Differing) -> float:
    """How far zero lies outside, in half widths."""
    half = one.interval.half_width
    return abs(one.value) / half if half else math.inf

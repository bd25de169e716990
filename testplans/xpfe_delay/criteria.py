"""Over how many hops does each class of traffic keep its budget, and is that what the plan requires? The findings of a campaign.

A campaign says what holds; it fails only where the plan requires more. What it says beside that (loss, hops that stand out, what the delay
is made of, how far predictions go) is in remarks.py.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from rackproof.model.campaign import CampaignRecord
from rackproof.model.finding import ANSWER, Finding
from rackproof.model.measurement import Measurement
from rackproof.model.verdict import Verdict, worst
from reports.text import number, with_interval
from testplans.xpfe_delay import remarks
from testplans.xpfe_delay.budget import Holding, judge, reaches
from testplans.xpfe_delay.budget_words import bound, conditions, places, reach_words
from testplans.xpfe_delay.classes import TrafficClass
from testplans.xpfe_delay.limits import Requirement
from testplans.xpfe_delay.prediction import check
from testplans.xpfe_delay.sections_words import percentile_words, point_words, rates_words
from testplans.xpfe_delay.view import Key, Point, View, view


def conclude(campaign: CampaignRecord) -> tuple[Finding, ...]:
    """All findings: what is required, then how far each class gets over each chain, then the remarks."""
    seen = view(campaign)
    return (*_required(seen), *_budgets(seen), *remarks.remarks(seen))


def _budgets(seen: View) -> Iterator[Finding]:
    for chain in seen.chains:
        checked = check(seen, chain, seen.percentile)
        doubt = f" Predictions did not stand their check ({checked.within} of {len(checked.points)}): do not rely on them."
        for at, traffic_class in enumerate(seen.plan.traffic_classes):
            found = _budget(seen, chain, traffic_class)
            yield found if at else replace(found, statement=f"{found.statement} {rates_words(seen.plan)}{doubt if checked.fails else ''}")


def _budget(seen: View, chain: str, traffic_class: TrafficClass) -> Finding:
    found = reaches(seen, chain, traffic_class)
    most = max(reach.hops for reach in found)
    points = tuple(seen.of(chain))
    measured = [point for point in points if point.valid]
    rests_on = [
        point
        for reach in found
        if reach.hops == most > 0 and (point := seen.points.get(Key(chain, most, reach.frame_bytes, reach.rate_mbps)))
    ]
    slowest = _slowest(seen, rests_on)
    statement = f"{_who(seen, chain)}{traffic_class.title} ({conditions(seen, traffic_class)}): {reach_words(seen, chain, found)}."
    if slowest is not None:
        point, delay = slowest
        what = f"The slowest {percentile_words(seen.plan.verdict.percentile)} of these"
        statement += f" {what} is {_amount(delay)}, at {point_words(point.key)}."
    return Finding(
        criterion="budget",
        title=f"{traffic_class.title}: number of hops",
        subject={"device": chain, "class": traffic_class.name},
        verdict=Verdict.PASS if measured else _verdict_without(points),
        value=float(most) if measured else math.nan,
        unit="hop" if most == 1 else "hops",
        n=len(measured),
        interval=None,
        limit=bound(seen, traffic_class),
        statement=statement if measured else f"{_who(seen, chain)}{traffic_class.title}: no point was measured ({points[0].why_not}).",
        trials=_indices(points),
        detail={
            ANSWER: 1.0,
            "predicted_hops": float(max(reach.predicted_hops for reach in found)),
            "budget_us": traffic_class.budget_us,
        },
    )


def _required(seen: View) -> Iterator[Finding]:
    for chain in seen.chains:
        for asked in seen.plan.require:
            traffic_class = next(each for each in seen.plan.traffic_classes if each.name == asked.traffic_class)
            yield _requirement(seen, chain, asked, traffic_class)


def _requirement(seen: View, chain: str, asked: Requirement, traffic_class: TrafficClass) -> Finding:
    sizes = asked.frame_bytes or seen.plan.frame_bytes
    rates = asked.rates_mbps or seen.plan.rates_mbps
    points = [p for p in seen.of(chain) if p.key.hops <= asked.hops and p.key.frame_bytes in sizes and p.key.rate_mbps in rates]
    judged = {point.key: judge(seen, point, traffic_class) for point in points}
    verdict = _verdict_of(points, judged.values())
    broken = [point for point in points if judged[point.key] is Holding.FAILS]
    case = _slowest(seen, broken) or _slowest(seen, points)
    where = places(seen, chain, {(point.key.frame_bytes, point.key.rate_mbps) for point in points})
    text = f"{_who(seen, chain)}{traffic_class.title} over {asked.hops} hops is required {where} ({conditions(seen, traffic_class)}): "
    if case is not None:
        point, delay = case
        text += f"the {percentile_words(seen.plan.verdict.percentile)} reaches {_amount(delay)}, at {point_words(point.key)}"
        lost = point.get("loss")
        text += f", where {number(100 * lost.value, 3)} % of the frames were lost." if lost is not None and lost.value > 0 else "."
    else:
        text += "nothing was measured."
    if verdict is Verdict.INVALID:
        text += " That does not settle it: measure longer or repeat."
    gaps = [point for point in points if not point.valid]
    if gaps:
        text += f" No valid trial at {point_words(gaps[0].key)} ({gaps[0].why_not})."
    return Finding(
        criterion="required",
        title=f"{traffic_class.title}: required",
        subject={"device": chain, "class": traffic_class.name},
        verdict=verdict,
        value=case[1].value if case else math.nan,
        unit="us",
        n=case[1].n if case else 0,
        interval=case[1].interval if case else None,
        limit=bound(seen, traffic_class),
        statement=text,
        trials=_indices(points),
        detail={"hops": float(asked.hops)},
    )


def _verdict_of(points: Sequence[Point], judged: Iterable[Holding]) -> Verdict:
    found = list(judged)
    if Holding.FAILS in found:
        return Verdict.FAIL
    if any(not point.valid for point in points):
        return _verdict_without([point for point in points if not point.valid])
    return Verdict.INVALID if Holding.UNDECIDED in found else Verdict.PASS


def _verdict_without(points: Sequence[Point]) -> Verdict:
    """What stands in for a verdict where there is no valid trial."""
    missing = [verdict for point in points for verdict in point.missing]
    return worst(missing) if missing else Verdict.INVALID


def _slowest(seen: View, points: Sequence[Point]) -> tuple[Point, Measurement] | None:
    found = [(point, delay) for point in points if (delay := point.get(seen.percentile)) is not None]
    return max(found, key=lambda pair: pair[1].value, default=None)


def _amount(delay: Measurement) -> str:
    return f"{with_interval(delay.value, delay.interval)} µs"


def _who(seen: View, chain: str) -> str:
    return f"{chain}: " if len(seen.chains) > 1 else ""


def _indices(points: Iterable[Point]) -> tuple[int, ...]:
    return tuple(sorted(index for point in points for index in point.indices))

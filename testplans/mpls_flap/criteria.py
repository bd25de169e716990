"""Does forwarding stay true while LSPs flap, how many come back in time, and what is wrong? The findings of a campaign."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from rackproof.model.campaign import CampaignRecord
from rackproof.model.finding import ANSWER, Finding
from rackproof.model.verdict import Verdict, worst
from rackproof.stats.counts import wilson
from rackproof.stats.equivalence import Equivalence
from reports.text import count, number, percent, plural, with_interval
from testplans.mpls_flap.defects import Found, defects, growing
from testplans.mpls_flap.limits import CRITERIA
from testplans.mpls_flap.linearity import FIRST, Linearity, linearity
from testplans.mpls_flap.separation import BUSY, LOSS, Effect, Separation, separation
from testplans.mpls_flap.view import Point, View, view

_PHASES = ("prior", "during")
#: With more tests than this, they are told together.
_TOLD = 2


def conclude(campaign: CampaignRecord) -> tuple[Finding, ...]:
    """All findings, network by network."""
    seen = view(campaign)
    return tuple(finding for network in seen.networks for finding in _of(seen, network))


def _of(seen: View, network: str) -> Iterator[Finding]:
    points = [point for point in seen.of(network) if point.valid]
    if not points:
        yield _nothing(seen, network)
        return
    apart = separation(seen, network, growing=growing(seen.plan, points))
    if apart is not None:
        yield _separation(seen, network, points, apart)
        yield _loss(seen, network, points, apart)
    yield _control(seen, network, points)
    yield from (_defect(network, points, found) for found in defects(seen.plan, points))


def _nothing(seen: View, network: str) -> Finding:
    points = list(seen.of(network))
    missing = [verdict for point in points for verdict in point.missing]
    why = points[0].why_not if points else ""
    return Finding(
        criterion="control",
        title=CRITERIA["control"],
        subject={"device": network},
        verdict=worst(missing) if missing else Verdict.INVALID,
        value=math.nan,
        unit="1",
        n=0,
        interval=None,
        limit="",
        statement=f"{network}: nothing was measured ({why}).",
        trials=_indices(points),
        detail={ANSWER: 1.0},
    )


def _separation(seen: View, network: str, points: Sequence[Point], apart: Separation) -> Finding:
    rests_on = apart.worse[0] if apart.worse else apart.busy or apart.delay or apart.loss
    verdict = Verdict.FAIL if apart.worse else Verdict.PASS if apart.alike else Verdict.INVALID
    if apart.worse:
        text = "the stable LSPs are disturbed while others flap: " + "; ".join(_worse(each) for each in apart.worse)
    else:
        compared = [each for each in (apart.delay, apart.busy, apart.loss) if each is not None]
        first, *others = (_same(each) for each in compared)
        text = "; ".join([first.replace(" by", " on the stable LSPs changes by", 1), *others])
        text = f"while others flap, {text}"
        if apart.delay is None and not apart.growing:
            text += "; their delay is not compared, since the generator counts frames and keeps none"
        if apart.growing:
            text += "; their delay grows before anything flaps, so that what flaps add to it cannot be told"
        if verdict is Verdict.INVALID:
            text += ". That does not settle it: measure longer or repeat, or allow a wider margin"
    margins = seen.plan.margins
    shown = None if rests_on is None else rests_on.largest[1] if apart.worse else rests_on.pooled
    return Finding(
        criterion="separation",
        title=CRITERIA["separation"],
        subject={"device": network},
        verdict=verdict,
        value=shown.value if shown else math.nan,
        unit=shown.unit if shown else "us",
        n=shown.n if shown else 0,
        interval=shown.interval if shown else None,
        limit=f"alike to within {number(margins.delay_us)} µs and {percent(margins.loss)} of the frames",
        statement=f"{network}: {text}.",
        trials=_indices(points),
        detail={ANSWER: 1.0, **({"growing": 1.0} if apart.growing else {})},
    )


def _worse(found: Effect) -> str:
    point, largest = found.largest
    where = f"with {point.key.flapped} flapped (test {point.key.test})"
    if found.name == LOSS:
        return f"{percent(largest.value)} more of their frames are lost {where}"
    when = "while messages are under way" if found.name == BUSY else "on average over the windows"
    return f"their frames take {with_interval(largest.value, largest.interval)} µs longer {when}, {where}"


def _same(found: Effect) -> str:
    words = {
        Equivalence.EQUIVALENT: "alike",
        Equivalence.DIFFERENT: "lower",
        Equivalence.UNDECIDED: "not settled",
    }[found.said]
    value, interval = found.pooled.value, found.pooled.interval
    if found.name == LOSS:
        return f"loss by {with_interval(value, interval, scale=100)} % ({words})"
    what = "while messages are under way by" if found.name == BUSY else "delay by"
    return f"{what} {with_interval(value, interval)} µs ({words})"


def _loss(seen: View, network: str, points: Sequence[Point], apart: Separation) -> Finding:
    """Loss that flaps cause is the separation's; all other is judged here."""
    phases = _PHASES[:1] if apart.loss is not None and apart.loss.worse else _PHASES
    sent, came = (int(sum(point.total(name, phase=phase) for point in points for phase in phases)) for name in ("sent", "received"))
    lost, most = sent - came, seen.plan.margins.loss
    intervals = [each.interval for point in points for phase in phases for each in point.each("loss", phase=phase)]
    above = any(interval is not None and interval.low > most for interval in intervals)
    text = (
        f"of {count(sent)} frames on the stable LSPs {'none was' if lost == 0 else f'{count(lost)} were' if lost > 1 else 'one was'} lost"
    )
    if phases != _PHASES:
        text += " before any flap"
    return Finding(
        criterion="loss",
        title=CRITERIA["loss"],
        subject={"device": network},
        verdict=Verdict.FAIL if above else Verdict.PASS,
        value=lost / sent if sent else math.nan,
        unit="1",
        n=sent,
        interval=wilson(lost, sent),
        limit=f"at most {percent(most)}",
        statement=f"{network}: {text}.",
        trials=_indices(points),
    )


def _control(seen: View, network: str, points: Sequence[Point]) -> Finding:
    found = {test: each for test in seen.tests(network) if (each := linearity(seen, network, test)) is not None}
    window = f"{seen.plan.phases.windows_s[0]:g} s"
    told = (
        [_in_all(found)]
        if len(found) > _TOLD
        else [f"{f'test {test}: ' if len(found) > 1 else ''}{_up_to(each)}" for test, each in found.items()]
    )
    required = seen.plan.require.linear_up_to
    broken = required is not None and any(each.below is not None and each.below <= required for each in found.values())
    text = f"of N LSPs that flap, K are up again within {window}: {'; '.join(told)}{_differs(points)}"
    if any(point.total("phantoms") for point in points):
        text += ". LSPs that came up past the router are counted, though it has no state of them"
    knees = [each.knee for each in found.values() if each.knee is not None]
    one = knees[0] if len(found) == 1 and knees else None
    least = min((each.up_to for each in found.values()), default=0)
    return Finding(
        criterion="control",
        title=CRITERIA["control"],
        subject={"device": network},
        verdict=Verdict.FAIL if broken else Verdict.PASS,
        value=one.value if one else float(least),
        unit="LSPs",
        n=one.n if one else sum(len(point.valid) for point in points),
        interval=one.interval if one else None,
        limit=f"K = N up to {required}" if required is not None else "",
        statement=f"{network}: {text}.",
        trials=_indices(points),
        detail={ANSWER: 1.0, "up_to": float(least)},
    )


def _in_all(found: Mapping[str, Linearity]) -> str:
    """Many tests in one clause: from the least to the most that they reach, and where they bend."""
    reached = sorted(each.up_to for each in found.values())
    text = f"K = N up to {_range([float(each) for each in reached])} in {len(found)} tests"
    if all(each.throughout for each in found.values()):
        return f"{text}, the most that was tried"
    if knees := sorted(each.knee.value for each in found.values() if each.knee is not None):
        text += f"; the line bends at {_range(knees)}"
    test, worst = min(found.items(), key=lambda each: each[1].least)
    return f"{text}; at worst {percent(worst.least, 2)} come back, at {worst.least_at} (test {test})"


def _range(ordered: Sequence[float]) -> str:
    low, high = number(ordered[0], 3), number(ordered[-1], 3)
    return low if low == high else f"{low} to {high}"


def _up_to(found: Linearity) -> str:
    if found.throughout:
        return f"K = N up to {found.up_to}, the most that was tried"
    text = f"K = N up to {found.up_to}" if found.up_to else f"K is below N from {found.below} on"
    if found.knee is not None:
        bend, slope = with_interval(found.knee.value, found.knee.interval), number(found.knee.slope_after, 2)
        text += f"; the line bends at {bend}, beyond which K changes by {slope} per LSP"
    return f"{text}; at worst {percent(found.least, 2)} come back, at {found.least_at}"


def _differs(points: Sequence[Point]) -> str:
    """Where the paper's count, P - N, is another than the direct one, and why."""
    off = []
    for point in points:
        for direct, paper in zip(point.each("flap.k", flap=FIRST), point.each("k.paper"), strict=False):
            if direct.value != paper.value:
                off.append((point, direct.value, paper.value))
    if not off:
        return ""
    point, direct_k, paper_k = max(off, key=lambda each: abs(each[1] - each[2]))
    lost, sent = point.total("flap.tears_lost", flap=FIRST), point.total("flap.tears_sent", flap=FIRST)
    first = sent - point.total("flap.tears_received", flap=FIRST)
    why = "tears were lost" if lost else "tears had not come when listening ended" if first else "LSPs came or went as the window ended"
    counts = f"{count(paper_k)} instead of {count(direct_k)} at {point.key.flapped}"
    return f". By the paper's count, P − N, it would be {counts} (in {plural(len(off), 'trial')}: {why})"


def _defect(network: str, points: Sequence[Point], found: Found) -> Finding:
    return Finding(
        criterion=found.criterion,
        title=CRITERIA[found.criterion],
        subject={"device": network},
        verdict=Verdict.FAIL if found.there else Verdict.PASS,
        value=found.value,
        unit=found.unit,
        n=found.n,
        interval=found.interval,
        limit=found.limit,
        statement=f"{network}: {found.text}.",
        trials=_indices(points),
        # What is wrong is said in words wherever findings are shown in short.
        detail={ANSWER: 1.0} if found.there else {},
    )


def _indices(points: Iterable[Point]) -> tuple[int, ...]:
    return tuple(sorted(index for point in points for index in point.indices))

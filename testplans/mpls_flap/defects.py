"""What is wrong with a network? Each defect by evidence of its own, counted over all its trials.

A slow control plane is no defect, nor is what a busy host does: a single event among many is told, but a router is accused only where its
share is above what the plan allows, whole interval.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rackproof.model.measurement import Interval, Measurement
from rackproof.stats.counts import wilson
from rackproof.stats.equivalence import average, simultaneous
from reports.text import count, number, percent, plural
from testplans.mpls_flap.plan import MplsFlapPlan
from testplans.mpls_flap.view import Point

#: Gaps are held against the margin at their 99th percentile: so large a share may be longer.
BEYOND_P99 = 0.01


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """One kind of defect, looked for. there: whether the network has it; n: how many could have shown it; text: a sentence's end."""

    criterion: str
    there: bool
    value: float
    unit: str
    n: int
    interval: Interval | None
    limit: str
    text: str


def defects(plan: MplsFlapPlan, points: Sequence[Point]) -> Iterator[Found]:
    """All that can be looked for in the valid trials of these points."""
    for look in _LOOKS:
        found = look(plan, points)
        if found is not None:
            yield found


def growing(plan: MplsFlapPlan, points: Sequence[Point]) -> bool:
    """Whether the delay grows with time before anything flaps."""
    found = _queue_growth(plan, points)
    return found is not None and found.there


def _share(points: Sequence[Point], name: str) -> tuple[int, int]:
    """Events of a name, and how many could have been, over all trials and subjects."""
    found = [each for point in points for subject in point.subjects(name) for each in point.each(name, **subject)]
    return int(sum(each.value for each in found)), sum(each.n for each in found)


def _judged(criterion: str, events: int, n: int, allowed: float, what: str, text: str) -> Found | None:
    """Events against a share that is allowed; nothing where none could be."""
    interval = wilson(events, n)
    if interval is None:
        return None
    return Found(
        criterion=criterion,
        there=interval.low > allowed,
        value=events / n,
        unit="1",
        n=n,
        interval=interval,
        limit=f"at most {percent(allowed)} of {what}",
        text=text,
    )


def _tears(plan: MplsFlapPlan, points: Sequence[Point]) -> Found | None:
    lost, sent = _share(points, "flap.tears_lost")
    came, _ = _share(points, "flap.tears_received")
    text = f"none of {count(sent)} PATH_TEARs was lost"
    if sent > came:
        text += f"; {count(sent - came)} had not come when the trials ended"
    if lost:
        text = (
            f"{count(lost)} of {count(sent)} PATH_TEARs ({percent(lost / sent)}) did not reach the egress, though later ones did: they are "
            "dropped, and the LSPs behind keep their state until it times out"
        )
    return _judged("tears", lost, sent, plan.margins.loss, "tears lost", text)


def _stale(_: MplsFlapPlan, points: Sequence[Point]) -> Found | None:
    (probes, sent), (lsps, looked) = _share(points, "probes.stale"), _share(points, "probes.stale.lsps")
    text = f"none of {plural(sent, 'probe')} over labels that were torn down came through"
    if probes:
        text = (
            f"{count(lsps)} of {plural(looked, 'LSP')} still forwarded after their tear had reached the egress ({count(probes)} of "
            f"{plural(sent, 'probe')}, with the torn-down label): labels stay in the forwarding table"
        )
    return _judged("stale-label", lsps, looked, BEYOND_P99, "LSPs forwarding after their tear", text)


def _early(plan: MplsFlapPlan, points: Sequence[Point]) -> Found | None:
    early, looked = _share(points, "gap.early")
    gap = number(plan.margins.gap_ms, 3)
    text = f"after RESV all of {plural(looked, 'LSP')} forwarded within {gap} ms"
    if early:
        text = (
            f"{count(early)} of {plural(looked, 'LSP')} lost probes for more than {gap} ms after their RESV had come"
            f"{_typical(points)}: the RESV leaves before forwarding is programmed"
        )
    return _judged("early-forwarding", early, looked, BEYOND_P99, f"LSPs not forwarding {gap} ms after RESV", text)


def _typical(points: Sequence[Point]) -> str:
    found = [each for point in points for subject in point.subjects("gap.p50") for each in point.each("gap.p50", **subject)]
    return f" (half of the gaps are longer than {number(sum(each.value for each in found) / len(found), 3)} ms)" if found else ""


def _wrong_label(plan: MplsFlapPlan, points: Sequence[Point]) -> Found | None:
    (probes, came), (lsps, looked) = _share(points, "probes.wrong_label"), _share(points, "probes.wrong_label.lsps")
    text = f"all of {plural(came, 'probe')} came with the label that the egress had asked for"
    if probes:
        text = (
            f"{count(lsps)} of {plural(looked, 'LSP')} leave with another label than the egress asked for ({count(probes)} of "
            f"{plural(came, 'probe')}): their packets end in other LSPs"
        )
    return _judged("wrong-label", lsps, looked, plan.margins.loss, "LSPs with another label", text)


def _router_alert(plan: MplsFlapPlan, points: Sequence[Point]) -> Found | None:
    phantoms, asked = _share(points, "phantoms")
    text = "a router answered for every LSP"
    if phantoms:
        text = (
            f"{count(phantoms)} of {plural(asked, 'LSP')} came up without a router having any state of them: Router Alert is ignored and "
            "PATH forwarded like any packet"
        )
    return _judged("router-alert", phantoms, asked, plan.margins.loss, "LSPs past the router", text)


def _establishment(plan: MplsFlapPlan, points: Sequence[Point]) -> Found | None:
    (never, asked), (waiting, _) = _share(points, "unanswered"), _share(points, "failed")
    text = f"all of {plural(asked, 'LSP')} came up" if not waiting else "no LSP was left out"
    if never:
        text = f"{count(never)} of {plural(asked, 'LSP')} never came up, though others did that were asked for later"
    elif waiting:
        text += f"; {count(waiting)} were still coming up when the trials ended"
    return _judged("establishment", never, asked, plan.margins.loss, "LSPs left out", text)


def _queue_growth(plan: MplsFlapPlan, points: Sequence[Point]) -> Found | None:
    """By the phase in which nothing flaps, over all points: flaps would show as what they do to the delay."""
    found = [each for point in points if (each := point.get("delay.slope", phase="prior")) is not None]
    if not found:
        return None
    value, interval = average([(each.value, each.interval) for each in found])
    most = plan.margins.slope_us_per_s
    worst = max(found, key=_low)
    there = interval is not None and interval.low > most
    if not there and _low(worst, len(found)) > most:
        value, interval, there = worst.value, worst.interval, True
    text = "the delay does not grow with time"
    if there:
        lost = sum(point.total("sent", phase="prior") - point.total("received", phase="prior") for point in points)
        text = f"the delay grows by {number(value, 3)} µs a second while nothing flaps{'' if lost else ' and nothing is lost'}: "
        text += "a queue takes in more than leaves it, and does not drop"
    return Found(
        criterion="queue-growth",
        there=there,
        value=value,
        unit="us/s",
        n=sum(each.n for each in found),
        interval=interval,
        limit=f"at most {number(most)} µs a second",
        text=text,
    )


def _low(found: Measurement, many: int = 1) -> float:
    """The least that it may be, where so many like it could be large by chance."""
    interval = simultaneous(found.value, found.interval, many)
    return interval.low if interval is not None else -math.inf


_LOOKS: tuple[Callable[[MplsFlapPlan, Sequence[Point]], Found | None], ...] = (
    _tears,
    _stale,
    _early,
    _wrong_label,
    _router_alert,
    _queue_growth,
    _establishment,
)

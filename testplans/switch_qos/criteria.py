"""Is each device what was promised? Every criterion judged per device and discipline over all trials.

The rule: PASS where the whole interval keeps the limit, FAIL where the value and the whole interval break it, INVALID where the interval
straddles the limit, because then the measurement settles nothing. A criterion is judged at each load where it means something; one proven
FAIL decides; otherwise a load without a valid trial makes the criterion INVALID, ERROR, TIMEOUT or ABORTED as that trial was.
"""

import math
from collections.abc import Iterator

from rackproof.model.campaign import CampaignRecord
from rackproof.model.finding import Finding
from rackproof.model.verdict import Verdict, worst
from testplans.switch_qos.candidates import CANDIDATES, Candidate, Criterion
from testplans.switch_qos.evidence import Cell, Evidence, Number, gather
from testplans.switch_qos.limits import CRITERIA
from testplans.switch_qos.plan import SwitchQosPlan


def conclude(campaign: CampaignRecord) -> tuple[Finding, ...]:
    """All findings, by device, discipline and criterion in the plan's order."""
    plan = SwitchQosPlan.model_validate(campaign.plan)
    return tuple(finding for evidence in gather(campaign, plan) for finding in _findings(evidence))


def _findings(evidence: Evidence) -> Iterator[Finding]:
    for name, (key, title) in CRITERIA.items():
        limit = getattr(evidence.plan.criteria, key)
        criterion = CANDIDATES[name]
        if limit is None or not criterion.applies(evidence.scheduler):
            continue
        cells = [cell for cell in evidence.cells if criterion.relevant(evidence, cell)]
        if cells:
            yield _finding(evidence, name, title, criterion, limit, cells)


def verdict_of(number: Number, limit: float, at_most: bool) -> Verdict:
    """PASS, FAIL, or INVALID where the interval straddles the limit or there is none."""
    interval = number.interval
    if interval is None:
        return Verdict.FAIL if at_most and number.value == math.inf else Verdict.INVALID
    best, least = (interval.low, interval.high) if at_most else (-interval.high, -interval.low)
    bound = limit if at_most else -limit
    if least <= bound:
        return Verdict.PASS
    return Verdict.FAIL if best > bound else Verdict.INVALID


def _finding(evidence: Evidence, name: str, title: str, criterion: Criterion, limit: float, cells: list[Cell]) -> Finding:
    trusted = [cell for cell in cells if cell.valid]
    judged = [
        (verdict_of(candidate.number, limit, criterion.at_most), candidate) for candidate in criterion.candidates(evidence, trusted, limit)
    ]
    useful = [(verdict, candidate) for verdict, candidate in judged if candidate.resolved or verdict is Verdict.FAIL]
    # A load counts as missing where none of its repetitions can be trusted.
    gaps = [cell for cell in cells if not cell.valid]
    verdict = _verdict([verdict for verdict, _ in useful], gaps)
    shown = [candidate for found, candidate in useful if found is verdict] or [candidate for _, candidate in judged]
    key = max if criterion.at_most else min
    case = key(shown, key=lambda candidate: candidate.number.value, default=None)
    return Finding(
        criterion=name,
        title=title,
        subject={"device": evidence.device, "discipline": evidence.scheduler.discipline.value, "scheduler": evidence.scheduler.label},
        verdict=verdict,
        value=case.number.value if case else math.nan,
        unit=criterion.unit,
        n=case.number.n if case else 0,
        interval=case.number.interval if case else None,
        limit=f"{'at most' if criterion.at_most else 'at least'} {amount(limit, criterion.unit)}",
        statement=_statement(evidence, criterion, limit, verdict, case, useful, gaps),
        trials=tuple(sorted({index for cell in cells for index in cell.trials})),
        detail=_detail(case),
    )


def _detail(case: Candidate | None) -> dict[str, float]:
    if case is None:
        return {}
    places = {"load_mbps": case.load_mbps, "queue": None if case.queue is None else float(case.queue)}
    return {name: value for name, value in places.items() if value is not None}


def _verdict(judged: list[Verdict], gaps: list[Cell]) -> Verdict:
    if Verdict.FAIL in judged:
        return Verdict.FAIL
    missing = [verdict for cell in gaps for verdict in cell.missing]
    if missing:
        return worst(missing)
    return worst(judged) if judged else Verdict.INVALID


def _statement(
    evidence: Evidence,
    criterion: Criterion,
    limit: float,
    verdict: Verdict,
    case: Candidate | None,
    useful: list[tuple[Verdict, Candidate]],
    gaps: list[Cell],
) -> str:
    who = f"{evidence.device} under {evidence.scheduler.label}"
    bound = f"{'at most' if criterion.at_most else 'at least'} {amount(limit, criterion.unit)}"
    if case is None:
        return f"{who}: {criterion.title} could not be judged. {_gaps(gaps)}".rstrip()
    text = f"{who}: {case.text} was {with_interval(case.number, criterion.unit)} {case.where}; {bound} is asked."
    if verdict is Verdict.FAIL:
        others = list(dict.fromkeys(candidate.short for found, candidate in useful if found is verdict and candidate.short != case.short))
        return f"{text} It fails at {', '.join(others)} as well." if others else text
    if gaps:
        return f"{text} {_gaps(gaps)}"
    if not useful:
        return f"{text} The intervals are too wide to judge it: measure longer or repeat."
    if verdict is Verdict.INVALID:
        return f"{text} The interval does not settle it: measure longer or repeat."
    return text


def _gaps(gaps: list[Cell]) -> str:
    if not gaps:
        return ""
    loads = ", ".join(f"{cell.load_mbps:g}" for cell in gaps)
    return f"No valid trial at {loads} Mbit/s ({gaps[0].reasons[0]})."


def amount(value: float, unit: str) -> str:
    """A number for people: shares in percent."""
    return f"{100 * value:.3g} %" if unit == "1" else f"{value:.4g} {unit}"


def with_interval(number: Number, unit: str) -> str:
    """A number with its interval, both with as many digits as the interval deserves."""
    scale, sign = (100.0, "%") if unit == "1" else (1.0, unit)
    value, interval = number.value * scale, number.interval
    if interval is None or not math.isfinite(value):
        return f"{value:.4g} {sign}"
    half = interval.half_width * scale
    digits = min(max(1 - math.floor(math.log10(half)), 0), 4) if half > 0 else 2
    low, high = interval.low * scale, interval.high * scale
    return f"{value:.{digits}f} {sign} (95 % interval {low:.{digits}f} to {high:.{digits}f} {sign})"

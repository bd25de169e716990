"""Does each scheme do what the plan asks of it? Every criterion judged over the runs of a test.

The rule: PASS where the whole 95 % interval keeps the limit, FAIL where the whole interval breaks it, INVALID where it straddles the limit.
From 4 runs on the interval is Student's over them; with fewer the intervals within the runs are pooled, as everywhere else, and where a run
has none, Student's it is. A run without valid statistics makes the criteria that need it INVALID, ERROR, TIMEOUT or ABORTED, as that run
was; a proven FAIL stays one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rackproof.model.campaign import CampaignRecord
from rackproof.model.finding import Finding
from rackproof.model.measurement import Interval, Measurement
from rackproof.model.verdict import Verdict, worst
from rackproof.stats.pooling import pool, repetitions
from reports.text import plural, unit, with_interval
from testplans.congestion_control.plan import CRITERIA
from testplans.congestion_control.view import Group, Run, View, view


@dataclass(frozen=True, kw_only=True, slots=True)
class Number:
    """What a criterion is judged by: the mean over n runs, and its interval."""

    value: float
    interval: Interval | None
    n: int


def conclude(campaign: CampaignRecord) -> tuple[Finding, ...]:
    """All findings, by criterion in the order of the plan's keys."""
    seen = view(campaign)
    return tuple(finding for judge in (_utilisation, _delay, _ratio, _fairness) for finding in judge(seen))


def _utilisation(seen: View) -> Iterator[Finding]:
    for scheme, limit in seen.plan.criteria.utilisation_min.items():
        group = _alone(seen, scheme)
        yield _finding("utilisation", group, group.runs, _number(map(_use, group.valid)), "1", least=limit)


def _delay(seen: View) -> Iterator[Finding]:
    for scheme, limit in seen.plan.criteria.delay_p95_ms_max.items():
        group = _alone(seen, scheme)
        yield _finding("delay.p95", group, group.runs, _number(run.get("delay.p95") for run in group.valid), "ms", most=limit)


def _ratio(seen: View) -> Iterator[Finding]:
    for asked in seen.plan.criteria.delay_ratio:
        group, other = _alone(seen, asked.scheme), _alone(seen, asked.against)
        against = {run.number: run for run in other.valid}
        # Run by run: both met the same path, and what drifts falls out.
        found = _number(_quotient(run, against[run.number]) for run in group.valid if run.number in against)
        yield _finding("delay.ratio", group, (*group.runs, *other.runs), found, "1", most=asked.share_max, against=other)


def _fairness(seen: View) -> Iterator[Finding]:
    limit = seen.plan.criteria.jain_min
    if limit is None:
        return
    for group in seen.tests:
        if len(group.flows) > 1:
            yield _finding("fairness", group, group.runs, _number(run.get("jain") for run in group.valid), "", least=limit)


def _alone(seen: View, scheme: str) -> Group:
    return next(group for group in seen.tests if group.id == scheme)


def _number(runs: Iterable[Measurement | None]) -> Number | None:
    """One number of several runs; None where no run has it."""
    found = [each for each in runs if each is not None]
    if not found:
        return None
    values = [each.value for each in found]
    value, interval = pool(values, [each.interval for each in found])
    if interval is None:
        value, interval = repetitions(values)
    return Number(value=value, interval=interval, n=len(found))


def _use(run: Run) -> Measurement | None:
    """Utilisation with the interval of the throughput: the capacity is known."""
    use, rate = run.get("utilisation"), run.get("throughput")
    if use is None or rate is None or rate.interval is None or not rate.value:
        return use
    scale = use.value / rate.value
    interval = Interval(low=rate.interval.low * scale, high=rate.interval.high * scale, method=rate.interval.method)
    return replace(use, interval=interval)


def _quotient(run: Run, other: Run) -> Measurement | None:
    """The ratio of the delays of two runs; its interval is the widest that theirs allow."""
    mine, theirs = run.get("delay.p95"), other.get("delay.p95")
    if mine is None or theirs is None or theirs.value <= 0:
        return None
    interval = None
    if mine.interval is not None and theirs.interval is not None and theirs.interval.low > 0:
        low, high = mine.interval.low / theirs.interval.high, mine.interval.high / theirs.interval.low
        interval = Interval(low=low, high=high, method="quotient of both intervals")
    return Measurement(name="delay.ratio", unit="1", value=mine.value / theirs.value, n=mine.n, interval=interval)


def _finding(
    criterion: str,
    group: Group,
    runs: Sequence[Run],
    found: Number | None,
    measured_in: str,
    *,
    least: float | None = None,
    most: float | None = None,
    against: Group | None = None,
) -> Finding:
    title = CRITERIA[criterion]
    what = title[:1].lower() + title[1:] if against is None else f"95th percentile of the one-way delay, by that of {against.label},"
    limit = _limit(least, most, measured_in)
    gaps = [run for run in runs if not run.valid]
    verdict = _verdict(found, least, most)
    if verdict is not Verdict.FAIL and gaps:
        verdict = worst([run.verdict or Verdict.ABORTED for run in gaps])
    return Finding(
        criterion=criterion,
        title=title,
        subject={"scheme": group.id, **({"against": against.id} if against else {})},
        verdict=verdict,
        value=found.value if found else float("nan"),
        unit=measured_in,
        n=found.n if found else 0,
        interval=found.interval if found else None,
        limit=limit,
        statement=_statement(group, what, found, measured_in, limit, verdict, gaps),
        trials=tuple(sorted(run.index for run in runs)),
    )


def _verdict(found: Number | None, least: float | None, most: float | None) -> Verdict:
    if found is None or found.interval is None:
        return Verdict.INVALID
    low, high = found.interval.low, found.interval.high
    if (least is None or low >= least) and (most is None or high <= most):
        return Verdict.PASS
    broken = (least is not None and high < least) or (most is not None and low > most)
    return Verdict.FAIL if broken else Verdict.INVALID


def _statement(group: Group, what: str, found: Number | None, measured_in: str, limit: str, verdict: Verdict, gaps: Sequence[Run]) -> str:
    missing = f" {plural(len(gaps), 'run')} of {group.label} or of what it is compared to gave nothing: {gaps[0].why_not}." if gaps else ""
    if found is None:
        return f"{group.label}: {what} could not be judged.{missing}"
    text = f"{group.label}: {what} was {_amount(found, measured_in)} over {plural(found.n, 'run')}; {limit} is asked."
    if verdict is Verdict.INVALID and not gaps:
        text += (
            f" {'The interval does not settle it' if found.interval else 'Without an interval nothing is settled'}: more runs are needed."
        )
    return text + missing


def _amount(found: Number, measured_in: str) -> str:
    scale, sign = (100.0, "%") if measured_in == "1" else (1.0, unit(measured_in))
    return f"{with_interval(found.value, found.interval, scale=scale, digits=3)} {sign}".strip()


def _limit(least: float | None, most: float | None, measured_in: str) -> str:
    words, bound = ("at least", least) if least is not None else ("at most", most or 0.0)
    return f"{words} {100 * bound:.3g} %" if measured_in == "1" else f"{words} {bound:.4g} {unit(measured_in)}".strip()

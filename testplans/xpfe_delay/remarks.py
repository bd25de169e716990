"""What does a campaign say beside its budgets? Planted delays, hops that stand out, loss, what the delay is made of, how predictions do."""

import math
from collections.abc import Iterator, Sequence

from rackproof.model.finding import ANSWER, Finding
from rackproof.model.verdict import Verdict, worst
from rackproof.stats.counts import wilson
from reports.text import count, number, plural, with_interval
from testplans.xpfe_delay.decomposition import decompose
from testplans.xpfe_delay.hops import EXCESS, Outstanding, outstanding
from testplans.xpfe_delay.parts import PlantedPart
from testplans.xpfe_delay.prediction import check
from testplans.xpfe_delay.sections_words import percentile_words
from testplans.xpfe_delay.view import Point, View

#: A planted delay must be found to within so much [us].
PLANTED_US = 1.0


def remarks(seen: View) -> Iterator[Finding]:
    """All of them, chain by chain; nothing of a chain without a valid trial but its planted delays."""
    for chain in seen.chains:
        odd = seen.once(outstanding, chain)
        points = [point for point in seen.of(chain) if point.valid]
        yield from (_planted(seen, chain, planted, odd) for planted in seen.plan.planted)
        expected = {planted.hop for planted in seen.plan.planted}
        yield from (_outstanding(seen, each) for each in odd if not (each.part == EXCESS and each.hop in expected))
        if points:
            yield from _loss(seen, chain, points)
            yield from _made_of(seen, chain, points)
            yield _prediction(seen, chain, points)


def _planted(seen: View, chain: str, planted: PlantedPart, odd: Sequence[Outstanding]) -> Finding:
    """A planted delay that is not found where it is means that the analysis cannot be trusted."""
    found = next((each.more for each in odd if each.part == EXCESS and each.hop == planted.hop), None)
    points = [point for point in seen.of(chain) if point.key.hops > planted.hop]
    missing = [verdict for point in points if not point.valid for verdict in point.missing]
    text = f"{_who(seen, chain)}{number(planted.delay_us)} µs are planted at hop {planted.hop}: "
    if found is not None:
        text += f"hop {planted.hop} takes {with_interval(found.value, found.interval)} µs more than the others"
        verdict = Verdict.PASS if abs(found.value - planted.delay_us) <= PLANTED_US else Verdict.INVALID
    else:
        text += "that hop does not stand out"
        verdict = worst(missing) if missing else Verdict.INVALID
    return Finding(
        criterion="planted",
        title="Planted delay",
        subject={"device": chain, "hop": str(planted.hop)},
        verdict=verdict,
        value=found.value if found else math.nan,
        unit="us",
        n=found.n if found else 0,
        interval=found.interval if found else None,
        limit=f"{number(planted.delay_us)} µs at hop {planted.hop}, to within {number(PLANTED_US)} µs",
        statement=f"{text}.",
        trials=_indices(points),
        detail={ANSWER: 1.0},
    )


def _outstanding(seen: View, found: Outstanding) -> Finding:
    text = f"hop {found.hop} takes {with_interval(found.more.value, found.more.interval)} µs more than the others, {found.where}"
    return Finding(
        criterion="outstanding",
        title="A hop stands out",
        subject={"device": found.chain, "hop": str(found.hop), "part": found.part},
        verdict=Verdict.PASS,
        value=found.more.value,
        unit="us",
        n=found.more.n,
        interval=found.more.interval,
        limit="",
        statement=_sentence(_who(seen, found.chain), text),
        trials=found.trials,
        detail={ANSWER: 1.0},
    )


def _loss(seen: View, chain: str, points: Sequence[Point]) -> Iterator[Finding]:
    sent, received, twice, late = (sum(point.total(name) for point in points) for name in ("sent", "received", "duplicates", "reordered"))
    if sent == 0:
        return
    lost = sent - received
    hops = range(1, max(point.key.hops for point in points) + 1)
    at = {hop: sum(point.total("hop.lost", hop=str(hop)) for point in points) for hop in hops}
    where = ", ".join(f"hop {hop}: {count(frames)}" for hop, frames in at.items() if frames)
    text = f"of {count(sent)} frames {count(lost) if lost else 'none'} {'were' if lost > 1 else 'was'} lost{f' ({where})' if where else ''}"
    text += f", {count(twice) if twice else 'none'} came twice, {count(late) if late else 'none'} out of order"
    yield Finding(
        criterion="loss",
        title="Loss",
        subject={"device": chain},
        verdict=Verdict.PASS,
        value=lost / sent,
        unit="1",
        n=int(sent),
        interval=wilson(int(lost), int(sent)),
        limit="",
        statement=_sentence(_who(seen, chain), text),
        trials=_indices(points),
        detail={f"hop_{hop}": frames for hop, frames in at.items() if frames},
    )


def _made_of(seen: View, chain: str, points: Sequence[Point]) -> Iterator[Finding]:
    parts = seen.once(decompose, chain)
    fixed, per_byte = (parts.fixed(), parts.per_byte()) if parts else (None, None)
    if parts is None or fixed is None or per_byte is None:
        return
    text = (
        f"each further hop takes {with_interval(fixed.value, fixed.interval)} µs and {with_interval(per_byte.value, per_byte.interval)} ns "
        f"for each byte, of which the link's serialisation is {number(parts.link_ns)} ns"
    )
    if parts.model.aside:
        text += f" (without {plural(len(parts.model.aside), 'point')} of {len(parts.model.residuals)} far off what all others agree on)"
    yield Finding(
        criterion="decomposition",
        title="Delay of a hop",
        subject={"device": chain},
        verdict=Verdict.PASS,
        value=fixed.value,
        unit="us",
        n=fixed.n,
        interval=fixed.interval,
        limit="",
        statement=_sentence(_who(seen, chain), text),
        trials=_indices(points),
        detail={"per_byte_ns": per_byte.value, "link_per_byte_ns": parts.link_ns, "scatter_us": parts.model.fit.scatter},
    )


def _prediction(seen: View, chain: str, points: Sequence[Point]) -> Finding:
    checked = check(seen, chain, seen.percentile)
    many = len(checked.points)
    what = percentile_words(seen.plan.verdict.percentile)
    return Finding(
        criterion="prediction",
        title="Prediction over hops",
        subject={"device": chain},
        verdict=Verdict.PASS,
        value=checked.within / many if many else math.nan,
        unit="1",
        n=many,
        interval=wilson(checked.within, many) if many else None,
        limit="",
        statement=f"{_who(seen, chain)}Prediction of the {what} over hops: {checked.text}",
        trials=_indices(points),
        detail={"error_us": checked.error} if many else {},
    )


def _who(seen: View, chain: str) -> str:
    return f"{chain}: " if len(seen.chains) > 1 else ""


def _sentence(who: str, text: str) -> str:
    return f"{who}{text}." if who else f"{text[:1].upper()}{text[1:]}."


def _indices(points: Sequence[Point]) -> tuple[int, ...]:
    return tuple(sorted(index for point in points for index in point.indices))

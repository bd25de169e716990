"""How is it said over how many hops a class keeps its budget, and where?"""

from collections.abc import Collection, Sequence

from reports.text import number
from testplans.xpfe_delay.budget import HOPS_MAX, Holding, Reach
from testplans.xpfe_delay.classes import TrafficClass
from testplans.xpfe_delay.sections_words import hops_words, percentile_words
from testplans.xpfe_delay.view import View

Place = tuple[int, float]


def allowance(seen: View, traffic_class: TrafficClass) -> str:
    """A budget and what is held against it: "100 µs at the 99th percentile"."""
    budget = traffic_class.budget_us
    amount = f"{number(budget)} µs" if budget < 1000 else f"{number(budget / 1000)} ms"
    return f"{amount} at the {percentile_words(seen.plan.verdict.percentile)}"


def conditions(seen: View, traffic_class: TrafficClass) -> str:
    """The allowance, and that the rates are not those of the plan where that is so."""
    scale = seen.plan.rate_scale
    return allowance(seen, traffic_class) + ("" if scale == 1 else f", rates scaled by {scale:g}")


def bound(seen: View, traffic_class: TrafficClass) -> str:
    """The limit of a finding."""
    return f"at most {allowance(seen, traffic_class)}"


def reach_words(seen: View, chain: str, found: Sequence[Reach]) -> str:
    """How far a class gets at its best: "at most 4 hops at 500 bytes and up to 500 Mbit/s"."""
    most = max(reach.hops for reach in found)
    counts = seen.hops(chain)
    if most == 0:
        at = {reach.measured.get(counts[0], Holding.UNDECIDED) for reach in found}
        if at == {Holding.FAILS}:
            return f"not even {hops_words(counts[0])}, at no frame size and rate"
        return f"not shown to hold over {hops_words(counts[0])}: the intervals do not settle it"
    best = [reach for reach in found if reach.hops == most]
    where = places(seen, chain, _places(best))
    if most < counts[-1]:
        further = next(count for count in counts if count > most)
        open_ = [reach for reach in best if reach.measured.get(further) is not Holding.FAILS]
        if not open_:
            return f"at most {hops_words(most)} {where}"
        return f"{hops_words(most)} {where}; {hops_words(further)} are undecided {places(seen, chain, _places(open_))}"
    return _predicted(seen, chain, most, best, where)


def places(seen: View, chain: str, found: Collection[Place]) -> str:
    """Sizes and rates in words: "at 500 bytes and up to 500 Mbit/s"."""
    sizes, rates = seen.sizes(chain), seen.rates(chain)
    if len(found) == len(sizes) * len(rates) > 1:
        return "at every frame size and rate"
    by_rates: dict[tuple[float, ...], list[int]] = {}
    for size in sizes:
        mine = tuple(rate for rate in rates if (size, rate) in found)
        if mine:
            by_rates.setdefault(mine, []).append(size)
    return ", ".join(f"at {_sizes(some, sizes)} and {_rates(mine, rates)}" for mine, some in by_rates.items())


def _predicted(seen: View, chain: str, most: int, best: Sequence[Reach], where: str) -> str:
    """What is said where the longest chain that was measured holds."""
    further = [reach.predicted.get(most + 1, Holding.UNDECIDED) for reach in best]
    if set(further) == {Holding.FAILS}:
        return f"at most {hops_words(most)} {where}; {most + 1} are predicted not to hold"
    far = [reach.predicted_hops for reach in best]
    if max(far) == 0:
        return f"{hops_words(most)} {where}; whether {most + 1} hold was not measured, and the prediction does not settle it"
    text = f"at least {hops_words(most)} {where}; predicted to hold over "
    if min(far) == max(far):
        return f"{text}{_count(max(far))} there"
    top = places(seen, chain, _places([reach for reach in best if reach.predicted_hops == max(far)]))
    least = f"{_count(min(far))} at all of these and " if min(far) > 0 else ""
    return f"{text}{least}{_count(max(far))} {top}"


def _count(hops: int) -> str:
    return f"up to {hops_words(hops)}" if hops < HOPS_MAX else f"{HOPS_MAX} hops or more"


def _places(found: Sequence[Reach]) -> set[Place]:
    return {(reach.frame_bytes, reach.rate_mbps) for reach in found}


def _sizes(some: Sequence[int], of: Sequence[int]) -> str:
    if len(some) == len(of) > 1:
        return "every frame size"
    return f"{_listed([str(size) for size in some])} bytes"


def _rates(some: Sequence[float], of: Sequence[float]) -> str:
    if len(some) == len(of) > 1:
        return "every rate"
    if len(of) > 1 and tuple(some) == tuple(of[: len(some)]):
        return f"up to {some[-1]:g} Mbit/s"
    return f"{_listed([f'{rate:g}' for rate in some])} Mbit/s"


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))

"""What the figures of this kind share: one colour for each distribution, hop, rate and part of a delay."""

from dataclasses import replace

from reports import style
from reports.style import Mark

#: Distributions have their colours in every figure; a mixture of several Gaussians is red and a single one blue, as in the paper.
_PLACES = {"gaussian": 3, "gamma": 2, "log-normal": 6, "exponential": 7}
_MIXTURE = 0
#: Parts of a hop's delay, from the bottom of a bar upwards: key, words, colour.
PARTS: tuple[tuple[str, str, str], ...] = (
    ("serialisation", "serialisation", style.queue(3).colour),
    ("element", "element", style.queue(2).colour),
    ("queueing", "queueing", style.queue(1).colour),
    ("excess", "excess", style.queue(0).colour),
)


def distribution_mark(name: str) -> Mark:
    """How a distribution is drawn in every figure."""
    return style.queue(_PLACES.get(name, _MIXTURE))


def distribution_words(name: str) -> str:
    """A distribution as people write it: "Gaussian", "mixture of 2 Gaussians"."""
    if name == "mixture":
        return "mixture of Gaussians"
    if name.startswith("mixture-"):
        return f"mixture of {name.removeprefix('mixture-')} Gaussians"
    return {"gaussian": "Gaussian", "gamma": "Gamma"}.get(name, name)


def hop_mark(hop: int) -> Mark:
    """How the hop (or the number of hops) is drawn, from 1 on."""
    return style.queue(hop - 1)


def rate_mark(place: int) -> Mark:
    """How a rate is drawn, by its place among the rates of the plan; never like a hop."""
    return replace(style.SCHEMES[(0, 1, 2, 5, 3, 8)[place % 6]], marker="o")

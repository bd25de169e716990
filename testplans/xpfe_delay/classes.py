"""Which delay may a class of traffic take on its way? Named sets of budgets, each with its source."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class TrafficClass:
    """A class of traffic and the largest one-way delay [us] that it bears. source: document and section; empty for a plan's own."""

    name: str
    title: str
    budget_us: float
    source: str = ""


_CROSSHAUL = "5G-Crosshaul packet forwarding element, section IV-B"
_CM = "IEEE Std 802.1CM-2018"
_ECPRI = "Requirements for the eCPRI Transport Network V1.2 (2018), section 4.1, per flow requirements"

#: Name of a set -> its classes, the most demanding first.
SETS: Mapping[str, tuple[TrafficClass, ...]] = {
    "crosshaul": (
        TrafficClass(name="cpri", title="CPRI", budget_us=100.0, source=_CROSSHAUL),
        TrafficClass(name="other-splits", title="Other functional splits", budget_us=1000.0, source=f"{_CROSSHAUL}: at least 1 ms"),
    ),
    "802.1cm": (
        TrafficClass(name="802.1cm-class-1", title="802.1CM class 1 (CPRI), IQ data", budget_us=100.0, source=f"{_CM}, 6.2.3.1"),
        TrafficClass(name="802.1cm-class-2", title="802.1CM class 2 (eCPRI), user plane", budget_us=100.0, source=f"{_CM}, 6.3.2.1"),
    ),
    "ecpri": (
        TrafficClass(name="ecpri-high25", title="eCPRI High25", budget_us=25.0, source=_ECPRI),
        TrafficClass(name="ecpri-high100", title="eCPRI High100", budget_us=100.0, source=_ECPRI),
        TrafficClass(name="ecpri-high200", title="eCPRI High200", budget_us=200.0, source=_ECPRI),
        TrafficClass(name="ecpri-high500", title="eCPRI High500", budget_us=500.0, source=_ECPRI),
        TrafficClass(name="ecpri-medium", title="eCPRI Medium", budget_us=1000.0, source=_ECPRI),
        TrafficClass(name="ecpri-low", title="eCPRI Low", budget_us=100_000.0, source=_ECPRI),
    ),
}


def resolve(entries: Iterable[str | Mapping[str, Any]]) -> tuple[TrafficClass, ...]:
    """The classes that the entries of a plan stand for: names of sets, or classes of the plan's own. Raises KeyError for an unknown set."""
    found: list[TrafficClass] = []
    for entry in entries:
        values = {"name": entry} if isinstance(entry, str) else entry
        name, budget_us = str(values["name"]), values.get("budget_us")
        own = () if budget_us is None else (TrafficClass(name=name, title=values.get("title") or name, budget_us=float(budget_us)),)
        found += own or SETS[name]
    return tuple(found)

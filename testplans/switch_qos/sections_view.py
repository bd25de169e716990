"""A campaign as its report looks at it: by discipline, then device, then load; and the words and cells that all sections share."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rackproof.model.campaign import CampaignRecord
from rackproof.model.functions import Discipline
from reports.document import Cell as TableCell
from reports.document import Column
from reports.text import ABSENT, count, with_interval
from testplans.switch_qos.evidence import Cell, Evidence, Number, gather
from testplans.switch_qos.parts import Scheduler
from testplans.switch_qos.plan import SwitchQosPlan

#: Devices side by side in one figure.
DEVICES_A_FIGURE = 3
#: Queues whose rates with intervals fit beside each other on an upright page.
QUEUES_UPRIGHT = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """The campaign, its plan, and the evidence on every device under each discipline."""

    campaign: CampaignRecord
    plan: SwitchQosPlan
    evidence: tuple[Evidence, ...]

    def under(self, scheduler: Scheduler) -> tuple[Evidence, ...]:
        """The devices under one discipline."""
        return tuple(each for each in self.evidence if each.scheduler.label == scheduler.label)

    def saturated_load(self) -> float:
        """The highest load of the sweep: the paper's point of comparison lies beyond the saturation of every queue."""
        return max(self.plan.load.per_sender_mbps)


def view(campaign: CampaignRecord) -> View:
    """The campaign, gathered once for all sections."""
    plan = SwitchQosPlan.model_validate(campaign.plan)
    return View(campaign=campaign, plan=plan, evidence=tuple(gather(campaign, plan)))


def cell_at(evidence: Evidence, load_mbps: float) -> Cell:
    """The cell of a load of the sweep."""
    return next(cell for cell in evidence.cells if cell.load_mbps == load_mbps)


def title_of(scheduler: Scheduler) -> str:
    """The discipline in words."""
    weights = ", ".join(f"{weight:g}" for weight in scheduler.weights)
    match scheduler.discipline:
        case Discipline.STRICT_PRIORITY:
            return "Strict priority"
        case Discipline.WRR_PACKETS:
            return f"Weighted round robin per packet, weights {weights}"
        case Discipline.WRR_BYTES:
            return f"Weighted round robin by bytes, weights {weights}"


def short_title(scheduler: Scheduler) -> str:
    """The discipline in few words."""
    return "strict priority" if scheduler.discipline is Discipline.STRICT_PRIORITY else scheduler.label


def queue_names(plan: SwitchQosPlan) -> list[str]:
    """q0, q1, ... of the queues that get traffic."""
    return [f"q{queue}" for queue in plan.used_queues]


def queue_columns(plan: SwitchQosPlan, unit: str) -> tuple[Column, ...]:
    """A column for each queue."""
    return tuple(Column(title=name, unit=unit, numeric=True) for name in queue_names(plan))


def value(number: Number | None, scale: float = 1.0, digits: int = 4, *, muted: bool = False) -> TableCell:
    """A number with its interval, as a cell."""
    return TableCell(text=with_interval(number.value, number.interval, scale=scale, digits=digits) if number else ABSENT, muted=muted)


def frames(number: Number | None) -> TableCell:
    """How many frames a number rests on."""
    return TableCell(text=count(number.n) if number else ABSENT)


def missing(cell: Cell) -> TableCell:
    """Why a load has no numbers: the verdict of its trials, and their reasons."""
    return TableCell(text="; ".join(cell.reasons) or "no trial", verdict=cell.missing[0] if cell.missing else None)


def interval_note(seen: View, n: str = "frames that the port sent in the measured span") -> str:
    """What stands below every table of measurements."""
    again = f", {seen.plan.repetitions} repetitions pooled" if seen.plan.repetitions > 1 else ""
    return f"± is half of a 95 % interval (batch means over {seen.plan.trial.batches} batches{again}); n: {n}."


def layer_words(plan: SwitchQosPlan) -> str:
    """At which layer rates count, in words."""
    return "layer 1 (preamble and gap included)" if plan.link.layer == "L1" else "layer 2 (without preamble and gap)"


def columns_of_devices(seen: View, scheduler: Scheduler) -> Iterator[tuple[Evidence, ...]]:
    """The devices under a discipline, as many at a time as a figure has room for."""
    found = seen.under(scheduler)
    for start in range(0, len(found), DEVICES_A_FIGURE):
        yield found[start : start + DEVICES_A_FIGURE]


def series(evidence: Evidence, name: str, scale: float = 1.0, queues: Sequence[int] = ()) -> dict[str, dict[str, list[float]]]:
    """A measurement of every queue over the load: queue -> x, y, low, high. Loads without a valid trial are left out."""
    found: dict[str, dict[str, list[float]]] = {}
    for queue in queues or evidence.plan.used_queues:
        points = [(cell.load_mbps, number) for cell in evidence.cells if (number := cell.number(name, queue=str(queue))) is not None]
        intervals = [number.interval for _, number in points]
        found[str(queue)] = {
            "x": [load for load, _ in points],
            "y": [number.value * scale for _, number in points],
            "low": [interval.low * scale if interval else math.nan for interval in intervals],
            "high": [interval.high * scale if interval else math.nan for interval in intervals],
        }
    return found


def load_axis(seen: View) -> Mapping[str, Any]:
    """What all figures over the load have in common."""
    highest = seen.saturated_load()
    return {
        "x_max": highest * 1.04,
        "x_label": f"Offered load per sender [Mbit/s, {seen.plan.link.layer}]",
        "queues": list(seen.plan.used_queues),
    }


def loads_fine(seen: View, points: Mapping[str, float], steps: int = 48) -> list[float]:
    """Loads at which the ideal is drawn: evenly spread, and at its corners."""
    highest = seen.saturated_load()
    even = [highest * (step + 0.5) / steps for step in range(steps)] + [highest]
    return sorted({*even, *(at for at in points.values() if at <= highest)})

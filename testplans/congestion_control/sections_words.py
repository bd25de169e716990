"""Words, cells and links that all sections share."""

from rackproof.model.measurement import Measurement
from reports.document import Cell, Column
from reports.text import ABSENT, count, with_interval
from testplans.congestion_control.quantities import Quantity
from testplans.congestion_control.summary import Average
from testplans.congestion_control.view import ALL, Group, View

NOT_AVAILABLE = "N/A"


def test_anchor(test: Group) -> str:
    """The id of the section with the runs of a test."""
    return f"scheme-{test.id}"


def flow_name(flow: str) -> str:
    """A flow in words."""
    return "all flows" if flow == ALL else f"flow {flow}"


def value(number: Average | Measurement | None, quantity: Quantity, digits: int = 4) -> Cell:
    """A number with its interval."""
    if number is None:
        return Cell(text=ABSENT, muted=True)
    return Cell(text=with_interval(number.value, number.interval, scale=quantity.scale, digits=digits))


def column(quantity: Quantity) -> Column:
    """The column of a quantity."""
    return Column(title=quantity.title, unit=quantity.unit, numeric=True)


def runs_of(test: Group) -> str:
    """How many runs a test's averages rest on."""
    return count(len(test.valid)) if len(test.valid) == len(test.runs) else f"{len(test.valid)} of {len(test.runs)}"


def interval_note(seen: View) -> str:
    """What stands below tables of averages."""
    if seen.plan.repetitions < 2:
        return "One run of each: there is no spread over runs to make an interval of."
    return "Mean of the runs with valid statistics ± half of its 95 % interval (Student's t over the runs)."

"""How is every number of the report defined?"""

from reports.document import Bullets, Cell, Column, Section, Table
from testplans.congestion_control.quantities import QUANTITIES
from testplans.congestion_control.view import View


def section(seen: View) -> Section:
    """A row for each quantity that the campaign has, and the rules that all of them share."""
    share = seen.plan.validity.runtime_share_min
    hosts = (
        "The path lies between two real hosts. A packet comes to it when the sender's kernel gives it to the port, and leaves it when the "
        "receiver's kernel has it from there: cards and drivers are in the delay. The offsets that chrony or NTP said before and after the "
        "run are taken out, evenly over the run; the bound of their errors holds for every delay, and the same error is in all of them.",
        "Nobody knows the path: utilisation is of the slower cable of the hosts, queueing delay above the least delay that was seen.",
    )
    rules = (
        *(hosts if seen.plan.path.hosts else ()),
        "Every packet is seen where it comes to the path and where it leaves it. Only the way from sender to receiver counts. Sizes are "
        "those of IP packets.",
        "The one-way delay of a packet is the time between the two; it holds the path's own delay and the wait in its buffer, nothing of "
        "the hosts. What was dropped has none.",
        f"A run whose packets span less than {share:g} of its runtime has no valid statistics. Nor has one that did not use the algorithm "
        "that was asked for. Averages leave both out and say how many runs are left.",
        "± after an average is half of its 95 % interval over the runs: Student's t. It holds what changes from run to run. ± after a "
        "number of a single run is half of the interval within the run.",
        "Charts over time have bins of half a second. Every packet that left the path is a dot, at the time when it left.",
    )
    rows = tuple((Cell(text=each.title, strong=True), Cell(text=each.unit), Cell(text=each.definition)) for each in QUANTITIES)
    return Section(
        id="method",
        title="How each number is defined",
        blocks=(
            Bullets(items=rules),
            Table(
                caption="The numbers of this report.",
                columns=(Column(title="Number"), Column(title="Unit"), Column(title="Definition")),
                rows=rows,
            ),
        ),
        page_break=True,
    )

"""What is measured in a trial: the name of each number, how it is printed, and how it is defined."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Quantity:
    """name: that of its measurements. unit: as printed, after scale. of: "flow" where each flow has it, "all" where only the test has."""

    name: str
    title: str
    unit: str
    definition: str
    scale: float = 1.0
    of: str = "flow"


QUANTITIES: tuple[Quantity, ...] = (
    Quantity(
        name="throughput",
        title="Throughput",
        unit="Mbit/s",
        definition="Bits that left the path, by the time between the first and the last packet that left (Pantheon's definition). "
        "Bits of IP packets.",
    ),
    Quantity(
        name="utilisation",
        title="Utilisation",
        unit="%",
        scale=100,
        of="all",
        definition="Throughput of all flows by the capacity of the path.",
    ),
    Quantity(
        name="capacity",
        title="Capacity",
        unit="Mbit/s",
        of="all",
        definition="Rate of the path; where the path follows a trace, bits that it could have delivered by the time between the first and "
        "the last opportunity.",
    ),
    Quantity(
        name="loss",
        title="True loss",
        unit="%",
        scale=100,
        definition="Packets that the path dropped, by packets that came to it. What was still in the path at the end is not lost.",
    ),
    Quantity(
        name="loss.pantheon",
        title="Loss as Pantheon counts",
        unit="%",
        scale=100,
        definition="1 - bytes that left by bytes that came (Pantheon's definition): what was still in the path at the end counts as lost.",
    ),
    Quantity(name="delay.mean", title="Mean delay", unit="ms", definition="Mean one-way delay of the packets that left the path."),
    Quantity(name="delay.p50", title="Delay p50", unit="ms", definition="Median one-way delay, nearest rank."),
    Quantity(
        name="delay.p95",
        title="Delay p95",
        unit="ms",
        definition="95th percentile of the one-way delay of the packets that left the path: the one nearest to the place 0.95 (n - 1) in "
        "order of delay (Pantheon's definition). That of all flows pools their packets.",
    ),
    Quantity(name="delay.p99", title="Delay p99", unit="ms", definition="99th percentile of the one-way delay, nearest rank."),
    Quantity(name="delay.spread", title="Spread", unit="ms", definition="95th minus 5th percentile of the one-way delay."),
    Quantity(
        name="delay.floor",
        title="Floor",
        unit="ms",
        definition="Least one-way delay of the path: as configured, else the least that was seen.",
    ),
    Quantity(name="queueing.p50", title="Queueing p50", unit="ms", definition="Median one-way delay above the floor."),
    Quantity(name="queueing.p95", title="Queueing p95", unit="ms", definition="95th percentile of the one-way delay above the floor."),
    Quantity(
        name="power",
        title="Power",
        unit="Mbit/s per ms",
        of="all",
        definition="Throughput by the 95th percentile of the one-way delay.",
    ),
    Quantity(
        name="jain",
        title="Jain's index",
        unit="",
        of="all",
        definition="(sum of x)² / (flows × sum of x²), x the throughput of a flow while all flows overlap: 1 where all get the same, "
        "1 / flows where one gets everything.",
    ),
    Quantity(
        name="convergence",
        title="Convergence",
        unit="s",
        of="all",
        definition="From the start of the last flow until every flow stays within 25 % of its fair share for 1 s; ∞ where it never does.",
    ),
    Quantity(
        name="cpu.sender",
        title="CPU of the sender",
        unit="s/Gbit",
        definition="Processor time of the sender's processes by gigabits that left the path.",
    ),
    Quantity(
        name="cpu.receiver",
        title="CPU of the receiver",
        unit="s/Gbit",
        definition="Processor time of the receiver's processes by gigabits that left the path.",
    ),
)

BY_NAME = {quantity.name: quantity for quantity in QUANTITIES}

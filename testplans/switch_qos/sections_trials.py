"""One section for each trial: what every queue and flow got, how the trial went, and where its samples are."""

from collections.abc import Mapping

from rackproof.model.campaign import TrialRecord
from rackproof.model.measurement import Measurement
from reports.campaign import trial_anchor, trial_facts, trial_opening
from reports.document import Cell, Column, Paragraph, Section, Table
from reports.text import ABSENT, count, measured, number
from testplans.switch_qos import of_plan
from testplans.switch_qos.sections_view import View, interval_note

Key = tuple[str, str]
#: Subjects as rows: label of the subject ("queue", "flow" or "" for the port) and its number.
Found = Mapping[tuple[Key, str], Measurement]

DELAYS = (
    ("delay.mean", "Mean"),
    ("delay.p50", "p50"),
    ("delay.p95", "p95"),
    ("delay.p99", "p99"),
    ("delay.p999", "p99.9"),
    ("delay.max", "Max"),
)


def section(seen: View) -> Section:
    """All trials in the order in which they ran; those that failed keep their place, with their reason."""
    lead = Paragraph(
        text="In the order in which they ran. Trials that cannot be trusted keep their place, with the reason; their numbers took no "
        "part in "
        f"any verdict. {interval_note(seen, 'frames')} Delay variation: mean difference between the delays of successive frames. "
        f"Counters are the "
        f"generator's and the device's.{_left_out(seen)}"
    )
    parts = tuple(_trial(seen, record) for record in seen.campaign.trials)
    return Section(id="trials", title="The trials", blocks=(lead,), sections=parts, page_break=True)


def _left_out(seen: View) -> str:
    """What is not there where the generator counted and kept no frames, and why."""
    if not any(map(_was_counted, seen.campaign.trials)):
        return ""
    return (
        " The generator counted and kept no frames: a delay counts as the upper edge of its bin of the histogram, and has no interval in a "
        "single trial; the interval of a loss is that of what arrived batch by batch; which frames followed each other is not known, so "
        "there is no delay variation."
    )


def _was_counted(record: TrialRecord) -> bool:
    """True where frames arrived and none was kept."""
    if record.samples is None or record.samples.rows or record.result is None:
        return False
    return any(each.name == "throughput" and each.n > 0 for each in record.result.measurements)


def _trial(seen: View, record: TrialRecord) -> Section:
    trial, result = record.trial, record.result
    blocks = trial_opening(record, _facts(record))
    if result is not None and result.measurements:
        found = {(_key(each.subject), each.name): each for each in result.measurements}
        blocks += [_rates(seen, record, found), _delays(seen, record, found)]
    return Section(id=trial_anchor(trial.index), title=f"Trial {trial.index}: {trial.label}", blocks=tuple(blocks))


def _facts(record: TrialRecord) -> list[tuple[str, str]]:
    result = record.result
    pairs = list(trial_facts(record))
    if result:
        pairs += [(name.replace("_", " "), number(value, 4)) for name, value in result.health.items()]
        pairs += [(name, count(value)) for name, value in result.counters.items()]
    return pairs


def _key(subject: Mapping[str, str]) -> Key:
    return next(iter(subject.items()), ("", ""))


def _rows(seen: View) -> list[tuple[Key, str, bool]]:
    """Key, label and whether it is a sum, for the port, then each queue followed by its flows."""
    rows: list[tuple[Key, str, bool]] = [(("", ""), "Port", True)]
    for queue in seen.plan.used_queues:
        rows.append((("queue", str(queue)), f"q{queue}", True))
        priorities = seen.plan.traffic.sender_priorities
        rows += [(("flow", str(each)), f"flow {each}, priority {priorities[each]}", False) for each in seen.plan.senders_of(queue)]
    return rows


def _rates(seen: View, record: TrialRecord, found: Found) -> Table:
    point = record.trial.point
    promise = of_plan.point(seen.plan, seen.plan.scheduler(str(point["scheduler"])), float(point["load_mbps"]))
    ideal = {("", ""): promise.total_mbps}
    ideal |= {("queue", str(queue)): rate for queue, rate in promise.queue_mbps.items()}
    ideal |= {("flow", str(sender)): rate for sender, rate in promise.flow_mbps.items()}
    rows = []
    for key, label, strong in _rows(seen):
        rows.append(
            (
                Cell(text=label, strong=strong),
                Cell(text=measured(found.get((key, "offered")))),
                Cell(text=measured(found.get((key, "throughput"))), strong=strong),
                Cell(text=number(ideal[key]), muted=True),
                Cell(text=measured(found.get((key, "frame_loss_rate")), scale=100)),
                Cell(text=measured(found.get((key, "reordered")))),
                Cell(text=measured(found.get((key, "duplicates")))),
                Cell(text=_n(found, key, "offered")),
                Cell(text=_n(found, key, "throughput")),
            )
        )
    return Table(
        caption=f"Trial {record.trial.index}: rates and loss.",
        columns=(
            Column(title="Of"),
            Column(title="Offered", unit="Mbit/s", numeric=True),
            Column(title="Throughput", unit="Mbit/s", numeric=True),
            Column(title="Ideal", unit="Mbit/s", numeric=True),
            Column(title="Loss", unit="%", numeric=True),
            Column(title="Reordered", unit="frames", numeric=True),
            Column(title="Duplicates", unit="frames", numeric=True),
            Column(title="n sent", unit="frames", numeric=True),
            Column(title="n received", unit="frames", numeric=True),
        ),
        rows=tuple(rows),
        dense=True,
    )


def _delays(seen: View, record: TrialRecord, found: Found) -> Table:
    rows = []
    for key, label, strong in _rows(seen):
        rows.append(
            (
                Cell(text=label, strong=strong),
                *(Cell(text=measured(found.get((key, name)), scale=1e-3), strong=strong and name == "delay.mean") for name, _ in DELAYS),
                Cell(text=measured(found.get((key, "delay_variation")))),
                Cell(text=_n(found, key, "delay.mean")),
            )
        )
    return Table(
        caption=f"Trial {record.trial.index}: delay.",
        columns=(
            Column(title="Of"),
            *(Column(title=title, unit="ms", numeric=True) for _, title in DELAYS),
            Column(title="Variation", unit="µs", numeric=True),
            Column(title="n", unit="frames", numeric=True),
        ),
        rows=tuple(rows),
        dense=True,
    )


def _n(found: Found, key: Key, name: str) -> str:
    measurement = found.get((key, name))
    return ABSENT if measurement is None else count(measurement.n)

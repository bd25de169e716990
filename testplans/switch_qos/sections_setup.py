"""What was tested, and with what: the set-up in one page."""

from rackproof.model.functions import Discipline
from rackproof.model.traffic import Arrivals
from reports.document import Block, Cell, Column, KeyValues, Paragraph, Section, Table
from reports.text import duration, number, plural
from testplans.switch_qos import of_plan
from testplans.switch_qos.sections_view import View, layer_words, short_title, title_of


def section(seen: View) -> Section:
    """Devices, disciplines, traffic; and the loads at which an ideal switch changes its behaviour."""
    plan = seen.plan
    blocks: list[Block] = []
    if plan.description:
        blocks.append(Paragraph(text=plan.description.strip()))
    blocks += [
        Paragraph(
            text=f"{plural(plan.traffic.senders, 'sender')} offer traffic to one receiver through the device under test, each with one "
            f"VLAN "
            "priority; the priority decides the queue. All send at the same load, which is raised step by step until every queue is "
            "saturated. "
            "What arrives is compared with what an ideal switch would deliver: no contention but for the output port, and a scheduler that "
            "keeps its promise."
        ),
        KeyValues(caption="Set-up", pairs=tuple(_pairs(seen))),
        _devices(seen),
        _map(seen),
        _corners(seen),
    ]
    return Section(id="setup", title="What was tested", blocks=tuple(blocks))


def _pairs(seen: View) -> list[tuple[str, str]]:
    plan = seen.plan
    sizes = sorted({size.frame_bytes for priority in plan.traffic.sender_priorities for size in plan.traffic.frame_sizes(priority)})
    frame = ", ".join(f"{size}" for size in sizes) + " bytes, FCS and VLAN tag included"
    if plan.traffic.frame_bytes_by_priority is not None:
        frame += ", by priority"
    elif plan.traffic.frame_mix:
        frame += ", mixed " + ":".join(f"{part.weight:g}" for part in plan.traffic.frame_mix)
    return [
        ("Disciplines", "; ".join(title_of(scheduler) for scheduler in plan.disciplines)),
        ("Queues", f"{plan.queues.count}, of {plan.queues.length_frames} frames each"),
        ("Links", f"{plan.link.rate_mbps:g} Mbit/s; loads and rates count at {layer_words(plan)}"),
        ("Frames", frame),
        ("Arrivals", "Poisson (exponential gaps)" if plan.traffic.arrivals is Arrivals.POISSON else "constant gaps, random phase"),
        *_measured_by(seen),
        ("Offered load per sender", ", ".join(f"{load:g}" for load in plan.load.per_sender_mbps) + " Mbit/s"),
        (
            "Each trial",
            f"{duration(plan.trial.warmup_s)} of warm-up, {duration(plan.trial.duration_s)} measured, {duration(plan.drain_s)} of drain",
        ),
        ("Repetitions", str(plan.repetitions)),
    ]


def _measured_by(seen: View) -> list[tuple[str, str]]:
    """The generator with its version, and what it keeps, where the testbed says so; a bench's own engine is part of the host."""
    facts = seen.campaign.provenance.get("Testbed", {})
    if "generator" not in facts:
        return []
    kept = facts.get("generator keeps")
    return [("Measured by", facts["generator"]), *([("It keeps", kept)] if kept else [])]


def _devices(seen: View) -> Table:
    rows = []
    for device in seen.plan.devices:
        options = ", ".join(f"{name} = {value}" for name, value in device.options.items())
        facts = seen.campaign.provenance.get(f"Device {device.name}", {})
        known = "; ".join(f"{name} {value}" for name, value in facts.items() if name not in {"name", "model"})
        expected = next((each.criteria for each in seen.plan.expect if each.device == device.name), ())
        rows.append(
            (
                Cell(text=device.name, strong=True),
                Cell(text=device.model),
                Cell(text=options or "none"),
                Cell(text=known or "none"),
                Cell(text=", ".join(expected) or "nothing", muted=not expected),
            )
        )
    columns = ("Device", "Model", "Options", "Known of it", "Expected to fail")
    return Table(caption="Devices under test.", columns=tuple(Column(title=title) for title in columns), rows=tuple(rows))


def _map(seen: View) -> Table:
    plan = seen.plan
    used = sorted(set(plan.traffic.sender_priorities))
    priorities = tuple(Column(title=str(priority), numeric=True) for priority in range(len(plan.queues.priority_map)))
    queues = tuple(Cell(text=f"q{queue}") for queue in plan.queues.priority_map)
    senders = tuple(
        Cell(text=str(sum(1 for each in plan.traffic.sender_priorities if each == priority))) for priority in range(len(queues))
    )
    note = "" if len(used) == len(queues) else "Priorities without a sender carry no traffic."
    return Table(
        caption="Priority mapping to service queues; q0 is the lowest.",
        columns=(Column(title="VLAN priority"), *priorities),
        rows=((Cell(text="Service queue"), *queues), (Cell(text="Senders"), *senders)),
        note=note,
    )


def _corners(seen: View) -> Table:
    rows = []
    for scheduler in seen.plan.disciplines:
        strict = scheduler.discipline is Discipline.STRICT_PRIORITY
        for at, (name, load) in enumerate(of_plan.saturation_points(seen.plan, scheduler).items()):
            queue = f"q{seen.plan.used_queues[at]}"
            meaning = (
                f"{queue} begins to lose frames"
                if strict
                else {"E": "the link is full", "F": "every queue gets its guarantee and no more"}[name]
            )
            rows.append((Cell(text=short_title(scheduler)), Cell(text=name, strong=True), Cell(text=number(load)), Cell(text=meaning)))
    return Table(
        caption="Where an ideal switch changes its behaviour: the points that the figures mark.",
        columns=(
            Column(title="Discipline"),
            Column(title="Point"),
            Column(title="Load per sender", unit="Mbit/s", numeric=True),
            Column(title="From here on"),
        ),
        rows=tuple(rows),
    )

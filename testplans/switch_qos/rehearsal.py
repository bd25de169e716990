"""What would a plan do, and can a testbed carry it? Found without touching anything."""

from collections.abc import Iterator

from rackproof.model.traffic import Arrivals
from rackproof.model.trial import Trial
from rackproof.ports import Limits
from testplans.kind import Rehearsal
from testplans.switch_qos import of_plan
from testplans.switch_qos.expansion import expand
from testplans.switch_qos.plan import Scheduler, SwitchQosPlan


def rehearse(plan: SwitchQosPlan, limits: Limits) -> Rehearsal:
    """All trials with a note each, why the testbed must refuse the plan, and what its author should know."""
    trials = expand(plan)
    return Rehearsal(
        trials=trials,
        notes={trial.index: note(plan, trial) for trial in trials},
        refusals=(*_arrivals(plan, limits), *_rates(plan, limits), *_devices(plan, limits)),
        warnings=(*warnings(plan), *_notes(plan, limits)),
    )


def note(plan: SwitchQosPlan, trial: Trial) -> str:
    """What will happen in a trial: offered load, which queues saturate, what each should get."""
    scheduler = plan.scheduler(str(trial.point["scheduler"]))
    point = of_plan.point(plan, scheduler, float(trial.point["load_mbps"]))
    offered = sum(point.queue_offered_mbps.values())
    losing = [f"q{queue}{' starves' if queue in point.starved else ''}" for queue in point.saturated]
    what = f"saturated: {', '.join(losing)}" if losing else "no queue saturates"
    got = ", ".join(f"q{queue} {rate:.4g}" for queue, rate in point.queue_mbps.items())
    return f"{offered:g} Mbit/s offered in all ({100 * point.link_share:.0f} % of the link); {what}; ideal throughput {got} Mbit/s"


def _arrivals(plan: SwitchQosPlan, limits: Limits) -> Iterator[str]:
    why = limits.arrivals.get(plan.traffic.arrivals, "")
    if why:
        yield f"traffic.arrivals: {plan.traffic.arrivals} cannot be sent here: {why}"


def _notes(plan: SwitchQosPlan, limits: Limits) -> Iterator[str]:
    for device in plan.devices:
        for note in limits.notes.get(device.model, {}).get("qos-scheduler", ()):
            yield f"{device.name}: {note}"
    for note in limits.notes.get("generator", {}).get(plan.traffic.arrivals, ()):
        yield f"generator: {note}"


def _rates(plan: SwitchQosPlan, limits: Limits) -> Iterator[str]:
    for load in plan.load.per_sender_mbps:
        needed = sum(plan.sender_fps(sender, load) for sender in range(plan.traffic.senders))
        if needed > limits.send_fps:
            yield (
                f"load.per_sender_mbps {load:g}: expected at most {limits.send_fps:.0f} frames/s in all, which the generator can pace, "
                f"found {needed:.0f} frames/s"
            )
        carried = max(
            sum(plan.sender_fps(sender, rate) for sender, rate in of_plan.point(plan, scheduler, load).flow_mbps.items())
            for scheduler in plan.disciplines
        )
        if carried > limits.receive_fps:
            yield (
                f"load.per_sender_mbps {load:g}: expected at most {limits.receive_fps:.0f} frames/s to receive, which the generator can "
                f"record, found {carried:.0f} frames/s"
            )


def _devices(plan: SwitchQosPlan, limits: Limits) -> Iterator[str]:
    for at, device in enumerate(plan.devices):
        where = f"devices[{at}] {device.name}"
        if device.model not in limits.device_models:
            known = ", ".join(sorted(limits.device_models)) or "none"
            yield f"{where}: expected a device model of this testbed ({known}), found {device.model}"
            continue
        why = limits.device_models[device.model]
        if why:
            yield f"{where}: the model {device.model} cannot be used here: {why}"
        known_options = limits.options.get(device.model, frozenset())
        for option in sorted(set(device.options) - known_options):
            yield f"{where}: expected options of {device.model} ({', '.join(sorted(known_options)) or 'it has none'}), found {option}"
        fastest = limits.link_rate_bps_max.get(device.model)
        if fastest is not None and plan.link.rate_bps > fastest:
            yield f"{where}: expected a link of at most {fastest / 1e6:g} Mbit/s for {device.model}, found {plan.link.rate_mbps:g} Mbit/s"


def warnings(plan: SwitchQosPlan) -> Iterator[str]:
    """What a plan can run with, but its author should know."""
    unused = sorted(set(range(plan.queues.count)) - set(plan.used_queues))
    if unused:
        yield f"no sender uses {', '.join(f'q{queue}' for queue in unused)}: nothing is said of it"
    if plan.traffic.arrivals is Arrivals.CONSTANT and plan.traffic.senders > len(plan.used_queues):
        yield "constant streams that share a queue can lock phase, and one then loses what the other keeps: fairness is hard to judge"
    if plan.full_queue_s > plan.trial.duration_s / 2:
        yield (
            f"a full queue takes {plan.full_queue_s:.3g} s to empty, long against the measured span of {plan.trial.duration_s:g} s: "
            "low queues will not be in steady state"
        )
    for scheduler in plan.disciplines:
        yield from _sweep_warnings(plan, scheduler)


def _sweep_warnings(plan: SwitchQosPlan, scheduler: Scheduler) -> Iterator[str]:
    loads = plan.load.per_sender_mbps
    points = of_plan.saturation_points(plan, scheduler)
    last, at = max(points.items(), key=lambda item: item[1])
    if loads[-1] < at:
        highest = f"the highest load, {loads[-1]:g} Mbit/s"
        yield f"{scheduler.label}: {highest}, stays below {last} ({at:.4g} Mbit/s): full saturation is not shown"
    for load in loads:
        near = of_plan.nearby(points, load)
        if near:
            why = "where chance decides how much is lost: deviations are not judged there"
            yield f"{scheduler.label}: {load:g} Mbit/s lies at {near}, {why}"

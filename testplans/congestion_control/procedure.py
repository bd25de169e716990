"""What is done for one trial: flows started one after the other, seen to use what they should, ended; every packet of the path recorded."""

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

from rackproof.errors import LabError
from rackproof.model.functions import HostTuning
from rackproof.model.path import BETWEEN_HOSTS, FIRST_PORT, FLOWS, EmulatedPath
from rackproof.model.topology import DeviceSpec, Endpoint, HostSpec, Link, Setup, Topology
from rackproof.model.trial import Observation, Trial
from rackproof.ports import Host, Rig, Run
from rackproof.settings import Settings
from testplans.congestion_control.expansion import schemes_of
from testplans.congestion_control.plan import CongestionControlPlan
from testplans.congestion_control.qdiscs import queued
from testplans.congestion_control.schemes import registry
from testplans.congestion_control.schemes.probe import probe
from testplans.congestion_control.schemes.runner import Flow, FlowEnd, SchemeFailed
from testplans.congestion_control.schemes.tools import Tools

PATH = "path"
HOST_PORT = "eth0"
#: Features that let a host send or receive several packets as one; every Linux port has them.
AGGREGATING = ("tcp-segmentation-offload", "generic-segmentation-offload", "generic-receive-offload")
#: The first flow's port; the others have those after it.
PORT = 5201
#: A flow is looked at as soon as it has had time to send, and this often after that [s].
SETTLED_S = 1.0
LOOK_S = 0.5


def sender(flow: int) -> str:
    """The host that a flow is sent from."""
    return f"sender-{flow}"


def receiver(flow: int) -> str:
    """The host that a flow is sent to."""
    return f"receiver-{flow}"


def ends(plan: CongestionControlPlan, flow: int) -> tuple[str, str]:
    """The hosts that a flow is sent from and to: on the bench two of its own, else the plan's."""
    return (plan.path.hosts[0], plan.path.hosts[1]) if plan.path.hosts else (sender(flow), receiver(flow))


def setup(plan: CongestionControlPlan, trial: Trial) -> Setup:
    """A pair of hosts for every flow, all at the ends of one path; or two real hosts for all flows."""
    if plan.path.hosts:
        return _between_hosts(plan)
    flows = range(1, len(schemes_of(trial)) + 1)
    ends = [(name(flow), f"{port}{flow}") for flow in flows for name, port in ((sender, "a"), (receiver, "b"))]
    function: EmulatedPath = plan.path.emulated(trial.seed)
    return Setup(
        topology=Topology(
            devices=(DeviceSpec(name=PATH, model=PATH),),
            links=tuple(Link(a=Endpoint(node=host, port=HOST_PORT), b=Endpoint(node=PATH, port=port)) for host, port in ends),
            hosts=tuple(
                HostSpec(name=name(flow), port=HOST_PORT, address=f"10.82.{flow}.{last}/24")
                for flow in flows
                for name, last in ((sender, 1), (receiver, 2))
            ),
        ),
        functions={PATH: (function,)},
    )


def _between_hosts(plan: CongestionControlPlan) -> Setup:
    """The same for all trials: hosts that tell packets apart, because neither side makes one of several."""
    path = {FIRST_PORT: PORT, FLOWS: max(len(flows) for _, flows in plan.tests)}
    tuning = HostTuning(features={HOST_PORT: dict.fromkeys(AGGREGATING, False)})
    return Setup(
        topology=Topology(
            devices=(DeviceSpec(name=PATH, model=BETWEEN_HOSTS, options=path),),
            links=tuple(
                Link(a=Endpoint(node=host, port=HOST_PORT), b=Endpoint(node=PATH, port=port))
                for host, port in zip(plan.path.hosts, ("a1", "b1"), strict=True)
            ),
            hosts=tuple(HostSpec(name=host, port=HOST_PORT) for host in plan.path.hosts),
            kind=plan.kind,
        ),
        functions=dict.fromkeys(plan.path.hosts, (tuning,)),
    )


def run(plan: CongestionControlPlan, trial: Trial, rig: Rig) -> Observation:
    """One trial on a rig that stands and whose path is set. Raises LabError; a scheme that fails, with the end of its output."""
    tools = Tools.of(Settings.load())
    schemes = schemes_of(trial)
    before = _counters(plan, rig)
    recording = rig.tap(PATH).start()
    try:
        with ExitStack() as stack:
            flows = [
                Flow(
                    registry.scheme(scheme),
                    *(rig.host(name) for name in ends(plan, flow)),
                    port=PORT + flow - 1,
                    runtime_s=plan.runtime_s - (flow - 1) * plan.flow_interval_s,
                    tools=tools,
                    pause=rig.pause,
                )
                for flow, scheme in enumerate(schemes, 1)
            ]
            try:
                wanted = {ends(plan, flow)[0]: plan.qdiscs[scheme] for flow, scheme in enumerate(schemes, 1) if scheme in plan.qdiscs}
                for name, qdisc in wanted.items():
                    stack.enter_context(queued(rig.host(name), qdisc, tools))
                ended = _drive(plan, rig, [stack.enter_context(flow) for flow in flows], recording)
            except LabError as error:
                raise _explained(error, schemes, rig.host(ends(plan, 1)[0]), tools) from error
        capture = recording.wait()
    except BaseException:
        recording.stop()
        raise
    return Observation(
        capture=capture,
        counters=_counted(before, _counters(plan, rig), ended, round(capture.health.get("worker_ahead_ms", 0.0) * 1e6)),
        notes={f"algorithm.{flow}": end.algorithm for flow, end in ended.items()},
    )


def _counters(plan: CongestionControlPlan, rig: Rig) -> Mapping[str, int]:
    """What the path has counted; nothing where it is not ours."""
    return {} if plan.path.hosts else rig.device(PATH).counters()


def _drive(plan: CongestionControlPlan, rig: Rig, flows: Sequence[Flow], recording: Run) -> Mapping[int, FlowEnd]:
    """Start the flows at their times, look at them until the runtime is over, and end them. The recording ends with the runtime."""
    began = 0.0
    unseen: dict[Flow, float] = {}
    for number, flow in enumerate(flows):
        _wait(rig, flows[:number], began + number * plan.flow_interval_s, unseen)
        flow.start()
        began = began or time.monotonic()
        unseen[flow] = time.monotonic() + min(SETTLED_S, plan.runtime_s / 2)
    _wait(rig, flows, began + plan.runtime_s, unseen)
    for flow in unseen:
        flow.verify()  # this process may have stood still when it was time to look
    # Flows are ended one after the other, which takes a while: what is sent meanwhile belongs to no run.
    recording.stop()
    return {number: flow.finish() for number, flow in enumerate(flows, 1)}


def _wait(rig: Rig, flows: Sequence[Flow], until: float, unseen: dict[Flow, float]) -> None:
    while (left := until - time.monotonic()) > 0:
        rig.pause(min(left, LOOK_S))
        for flow in flows:
            flow.check()
            if flow in unseen and time.monotonic() >= unseen[flow] and flow.verify():
                del unseen[flow]


def _explained(error: LabError, schemes: Sequence[str], host: Host, tools: Tools) -> LabError:
    """The error; where a scheme is not there at all, what is missing and how to get it."""
    try:
        found = probe([registry.scheme(scheme) for scheme in dict.fromkeys(schemes)], host.call, tools)
    except LabError:
        return error
    missing = [f"{each.scheme.label} is not on this host: {'; '.join(each.missing)}" for each in found if not each.available]
    return SchemeFailed("; ".join(missing)) if missing else error


def _counted(before: Mapping[str, int], after: Mapping[str, int], ended: Mapping[int, FlowEnd], ahead_ns: int) -> dict[str, int]:
    """All counters by name. ahead_ns: how far the clock of this process is ahead of the packets' (about: what a message takes is in it)."""
    found = {f"path.{name}": value - before.get(name, 0) for name, value in after.items()}
    for flow, end in ended.items():
        found[f"flow.{flow}.start_ns"], found[f"flow.{flow}.end_ns"] = end.start_ns - ahead_ns, end.end_ns - ahead_ns
        found[f"cpu_us.sender.{flow}"] = round(end.sender.cpu_s * 1e6)
        found[f"cpu_us.receiver.{flow}"] = round(end.receiver.cpu_s * 1e6)
    return found

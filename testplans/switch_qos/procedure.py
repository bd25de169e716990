"""What is done for one trial: traffic built, sent, and the device's counters read before and after."""

from rackproof.model.functions import QosScheduler
from rackproof.model.topology import GENERATOR, Endpoint, Link, Setup, Topology
from rackproof.model.traffic import Arrivals, Stream, Traffic
from rackproof.model.trial import Observation, Trial
from rackproof.ports import Rig
from testplans.sending import counted, sent
from testplans.switch_qos.plan import SwitchQosPlan

RECEIVER = "r0"
EGRESS = "out"

_TPID = b"\x81\x00"
#: Local experimental EtherType 1 (IEEE 802): no switch or host acts on it.
_ETHERTYPE = b"\x88\xb5"


def sender_port(sender: int) -> str:
    """The generator's port of a sender."""
    return f"s{sender}"


def ingress_port(sender: int) -> str:
    """The device's port that a sender is cabled to."""
    return f"p{sender}"


def mac(port: str) -> bytes:
    """Address of a generator's port: locally administered, 02:52:50:00:00:NN for sender NN and 02:52:50:00:01:00 for the receiver."""
    return b"\x02\x52\x50\x00" + (b"\x01\x00" if port == RECEIVER else bytes([0, int(port[1:])]))


def header(plan: SwitchQosPlan, sender: int) -> bytes:
    """Addresses, VLAN tag with the sender's priority, EtherType."""
    tag = plan.traffic.sender_priorities[sender] << 13 | plan.traffic.vlan_id
    return mac(RECEIVER) + mac(sender_port(sender)) + _TPID + tag.to_bytes(2) + _ETHERTYPE


def traffic(plan: SwitchQosPlan, trial: Trial, campaign: int) -> Traffic:
    """All that is sent in the trial: one stream a sender, all at the trial's load."""
    load_mbps = float(trial.point["load_mbps"])
    return Traffic(
        streams=tuple(
            Stream(
                id=sender,
                tx_port=sender_port(sender),
                rx_port=RECEIVER,
                header=header(plan, sender),
                frame_sizes=plan.traffic.frame_sizes(priority),
                rate_fps=plan.sender_fps(sender, load_mbps),
                arrivals=Arrivals(plan.traffic.arrivals),
            )
            for sender, priority in enumerate(plan.traffic.sender_priorities)
        ),
        campaign=campaign,
        trial=trial.index,
        seed=trial.seed,
        warmup_s=plan.trial.warmup_s,
        duration_s=plan.trial.duration_s,
        drain_s=plan.drain_s,
        batches=plan.trial.batches,
    )


def setup(plan: SwitchQosPlan, trial: Trial) -> Setup:
    """N senders and one receiver around the device, whose egress port has the trial's scheduler."""
    device = plan.device(str(trial.point["device"]))
    scheduler = plan.scheduler(str(trial.point["scheduler"]))
    cables = [(sender_port(sender), ingress_port(sender), plan.sender_bps_max(sender)) for sender in range(plan.traffic.senders)]
    cables.append((RECEIVER, EGRESS, plan.link.rate_bps))
    return Setup(
        topology=Topology(
            kind=plan.kind,
            devices=(device.spec(),),
            links=tuple(
                Link(a=Endpoint(node=GENERATOR, port=ours), b=Endpoint(node=device.name, port=theirs), rate_bps=rate)
                for ours, theirs, rate in cables
            ),
        ),
        functions={
            device.name: (
                QosScheduler(
                    discipline=scheduler.discipline,
                    port=EGRESS,
                    link_rate_bps=plan.link.rate_bps,
                    priority_map=plan.queues.priority_map,
                    queue_frames=plan.queues.length_frames,
                    weights=scheduler.weights,
                    quantum_bytes=scheduler.quantum_bytes,
                    frame_bytes=plan.only_frame_bytes,
                ),
            )
        },
    )


def run(plan: SwitchQosPlan, trial: Trial, campaign: int, rig: Rig) -> Observation:
    """One trial on a rig that stands and is configured. Raises LabError.

    Counters are read when nothing is being sent: read while traffic runs they show loss that is only frames under way.
    """
    device = rig.device(str(trial.point["device"]))
    before = device.counters()
    capture = sent(rig.generator, traffic(plan, trial, campaign))
    return Observation(capture=capture, counters=counted(before, device.counters()))

"""Small topologies and traffic that tests of the bench share."""

from rackproof.model.functions import Discipline, QosScheduler
from rackproof.model.topology import GENERATOR, DeviceSpec, Endpoint, HostSpec, Link, Topology
from rackproof.model.traffic import Arrivals, FrameSize, Stream, Traffic
from rackproof.units import Layer, frames_per_second

SENDERS = 4
RECEIVER_MAC = bytes.fromhex("025250000100")
#: Two hosts that are cabled to each other.
PAIR = Topology(
    devices=(),
    links=(Link(a=Endpoint(node="sender-1", port="eth0"), b=Endpoint(node="receiver-1", port="eth0")),),
    hosts=(
        HostSpec(name="sender-1", port="eth0", address="10.82.1.1/24"),
        HostSpec(name="receiver-1", port="eth0", address="10.82.1.2/24"),
    ),
)


def one_device(model: str, **options: float | bool) -> Topology:
    """Four senders and a receiver around one device called dut."""
    ends = [(f"s{port}", f"p{port}") for port in range(SENDERS)] + [("r0", "out")]
    return Topology(
        devices=(DeviceSpec(name="dut", model=model, options=options),),
        links=tuple(Link(a=Endpoint(node=GENERATOR, port=ours), b=Endpoint(node="dut", port=theirs)) for ours, theirs in ends),
    )


def scheduler(discipline: Discipline = Discipline.STRICT_PRIORITY, weights: tuple[float, ...] = ()) -> QosScheduler:
    """Four queues, priorities 0 to 7 in pairs, 20 Mbit/s."""
    return QosScheduler(
        discipline=discipline,
        port="out",
        link_rate_bps=20_000_000,
        priority_map=(0, 0, 1, 1, 2, 2, 3, 3),
        queue_frames=40,
        weights=weights,
    )


def traffic(
    *, load_mbps: float = 4.0, frame_bytes: int = 512, duration_s: float = 0.3, trial: int = 1, campaign: int = 4000, drain_s: float = 0.1
) -> Traffic:
    """Sender i sends Poisson traffic of VLAN priority 2 i at a layer-1 load."""
    streams = tuple(
        Stream(
            id=sender,
            tx_port=f"s{sender}",
            rx_port="r0",
            header=RECEIVER_MAC + bytes([2, 0x52, 0x50, 0, 0, sender]) + b"\x81\x00" + bytes([sender << 6, 1]) + b"\x88\xb5",
            frame_sizes=(FrameSize(frame_bytes=frame_bytes),),
            rate_fps=frames_per_second(load_mbps * 1e6, frame_bytes, Layer.L1),
            arrivals=Arrivals.POISSON,
        )
        for sender in range(SENDERS)
    )
    return Traffic(
        streams=streams, campaign=campaign, trial=trial, seed=7, warmup_s=0.05, duration_s=duration_s, drain_s=drain_s, batches=10
    )

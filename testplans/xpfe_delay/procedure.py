"""What is done for one trial: a chain as topology, traffic through it, every frame recorded where it comes and goes."""

from rackproof.model.functions import DeviceFunction
from rackproof.model.topology import GENERATOR, Endpoint, Link, Setup, Topology, Wire
from rackproof.model.traffic import Arrivals, Capture, FrameSize, Stream, Traffic
from rackproof.model.trial import Observation, Trial
from rackproof.ports import Rig
from rackproof.units import Layer
from testplans import sending
from testplans.sending import counted, sent
from testplans.xpfe_delay import xcf
from testplans.xpfe_delay.parts import Chain, Forwarding
from testplans.xpfe_delay.plan import XpfeDelayPlan

#: The stream that is measured; hop k's background is stream k.
MEASURED = 0
#: What stands before the name of a link's health.
WIRES = "wires."

_TPID = b"\x81\x00"
#: Local experimental EtherType 1 (IEEE 802): no switch or host acts on it.
_ETHERTYPE = b"\x88\xb5"


def header(source: str, destination: str, c_vlan: int) -> bytes:
    """Addresses of two of the generator's ports, the customer's VLAN tag (priority 0), EtherType."""
    addresses = (bytes.fromhex(xcf.mac(port).replace(":", "")) for port in (destination, source))
    return b"".join(addresses) + _TPID + c_vlan.to_bytes(2) + _ETHERTYPE


def traffic(plan: XpfeDelayPlan, trial: Trial, campaign: int) -> Traffic:
    """All that is sent in the trial: the measured stream from end to end, and background over each link."""
    size, rate_mbps = int(trial.point["frame_bytes"]), float(trial.point["rate_mbps"])
    streams = [
        Stream(
            id=MEASURED,
            tx_port=xcf.TX,
            rx_port=xcf.RX,
            header=header(xcf.TX, xcf.RX, xcf.C_VLAN),
            frame_sizes=(FrameSize(frame_bytes=size),),
            rate_fps=plan.fps(rate_mbps, size),
            arrivals=Arrivals(plan.arrivals),
        )
    ]
    if plan.background is not None:
        for hop in range(1, int(trial.point["hops"])):
            ends = (xcf.background_port(hop), xcf.background_port(hop + 1))
            streams.append(
                Stream(
                    id=hop,
                    tx_port=ends[0],
                    rx_port=ends[1],
                    header=header(*ends, xcf.BACKGROUND_C_VLAN + hop),
                    frame_sizes=(FrameSize(frame_bytes=plan.background.frame_bytes),),
                    rate_fps=plan.background_fps,
                    arrivals=Arrivals(plan.background.arrivals),
                )
            )
    return Traffic(
        streams=tuple(streams),
        campaign=campaign,
        trial=trial.index,
        seed=trial.seed,
        warmup_s=plan.trial.warmup_s,
        duration_s=plan.trial.duration_s,
        drain_s=plan.drain_s,
        batches=plan.trial.batches,
    )


def setup(plan: XpfeDelayPlan, trial: Trial) -> Setup:
    """A chain of so many elements between the generator's two ports; links between elements take their time."""
    chain, hops = plan.chain(str(trial.point["chain"])), int(trial.point["hops"])
    elements = range(1, hops + 1)
    return Setup(
        topology=Topology(
            kind=plan.kind,
            devices=tuple(chain.spec(number) for number in elements),
            links=_links(plan, chain, hops),
        ),
        functions={chain.device(number): _functions(plan, chain, number, hops) for number in elements},
    )


def _functions(plan: XpfeDelayPlan, chain: Chain, number: int, hops: int) -> tuple[DeviceFunction, ...]:
    if chain.forwarding is Forwarding.PLAIN:
        return ()
    return (xcf.element(number, hops, background=plan.background is not None),)


def _links(plan: XpfeDelayPlan, chain: Chain, hops: int) -> tuple[Link, ...]:
    outside, between = (most_bps(plan, overhead) for overhead in (0, chain.overhead_bytes))
    between += plan.background_bps(chain.overhead_bytes)
    links = [
        _to_generator(xcf.TX, chain.device(1), xcf.UNI, outside),
        *(_between(plan, chain, hop, between) for hop in range(1, hops)),
        _to_generator(xcf.RX, chain.device(hops), xcf.OUT, outside),
    ]
    if plan.background is not None and hops > 1:
        links += [
            _to_generator(xcf.background_port(number), chain.device(number), xcf.BACKGROUND, plan.background_bps())
            for number in range(1, hops + 1)
        ]
    return tuple(links)


def _between(plan: XpfeDelayPlan, chain: Chain, hop: int, rate_bps: float) -> Link:
    return Link(
        a=Endpoint(node=chain.device(hop), port=xcf.EAST),
        b=Endpoint(node=chain.device(hop + 1), port=xcf.WEST),
        rate_bps=rate_bps,
        wire=Wire(rate_bps=plan.link.rate_bps, queue_frames=plan.link.queue_frames, delay_us=plan.planted_us(hop)),
    )


def most_bps(plan: XpfeDelayPlan, overhead_bytes: int = 0) -> float:
    """The most that the measured stream takes of a link at layer 1, over all trials of the plan [bit/s]."""
    highest = max(plan.rates_mbps)
    return max(plan.bits_per_second(highest, size, Layer.L1, overhead_bytes) for size in plan.frame_bytes)


def _to_generator(ours: str, device: str, port: str, rate_bps: float) -> Link:
    return Link(a=Endpoint(node=GENERATOR, port=ours), b=Endpoint(node=device, port=port), rate_bps=rate_bps)


def run(plan: XpfeDelayPlan, trial: Trial, campaign: int, rig: Rig) -> Observation:
    """One trial on a rig that stands and is configured. Raises LabError.

    Links record before the first frame is sent and after the last one has come. Counters are read when nothing is being sent.
    """
    chain = plan.chain(str(trial.point["chain"]))
    devices = [rig.device(chain.device(number)) for number in range(1, int(trial.point["hops"]) + 1)]
    before = [device.counters() for device in devices]
    tap = rig.wires()
    recording = tap.start() if tap is not None else None
    try:
        capture = sent(rig.generator, traffic(plan, trial, campaign))
        if recording is not None:
            recording.stop()
            capture = merged(capture, recording.wait())
    except BaseException:
        if recording is not None:
            recording.stop()
        raise
    counters = {
        f"{device.name}.{name}": value
        for device, earlier in zip(devices, before, strict=True)
        for name, value in counted(earlier, device.counters()).items()
        if value
    }
    return Observation(capture=capture, counters=counters)


def merged(capture: Capture, wires: Capture) -> Capture:
    """What the generator saw, and after it what the links saw, in one; their health has names of its own."""
    return sending.merged(capture, wires, WIRES)

"""What is done for one trial: routers as topology, LSPs through them, labelled traffic over the stable ones while the others flap."""

import time
from dataclasses import replace

import numpy as np

from rackproof.model.lsp import Flaps, Pace, Probing, Signalling
from rackproof.model.topology import GENERATOR, Endpoint, Link, Setup, Topology
from rackproof.model.traffic import RECORD_DTYPE, Capture, Samples, Traffic
from rackproof.model.trial import Observation, Trial
from rackproof.ports import Generator, Rig, Signaller
from rackproof.units import Layer
from testplans.mpls_flap import addresses, configured
from testplans.mpls_flap.parts import By, Network
from testplans.mpls_flap.plan import MplsFlapPlan
from testplans.mpls_flap.traffic import LSP, stable_streams, traffic
from testplans.sending import counted, merged


def setup(plan: MplsFlapPlan, trial: Trial) -> Setup:
    """The routers of a network between the generator's two ports. With static labels, all of the trial's LSPs are configured."""
    network = plan.network(str(trial.point["network"]))
    labels = int(trial.point["stable"]) + int(trial.point["flapped"]) if plan.signalling.by is By.CONFIGURATION else 0
    return Setup(
        topology=Topology(
            kind=plan.kind, devices=tuple(network.spec(router) for router in network.numbers), links=tuple(_links(plan, network))
        ),
        functions={network.device(router): (configured.router(plan, network, router, range(labels)),) for router in network.numbers},
    )


def _links(plan: MplsFlapPlan, network: Network) -> list[Link]:
    rate_bps = max(plan.bits_per_second(test, Layer.L1) for test in plan.tests)

    def link(node: str, port: str, other: str, other_port: str) -> Link:
        return Link(a=Endpoint(node=node, port=port), b=Endpoint(node=other, port=other_port), rate_bps=rate_bps)

    last, device = addresses.exit_of(network.routers, ring=network.ring), network.device
    links = [link(GENERATOR, addresses.IN, device(1), addresses.WEST)]
    links += [link(device(each), addresses.EAST, device(each + 1), addresses.WEST) for each in network.numbers[:-1]]
    if network.ring:
        links.append(link(device(network.routers), addresses.RING_EAST, device(1), addresses.RING_WEST))
    return [*links, link(GENERATOR, addresses.OUT, device(last), addresses.exit_port(ring=network.ring))]


def signalling(plan: MplsFlapPlan, trial: Trial, campaign: int) -> Signalling:
    """What the emulated LERs are asked for. Where LSPs are configured they have none, and answer for their addresses alone."""
    network, asked = plan.network(str(trial.point["network"])), plan.signalling
    signalled = asked.by is By.RSVP_TE
    return Signalling(
        ingress=addresses.INGRESS,
        egress=addresses.EGRESS,
        stable=int(trial.point["stable"]) if signalled else 0,
        flapped=int(trial.point["flapped"]) if signalled else 0,
        campaign=campaign,
        trial=trial.index,
        seed=trial.seed,
        setup_s=asked.setup_s,
        routes=addresses.routes(network.routers, ring=network.ring),
        style=asked.style,
        labels=asked.labels,
        refresh_s=asked.refresh_s,
        hello_s=asked.hello_s,
        refresh_reduction=asked.refresh_reduction,
        pace=Pace(setups_per_s=asked.setups_per_s, teardowns_per_s=asked.teardowns_per_s, retry_s=asked.retry_s, retries=asked.retries),
        probing=Probing(fps=plan.probes.fps, gap_us=plan.probes.gap_us) if signalled and plan.probes.fps else None,
    )


def flaps(plan: MplsFlapPlan) -> Flaps:
    """The phases of every trial."""
    return Flaps(prior_s=plan.phases.prior_s, windows_s=plan.phases.windows_s, drain_s=plan.phases.drain_s)


def run(plan: MplsFlapPlan, trial: Trial, campaign: int, rig: Rig) -> Observation:
    """One trial on a rig that stands and is configured. Raises LabError.

    LSPs are set up before traffic begins and released after all has come. Where a router refuses some of the stable LSPs, traffic goes over
    those that are up; where none is, LSPs flap without traffic. Counters are read when nothing is being sent.
    """
    network = plan.network(str(trial.point["network"]))
    devices = [rig.device(network.device(router)) for router in network.numbers]
    before = [device.counters() for device in devices]
    with rig.signaller(signalling(plan, trial, campaign)) as signaller:
        established = signaller.establish()
        if plan.signalling.by is By.CONFIGURATION:
            established, capture = configured.flapped(plan, trial, campaign, rig, established)
        else:
            asked = traffic(plan, trial, campaign, established, stable_streams(plan, trial))
            capture = flapped(rig.generator, signaller, asked, flaps(plan))
        released = signaller.release()
    counters = {
        f"{device.name}.{name}": value
        for device, earlier in zip(devices, before, strict=True)
        for name, value in counted(earlier, device.counters()).items()
    }
    counters |= {f"signaller.{name}": round(value) for name, value in released.items()}
    stable_up = sum(lsp < int(trial.point["stable"]) for lsp in established.labels)
    own = {"established": len(established.labels), "stable_up": stable_up, "phantoms": established.phantoms, "setup_s": established.took_s}
    # The signaller counts dozens of things; what never happened would hide what did.
    seen = {name: value for name, value in capture.health.items() if value or not name.startswith(LSP)}
    return Observation(
        capture=replace(capture, health=seen | {LSP + name: float(value) for name, value in own.items()}),
        counters={name: value for name, value in counters.items() if value},
        notes={"refused": "; ".join(f"{why}: {count}" for why, count in established.refused.items())},
    )


def flapped(generator: Generator, signaller: Signaller, asked: Traffic, phases: Flaps) -> Capture:
    """Traffic and phases begin together; what came of both. Whatever ends the wait ends both."""
    if not asked.streams:
        return _without_traffic(signaller, asked, phases)
    sending = generator.start(asked)
    try:
        flapping = signaller.start(phases)
        try:
            return merged(sending.wait(), flapping.wait(), LSP)
        except BaseException:
            flapping.stop()
            raise
    except BaseException:
        sending.stop()
        raise


def _without_traffic(signaller: Signaller, asked: Traffic, phases: Flaps) -> Capture:
    """No stable LSP is up: what the signaller saw alone, with the marks that a generator would have made."""
    marks = time.time_ns() + np.linspace(0, 1e9 * asked.duration_s, asked.batches + 1).astype(np.int64)
    nothing = Capture(samples=Samples.of(np.empty(0, RECORD_DTYPE)), sent={}, batch_starts_ns=marks)
    flapping = signaller.start(phases)
    try:
        return merged(nothing, flapping.wait(), LSP)
    except BaseException:
        flapping.stop()
        raise

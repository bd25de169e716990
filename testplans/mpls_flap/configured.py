"""LSPs of static labels: routers are configured without those that flap and with them again, while traffic flows.

LSP n has the label FIRST_LABEL + n on all links; the last router does as the egress would ask (signalling.labels).
"""

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rackproof.model.functions import Mpls, StaticLabel
from rackproof.model.lsp import FIRST_EVENT, NO_LSP, Established, EventKind, LabelMode
from rackproof.model.traffic import RECORD_DTYPE, Capture, Samples
from rackproof.model.trial import Trial
from rackproof.ports import Rig
from testplans.mpls_flap import addresses
from testplans.mpls_flap.parts import By, Network
from testplans.mpls_flap.plan import MplsFlapPlan
from testplans.mpls_flap.traffic import LSP, stable_streams, traffic
from testplans.sending import merged

#: Junos keeps labels from here on for static LSPs.
FIRST_LABEL = 1_000_000
#: Frames of flapped LSPs [byte], and at least and at most how many of each [1/s]: they show which LSPs forward and are no load.
FRAME_BYTES = 128
FPS_MIN, FPS_MAX = 1.0, 100.0
_OUT = {LabelMode.IMPLICIT_NULL: None, LabelMode.EXPLICIT_NULL: 0}


def router(plan: MplsFlapPlan, network: Network, number: int, lsps: Sequence[int]) -> Mpls:
    """What a router is told: to speak RSVP, or the static labels of these LSPs."""
    rsvp = plan.signalling.by is By.RSVP_TE
    labels = () if rsvp else tuple(_labels(plan, network, number, lsps))
    return addresses.router(number, network.routers, ring=network.ring, rsvp=rsvp, labels=labels)


def _labels(plan: MplsFlapPlan, network: Network, number: int, lsps: Sequence[int]) -> list[StaticLabel]:
    mine = addresses.ports(number, network.routers, ring=network.ring)
    last = addresses.exit_of(network.routers, ring=network.ring)
    made = []
    for lsp in lsps:
        port = dict(addresses.path(lsp, network.routers, ring=network.ring)).get(number)
        if port is not None:
            label = FIRST_LABEL + lsp
            out = _OUT.get(plan.signalling.labels, label) if number == last else label
            made.append(StaticLabel(in_label=label, port=port, next_hop=mine[port][1], out_label=out))
    return made


def flapped(plan: MplsFlapPlan, trial: Trial, campaign: int, rig: Rig, known: Established) -> tuple[Established, Capture]:
    """Traffic over all LSPs while those that flap are taken out of the configuration and put back; what came, with the events.

    known: the addresses that frames leave with. Whatever ends the wait ends the traffic. Raises LabError.
    """
    stable, flapping = int(trial.point["stable"]), int(trial.point["flapped"])
    every = range(stable + flapping)
    established = replace(known, labels={lsp: FIRST_LABEL + lsp for lsp in every})
    streams = stable_streams(plan, trial) | dict.fromkeys(every[stable:], (FRAME_BYTES, flapping_fps(plan, flapping)))
    sending = rig.generator.start(traffic(plan, trial, campaign, established, streams))
    try:
        began = time.monotonic()
        events = _Events()
        for number, begin_s in enumerate(starts(plan), 1):
            _sleep_until(rig, began + begin_s)
            events.note(EventKind.FLAP_BEGIN, number)
            _configure(plan, trial, rig, every[:stable], events, 0)
            _configure(plan, trial, rig, every, events, 1)
            _sleep_until(rig, began + begin_s + plan.phases.windows_s[number - 1])
            events.note(EventKind.FLAP_END, number)
        return established, merged(sending.wait(), events.capture(), LSP)
    except BaseException:
        sending.stop()
        raise


def starts(plan: MplsFlapPlan) -> list[float]:
    """When each flap begins, from the beginning of the phases [s]."""
    return [plan.phases.prior_s + sum(plan.phases.windows_s[:flap]) for flap in range(len(plan.phases.windows_s))]


def flapping_fps(plan: MplsFlapPlan, flapped: int) -> float:
    """Frames per second of each flapped LSP."""
    return min(FPS_MAX, max(FPS_MIN, plan.probes.fps / flapped))


def _configure(plan: MplsFlapPlan, trial: Trial, rig: Rig, lsps: Sequence[int], events: "_Events", value: int) -> None:
    """Every router in turn, with these LSPs."""
    network = plan.network(str(trial.point["network"]))
    for number in network.numbers:
        rig.device(network.device(number)).apply(router(plan, network, number, lsps))
        events.note(EventKind.CONFIGURED, value)


def _sleep_until(rig: Rig, instant: float) -> None:
    if (left := instant - time.monotonic()) > 0:
        rig.pause(left)


class _Events:
    """What is done to the routers, as a signaller would write it down."""

    def __init__(self) -> None:
        self._records: list[tuple[int, int, int]] = []

    def note(self, kind: EventKind, value: int) -> None:
        """It happened now."""
        self._records.append((time.time_ns(), FIRST_EVENT + kind, value))

    def capture(self) -> Capture:
        """All events as samples."""
        records = np.zeros(len(self._records), RECORD_DTYPE)
        for name, values in zip(("tx_ns", "port", "sequence"), zip(*self._records, strict=True), strict=True):
            records[name] = values
        records["stream"] = NO_LSP
        return Capture(samples=Samples.of(records), sent={}, batch_starts_ns=np.empty(0, np.int64))

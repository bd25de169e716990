"""What did one trial measure? Every number with its interval, the curves, and whether it can be trusted."""

import numpy as np

from rackproof.model.lsp import EventKind
from rackproof.model.measurement import Curve, Measurement
from rackproof.model.traffic import Calibration
from rackproof.model.trial import Observation, Trial, TrialResult
from testplans.mpls_flap import addresses, counted, effects, flaps, probes, timeline, unsignalled, validity
from testplans.mpls_flap.forwarding import forwarding
from testplans.mpls_flap.numbers import number
from testplans.mpls_flap.parts import By
from testplans.mpls_flap.plan import MplsFlapPlan
from testplans.mpls_flap.signals import Signals, signals
from testplans.mpls_flap.traffic import LSP
from testplans.results import result


def analyse(plan: MplsFlapPlan, trial: Trial, observation: Observation, calibration: Calibration) -> TrialResult:
    """Measurements of one trial. INVALID where it did not do what was intended; what was measured is kept all the same."""
    why = validity.missing(plan, trial, observation)
    if why:
        return result(observation, why)
    why = validity.reason(plan, trial, observation, calibration)
    capture = observation.capture
    stable, flapped = int(trial.point["stable"]), int(trial.point["flapped"])
    seen = signals(capture.samples, stable, flapped, plan.phases.windows_s)
    if seen is None:
        return result(observation, why)
    if plan.signalling.by is By.CONFIGURATION:
        seen = unsignalled.unsignalled(seen, capture)
    network = plan.network(str(trial.point["network"]))
    routes = 2 if network.ring else 1
    hops = np.array([len(addresses.path(lsp, network.routers, ring=network.ring)) for lsp in range(routes)], np.int64)
    gap_s, confidence = plan.margins.gap_ms / 1e3, plan.confidence
    measurements: list[Measurement] = [
        *flaps.measurements(seen, routes, confidence),
        *_established(observation, seen, routes),
        *probes.measurements(seen, hops, gap_s, confidence),
    ]
    curves: list[Curve] = [*flaps.curves(seen), *probes.curves(seen)]
    if plan.signalling.by is By.CONFIGURATION:
        measurements += unsignalled.measurements(seen, confidence)
        curves += unsignalled.curves(seen)
    frame_bytes = int(trial.point["frame_bytes"])
    traffic = None if capture.tallies else forwarding(capture, seen, plan.phases.drain_s)
    if capture.tallies:
        measurements += counted.measurements(capture, seen, frame_bytes, confidence)
    if traffic is not None:
        measurements += effects.measurements(traffic, seen, frame_bytes, confidence)
        curves += effects.curves(traffic)
    return result(observation, why, measurements, [*curves, *timeline.curves(seen, traffic)])


def _established(observation: Observation, seen: Signals, routes: int) -> list[Measurement]:
    """How many came up before the phases, how many of these past the devices, and how many never came up though others did."""
    health = observation.capture.health
    asked = seen.flapped.stop
    up, past = health.get(f"{LSP}established", float(asked)), health.get(f"{LSP}phantoms", 0.0)
    later = len(np.unique(seen.events.lsp[seen.events.of(EventKind.PHANTOM)]))
    unanswered = len(np.unique(seen.instances.lsp[flaps.never_answered(seen, routes)]))
    return [
        number("established", "1", up, asked),
        number("phantoms", "1", max(past, float(later)), asked),
        number("unanswered", "1", min(float(asked), unanswered + max(0.0, asked - up - past)), asked),
    ]

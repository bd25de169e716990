"""Trials of the kind mpls-flap through routers that others wrote and nobody here configures, on the native generator's ports."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from ruamel.yaml import YAML

from orchestrator.generators.native import opened
from orchestrator.generators.native.session import NativeSession
from orchestrator.interruption import Interruption
from rackproof.model.inventory import GeneratorEntry
from rackproof.model.lsp import Signalling
from rackproof.model.traffic import Calibration, Traffic
from rackproof.model.trial import TrialResult
from rackproof.ports import Run, Signaller
from testplans.mpls_flap import addresses, procedure
from testplans.mpls_flap.analysis import analyse
from testplans.mpls_flap.expansion import expand
from testplans.mpls_flap.plan import MplsFlapPlan
from tests.lab import peers

pytestmark = pytest.mark.skipif(os.environ.get("RACKPROOF_LONG") != "1", reason="takes minutes: RACKPROOF_LONG=1")

PLAN = """
kind: mpls-flap
name: Routers of others
testbed: lab1
networks: [{{name: other, shape: chain, routers: {routers}, model: other}}]
tests: [{{name: "1.2", stable: 20, flapped: [{flapped}], frame_bytes: 512, rate_mbps: {rate}}}]
phases: {{prior_s: 3, windows_s: [5, 2], drain_s: 2}}
signalling: {{style: {style}, setups_per_s: 500, teardowns_per_s: 500}}
probes: {{fps: {probes}, gap_us: 20000}}  # at the default of 500 the probes of 200 LSPs would be more than it forwards
seed: 2002
"""
CALIBRATION = Calibration(delay_floor_us=1.0, timestamp_error_us_p50=0.5, timestamp_error_us_p99=5.0, honest_fps=100e3, frames=10_000)
#: What is shown of a trial.
SHOWN = (
    *("flap.up", "flap.k", "k.paper", "path_tears.received", "flap.tears_lost", "flap.retries", "failed", "phantoms"),
    *("teardown.p50", "establish.p50", "establish.max", "gap.p50", "gap.max", "outage.p50", "outage.max"),
    *("loss", "delay.mean", "delay.p99", "effect.delay", "probes.wrong_label", "probes.stale", "probes.lost_up", "probes.misclassed"),
)


class Router:
    """A device that has nothing to tell."""

    name = "other"

    def counters(self) -> Mapping[str, int]:
        return {}


class Rig:
    """As much of rackproof.ports.Rig as the kind's trials ask for."""

    def __init__(self, session: NativeSession) -> None:
        self.session = session

    @property
    def generator(self) -> "Rig":
        return self

    def start(self, traffic: Traffic) -> Run:
        return self.session.start(traffic)

    def device(self, name: str) -> Router:
        del name
        return Router()

    def signaller(self, signalling: Signalling) -> AbstractContextManager[Signaller]:
        return self.session.signaller(signalling)


@contextmanager
def rig(routers: peers.Routers) -> Iterator[Rig]:
    namespace = f"/proc/{os.getpid()}/fd/{routers.far.fd}"
    entry = GeneratorEntry(name="engine", kind="native", ports=(addresses.IN, addresses.OUT), options={"namespace": namespace})
    with opened(entry, entry.ports, {}, Interruption(), False) as session:
        assert isinstance(session, NativeSession)
        yield Rig(session)


def trials(routers: peers.Routers, flapped: str, *, style: str = "SE", rate: float = 2, probes: int = 250) -> list[TrialResult]:
    """Every trial of a plan through routers that run; what came of each is printed."""
    text = PLAN.format(routers=len(routers.boxes), flapped=flapped, style=style, rate=rate, probes=probes)
    plan = MplsFlapPlan.model_validate(YAML(typ="safe").load(text))
    results = []
    with rig(routers) as where:
        for trial in expand(plan):
            where_: Any = where
            observation = procedure.run(plan, trial, 1, where_)
            result = analyse(plan, trial, observation, CALIBRATION)
            _show(trial.point["flapped"], result)
            results.append(result)
    return results


def _show(flapped: object, result: TrialResult) -> None:
    print(f"{flapped} flapped: {result.verdict} {result.reason}", file=sys.stderr)
    for measurement in result.measurements:
        if measurement.name in SHOWN:
            print(f"  {measurement.name} {dict(measurement.subject)} {measurement.value:.6g} {measurement.unit}", file=sys.stderr)


def value(result: TrialResult, name: str, **subject: str) -> float:
    (found,) = [each.value for each in result.measurements if each.name == name and dict(each.subject) == subject]
    return found


def test_freertr() -> None:
    """What it forwards has the right label and class. How much it forwards in Java, and how soon, is this host's affair."""
    with peers.freertr() as found:
        for result in trials(found, "50, 200"):
            assert value(result, "phantoms") == value(result, "probes.wrong_label") == value(result, "probes.misclassed") == 0
            assert value(result, "flap.k", flap="1") > 0


def test_kom_rsvp() -> None:
    """It forwards nothing: what is sent is lost, and what is signalled counts."""
    with peers.kom() as found:
        for result, flapped in zip(trials(found, "50, 200", style="FF", rate=1, probes=0), (50, 200), strict=True):
            assert value(result, "phantoms") == value(result, "failed") == 0
            assert value(result, "flap.k", flap="1") == value(result, "flap.k", flap="2") == flapped
            assert value(result, "loss", phase="prior") == 1

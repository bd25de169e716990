"""Signalling by a generator of a lab: the ports of the plan become its own, one that cannot is refused, and what was left is told."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import pytest

from orchestrator.generators.driver import Session
from orchestrator.interruption import Interruption
from orchestrator.lab import driving
from orchestrator.lab.driving import Connection, PlanGenerator, why_no_signals
from orchestrator.lab.rig import LabRig
from rackproof.errors import SignallingError
from rackproof.model.inventory import GeneratorEntry
from rackproof.model.lsp import Signalling
from rackproof.ports import Signaller
from tests.unit.signalling.standin import SIGNALLING

PORTS = {"in": "eth1", "out": "eth2"}
LEFT = "in: process 12 of user lab ended 3 s ago and left 2 LSPs"


class Counting:
    """A session that only counts frames."""


class Signalled(Counting):
    """A session that signals; asked: with what."""

    def __init__(self) -> None:
        self.asked: list[Signalling] = []

    @contextmanager
    def signaller(self, signalling: Signalling) -> Iterator[Signaller]:
        self.asked.append(signalling)
        yield cast(Signaller, None)

    def found(self) -> tuple[str, ...]:
        return (LEFT,)


def connection(session: Counting, monkeypatch: pytest.MonkeyPatch, heard: list[str]) -> Connection:
    class Driver:
        @contextmanager
        def opened(self, *_: Any, take_over: bool) -> Iterator[Session]:
            assert not take_over
            yield cast(Session, session)

    monkeypatch.setattr(driving, "driver", lambda _: Driver())
    entry = GeneratorEntry(name="trex-1", kind="trex", ports=("eth1", "eth2"))
    return Connection(entry, entry.ports, Interruption(), heard.append)


def test_the_plans_ports_are_the_generators_own_and_what_was_left_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    session, heard = Signalled(), list[str]()
    connected = connection(session, monkeypatch, heard)
    assert why_no_signals(connected) == ""
    with PlanGenerator(connected, PORTS).signaller(SIGNALLING):
        pass
    (asked,) = session.asked
    assert (asked.ingress.port, asked.egress.port) == ("eth1", "eth2")
    assert replace(asked, ingress=SIGNALLING.ingress, egress=SIGNALLING.egress) == SIGNALLING
    assert heard == [f"trex-1: {LEFT}"]


def test_a_port_that_the_topology_does_not_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = PlanGenerator(connection(Signalled(), monkeypatch, []), {"in": "eth1"})
    said = "the plan signals by port out, which its topology does not name"
    with pytest.raises(SignallingError, match=said), generator.signaller(SIGNALLING):
        pass


def test_a_generator_that_does_not_signal_is_refused_with_what_does(monkeypatch: pytest.MonkeyPatch) -> None:
    connected = connection(Counting(), monkeypatch, [])
    why = "trex-1: a generator of kind trex does not speak RSVP-TE; LSPs are signalled by the native engine (kind native)"
    assert why_no_signals(connected) == why
    with pytest.raises(SignallingError) as found, PlanGenerator(connected, PORTS).signaller(SIGNALLING):
        pass
    assert str(found.value) == why


def test_a_rig_without_a_generator_cannot_signal() -> None:
    rig = LabRig(generator=None, devices={}, ends=cast(Any, None), interruption=Interruption(), withdraw=lambda device, why: None)
    with pytest.raises(SignallingError, match="no port of a generator"):
        rig.signaller(SIGNALLING)

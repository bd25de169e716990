"""Whose ports are they? Taken by one at a time, given back whatever happens, and silent when whoever took them is gone."""

import contextlib
import json
import os
import re
import subprocess
import sys
import time

import pytest

from orchestrator.interruption import Cause, Interruption
from rackproof.errors import GeneratorError, Stopped
from tests.contract.generators.beds import Bed
from tests.contract.generators.frames import asked_for, received, stream, traffic
from tests.waiting import until

pytestmark = pytest.mark.netns

#: Opens the bed's generator, sends, says so, and waits to be killed.
_SENDS_FOR_EVER = """
import json, sys, time
from orchestrator.generators import registry
from orchestrator.interruption import Interruption
from rackproof.model.inventory import GeneratorEntry
from tests.contract.generators.frames import stream, traffic
entry = GeneratorEntry.model_validate(json.loads(sys.argv[1]))
with registry.driver(entry.kind).opened(entry, entry.ports, {}, Interruption(), False) as session:
    session.start(traffic(stream(0, entry.ports), duration_s=120.0))
    print("sending", flush=True)
    time.sleep(120)
"""


def test_ports_are_given_back_after_an_exception_and_can_be_taken_again(bed: Bed) -> None:
    with contextlib.suppress(ZeroDivisionError), bed.opened() as session:
        session.start(traffic(stream(0, bed.ports), duration_s=60.0))
        raise ZeroDivisionError
    with bed.opened() as session:
        capture = session.start(traffic(stream(0, bed.ports))).wait()
        assert received(capture, 0) == capture.sent[0].frames == asked_for(400, capture)


def test_ports_of_somebody_else_are_refused_with_the_name_and_taken_over_only_when_asked_for(bed: Bed) -> None:
    if not bed.owned:
        pytest.skip(f"{bed.entry.kind}: its ports know no owner")
    with bed.opened() as first:
        (owner,) = {port.owner for port in first.ports()}
        run = first.start(traffic(stream(0, bed.ports), duration_s=60.0))
        with pytest.raises(GeneratorError, match=re.escape(owner)), bed.opened(user="somebody-else"):
            pass
        with bed.opened(user="somebody-else", take_over=True) as second:
            capture = second.start(traffic(stream(0, bed.ports))).wait()
            assert received(capture, 0) == capture.sent[0].frames == asked_for(400, capture)
            with pytest.raises(GeneratorError):
                run.wait()


def test_a_port_that_it_does_not_have_is_refused_by_name(bed: Bed) -> None:
    with pytest.raises(GeneratorError, match="99"), bed.opened(ports=("99", bed.ports[1])):
        pass


def test_an_interruption_ends_a_run_and_leaving_its_traffic(bed: Bed) -> None:
    interruption = Interruption()
    with pytest.raises(Stopped, match="enough"), bed.opened(interruption=interruption) as session:
        run = session.start(traffic(stream(0, bed.ports), duration_s=60.0))
        interruption.set(Cause.CANCEL, "enough")
        run.wait()
    _silent(bed)


def test_who_is_killed_leaves_no_traffic(bed: Bed) -> None:
    command = [sys.executable, "-c", _SENDS_FOR_EVER, json.dumps(bed.entry.model_dump(mode="json"))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": os.getcwd()}) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "sending\n"
        seen = bed.witness(bed.ports[1])
        if seen is not None:
            with seen as witness:
                until(lambda: witness.arriving(0.2) > 50, "nothing is sent")
        parent.kill()
    _silent(bed)
    with bed.opened(take_over=True) as session:
        capture = session.start(traffic(stream(0, bed.ports))).wait()
        assert received(capture, 0) == capture.sent[0].frames == asked_for(400, capture)


def _silent(bed: Bed) -> None:
    seen = bed.witness(bed.ports[1])
    if seen is not None:
        with seen as witness:
            until(lambda: witness.arriving(0.3) == 0, "it does not end")
    else:
        time.sleep(1.0)

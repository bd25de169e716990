"""Killed at any moment, a signaller on real ports leaves no LSP in the device: it tears what it can, and the next one finds the rest.

The device is a `soft-lsr` in a namespace, cabled to ports that the native generator takes as it would take network cards.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psutil
import pytest

from orchestrator.signalling.left import LIFETIME_REFRESHES
from rackproof.errors import GeneratorError
from tests.contract.signallers.beds import SIGNALLING, Absent, Racked, racked
from tests.waiting import until

pytestmark = pytest.mark.netns

LONG = os.environ.get("RACKPROOF_LONG") == "1"
long = pytest.mark.skipif(not LONG, reason="takes seconds: RACKPROOF_LONG=1")
LSPS = SIGNALLING.stable + SIGNALLING.flapped
#: Takes the ports, sets LSPs up, says the generator's process id, and flaps until it is killed.
_FLAPS_FOR_EVER = """
import json, sys
from dataclasses import replace
from orchestrator.generators.native.session import NativeSession
from orchestrator.interruption import Interruption
from rackproof.model.inventory import GeneratorEntry
from rackproof.model.lsp import Flaps
from tests.contract.signallers.beds import SIGNALLING
entry, asked = GeneratorEntry.model_validate(json.loads(sys.argv[1])), replace(SIGNALLING, refresh_s=float(sys.argv[2]))
with NativeSession(entry, entry.ports, Interruption(), take_over=False) as session, session.signaller(asked) as signaller:
    assert len(signaller.establish().labels) == SIGNALLING.stable + SIGNALLING.flapped
    run = signaller.start(Flaps(prior_s=0.0, windows_s=(0.5,) * 100, drain_s=0.0))
    print(session.pid, flush=True)
    run.wait()
"""


@dataclass(frozen=True, kw_only=True)
class Flapping:
    """A campaign's process that flaps, and the process id of its generator's process."""

    campaign: "subprocess.Popen[str]"
    generator: int


@pytest.fixture(scope="module")
def rack() -> Iterator[Racked]:
    try:
        with racked() as rack:
            yield rack
    except Absent as why:
        pytest.skip(str(why))


@contextmanager
def flapping(rack: Racked, *, refresh_s: float = 30.0) -> Iterator[Flapping]:
    command = [sys.executable, "-c", _FLAPS_FOR_EVER, json.dumps(rack.entry.model_dump(mode="json")), str(refresh_s)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": os.getcwd()}) as campaign:
        try:
            assert campaign.stdout is not None
            yield Flapping(campaign=campaign, generator=int(campaign.stdout.readline()))
        finally:
            campaign.kill()


@pytest.mark.parametrize("after_s", [0.0, *(pytest.param(after_s, marks=long) for after_s in (0.05, 0.2, 0.5, 0.51))])
def test_a_campaign_that_is_killed_leaves_no_lsp(rack: Racked, after_s: float) -> None:
    with flapping(rack) as flaps:
        time.sleep(after_s)
        assert rack.lsps() > 0
        flaps.campaign.kill()
        until(lambda: _gone(flaps.generator))
    assert rack.lsps() == 0
    assert not rack.noted()


@long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_campaign_that_is_ended_leaves_no_lsp(rack: Racked, number: signal.Signals) -> None:
    with flapping(rack) as flaps:
        time.sleep(0.3)  # a flap is under way
        flaps.campaign.send_signal(number)
        until(lambda: _gone(flaps.generator))
    assert rack.lsps() == 0
    assert not rack.noted()


@long
def test_whoever_takes_the_ports_over_finds_no_lsp(rack: Racked) -> None:
    with flapping(rack):
        with pytest.raises(GeneratorError, match="has the port"):
            rack.opened().__enter__()
        with rack.opened(take_over=True) as session:
            assert session.found() == ()
            assert rack.lsps() == 0


@long
@pytest.mark.parametrize("after_s", [0.1, 0.4, 0.7])
def test_what_a_killed_generator_leaves_is_found_and_torn_down_by_the_next(rack: Racked, after_s: float) -> None:
    with flapping(rack) as flaps:
        time.sleep(after_s)
        os.kill(flaps.generator, signal.SIGKILL)
        flaps.campaign.wait(10.0)
    time.sleep(0.3)
    left = rack.lsps()
    assert left > 0
    assert rack.noted()
    with rack.opened() as session:
        (said,) = session.found()
        assert said.startswith(f"in: process {flaps.generator} of user ")
        assert " LSPs to 10.83.254.2 in the devices; " in said
        assert rack.lsps() == 0, said
    assert not rack.noted()


@long
def test_what_nobody_tears_down_ends_with_its_lifetime(rack: Racked) -> None:
    """Killed before anything was noted, with a refresh interval of half a second."""
    with flapping(rack, refresh_s=0.5) as flaps:
        os.kill(flaps.generator, signal.SIGKILL)
        killed = time.monotonic()
        assert rack.lsps() > 0
        until(lambda: rack.lsps() == 0)
        assert time.monotonic() - killed < LIFETIME_REFRESHES * 0.5 + 1.0
        time.sleep(1.0)
    with rack.opened() as session:
        (said,) = session.found()
        assert said.endswith("; their lifetime of 2.625 s is over, so nothing was done")
    assert not rack.noted()


def _gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True

"""The signaller as a campaign sees it: what it waits for, what ends it, and what it leaves."""

import time

import pytest

from orchestrator.interruption import Cause, Interruption
from orchestrator.signalling.asking import signalled
from rackproof.errors import SignallingError, Stopped
from rackproof.model.lsp import Flaps
from tests.unit.signalling.standin import SIGNALLING, Engine, InProcess

SHORT = Flaps(prior_s=0.0, windows_s=(), drain_s=0.0)
LONG = Flaps(prior_s=60.0, windows_s=(60.0,), drain_s=0.0)


def test_lsps_are_set_up_flapped_and_torn_down() -> None:
    process = InProcess()
    with signalled(process, SIGNALLING) as signaller:
        established = signaller.establish()
        assert established.labels == {number: 16 + number for number in range(5)}
        assert (established.source_mac, established.destination_mac) == ("02:00:00:00:00:01", "02:00:00:00:00:02")
        run = signaller.start(SHORT)
        capture = run.wait()
        assert len(capture.samples) == 0
        assert capture.health["lateness_p99_us"] == 2.0
        assert capture.health["paths_tx"] == 0.0
        assert signaller.release() == {"paths_tx": 5, "path_tears_tx": 5, "left_tears_tx": 0, "left_tears_rx": 0, "standing": 0}
    assert process.asked[-1] == "lsp_close"


def test_what_does_not_come_up_in_time_is_told_and_not_waited_for(engine: type[Engine]) -> None:
    engine.answers = False
    with signalled(InProcess(), SIGNALLING) as signaller:
        established = signaller.establish()
    assert established.labels == {}
    assert SIGNALLING.setup_s <= established.took_s < 30.0


def test_a_neighbour_that_does_not_answer_is_named(engine: type[Engine]) -> None:
    engine.answers, engine.egress_neighbour = False, None
    with signalled(InProcess(), SIGNALLING) as signaller, pytest.raises(SignallingError) as found:
        signaller.establish()
    assert str(found.value) == "out: nobody answers ARP for 10.83.250.1, the egress LER's neighbour; is the address configured there?"


def test_whoever_wants_an_end_ends_the_phases_and_all_is_torn_down() -> None:
    interruption = Interruption()
    process = InProcess(interruption)
    with pytest.raises(Stopped, match="enough"), signalled(process, SIGNALLING) as signaller:
        signaller.establish()
        run = signaller.start(LONG)
        interruption.set(Cause.CANCEL, "enough")
        run.wait()
    assert process.asked[-1] == "lsp_close"
    interruption.close()


def test_stop_ends_the_phases_and_gives_what_was_seen() -> None:
    with signalled(InProcess(), SIGNALLING) as signaller:
        signaller.establish()
        run = signaller.start(LONG)
        run.stop()
        begun = time.monotonic()
        run.wait()
        assert time.monotonic() - begun < 30.0
        run.stop()


def test_a_process_that_is_gone_is_asked_for_nothing_more() -> None:
    process = InProcess()
    with signalled(process, SIGNALLING):
        process.running_ = False
    assert process.asked == ["lsp_open"]


def test_tears_that_are_never_seen_hold_nobody_up(engine: type[Engine]) -> None:
    engine.hears = False
    begun = time.monotonic()
    with signalled(InProcess(), SIGNALLING) as signaller:
        signaller.establish()
        assert signaller.release()["standing"] == 5
    assert time.monotonic() - begun < 30.0


def test_nothing_is_flapped_before_it_stands_and_there_is_one_pair_at_a_time() -> None:
    process = InProcess()
    with signalled(process, SIGNALLING) as signaller:
        with pytest.raises(SignallingError, match="establish them first"):
            signaller.start(SHORT)
        with pytest.raises(SignallingError, match="one pair at a time"), signalled(process, SIGNALLING):
            pass
    with pytest.raises(SignallingError, match="no LER is emulated"):
        signaller.establish()

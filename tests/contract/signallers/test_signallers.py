"""What every signaller must keep: the numbers of LSPs, one instance at a time, and nothing left in the devices, whatever ends it."""

import os
import time
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from orchestrator.interruption import Cause
from rackproof.errors import SignallingError, Stopped
from rackproof.model.lsp import FIRST_EVENT, NO_LSP, PROBE, EventKind, Flaps
from rackproof.model.traffic import Samples
from tests.contract.signallers.beds import BEDS, SIGNALLING, Absent, Bed, silent
from tests.waiting import SOON_S

pytestmark = pytest.mark.netns

long = pytest.mark.skipif(os.environ.get("RACKPROOF_LONG") != "1", reason="the bench's process does the same: RACKPROOF_LONG=1")
LSPS = SIGNALLING.stable + SIGNALLING.flapped
SHORT = Flaps(prior_s=0.1, windows_s=(0.3, 0.2), drain_s=0.1)


@pytest.fixture(scope="module", params=["bench", pytest.param("native", marks=long)])
def bed(request: pytest.FixtureRequest) -> Iterator[Bed]:
    try:
        with BEDS[request.param]() as bed:
            yield bed
    except Absent as why:
        pytest.skip(f"{request.param}: {why}")


def test_lsps_are_set_up_flapped_probed_and_torn_down(bed: Bed) -> None:
    before_ns = time.time_ns()
    with bed.signaller(SIGNALLING) as signaller:
        established = signaller.establish()
        assert sorted(established.labels) == list(range(LSPS))
        assert len(established.source_mac) == len(established.destination_mac) == 17
        assert (established.phantoms, established.refused) == (0, {})
        assert bed.lsps() == LSPS
        capture = signaller.start(SHORT).wait()
        samples, after_ns = capture.samples, time.time_ns()
        assert capture.health["ring_drops"] == capture.health["overflow"] == 0
        assert signaller.release()["standing"] == 0
        assert bed.lsps() == 0

    events = _where(samples, samples.port >= FIRST_EVENT)
    assert ((events.tx_ns >= before_ns) & (events.tx_ns <= after_ns)).all()
    assert not np.any(events.rx_ns)
    assert _of(samples, EventKind.FLAP_BEGIN).sequence.tolist() == [1, 2]
    assert _of(samples, EventKind.FLAP_END).sequence.tolist() == [1, 2]
    first_ns, second_ns = _of(samples, EventKind.FLAP_BEGIN).tx_ns
    torn = _of(samples, EventKind.TEAR_SENT)
    assert set(torn.stream.tolist()) == set(range(SIGNALLING.stable, LSPS))
    assert torn.tx_ns.min() >= first_ns
    # The second flap is of those that are up again by then: all, unless the machine stood still meanwhile.
    came = _of(samples, EventKind.RESV_RECEIVED)
    again = len(set(came.stream[(came.tx_ns > first_ns) & (came.tx_ns < second_ns)].tolist()))
    flapped = SIGNALLING.flapped + again
    assert len(set(torn.frame_bytes.tolist())) == flapped
    for kind in (EventKind.PATH_SENT, EventKind.PATH_RECEIVED, EventKind.RESV_SENT, EventKind.RESV_RECEIVED):
        seen = _of(samples, kind)
        instances = set(zip(seen.stream.tolist(), seen.frame_bytes.tolist(), strict=True))
        assert len({lsp_id for _, lsp_id in instances}) == len(instances)
        assert LSPS + again <= len(instances) <= LSPS + flapped
    assert set(_of(samples, EventKind.FLAP_BEGIN).stream.tolist()) == {NO_LSP}
    probes = _where(samples, samples.port == PROBE)
    assert set(probes.stream[probes.rx_ns > 0].tolist()) == set(range(LSPS))


def test_whatever_ends_it_nothing_is_left_in_the_device(bed: Bed) -> None:
    with pytest.raises(ZeroDivisionError), bed.signaller(SIGNALLING) as signaller:
        signaller.establish()
        assert bed.lsps() == LSPS
        raise ZeroDivisionError
    assert bed.lsps() == 0


def test_stop_ends_the_phases_at_once(bed: Bed) -> None:
    with bed.signaller(SIGNALLING) as signaller:
        signaller.establish()
        run = signaller.start(Flaps(prior_s=60.0, windows_s=(60.0,), drain_s=0.0))
        begun = time.monotonic()
        run.stop()
        assert len(_of(run.wait().samples, EventKind.PATH_SENT)) == LSPS
        assert time.monotonic() - begun < 30.0


def test_a_neighbour_that_does_not_answer_is_named(bed: Bed) -> None:
    said = ""
    for setup_s in (0.15, 3.0, SOON_S):  # a busy machine needs longer for the neighbour that does answer
        with pytest.raises(SignallingError) as raised, bed.signaller(silent(SIGNALLING, setup_s)) as signaller:
            signaller.establish()
        said = str(raised.value)
        if not said.startswith("in:"):
            break
    assert said.startswith("out: nobody answers ARP for 10.83.250.77")


def test_one_pair_at_a_time(bed: Bed) -> None:
    with bed.signaller(SIGNALLING), pytest.raises(SignallingError, match="one pair at a time"), bed.signaller(SIGNALLING):
        pass


def test_z_whoever_wants_an_end_has_it_at_once_and_all_is_torn_down(bed: Bed) -> None:
    """Last: an interruption is for ever."""
    begun = time.monotonic()
    with pytest.raises(Stopped, match="enough"), bed.signaller(SIGNALLING) as signaller:
        signaller.establish()
        run = signaller.start(Flaps(prior_s=60.0, windows_s=(60.0,), drain_s=0.0))
        bed.interruption.set(Cause.CANCEL, "enough")
        run.wait()
    assert time.monotonic() - begun < 30.0
    assert bed.lsps() == 0


def _of(samples: Samples, kind: EventKind) -> Samples:
    return _where(samples, samples.port == FIRST_EVENT + kind)


def _where(samples: Samples, chosen: np.ndarray[Any, np.dtype[np.bool_]]) -> Samples:
    return Samples(**{column.name: getattr(samples, column.name)[chosen] for column in fields(samples)})

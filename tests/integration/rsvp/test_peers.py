"""The emulated LERs through routers that nobody here wrote (tests/lab/peers.py, docs/rsvp_peers.md); skipped where there is none."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from rackproof_native import LerPair

from rackproof.model.lsp import FIRST_EVENT, PROBE, EventKind, Flaps, Pace, ProbeState, Probing, Signalling, Style
from rackproof.model.traffic import RECORD_DTYPE
from testplans.mpls_flap import addresses
from tests.lab import peers

LONG = pytest.mark.skipif(os.environ.get("RACKPROOF_LONG") != "1", reason="takes minutes: RACKPROOF_LONG=1")
ROW = pytest.mark.parametrize("routers", [1, pytest.param(2, marks=LONG)])
STABLE, FLAPPED = 10, 40
LSPS = STABLE + FLAPPED
FLAPS = Flaps(prior_s=0.2, windows_s=(1.0, 1.0), drain_s=0.5)
WAIT_S = 60.0

Records = npt.NDArray[np.void]


def asked(routers: int, **changes: object) -> Signalling:
    base = Signalling(
        ingress=addresses.INGRESS,
        egress=addresses.EGRESS,
        stable=STABLE,
        flapped=FLAPPED,
        campaign=1,
        trial=1,
        seed=7,
        setup_s=WAIT_S,
        routes=addresses.routes(routers, ring=False),
        pace=Pace(setups_per_s=500.0, teardowns_per_s=500.0, retry_s=0.5, retries=5),
        probing=Probing(fps=500.0, gap_us=20_000.0),
    )
    return replace(base, **changes)  # type: ignore[arg-type]


@contextmanager
def started(routers: peers.Routers, signalling: Signalling) -> Iterator[LerPair]:
    """LERs whose LSPs are being set up."""
    pair = LerPair(netns_fd=routers.far.fd, signalling=signalling, ingress=addresses.IN, egress=addresses.OUT)
    pair.start()
    try:
        yield pair
    finally:
        pair.stop()


def until_up(pair: LerPair, wanted: int = LSPS) -> None:
    end = time.monotonic() + WAIT_S
    while pair.state().up < wanted:
        assert time.monotonic() < end, (pair.state().up, pair.state().refused, pair.report().counters)
        time.sleep(0.02)


def flapped(pair: LerPair) -> Records:
    """What was written down from the start to the end of the phases."""
    pair.flap(FLAPS)
    while pair.flapping:
        time.sleep(0.05)
    descriptor, lost = pair.take_records_fd()
    assert lost == 0
    with os.fdopen(descriptor, "rb") as file:
        return np.frombuffer(file.read(), RECORD_DTYPE)


def torn_down(pair: LerPair) -> None:
    """All of it, and nothing is left in the routers."""
    pair.tear()
    end = time.monotonic() + WAIT_S
    while pair.standing:
        assert time.monotonic() < end, pair.report().counters
        time.sleep(0.02)


@ROW
def test_freertr(routers: int) -> None:
    with peers.freertr(routers) as found, started(found, asked(routers)) as pair:
        until_up(pair)
        assert len(set(pair.state().labels.values())) == LSPS
        records = flapped(pair)
        assert pair.state().phantoms == 0
        _tears_arrived(records)
        _probes_came_as_they_left(records, routers)
        until_up(pair)
        torn_down(pair)


def _tears_arrived(records: Records) -> None:
    """Those of all that were up in both flaps. A tear without an answer is sent again, so that a busy host loses none for good."""
    sent, came = (
        set(records["frame_bytes"][records["port"] == FIRST_EVENT + kind].tolist())
        for kind in (EventKind.TEAR_SENT, EventKind.TEAR_RECEIVED)
    )
    assert len(sent) > 1.5 * FLAPPED
    assert came == sent


def _probes_came_as_they_left(records: Records, routers: int) -> None:
    """Those of LSPs that were up: with the label that the egress asked for, their traffic class, and a TTL less by the routers."""
    probes = records[(records["port"] == PROBE) & (records["pcp"] == ProbeState.UP)]
    assert len(probes) > 200
    lost = probes[probes["rx_ns"] == 0]
    assert len(lost) <= 0.05 * len(probes), len(lost)
    came = probes[probes["rx_ns"] > 0]
    sent = records[records["port"] == FIRST_EVENT + EventKind.RESV_SENT]
    wanted = dict(zip(sent["frame_bytes"].tolist(), sent["sequence"].tolist(), strict=True))
    stack = came["sequence"]
    assert (stack >> 12).tolist() == [wanted[instance] for instance in came["frame_bytes"].tolist()]
    assert (stack >> 9 & 7).tolist() == (came["stream"] % 8).tolist()
    assert set((stack & 0xFF).tolist()) == {64 - routers}


@ROW
def test_kom_rsvp(routers: int) -> None:
    with peers.kom(routers) as found:
        with started(found, asked(routers, style=Style.FF, probing=None)) as pair:
            until_up(pair)
            _tears_arrived(flapped(pair))
            assert pair.state().phantoms == 0
            until_up(pair)
            torn_down(pair)
        for trial, changes, why in ((2, {"style": Style.SE}, "RESV_ERR: .*code 6"), (3, {"routes": ()}, "PATH_ERR: .*code 24, value 1")):
            with started(found, asked(routers, trial=trial, probing=None, **{"style": Style.FF, **changes})) as pair:
                _all_refused(pair, why)


def _all_refused(pair: LerPair, why: str) -> None:
    end = time.monotonic() + WAIT_S
    while sum(pair.state().refused.values()) < LSPS and time.monotonic() < end:
        time.sleep(0.05)
    assert pair.state().up == 0
    ((said, count),) = pair.state().refused.items()
    assert re.match(why, said)
    assert count == LSPS


@LONG
@pytest.mark.parametrize("router", ["freertr", "kom"])
def test_lsps_stay_up_by_refreshes(router: str, tmp_path: Path) -> None:
    """Ten lifetimes of a state that nothing refreshes; tshark finds no fault in any message that the LERs send meanwhile."""
    style = Style.FF if router == "kom" else Style.SE
    signalling = asked(1, refresh_s=1.0, hello_s=1.0, style=style, probing=None)
    with getattr(peers, router)() as found, _captured(found, tmp_path) as captures, started(found, signalling) as pair:
        until_up(pair)
        time.sleep(52.5)
        state, counters = pair.state(), pair.report().counters
        torn_down(pair)
    assert (state.up, state.phantoms) == (LSPS, 0)
    assert counters["expired"] == counters["resv_tears_rx"] == 0
    for capture in captures:
        said = subprocess.run(["tshark", "-r", capture, "-V"], check=True, capture_output=True, text=True).stdout
        assert said.count("Message Checksum: 0x") > 10 * LSPS
        # HELLO goes one hop (RFC 3209, 5): a TTL of 1 is worth a note to tshark.
        assert re.findall(r".*(?:[Mm]alformed|Expert Info \((?!Note)|incorrect|Unknown message).*", said) == []


@contextmanager
def _captured(routers: peers.Routers, folder: Path) -> Iterator[list[Path]]:
    """What leaves and comes at both ends, in files that are complete after it. The LERs' own sockets show no copies of what they send."""
    if missing := [program for program in ("tcpdump", "tshark") if shutil.which(program) is None]:
        pytest.skip(f"needs {', '.join(missing)}")
    files = [folder / f"{port}.pcap" for port in (addresses.WEST, addresses.EAST)]
    options = ("tcpdump", "--immediate-mode", "-U", "-Z", "root")

    def begin(file: Path) -> "subprocess.Popen[bytes]":
        return subprocess.Popen([*options, "-w", file, "-i", file.stem, "ip proto 46"], stderr=subprocess.DEVNULL)

    running = [box.run(partial(begin, file)) for box, file in zip((routers.boxes[0], routers.boxes[-1]), files, strict=True)]
    time.sleep(1.0)
    try:
        yield files
    finally:
        for process in running:
            process.terminate()
            process.wait()

"""How good are the emulated label edge routers on this machine? Prints one JSON row per target.

Two of them back to back on a veth: every message is sent, received, understood and answered by the same thread. Needs root, or
`unshare -Urn`; the codec's rows need cargo. Run alone: a busy machine makes worse routers.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import rackproof_native as native

from benchmarks.engine import NICE, RECORD, Records, Row, bench, rounded, row
from rackproof.model.lsp import FIRST_EVENT, EventKind, Flaps, LabelMode, Ler, Pace, Signalling

CRATE = Path(__file__).parents[1] / "native" / "rsvp"
THREAD = "rp-lsp"
REPETITIONS = 3
#: LSPs that are set up as fast as may be, and how fast that is asked for [1/s].
SET_UP, ASKED_PER_S = 20_000, 100_000.0
TARGET_PER_S = 20_000.0
#: LSPs that are held, for how long [s], and with which refresh period [s]: each of them is refreshed on both sides and heard on both.
HELD, HELD_S, REFRESH_S = 10_000, 10.0, 10.0
HELD_SHARE = 20.0
FLAPPED, FLAPS = 1000, 3
CODEC_PER_S = 200_000.0

WEST = Ler(port="west", address="10.83.0.2", neighbour="10.83.0.1", router_id="10.83.254.1")
EAST = Ler(port="east", address="10.83.0.1", neighbour="10.83.0.2", router_id="10.83.254.2")
LSPS = Signalling(
    ingress=WEST,
    egress=EAST,
    stable=0,
    flapped=SET_UP,
    campaign=1,
    trial=1,
    seed=1,
    setup_s=30.0,
    labels=LabelMode.NEXT_FREE,
    pace=Pace(setups_per_s=ASKED_PER_S, teardowns_per_s=ASKED_PER_S),
    probing=None,
)


@contextmanager
def back_to_back(signalling: Signalling) -> Iterator[native.LerPair]:
    """Both routers on one veth, not yet started."""
    with bench([("one", "west", "one", "east")]) as made:
        pair = native.LerPair(netns_fd=made.namespaces["one"], signalling=signalling, ingress="west", egress="east", nice=NICE)
        try:
            yield pair
        finally:
            pair.stop()


def wait_for(done: Callable[[], bool], timeout_s: float) -> None:
    end = time.monotonic() + timeout_s
    while not done():
        if time.monotonic() > end:
            raise TimeoutError("the LSPs did not come up, or down, in time")
        time.sleep(0.01)


def records_of(pair: native.LerPair) -> Records:
    fd, overflow = pair.take_records_fd()
    if overflow:
        raise RuntimeError(f"{overflow} events beyond the memory")
    with os.fdopen(fd, "rb") as memory:
        return np.fromfile(memory, dtype=RECORD)


def times_s(records: Records, kind: EventKind) -> Records:
    return np.asarray(records["tx_ns"][records["port"] == FIRST_EVENT + kind]) / 1e9


def thread_s() -> float:
    """How long the pair's thread has run [s]."""
    for task in Path("/proc/self/task").iterdir():
        if (task / "comm").read_text().strip() == THREAD:
            return int((task / "schedstat").read_text().split()[0]) / 1e9
    raise RuntimeError("the thread of the routers does not run")


def set_up() -> tuple[float, float]:
    """LSPs per second from the first PATH to the last RESV, and again for all tears."""
    with back_to_back(LSPS) as pair:
        pair.start()
        wait_for(lambda: pair.state().up == SET_UP, 30.0)
        up = records_of(pair)
        pair.tear()
        wait_for(lambda: pair.standing == 0, 30.0)
        down = records_of(pair)
    first, last = times_s(up, EventKind.PATH_SENT).min(), times_s(up, EventKind.RESV_RECEIVED).max()
    began, ended = times_s(down, EventKind.TEAR_SENT).min(), times_s(down, EventKind.TEAR_RECEIVED).max()
    return SET_UP / float(last - first), SET_UP / float(ended - began)


def setting_up() -> Iterator[Row]:
    runs = [set_up() for _ in range(REPETITIONS)]
    ups, downs = ([run[way] for run in runs] for way in (0, 1))
    best = max(ups)
    yield row(f"{SET_UP} LSPs set up back to back, best run", best, "1/s", f">= {TARGET_PER_S:g}", best >= TARGET_PER_S, runs=rounded(ups))
    yield row(f"{SET_UP} LSPs torn down back to back, best run", max(downs), "1/s", "", None, runs=rounded(downs))


def holding() -> Iterator[Row]:
    for reduction in (False, True):
        yield held(reduction=reduction)


def held(*, reduction: bool) -> Row:
    """Share of a core over some time in which nothing happens but refreshes of 10,000 LSPs, sent and heard on both sides."""
    signalling = replace(LSPS, flapped=HELD, refresh_s=REFRESH_S, refresh_reduction=reduction)
    with back_to_back(signalling) as pair:
        pair.start()
        wait_for(lambda: pair.state().up == HELD, 30.0)
        # Refreshes are spread after three halves of a period; with reduction the first ones say which identifier stands for what.
        time.sleep(REFRESH_S * (3.0 if reduction else 1.5))
        before, began_s, counted = thread_s(), time.monotonic(), pair.report().counters
        time.sleep(HELD_S)
        share = 100 * (thread_s() - before) / (time.monotonic() - began_s)
        now, state = pair.report().counters, pair.state()
    messages = sum(now[name] - counted[name] for name in now if name.endswith("_tx"))
    if state.up != HELD:
        raise RuntimeError(f"{HELD - state.up} LSPs were lost")
    name = "refresh reduction" if reduction else "refreshes one by one"
    return row(f"{HELD} LSPs held, {name}: share of a core", share, "%", f"< {HELD_SHARE:g}", share < HELD_SHARE,
               refresh_s=REFRESH_S, messages_per_s=round(messages / HELD_S, 1))  # fmt: skip


def flapping() -> Iterator[Row]:
    """Tears and set-ups at the usual pace: all of them come back in each window, and the engine is in time."""
    signalling = replace(LSPS, flapped=FLAPPED, pace=Pace())
    with back_to_back(signalling) as pair:
        pair.start()
        wait_for(lambda: pair.state().up == FLAPPED, 30.0)
        records_of(pair)
        pair.flap(Flaps(prior_s=0.2, windows_s=(1.0,) * FLAPS, drain_s=0.2))
        wait_for(lambda: not pair.flapping, 30.0)
        records, report = records_of(pair), pair.report()
    back = len(times_s(records, EventKind.RESV_RECEIVED))
    yield row(f"{FLAPPED} LSPs flapped {FLAPS} times back to back: come back", back, "LSPs", f"{FLAPPED * FLAPS}", back == FLAPPED * FLAPS,
               retries=report.counters["retries"], ring_drops=report.ring_drops, lateness_us_p50=report.lateness_ns_p50 / 1e3,
               lateness_us_p99=report.lateness_ns_p99 / 1e3)  # fmt: skip


def codec() -> Iterator[Row]:
    """Messages per second of one core's time; from the library's own example."""
    if shutil.which("cargo") is None:
        yield row("codec of RSVP-TE", None, "1/s", "", None, note="needs cargo")
        return
    run = ["cargo", "run", "--quiet", "--release", "--example", "speed"]
    said = subprocess.run(run, cwd=CRATE, stdout=subprocess.PIPE, text=True, check=True).stdout
    for name, decoded, encoded in re.findall(r"(\w+) of \d+ bytes: (\d+) messages/s decoded, (\d+) messages/s encoded", said):
        for what, rate in (("decoded", float(decoded)), ("encoded", float(encoded))):
            yield row(f"codec: {name} {what}", rate, "1/s", f">= {CODEC_PER_S:g}", rate >= CODEC_PER_S)


def main() -> None:
    """Run all."""
    for part in (setting_up, flapping, holding, codec):
        for each in part():
            print(json.dumps(each), flush=True)


if __name__ == "__main__":
    main()

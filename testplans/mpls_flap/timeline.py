"""The flap microscope: messages, LSPs that are up, lost packets and delay around one flap, on one axis of time."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from rackproof.model.lsp import EventKind
from rackproof.model.measurement import Curve
from testplans.mpls_flap.forwarding import Forwarding
from testplans.mpls_flap.signals import Floats, Signals, Window

#: Parts that a timeline is cut into at most, and how long the shortest is.
BINS_MAX = 599
BIN_MIN_S = 0.005
#: What is shown of the time before the flap.
BEFORE_S = 0.5

_MESSAGES = {
    "paths_sent": EventKind.PATH_SENT,
    "paths_received": EventKind.PATH_RECEIVED,
    "resvs_received": EventKind.RESV_RECEIVED,
    "tears_sent": EventKind.TEAR_SENT,
    "tears_received": EventKind.TEAR_RECEIVED,
}


def curves(seen: Signals, found: Forwarding | None) -> Iterator[Curve]:
    """All lines of all flaps; those of traffic only where LSPs carried some."""
    for window in seen.windows:
        until_s = window.end_s if np.isfinite(window.following_s) else seen.end_s
        edges = _edges(window.begin_s - BEFORE_S, until_s)
        yield from _lsps(seen, window, edges)
        if found is not None:
            yield from _traffic(found, window, edges)


def _edges(begin_s: float, end_s: float) -> Floats:
    bins = min(BINS_MAX, max(1, round((end_s - begin_s) / BIN_MIN_S)))
    return np.linspace(begin_s, end_s, bins + 1)


def _lsps(seen: Signals, window: Window, edges: Floats) -> Iterator[Curve]:
    all_of = seen.instances
    flapped = seen.is_flapped(all_of.lsp)
    came, went = np.sort(all_of.up_s[flapped]), np.sort(np.maximum(all_of.up_s, all_of.down_s)[flapped])
    up = np.searchsorted(came, edges, "right") - np.searchsorted(went, edges, "right")
    yield _curve("up", "LSPs", "1", edges, up, window, len(seen.flapped))
    for name, kind in _MESSAGES.items():
        of_kind = seen.events.of(kind) & seen.is_flapped(seen.events.lsp)
        when_s = seen.events.when_s[of_kind & (seen.events.when_s >= edges[0]) & (seen.events.when_s <= edges[-1])]
        yield _curve(name, "messages", "1", edges, np.searchsorted(when_s, edges, "right"), window, len(when_s))
    lost = seen.probes.when_s[seen.probes.lost & (seen.probes.when_s >= edges[0]) & (seen.probes.when_s <= edges[-1])]
    yield _curve("probes_lost", "lost probes", "1", _middles(edges), np.histogram(lost, edges)[0], window, len(lost))


def _traffic(found: Forwarding, window: Window, edges: Floats) -> Iterator[Curve]:
    middles, bins = _middles(edges), len(edges) - 1
    lost = np.histogram(found.lost_s, edges)[0]
    yield _curve("lost", "lost frames", "1", middles, lost, window, int(lost.sum()))
    within = (found.sent_s >= edges[0]) & (found.sent_s < edges[-1])
    delays = found.delay_us[within]
    if not len(delays):
        return
    at = ((found.sent_s[within] - edges[0]) * (bins / (edges[-1] - edges[0]))).astype(np.int64).clip(0, bins - 1)
    counts = np.bincount(at, minlength=bins)
    there = counts > 0
    means = np.bincount(at, delays, bins)[there] / counts[there]
    yield _curve("delay", "mean delay", "us", middles[there], means, window, len(delays))
    # By bin, and within it by delay: the bin's number weighs more than any delay.
    ordered = np.sort(at * (float(delays.max()) - float(delays.min()) + 1.0) + (delays - delays.min()))
    places = np.cumsum(counts)[there] - counts[there] + np.ceil(0.99 * counts[there]).astype(np.int64) - 1
    largest = ordered[places] - np.flatnonzero(there) * (float(delays.max()) - float(delays.min()) + 1.0) + float(delays.min())
    yield _curve("delay.p99", "99th percentile of the delay", "us", middles[there], largest, window, len(delays))


def _middles(edges: Floats) -> Floats:
    return np.asarray((edges[1:] + edges[:-1]) / 2)


def _curve(name: str, y_name: str, y_unit: str, when_s: Floats, values: npt.NDArray[Any], window: Window, n: int) -> Curve:
    return Curve(
        name=f"timeline.{name}", x_name="time since the flap", x_unit="s", y_name=y_name, y_unit=y_unit, subject=window.subject, n=n,
        x=tuple((when_s - window.begin_s).tolist()), y=tuple(np.asarray(values, np.float64).tolist()),
    )  # fmt: skip

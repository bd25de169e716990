"""LSPs that are flapped by configuration: nobody signals them, so what their own frames do says when they were up.

The frames are written down as an instance for each time that an LSP forwarded, and all that is asked of instances holds for them too.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from rackproof.model.measurement import Curve, Measurement
from rackproof.model.traffic import Capture
from testplans.mpls_flap.lanes import lanes
from testplans.mpls_flap.numbers import distribution, spread
from testplans.mpls_flap.signals import UNKNOWN, Floats, Instances, Signals, Window


def unsignalled(seen: Signals, capture: Capture) -> Signals:
    """With the flapped LSPs' frames as instances: up from the first frame that came to the last before a loss, or the flap behind it."""
    found = lanes(capture, seen.flapped, seen.origin_ns)
    if found is None:
        return seen
    lane = np.concatenate([found.lane, found.lost_lane])
    when_s = np.concatenate([found.sent_s, found.lost_s])
    came = np.arange(len(lane)) < len(found.lane)
    order = np.lexsort((when_s, lane))
    lane, when_s, came = lane[order], when_s[order], came[order]
    before = np.append(False, came[:-1] & (np.diff(lane) == 0))
    after = np.append(came[1:] & (np.diff(lane) == 0), False)
    first, last = np.flatnonzero(came & ~before), np.flatnonzero(came & ~after)
    # Nobody touches an LSP before its flap begins, however long before it the last frame was sent.
    begun_s = np.array([-np.inf, *(window.begin_s for window in seen.windows)])
    lost_s = np.append(when_s[1:], np.inf)[last]
    up_s, down_s = when_s[first], np.maximum(when_s[last], begun_s[np.searchsorted(begun_s, lost_s, "right") - 1])
    # Before its first frame and after its last nobody asked.
    begins = np.append(True, np.diff(lane) > 0)
    ends = np.append(begins[1:], True)
    up_s[begins[first]] = -np.inf
    down_s[ends[last]] = np.inf
    never, unknown = np.full(len(first), np.inf), np.full(len(first), UNKNOWN)
    nothing = np.zeros(len(first), np.bool_)
    return replace(
        seen,
        instances=Instances(
            lsp=found.lsps[lane[first]],
            path_sent_s=never,
            resv_sent_s=never,
            up_s=up_s,
            tear_sent_s=never,
            tear_again_s=never,
            tear_received_s=never,
            down_s=down_s,
            asked=unknown,
            label=unknown,
            refused=nothing,
            given_up=nothing,
            phantom=nothing,
        ),
    )


def measurements(seen: Signals, confidence: float) -> Iterator[Measurement]:
    """How long each LSP did not forward, flap by flap."""
    for window in seen.windows:
        values_ms, _ = outages_ms(seen, window)
        yield from spread("outage", values_ms, confidence, window.subject)


def curves(seen: Signals) -> Iterator[Curve]:
    """How that is spread."""
    for window in seen.windows:
        values_ms, of = outages_ms(seen, window)
        yield from distribution("outage", values_ms, of, window.subject)


def outages_ms(seen: Signals, window: Window) -> tuple[Floats, int]:
    """From the flap, or the last frame that came after it, to the next that came after a loss [ms], and how many LSPs lost any."""
    all_of = seen.instances
    order = np.lexsort((all_of.up_s, all_of.lsp))
    lsp, up_s, down_s = all_of.lsp[order], all_of.up_s[order], all_of.down_s[order]
    next_s = np.append(np.where(np.diff(lsp) == 0, up_s[1:], np.inf), np.inf)
    down = window.began(down_s)
    back = down & np.isfinite(next_s)
    return 1e3 * (next_s[back] - down_s[back]), int(down.sum())

"""How many LSPs came up again in each flap, how long it took, and which tears never got through."""

from collections.abc import Iterator

import numpy as np

from rackproof.model.lsp import EventKind
from rackproof.model.measurement import Curve, Measurement
from testplans.mpls_flap.numbers import distribution, number, spread
from testplans.mpls_flap.signals import Bools, Floats, Instances, Ints, Signals, Window


def measurements(seen: Signals, routes: int, confidence: float) -> Iterator[Measurement]:
    """Flap by flap, then over all. routes: LSP n takes route n modulo their number; messages keep their order on one."""
    lost = lost_tears(seen.instances, routes)
    for window in seen.windows:
        yield from _of_flap(seen, window, lost)
        for name, values_ms, _ in times(seen, window):
            yield from spread(name, values_ms, confidence, window.subject)
    yield from _over_all(seen)


def curves(seen: Signals) -> Iterator[Curve]:
    """How the times are spread, flap by flap."""
    for window in seen.windows:
        for name, values_ms, of in times(seen, window):
            yield from distribution(name, values_ms, of, window.subject)


def times(seen: Signals, window: Window) -> Iterator[tuple[str, Floats, int]]:
    """What tearing down and establishing took [ms], with the number of LSPs that began to."""
    all_of = seen.instances
    flapped = seen.is_flapped(all_of.lsp)
    for name, begin_s, end_s in (
        ("teardown", all_of.tear_sent_s, all_of.tear_received_s),
        ("establish", all_of.path_sent_s, all_of.up_s),
    ):
        begun = flapped & window.began(begin_s)
        ended = begun & np.isfinite(end_s)
        yield name, 1e3 * (end_s[ended] - begin_s[ended]), int(begun.sum())


def torn(seen: Signals, window: Window) -> Bools:
    """Instances that were torn down in a flap."""
    return seen.is_flapped(seen.instances.lsp) & window.began(seen.instances.tear_sent_s)


def again(seen: Signals, window: Window) -> Ints:
    """LSPs that came up within a window and are up when it ends.

    By configuration every flapped LSP was taken away: one that lost no frame was away between two of them.
    """
    all_of = seen.instances
    came = seen.is_flapped(all_of.lsp) & all_of.up_at(window.end_s)
    if not seen.events.of(EventKind.CONFIGURED).any():
        came &= all_of.up_s >= window.begin_s
    return np.unique(all_of.lsp[came])


def lost_tears(all_of: Instances, routes: int) -> Bools:
    """Instances whose first tear did not get through, though one that was sent after it on the same route came before.

    A slow control plane is late with all of them; it does not let one overtake another. A tear that came before it was sent a second time
    was not lost.
    """
    lost = np.zeros(len(all_of), np.bool_)
    for route in range(routes):
        mine = np.flatnonzero((all_of.lsp % routes == route) & np.isfinite(all_of.tear_sent_s))
        mine = mine[np.argsort(all_of.tear_sent_s[mine], kind="stable")]
        if not len(mine):
            continue
        came_s = all_of.tear_received_s[mine]
        earliest_behind_s = np.append(np.minimum.accumulate(came_s[::-1])[::-1][1:], np.inf)
        lost[mine] = (came_s > all_of.tear_again_s[mine]) | np.isinf(came_s)
        lost[mine] &= earliest_behind_s < came_s
    return lost


def never_answered(seen: Signals, routes: int) -> Bools:
    """Instances since the first flap that did not come up although one whose PATH was sent after theirs on the same route did, or that were
    refused or given up. Those that are merely still waited for when the trial ends are not among them.
    """
    all_of = seen.instances
    failed = np.zeros(len(all_of), np.bool_)
    for route in range(routes):
        mine = (all_of.lsp % routes == route) & np.isfinite(all_of.path_sent_s) & (all_of.path_sent_s >= 0)
        up = mine & np.isfinite(all_of.up_s)
        latest_s = all_of.path_sent_s[up].max() if up.any() else -np.inf
        failed |= mine & np.isinf(all_of.up_s) & ((all_of.path_sent_s < latest_s) | all_of.refused | all_of.given_up)
    return failed


def _of_flap(seen: Signals, window: Window, lost: Bools) -> Iterator[Measurement]:
    all_of, events = seen.instances, seen.events
    down = torn(seen, window)
    flapped = len(seen.flapped)
    again_sent = (events.copy > 0) & (events.of(EventKind.TEAR_SENT) | events.of(EventKind.PATH_SENT)) & window.began(events.when_s)
    for name, value, n in (
        ("flap.up", seen.up(window.begin_s), flapped),
        ("flap.k", len(again(seen, window)), flapped),
        ("flap.tears_sent", int(down.sum()), flapped),
        ("flap.tears_received", int((down & np.isfinite(all_of.tear_received_s)).sum()), int(down.sum())),
        ("flap.tears_lost", int((down & lost).sum()), int(down.sum())),
        ("flap.retries", int(again_sent.sum()), int(down.sum())),
        ("flap.failed", flapped - seen.up(window.end_s), flapped),
    ):
        yield number(name, "1", float(value), n, subject=window.subject)


def _over_all(seen: Signals) -> Iterator[Measurement]:
    all_of, flapped = seen.instances, len(seen.flapped)
    yield number("failed", "1", float(flapped - seen.up(seen.end_s)), flapped)
    if not np.isfinite(all_of.tear_sent_s).any():
        return
    received = seen.is_flapped(all_of.lsp) & np.isfinite(all_of.tear_received_s) & (all_of.tear_received_s >= 0)
    raw = seen.events.of(EventKind.TEAR_RECEIVED) & seen.is_flapped(seen.events.lsp) & (seen.events.when_s >= 0)
    distinct = int(received.sum())
    yield number("path_tears.received", "1", float(distinct), distinct)
    yield number("path_tears.raw", "1", float(raw.sum()), int(raw.sum()))
    yield number("k.paper", "1", float(distinct - flapped), flapped)

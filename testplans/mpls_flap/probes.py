"""What probes say of single LSPs: when they forward again, whether labels are right, and whether they cease to work with the tear."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rackproof.model.lsp import PROBE_CLASSES, PROBE_TTL, ProbeState
from rackproof.model.measurement import Curve, Measurement
from rackproof.stats.counts import wilson
from testplans.mpls_flap.flaps import torn
from testplans.mpls_flap.numbers import distribution, number, spread
from testplans.mpls_flap.signals import IMPLICIT_NULL, UNKNOWN, Bools, Floats, Ints, Signals, Window


@dataclass(frozen=True, kw_only=True, slots=True)
class Judged:
    """Probes that could show a fault, and those of them that did."""

    which: Bools
    faulty: Bools

    @property
    def n(self) -> int:
        """How many could."""
        return int(self.which.sum())

    @property
    def count(self) -> int:
        """How many did."""
        return int(self.faulty.sum())


def measurements(seen: Signals, hops: Ints, gap_s: float, confidence: float) -> Iterator[Measurement]:
    """hops: routers that an LSP passes, by its number modulo their number; gap_s: the margin within which forwarding may begin or cease."""
    if not len(seen.probes.when_s):
        return
    first_s, lost_s = first_seen(seen)
    for window in seen.windows:
        for name, values_ms, _ in times(seen, window, first_s):
            yield from spread(name, values_ms, confidence, window.subject)
    for name, judged in (
        ("probes.wrong_label", wrong_label(seen)),
        ("probes.stale", stale(seen, gap_s)),
        ("probes.lost_up", lost_up(seen, gap_s)),
        ("probes.misclassed", misclassed(seen, hops)),
    ):
        yield number(name, "1", float(judged.count), judged.n)
        lsps = np.unique(seen.probes.lsp[judged.faulty])
        yield number(f"{name}.lsps", "1", float(len(lsps)), len(np.unique(seen.probes.lsp[judged.which])))
    events, looked = early(seen, first_s, lost_s, gap_s)
    yield number("gap.early", "1", float(events), looked, wilson(events, looked))


def curves(seen: Signals) -> Iterator[Curve]:
    """How gaps and outages are spread, flap by flap."""
    if not len(seen.probes.when_s):
        return
    first_s, _ = first_seen(seen)
    for window in seen.windows:
        for name, values_ms, of in times(seen, window, first_s):
            yield from distribution(name, values_ms, of, window.subject)


def times(seen: Signals, window: Window, first_s: Floats) -> Iterator[tuple[str, Floats, int]]:
    """Gaps and outages of a flap [ms], with the number of LSPs that could have one."""
    all_of = seen.instances
    begun = seen.is_flapped(all_of.lsp) & window.began(all_of.path_sent_s)
    came_up = begun & np.isfinite(all_of.up_s)
    known = came_up & np.isfinite(first_s)
    yield "gap", 1e3 * (first_s[known] - all_of.up_s[known]), int(came_up.sum())
    down = torn(seen, window)
    outage_s = outages(seen, first_s)[down]
    yield "outage", 1e3 * outage_s[np.isfinite(outage_s)], int(down.sum())


def first_seen(seen: Signals) -> tuple[Floats, Floats]:
    """For each instance when its first probe that came was sent, and when the last before it that did not; inf, -inf where there is none.

    When they were sent: a probe that the host was late to receive was not late on the device.
    """
    probes, count = seen.probes, len(seen.instances)
    first, lost = np.full(count, np.inf), np.full(count, -np.inf)
    mine = probes.kept_up() & (probes.when_s >= seen.instances.up_s[probes.instance])
    there = mine & probes.came
    np.minimum.at(first, probes.instance[there], probes.when_s[there])
    before = mine & probes.lost & (probes.when_s < first[probes.instance])
    np.maximum.at(lost, probes.instance[before], probes.when_s[before])
    return first, lost


def early(seen: Signals, first_s: Floats, lost_s: Floats, gap_s: float) -> tuple[int, int]:
    """Instances that lost probes for longer than the margin after their RESV, and those that were probed after it.

    They may never have forwarded at all. Where no probe was lost, one that was sent late says nothing. Those that came up past the devices
    have nothing to forward by, which is a fault of its own.
    """
    all_of = seen.instances
    probed = np.isfinite(all_of.up_s) & (all_of.up_s >= 0) & ~all_of.phantom & (np.isfinite(first_s) | np.isfinite(lost_s))
    return int((probed & (lost_s > all_of.up_s + gap_s)).sum()), int(probed.sum())


def outages(seen: Signals, first_s: Floats) -> Floats:
    """For each instance that was torn down the time until its LSP forwards again [s]; inf where it does not.

    It begins with the tear, or, where a probe was lost before it, with the last one that had come.
    """
    all_of, probes = seen.instances, seen.probes
    count = len(all_of)
    last_s, lost_s = np.full(count, -np.inf), np.full(count, -np.inf)
    before = probes.when_s <= all_of.tear_sent_s[probes.instance]
    for which, found in ((probes.came, last_s), (probes.lost, lost_s)):
        np.maximum.at(found, probes.instance[before & which], probes.when_s[before & which])
    began_s = np.where((lost_s > last_s) & np.isfinite(last_s), last_s, all_of.tear_sent_s)
    order = np.lexsort((np.where(np.isfinite(all_of.path_sent_s), all_of.path_sent_s, -np.inf), all_of.lsp))
    next_s = np.full(count, np.inf)
    same = all_of.lsp[order][1:] == all_of.lsp[order][:-1]
    next_s[order[:-1][same]] = first_s[order[1:][same]]
    return next_s - np.where(np.isfinite(began_s), began_s, 0.0)


def wrong_label(seen: Signals) -> Judged:
    """Probes of LSPs that stayed up until they came, with another label than the egress asked for."""
    which = _stayed(seen) & (seen.instances.asked[seen.probes.instance] != UNKNOWN)
    return Judged(which=which, faulty=which & (seen.probes.label != seen.instances.asked[seen.probes.instance]))


def misclassed(seen: Signals, hops: Ints) -> Judged:
    """Probes of LSPs that stayed up until they came whose traffic class has changed, or whose TTL is not one less a router."""
    probes = seen.probes
    which = _stayed(seen) & (probes.entry != 0)
    class_ok = (probes.entry >> 9) & 0x7 == probes.lsp % PROBE_CLASSES
    ttl_ok = probes.entry & 0xFF == PROBE_TTL - hops[probes.lsp % len(hops)]
    return Judged(which=which, faulty=which & ~(class_ok & ttl_ok))


def stale(seen: Signals, gap_s: float) -> Judged:
    """Probes sent on instances whose tear the egress had seen for longer than the margin, and those of them that came all the same.

    One that came counts only with the label that the egress had asked for this instance and nobody since: a router that gives its label to
    another LSP sends it there, rightly.
    """
    all_of, probes = seen.instances, seen.probes
    of = probes.instance
    which = (probes.state == ProbeState.TORN) & (probes.when_s > all_of.tear_received_s[of] + gap_s)
    came = np.flatnonzero(which & probes.came & (probes.label == all_of.asked[of]))
    faulty = np.zeros(len(of), np.bool_)
    faulty[came] = ~_given_again(seen, came)
    return Judged(which=which, faulty=faulty)


def lost_up(seen: Signals, gap_s: float) -> Judged:
    """Probes of LSPs that are up and had forwarded, not near their tear or the end, that did not come."""
    all_of, probes = seen.instances, seen.probes
    until_s = np.minimum(all_of.down_s[probes.instance], seen.end_s)
    which = (probes.state == ProbeState.UP) & (probes.when_s + gap_s < until_s)
    return Judged(which=which & (probes.came | probes.lost), faulty=which & probes.lost)


def _stayed(seen: Signals) -> Bools:
    """Probes that came before their instance was given up."""
    probes = seen.probes
    return np.asarray(probes.kept_up() & probes.came & (probes.came_s < seen.instances.down_s[probes.instance]))


def _given_again(seen: Signals, at: Ints) -> Bools:
    """Whether the label that a probe left with, or, where labels come through, that it came with, may have been another instance's."""
    all_of, probes = seen.instances, seen.probes
    found = np.zeros(len(at), np.bool_)
    of, came_s = probes.instance[at], probes.came_s[at]
    for labels in (all_of.label, all_of.asked):
        # The instance after this one, in time, that had the same label.
        order = np.lexsort((all_of.resv_sent_s, labels))
        after_s = np.full(len(all_of), np.inf)
        same = (labels[order][1:] == labels[order][:-1]) & (labels[order][1:] > IMPLICIT_NULL)
        after_s[order[:-1][same]] = all_of.resv_sent_s[order[1:][same]]
        found |= after_s[of] < came_s
    return found

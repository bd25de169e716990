"""What became of the frames on the stable LSPs, before and while others flap: delay and loss by LSP, by phase and by time."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rackproof.model.traffic import Capture
from testplans.mpls_flap.lanes import Lanes, lanes
from testplans.mpls_flap.plan import BATCHES
from testplans.mpls_flap.signals import Floats, Ints, Signals

PRIOR, DURING = "prior", "during"


@dataclass(frozen=True, kw_only=True, slots=True)
class Phase:
    """Frames sent within a phase, which is cut into BATCHES of equal length.

    delays_us: of those that came, LSP by LSP, in the order of sending. sent, lost: batches by LSPs; sums_us: delays, likewise. ipdv_us:
    absolute differences of delay between neighbours on an LSP (RFC 3393). batch: of each of delays_us. duplicates,
    reordered: of frames sent in it.
    """

    name: str
    begin_s: float
    end_s: float
    sent: Floats
    lost: Floats
    sums_us: Floats
    delays_us: npt.NDArray[np.float32]
    batch: npt.NDArray[np.intp]
    ipdv_us: npt.NDArray[np.float32]
    duplicates: int
    reordered: int

    @property
    def came(self) -> Floats:
        """Frames that came, batches by LSPs."""
        return self.sent - self.lost

    @property
    def of_lsps_us(self) -> Floats:
        """Mean delay of each LSP; nan where nothing came."""
        return _ratio(self.sums_us.sum(axis=0), self.came.sum(axis=0))

    @property
    def of_batches_us(self) -> Floats:
        """Mean over LSPs of their mean delay, batch by batch; those left out in which nothing came."""
        means = _ratio(self.sums_us, self.came)
        return np.asarray(np.nanmean(means[~np.isnan(means).all(axis=1)], axis=1))

    @property
    def length_s(self) -> float:
        """How long it lasts."""
        return self.end_s - self.begin_s


@dataclass(frozen=True, kw_only=True, slots=True)
class Forwarding:
    """All frames of the stable LSPs. lsps: their numbers; sent_s, delay_us: of every frame that came, by LSP and in the order of sending.

    lost_s: about when the lost ones were sent. Times count as those of the signals. Frames are not judged that were sent after the last one
    of those that came when listening was about to end: a queue that never empties is no loss.
    """

    lsps: Ints
    sent_s: Floats
    delay_us: npt.NDArray[np.float32]
    lost_s: Floats
    phases: Mapping[str, Phase]


def forwarding(capture: Capture, signals: Signals, drain_s: float) -> Forwarding | None:
    """Of a generator that keeps every frame; None where no LSP carried traffic."""
    found = lanes(capture, range(signals.flapped.start), signals.origin_ns)
    if found is None:
        return None
    judged = found.lost_s <= _horizon(found, drain_s)
    flap_s = signals.windows[0].begin_s
    last_s = min(found.end_s, signals.windows[-1].end_s)
    return Forwarding(
        lsps=found.lsps,
        sent_s=found.sent_s,
        delay_us=found.delay_us,
        lost_s=found.lost_s[judged],
        phases={
            name: _phase(name, found, found.lost_lane[judged], found.lost_s[judged], begin_s, end_s)
            for name, begin_s, end_s in ((PRIOR, found.begin_s, flap_s), (DURING, flap_s, last_s))
        },
    )


def _phase(name: str, found: Lanes, lost_lane: npt.NDArray[np.intp], lost_s: Floats, begin_s: float, end_s: float) -> Phase:
    many = len(found.lsps)
    within = np.flatnonzero((found.sent_s >= begin_s) & (found.sent_s < end_s))
    out = (lost_s >= begin_s) & (lost_s < end_s)
    delays_us, batch = found.delay_us[within], _batches(found.sent_s[within], begin_s, end_s)
    cell = batch * many + found.lane[within]
    lost = _table(_batches(lost_s[out], begin_s, end_s) * many + lost_lane[out], many)
    pairs = within[found.follows[within]]
    return Phase(
        name=name,
        begin_s=begin_s,
        end_s=end_s,
        sent=_table(cell, many) + lost,
        lost=lost,
        sums_us=_table(cell, many, delays_us),
        delays_us=delays_us,
        batch=batch,
        ipdv_us=np.abs(found.delay_us[pairs] - found.delay_us[pairs - 1]),
        duplicates=int(((found.again_s >= begin_s) & (found.again_s < end_s)).sum()),
        reordered=int(((found.behind_s >= begin_s) & (found.behind_s < end_s)).sum()),
    )


def _horizon(found: Lanes, drain_s: float) -> float:
    """inf, unless frames still came when listening was about to end: then when the last of these was sent."""
    if not len(found.sent_s):
        return np.inf
    came_s = found.sent_s + found.delay_us / 1e6
    last = int(came_s.argmax())
    return float(found.sent_s[last]) if came_s[last] > found.end_s + drain_s / 2 else np.inf


def _batches(times_s: Floats, begin_s: float, end_s: float) -> npt.NDArray[np.intp]:
    # A host that stood still may have left a phase without any time; nothing lies within it then.
    return ((times_s - begin_s) * (BATCHES / max(end_s - begin_s, 1e-9))).astype(np.intp).clip(0, BATCHES - 1)


def _table(cells: npt.NDArray[np.intp], lsps: int, weights: npt.NDArray[np.float32] | None = None) -> Floats:
    return np.bincount(cells, weights, BATCHES * lsps).reshape(BATCHES, lsps).astype(np.float64)


def _ratio(over: Floats, under: Floats) -> Floats:
    return np.divide(over, under, out=np.full_like(over, np.nan), where=under > 0)

"""Every frame that was sent over some LSPs in the measured span: which came, when they were sent, how long they took."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rackproof.model.lsp import PROBE
from rackproof.model.traffic import Capture
from rackproof.units import NS_PER_S
from testplans.mpls_flap.signals import Bools, Floats, Ints

Places = npt.NDArray[np.intp]


@dataclass(frozen=True, kw_only=True, slots=True)
class Lanes:
    """A lane is an LSP's place in `lsps`. Of frames that came, by lane and in the order of sending: lane, sent_s, delay_us, and whether
    each was sent right after the one before it here (follows). Of those that did not: lost_lane, lost_s, which is about when.

    again_s, behind_s: when frames were sent that came once more, and that came behind later ones. begin_s, end_s: of the measured span.
    Times count from the origin.
    """

    lsps: Ints
    lane: Places
    sent_s: Floats
    delay_us: npt.NDArray[np.float32]
    follows: Bools
    lost_lane: Places
    lost_s: Floats
    again_s: Floats
    behind_s: Floats
    begin_s: float
    end_s: float


def lanes(capture: Capture, wanted: Collection[int], origin_ns: int) -> Lanes | None:
    """Frames of the wanted LSPs; None where none of these carried any."""
    lsps = np.array(sorted(lsp for lsp in capture.sent if lsp in wanted), np.int64)
    if not len(lsps):
        return None
    samples = capture.samples
    firsts = np.array([capture.sent[int(lsp)].first_sequence[[0, -1]] for lsp in lsps])
    sizes = firsts[:, 1] - firsts[:, 0]
    base = np.concatenate([[0], np.cumsum(sizes)])
    of_lsp = np.full(1 << 16, -1, np.int64)
    of_lsp[lsps] = np.arange(len(lsps))
    rows = np.flatnonzero(samples.port < PROBE)
    lane = of_lsp[samples.stream[rows]]
    number = samples.sequence[rows].astype(np.int64) - firsts[lane, 0]
    measured = (lane >= 0) & (number >= 0) & (number < sizes[lane])
    rows, lane, number = rows[measured], lane[measured], number[measured]
    # Lane by lane, in the order of arrival: places count frames over all lanes, and ascend where nothing came twice or out of order.
    by_lane = np.argsort(lane.astype(np.uint16), kind="stable")
    rows, place = rows[by_lane], (base[lane] + number)[by_lane]
    first, again, behind = _order(place)
    at, place = rows[first], place[first]
    lane = np.searchsorted(base, place, "right") - 1
    came = np.zeros(int(base[-1]), np.bool_)
    came[place] = True
    lost = np.flatnonzero(~came)
    lost_lane = np.searchsorted(base, lost, "right") - 1
    marks_s = (capture.batch_starts_ns - origin_ns) / NS_PER_S
    follows = np.zeros(len(place), np.bool_)
    follows[1:] = (np.diff(place) == 1) & (np.diff(lane) == 0)

    def sent_s(rows: Places) -> Floats:
        return np.asarray((samples.tx_ns[rows] - origin_ns) / NS_PER_S)

    return Lanes(
        lsps=lsps,
        lane=lane,
        sent_s=sent_s(at),
        delay_us=((samples.rx_ns[at] - samples.tx_ns[at]) / 1e3).astype(np.float32),
        follows=follows,
        lost_lane=lost_lane,
        lost_s=_when(capture, lsps, lost - base[lost_lane] + firsts[lost_lane, 0], lost_lane, marks_s),
        again_s=sent_s(rows[again]),
        behind_s=sent_s(rows[behind]),
        begin_s=float(marks_s[0]),
        end_s=float(marks_s[-1]),
    )


def _order(place: Ints) -> tuple[Places | slice, Places, Places]:
    """Where each frame came first, by ascending place; where it came again; where one came behind a later one (RFC 4737, 3.3)."""
    none = np.empty(0, np.intp)
    if len(place) < 2 or bool(np.all(place[1:] > place[:-1])):
        return slice(None), none, none
    _, first = np.unique(place, return_index=True)
    again = np.ones(len(place), np.bool_)
    again[first] = False
    late = np.zeros(len(place), np.bool_)
    late[1:] = place[1:] < np.maximum.accumulate(place)[:-1]
    return first, np.flatnonzero(again), np.flatnonzero(late & ~again)


def _when(capture: Capture, lsps: Ints, numbers: Ints, lanes: Places, marks_s: Floats) -> Floats:
    """When frames that nobody saw were sent, from the marks of the generator, between which an LSP's frames are evenly spread."""
    found = np.zeros(len(numbers))
    for lane in np.unique(lanes):
        mine = lanes == lane
        found[mine] = np.interp(numbers[mine] + 0.5, capture.sent[int(lsps[lane])].first_sequence, marks_s)
    return found

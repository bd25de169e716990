"""What a generator that counts, and keeps no frames, says of the stable LSPs: rates and loss by phase, and nothing of the delay by phase.

Its histograms hold the delays of a whole trial: what flaps change of them is in none. Loss is known to within the frames that are under way
as one batch ends and the next begins.
"""

from collections.abc import Iterator

import numpy as np

from rackproof.model.measurement import Measurement
from rackproof.model.traffic import Capture
from rackproof.stats import batches, equivalence
from rackproof.units import NS_PER_S, Layer, wire_bits
from testplans.mpls_flap.forwarding import DURING, PRIOR
from testplans.mpls_flap.numbers import number
from testplans.mpls_flap.signals import Floats, Signals


def measurements(capture: Capture, seen: Signals, frame_bytes: int, confidence: float) -> Iterator[Measurement]:
    """Of both phases, then what the second loses beyond the first. A batch in which the first flap begins is in neither."""
    marks_s = (capture.batch_starts_ns - seen.origin_ns) / NS_PER_S
    lsps = [lsp for lsp in capture.tallies if lsp < seen.flapped.start]
    sent = np.asarray([np.diff(capture.sent[lsp].first_sequence) for lsp in lsps], np.float64).sum(axis=0)
    came = np.asarray([capture.tallies[lsp].rx_frames for lsp in lsps], np.float64).sum(axis=0)
    # What came after the last batch had been sent belongs to it.
    came[-1] += max(0.0, sum(capture.tallies[lsp].received for lsp in lsps) - came.sum())
    mbps = np.asarray(wire_bits(frame_bytes, Layer.L2) / np.diff(marks_s) / 1e6, np.float64)
    shares = {}
    for phase, which in ((PRIOR, marks_s[1:] <= 0), (DURING, marks_s[:-1] >= 0)):
        of, frames = {"phase": phase}, int(sent[which].sum())
        if not frames:
            return
        lost = _lost(sent[which], came[which])
        shares[phase] = equivalence.share(lost, sent[which], confidence)
        yield number("loss", "1", shares[phase][0], frames, shares[phase][1], of)
        yield number("sent", "1", float(frames), frames, None, of)
        yield number("received", "1", float(frames - lost.sum()), frames, None, of)
        throughput, interval = batches.mean((came * mbps)[which], confidence=confidence)
        yield number("offered", "Mbit/s", float((sent * mbps)[which].mean()), frames, None, of)
        yield number("throughput", "Mbit/s", throughput, frames, interval, of)
    loss, interval = equivalence.between(shares[PRIOR], shares[DURING])
    yield number("effect.loss", "1", loss, int(sent.sum()), interval)


def _lost(sent: Floats, came: Floats) -> Floats:
    """By batch; where more came than was sent, these were under way before."""
    missing = np.cumsum(sent - came)
    return np.diff(np.minimum.accumulate(np.maximum(missing, 0.0)[::-1])[::-1], prepend=0.0)

"""What each flow did in one trial according to a generator that counts: its tallies, in the shape that measurements are made from.

Counters say per batch what was sent and what arrived, so rates have their spread. How many of the frames of the measured span arrived is
known after the drain, and for the whole span alone: loss and delay are of one part. The spread of a loss is that of what arrived; a delay
has none, and counts as the upper edge of its bin of the histogram. Which frames followed each other, and with which VLAN priority they
arrived, no counter says.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rackproof.model.measurement import Interval
from rackproof.model.traffic import Capture
from rackproof.stats import batches
from rackproof.units import L1_OVERHEAD_BYTES, Layer
from testplans.switch_qos.flows import FlowData

Floats = npt.NDArray[np.float64]

#: More frames than were sent may be counted by so many: a span ends between two frames.
EDGE_FRAMES = 2


def is_counted(capture: Capture) -> bool:
    """True where tallies are all that there is."""
    return bool(capture.tallies) and not len(capture.samples)


def counted_flows(capture: Capture, senders: int, layer: Layer) -> list[FlowData]:
    """The flow of each sender, each of which must have a tally."""
    return [_flow(capture, sender, layer) for sender in range(senders)]


def faults(capture: Capture, senders: Sequence[int]) -> list[str]:
    """What the tallies say that cannot be."""
    found = []
    for sender in senders:
        sent, tally = capture.sent[sender].frames, capture.tallies[sender]
        if tally.received > sent + EDGE_FRAMES:
            found.append(f"{tally.received} frames of sender {sender} are counted as received, but {sent} were sent")
    return found


def spread_of_loss(value: float, sent: Floats, rx_frames: Floats) -> Interval | None:
    """The interval of a loss rate over all data, from the frames that were sent and that arrived in each batch."""
    missing = sent - rx_frames - value * sent
    error = batches.ratio_error(missing - missing.mean(), sent, 0.0)
    return None if error is None else batches.around(value, error, sent.size, "arrivals by batch")


def _flow(capture: Capture, sender: int, layer: Layer) -> FlowData:
    sent, tally = capture.sent[sender], capture.tallies[sender]
    overhead = L1_OVERHEAD_BYTES if layer is Layer.L1 else 0
    sent_frames = np.diff(sent.first_sequence)
    delays = np.repeat(tally.delays_us.astype(np.float32), tally.delay_frames)
    return FlowData(
        sent_frames=sent_frames,
        sent_bits=8 * (np.diff(sent.octets) + overhead * sent_frames),
        received=np.array([min(tally.received, sent.frames)], np.int64),
        rx_frames=tally.rx_frames,
        rx_bits=8 * (tally.rx_octets + overhead * tally.rx_frames),
        rx_wire_bits=8 * (tally.rx_octets + L1_OVERHEAD_BYTES * tally.rx_frames),
        delays_us=delays,
        cuts=np.array([0, len(delays)], np.int64),
        delay_sums=np.array([float(tally.delays_us @ tally.delay_frames)]),
        variation_sums=np.zeros(1),
        variation_pairs=np.zeros(1, np.int64),
        reordered=tally.reordered,
        duplicates=tally.duplicates,
        arrivals=max(tally.received, int(tally.rx_frames.sum())),
        wrong_pcp=0,
        intended_frames=sent.intended_frames,
    )

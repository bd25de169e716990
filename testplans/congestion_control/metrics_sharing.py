"""How do the flows of a test share the path while they overlap, and how soon do they agree?"""

import math
from collections.abc import Iterator, Mapping

import numpy as np

from rackproof.stats import batches, fairness
from rackproof.units import NS_PER_S
from testplans.congestion_control.metrics import BIN_NS, Floats, Number, Span, Stream

#: A flow has its share where its rate is within this part of it.
WITHIN = 0.25
#: And it stays there for so many bins.
STAYS_BINS = NS_PER_S // BIN_NS


def sharing(each: Mapping[int, Stream], spans: Mapping[int, Span]) -> Iterator[Number]:
    """Jain's index and the time of convergence over the time that all flows overlap; nothing where there are not two, or they do not.

    spans: when each flow ran; one that is not known ran from its first to its last packet.
    """
    known = [span for flow, stream in each.items() if (span := spans.get(flow) or _seen(stream)) is not None]
    if len(known) < 2:
        return
    start, end = max(span.start_ns for span in known), min(span.end_ns for span in known)
    if end <= start:
        return
    bits = np.array([_bits(stream, start, end) for stream in each.values()])
    if bits.sum() > 0:
        value, interval = batches.jackknife(fairness.jain, bits, bounds=(1 / len(bits), 1.0))
        yield "jain", "1", min(max(value, 1 / len(bits)), 1.0), len(bits), interval
    whole = bits[:, : (end - start) // BIN_NS]
    if whole.shape[1] >= STAYS_BINS:
        yield "convergence", "s", _convergence_s(whole), len(bits), None


def _seen(stream: Stream) -> Span | None:
    if not len(stream.packets):
        return None
    return Span(start_ns=int(stream.packets.ingress_ns[0]), end_ns=int(stream.packets.ingress_ns[-1]))


def _bits(stream: Stream, start_ns: int, end_ns: int) -> Floats:
    """Bits that left in each bin from start to end; the last bin may be shorter."""
    inside = (stream.egress_ns >= start_ns) & (stream.egress_ns < end_ns)
    bins = (stream.egress_ns[inside] - start_ns) // BIN_NS
    counted = np.bincount(bins, weights=stream.left_bits[inside], minlength=-(-(end_ns - start_ns) // BIN_NS))
    return np.asarray(counted, np.float64)


def _convergence_s(bits: Floats) -> float:
    """From the start of the last flow until every flow has its fair share for a second, in whole bins; inf where that never is."""
    fair = bits.mean(axis=0)
    agree = (np.abs(bits - fair) <= WITHIN * fair).all(axis=0) & (fair > 0)
    stays = np.lib.stride_tricks.sliding_window_view(agree, STAYS_BINS).all(axis=1)
    return float(stays.argmax()) * BIN_NS / NS_PER_S if stays.any() else math.inf

"""What each flow did in one trial: a capture cut into flows and batches, once, so that all measurements are sums over these.

A frame belongs to the batch in which it was sent; only frames sent within the measured span count for delay, loss and order. Throughput
counts the octets that arrived during that span, whenever they were sent: in steady state the two agree, and behind a long queue only this
one is a rate of the port.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rackproof.model.traffic import Capture, Sent
from rackproof.stats.order import order_of
from rackproof.stats.variation import follows, ipdv
from rackproof.units import L1_OVERHEAD_BYTES, Layer

Ints = npt.NDArray[np.int64]
#: Delays [us] as float32: at 1 s it resolves 0.06 us, at 1 ms 0.06 ns, and half the memory holds twice the samples.
Delays = npt.NDArray[np.float32]
#: Samples that are looked at in one go.
PIECE = 1 << 17


@dataclass(frozen=True, kw_only=True, slots=True)
class FlowData:
    """One flow, by batches (arrays of that length unless said otherwise).

    sent_frames, sent_bits: what was sent, at the plan's layer; received: frames of these that arrived; rx_frames, rx_bits, rx_wire_bits:
    what arrived in the span, at the plan's layer and at layer 1. delays_us: delays in the order of sending, cut at `cuts` (batches + 1);
    delay_sums, variation_sums [us] and variation_pairs belong to them. arrivals: frames of the flow in the whole capture; wrong_pcp: those
    with another VLAN priority. Of a generator that counts, received, delays and variation have one part, the whole span.
    """

    sent_frames: Ints
    sent_bits: Ints
    received: Ints
    rx_frames: Ints
    rx_bits: Ints
    rx_wire_bits: Ints
    delays_us: Delays
    cuts: Ints
    delay_sums: npt.NDArray[np.float64]
    variation_sums: npt.NDArray[np.float64]
    variation_pairs: Ints
    reordered: int
    duplicates: int
    arrivals: int
    wrong_pcp: int
    intended_frames: int

    @property
    def delay_frames(self) -> Ints:
        """Frames whose delay is known, by the parts of the delays."""
        return np.diff(self.cuts)


def flows_data(capture: Capture, priorities: Sequence[int], layer: Layer) -> list[FlowData]:
    """The flow of each sender, whose VLAN priorities are given."""
    # One array for the delays of all: many of some megabytes each would leave holes in the heap.
    room = np.empty(len(capture.samples), np.float32)
    found, used = [], 0
    for sender, pcp in enumerate(priorities):
        flow = _flow(capture, sender, pcp, layer, room[used:])
        found.append(flow)
        used += flow.arrivals
    return found


def _flow(capture: Capture, sender: int, pcp: int, layer: Layer, room: Delays) -> FlowData:
    sent = capture.sent[sender]
    found = _pick(capture, sender, pcp, room)
    delays, cuts, pairs, reordered, duplicates = _measured(found.sequence, found.delays_us, sent)
    variation = ipdv(delays, pairs)
    overhead = L1_OVERHEAD_BYTES if layer is Layer.L1 else 0
    sent_frames = np.diff(sent.first_sequence)
    return FlowData(
        sent_frames=sent_frames,
        sent_bits=8 * (np.diff(sent.octets) + overhead * sent_frames),
        received=np.diff(cuts),
        rx_frames=found.rx_frames,
        rx_bits=8 * (found.rx_octets + overhead * found.rx_frames),
        rx_wire_bits=8 * (found.rx_octets + L1_OVERHEAD_BYTES * found.rx_frames),
        delays_us=delays,
        cuts=cuts,
        delay_sums=sums(delays, cuts),
        variation_sums=sums(variation, cuts),
        variation_pairs=counts(pairs, cuts),
        reordered=reordered,
        duplicates=duplicates,
        arrivals=len(found.sequence),
        wrong_pcp=found.wrong_pcp,
        intended_frames=sent.intended_frames,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Picked:
    """A flow's own samples, in order of arrival, and what arrived of it in each batch of time."""

    sequence: npt.NDArray[np.uint32]
    delays_us: Delays
    rx_frames: Ints
    rx_octets: Ints
    wrong_pcp: int


def _pick(capture: Capture, sender: int, pcp: int, room: Delays) -> _Picked:
    """In pieces, so that what is needed on the way is small against the samples."""
    samples, starts = capture.samples, capture.batch_starts_ns
    pieces = [slice(start, start + PIECE) for start in range(0, len(samples), PIECE)]
    places = [np.flatnonzero(samples.stream[piece] == sender) for piece in pieces] if len(pieces) == 1 else None
    total = len(places[0]) if places else int(sum(np.count_nonzero(samples.stream[piece] == sender) for piece in pieces))
    sequence, delays = np.empty(total, np.uint32), room[:total]
    frames, octets = np.zeros(len(starts) - 1, np.int64), np.zeros(len(starts) - 1, np.int64)
    done = wrong_pcp = 0
    for index, piece in enumerate(pieces):
        at = places[index] if places else np.flatnonzero(samples.stream[piece] == sender)
        rx = samples.rx_ns[piece][at]
        sequence[done : done + len(at)] = samples.sequence[piece][at]
        np.multiply(rx - samples.tx_ns[piece][at], 1e-3, out=delays[done : done + len(at)], casting="unsafe")
        got_frames, got_octets = _received_in(starts, rx, samples.frame_bytes[piece][at])
        frames, octets = frames + got_frames, octets + got_octets
        wrong_pcp += int(np.count_nonzero(samples.pcp[piece][at] != pcp))
        done += len(at)
    return _Picked(sequence=sequence, delays_us=delays, rx_frames=frames, rx_octets=octets, wrong_pcp=wrong_pcp)


def _received_in(starts: Ints, rx: Ints, octets: npt.NDArray[np.uint16]) -> tuple[Ints, Ints]:
    """Frames and octets that arrived in each batch of time."""
    if not bool(np.all(rx[1:] >= rx[:-1])):
        order = np.argsort(rx, kind="stable")
        rx, octets = rx[order], octets[order]
    edges = np.searchsorted(rx, starts)
    total = np.concatenate([[0], np.cumsum(octets, dtype=np.int64)])
    return np.diff(edges), np.diff(total[edges])


def _measured(sequence: npt.NDArray[np.uint32], delays: Delays, sent: Sent) -> tuple[Delays, Ints, npt.NDArray[np.bool_], int, int]:
    """Delays of the frames sent within the span, by number; where batches begin; which follow the one before; reordered; duplicates."""
    first, last = int(sent.first_sequence[0]), int(sent.first_sequence[-1])
    reordered = duplicates = 0
    if bool(np.all(sequence[1:] > sequence[:-1])):
        low, high = (int(edge) for edge in np.searchsorted(sequence, [first, last]))
        numbers, delays = sequence[low:high], delays[low:high]
    else:
        inside = np.flatnonzero((sequence >= first) & (sequence < last))
        found = order_of(sequence[inside])
        keep = inside if found.first is None else inside[found.first]
        numbers, delays = sequence[keep], delays[keep]
        reordered, duplicates = found.reordered, found.duplicates
    return delays, np.searchsorted(numbers, sent.first_sequence), follows(numbers), reordered, duplicates


def sums(values: Delays, cuts: Ints) -> npt.NDArray[np.float64]:
    """Sum of the values between each two cuts; the first cut is 0, the last the end."""
    found = np.zeros(len(cuts) - 1)
    filled = np.flatnonzero(cuts[1:] > cuts[:-1])
    if len(filled):
        found[filled] = np.add.reduceat(values, cuts[filled], dtype=np.float64)
    return found


def counts(hits: npt.NDArray[np.bool_], cuts: Ints) -> Ints:
    """How many are true between each two cuts; the first cut is 0, the last the end."""
    found = np.zeros(len(cuts) - 1, np.int64)
    filled = np.flatnonzero(cuts[1:] > cuts[:-1])
    if len(filled):
        found[filled] = np.add.reduceat(hits, cuts[filled], dtype=np.int64)
    return found

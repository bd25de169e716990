"""What became of each packet that left a host? Captures of both ends, matched by content."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from orchestrator.lab.pcap import Seen
from rackproof.model.path import DROPPED, IN_FLIGHT
from rackproof.model.traffic import Samples
from rackproof.stats.matching import matches
from rackproof.units import NS_PER_S

#: What arrives this long after the beginning must have been seen to leave [ns].
_SETTLED_NS = NS_PER_S
_PCP_NONE = 255

Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True)
class End:
    """One end of the path: what it captured, and at what time by a clock that both ends share."""

    seen: Seen
    at_ns: Integers

    def of(self, source: int) -> "End":
        """What came from one address."""
        mine = self.seen.source == source
        one, other = self.seen.ports
        return End(
            seen=Seen(
                at_ns=self.seen.at_ns[mine],
                source=self.seen.source[mine],
                ports=(one[mine], other[mine]),
                octets=self.seen.octets[mine],
                content=self.seen.content[mine],
                fragments=self.seen.fragments,
            ),
            at_ns=self.at_ns[mine],
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Paired:
    """One direction. samples: a row for each packet that left, as rackproof.model.path has them.

    unpaired: packets that arrived and were never seen to leave; duplicated: that arrived more often than they left; unassigned: packets of
    no flow, which are not among the samples.
    """

    samples: Samples
    unpaired: int
    duplicated: int
    unassigned: int


def paired(origin: End, target: End, *, span_ns: tuple[int, int], ports: range, direction: int) -> Paired:
    """The packets that left the origin within a span, and what became of them at the target.

    Both ends hold packets of this direction alone. ports: the port of each flow, at either end; where there is one flow, all is its own.
    A packet that arrived after the span is in flight. So is one that never arrived, where everything that did left before it, and it would
    have arrived after the span with the longest delay that was seen.
    """
    begin_ns, end_ns = span_ns
    places = matches(origin.seen.content, target.seen.content)
    hit = places >= 0
    left = np.full(len(origin.seen), DROPPED, np.int64)
    left[places[hit]] = target.at_ns[hit]
    came = np.zeros(len(origin.seen), np.bool_)
    came[places[hit]] = True
    if came.any():
        longest_ns = int((left - origin.at_ns)[came].max())
        late = (origin.at_ns > origin.at_ns[came].max()) & (origin.at_ns > end_ns - longest_ns)
        left[late | (came & (left > end_ns))] = IN_FLIGHT
    strange = target.seen.content[~hit & (target.at_ns > begin_ns + _SETTLED_NS) & (target.at_ns <= end_ns)]
    # Without the question whether there are any, all would be sorted once more.
    again = np.isin(strange, origin.seen.content) if len(strange) else np.zeros(0, np.bool_)
    flow = _flows(origin.seen, ports)
    within = (origin.at_ns >= begin_ns) & (origin.at_ns <= end_ns)
    kept = np.flatnonzero(within & (flow > 0))
    return Paired(
        samples=Samples(
            tx_ns=origin.at_ns[kept],
            rx_ns=left[kept],
            sequence=np.arange(len(kept), dtype=np.uint32),
            stream=flow[kept],
            frame_bytes=origin.seen.octets[kept],
            port=np.full(len(kept), direction, np.uint16),
            pcp=np.full(len(kept), _PCP_NONE, np.uint8),
        ),
        unpaired=int(np.count_nonzero(~again)),
        duplicated=int(np.count_nonzero(again)),
        unassigned=int(np.count_nonzero(within & (flow == 0))),
    )


def _flows(seen: Seen, ports: range) -> npt.NDArray[np.uint16]:
    """The flow of each packet, from 1; 0 where it is of none."""
    if len(ports) == 1:
        return np.ones(len(seen), np.uint16)
    flow = np.zeros(len(seen), np.uint16)
    for column in seen.ports:
        mine = (column >= ports.start) & (column < ports.stop)
        flow[mine] = column[mine] - ports.start + 1
    return flow

"""How long did each frame take over each hop? From the generator's samples and the records of the links between the elements.

A link is as a cable: a frame leaves it at v = max(v of the frame before, when it came) + (octets + 20) * 8 / rate. What sends frames and
hands them on are programs, which run a little late, and then many frames at once. No frame may seem slower for that:

- A link's lateness is the real handing over less v, less what is constant behind the link (a planted delay, or anything else that is the
  same for all frames). The constant is found in the records alone: the difference that 1 % of the frames stay below. The least lateness is
  in it, which the host bounds by the median of its own.
- Frames that come late come in a bunch, and wait where they would not have waited. So the way is gone over once more in virtual time. Each
  link serves frames at the times at which they would have come. An element takes of each frame what it took from when the frame was there
  and the one before it was gone: on time that is all of its delay, and in a bunch it leaves the waiting for the bunch out; where frames
  follow each other faster in virtual time than the element takes, they wait there too. Frames begin no closer to each other than a port of
  the links' rate sends them, and those of constant traffic no closer than nine tenths of their gap.

Frames of the measured stream have numbers; columns are indexed by them, from 0. Times are ns since `origin_ns`; absent: nan.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rackproof.model.path import DROPPED
from rackproof.model.traffic import Samples
from rackproof.model.xcf import FIRST_LINK
from rackproof.units import L1_OVERHEAD_BYTES
from testplans.xpfe_delay.fates import Numbers, Stage
from testplans.xpfe_delay.procedure import MEASURED

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: Shorter frames are padded.
_FRAME_BYTES_MIN = 64
#: This share of the frames is taken to be handed on in time.
ON_TIME = 0.01
#: An element that took less than this share of what it mostly takes did not: when the frame came to it was written down too late.
_CREDIBLE = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Wire:
    """One link, by number of frame. came_ns, handed_ns: when a frame came and was handed on, as it was (nan: it was not).

    In virtual time: arrives_ns, when it comes; queueing_ns, serialisation_ns: what it waits and takes; leaves_ns: when it is gone, with
    excess_ns in it, which is what is constant behind the link. differences_ns: lateness and excess of all frames on the link, as they were.
    lateness_p50_us: the median of its lateness as the host says; where it does not, as the records do.
    """

    came_ns: Floats
    handed_ns: Floats
    arrives_ns: Floats
    queueing_ns: Floats
    serialisation_ns: Floats
    leaves_ns: Floats
    differences_ns: Floats
    excess_ns: float
    lateness_p50_us: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Path:
    """The way of all frames of the measured stream, by number.

    sent_ns, arrived_ns: first copies at the generator, as they were; begins_ns, ends_ns: in virtual time. wires: the links in order, empty
    where none was recorded; stages: what was seen at each link and at last at the receiver. unseen: frames that arrived although a link did
    not see them.
    """

    origin_ns: int
    sent_ns: Floats
    arrived_ns: Floats
    begins_ns: Floats
    ends_ns: Floats
    wires: tuple[Wire, ...]
    stages: tuple[Stage, ...]
    unseen: int

    @property
    def hops(self) -> int:
        """Hops whose own delay is known; 1 where no link was recorded: the whole way."""
        return len(self.wires) + 1

    @property
    def raw_us(self) -> Floats:
        """Delay from end to end as it was; nan for frames that did not arrive."""
        return (self.arrived_ns - self.sent_ns) / 1e3

    @property
    def delay_us(self) -> Floats:
        """Delay from end to end in virtual time."""
        return self.behind_us(self.hops)

    def element_us(self, hop: int) -> Floats:
        """What element `hop` (from 1) takes."""
        return ((self.ends_ns if hop == self.hops else self.wires[hop - 1].arrives_ns) - self._out_ns(hop - 1)) / 1e3

    def hop_us(self, hop: int) -> Floats:
        """What element `hop` and the link behind it take; the last has none."""
        return (self._out_ns(hop) - self._out_ns(hop - 1)) / 1e3

    def behind_us(self, hop: int) -> Floats:
        """Delay from the start to behind hop `hop`; known of frames that arrived."""
        return (self._out_ns(hop) - self.begins_ns) / 1e3

    def _out_ns(self, hop: int) -> Floats:
        """When frames are through with a hop; 0: when they begin."""
        if hop == 0:
            return self.begins_ns
        return self.ends_ns if hop == self.hops else self.wires[hop - 1].leaves_ns


def path(samples: Samples, *, links: int, rate_bps: float, lateness_p50_us: Mapping[int, float], gap_ns: float) -> Path:
    """The way of the measured stream over so many recorded links of a layer-1 rate.

    lateness_p50_us: the median of a link's lateness, by its number from 0, as the host measured it. gap_ns: by this at least frames follow
    each other when the host sends them on time; 0: no host stands between, and all is as it was.
    """
    seen = samples.port
    received = np.flatnonzero((seen < FIRST_LINK) & (samples.stream == MEASURED))
    at = [np.flatnonzero(seen == FIRST_LINK + number) for number in range(links)]
    measured = [where[samples.stream[where] == MEASURED] for where in at]
    count = max((int(samples.sequence[where].max()) + 1 for where in (received, *measured) if len(where)), default=0)
    times = [int(samples.tx_ns[where[0]]) for where in (received, *at) if len(where)]
    origin_ns = min(times, default=0)
    first = received[_first(samples.sequence[received])]
    sent_ns, arrived_ns = np.full(count, np.nan), np.full(count, np.nan)
    sent_ns[samples.sequence[first]] = samples.tx_ns[first] - origin_ns
    arrived_ns[samples.sequence[first]] = samples.rx_ns[first] - origin_ns
    begins_ns = _spaced(sent_ns, gap_ns) if gap_ns else sent_ns
    entered_ns, enters_ns = sent_ns, begins_ns
    wires: list[Wire] = []
    for number, where in enumerate(at):
        records = _Records.of(samples, where, rate_bps, origin_ns)
        wires.append(_wire(records, entered_ns, enters_ns, lateness_p50_us.get(number)))
        entered_ns, enters_ns = wires[-1].handed_ns, wires[-1].leaves_ns
    unseen = sum(int(np.count_nonzero(~np.isnan(arrived_ns) & np.isnan(wire.handed_ns))) for wire in wires)
    return Path(
        origin_ns=origin_ns,
        sent_ns=sent_ns,
        arrived_ns=arrived_ns,
        begins_ns=begins_ns,
        ends_ns=_through(entered_ns, arrived_ns, enters_ns) if gap_ns else arrived_ns,
        wires=tuple(wires),
        stages=tuple(_stages(samples, measured, received)),
        unseen=unseen,
    )


def _stages(samples: Samples, measured: Sequence[Ints], received: Ints) -> Iterator[Stage]:
    for where in measured:
        gone = where[samples.rx_ns[where] > DROPPED]
        left = gone[np.argsort(samples.rx_ns[gone], kind="stable")]
        yield Stage(came=samples.sequence[where], left=samples.sequence[left])
    yield Stage(came=samples.sequence[received], left=samples.sequence[received])


def _spaced(sent_ns: Floats, gap_ns: float) -> Floats:
    """When frames begin that follow each other by no less than the gap: those that were sent on time when they were sent."""
    schedule_ns = gap_ns * np.arange(len(sent_ns))
    begins_ns = np.fmax.accumulate(sent_ns - schedule_ns) + schedule_ns
    return np.where(np.isnan(sent_ns), np.nan, begins_ns)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Records:
    """Frames that a link did not drop, in the order in which they came. handed_ns: nan where one was still there at the end.

    own: those that are first copies of the measured stream; numbers: of these.
    """

    came_ns: Floats
    handed_ns: Floats
    takes_ns: Floats
    own: Ints
    numbers: Numbers

    @classmethod
    def of(cls, samples: Samples, where: Ints, rate_bps: float, origin_ns: int) -> "_Records":
        where = where[samples.rx_ns[where] != DROPPED]
        where = where[np.argsort(samples.tx_ns[where], kind="stable")]
        handed = samples.rx_ns[where]
        mine = np.flatnonzero(samples.stream[where] == MEASURED)
        own = mine[_first(samples.sequence[where][mine])]
        return cls(
            came_ns=(samples.tx_ns[where] - origin_ns).astype(np.float64),
            handed_ns=np.where(handed > DROPPED, handed - origin_ns, np.nan),
            takes_ns=_takes_ns(samples.frame_bytes[where], rate_bps),
            own=own,
            numbers=samples.sequence[where][own],
        )


def _wire(records: _Records, entered_ns: Floats, enters_ns: Floats, lateness_p50_us: float | None) -> Wire:
    """A link; entered_ns, enters_ns: when frames came to the element before it, as it was and in virtual time."""
    differences_ns = records.handed_ns - _departures(records.came_ns, records.takes_ns)
    differences_ns = differences_ns[~np.isnan(differences_ns)]
    # Nothing is handed on before its time.
    excess_ns = max(0.0, float(np.quantile(differences_ns, ON_TIME))) if len(differences_ns) else 0.0
    if lateness_p50_us is None:
        lateness_p50_us = float(np.median(differences_ns) - excess_ns) / 1e3 if len(differences_ns) else 0.0

    def column(values: Floats) -> Floats:
        found = np.full(len(entered_ns), np.nan)
        found[records.numbers] = values[records.own]
        return found

    came_ns = column(records.came_ns)
    arrives_ns = records.came_ns.copy()
    arrives_ns[records.own] = _through(entered_ns, came_ns, enters_ns)[records.numbers]
    order = np.argsort(arrives_ns, kind="stable")
    gone_ns = np.empty_like(arrives_ns)
    gone_ns[order] = _departures(arrives_ns[order], records.takes_ns[order])
    handed_ns = column(records.handed_ns)
    return Wire(
        came_ns=came_ns,
        handed_ns=handed_ns,
        arrives_ns=column(arrives_ns),
        queueing_ns=column(np.maximum(gone_ns - records.takes_ns - arrives_ns, 0.0)),
        serialisation_ns=column(records.takes_ns),
        leaves_ns=np.where(np.isnan(handed_ns), np.nan, column(gone_ns) + excess_ns),
        differences_ns=differences_ns,
        excess_ns=excess_ns,
        lateness_p50_us=lateness_p50_us,
    )


def _through(entered_ns: Floats, came_ns: Floats, enters_ns: Floats) -> Floats:
    """When frames are through an element in virtual time.

    entered_ns, came_ns: when frames came to the element and to what is behind it, as it was; enters_ns: when they come to it in virtual
    time. Without that, a frame is through when it was. Frames that were overtaken wait for nobody, and nobody waits for them.
    """
    found = came_ns.copy()
    known = np.flatnonzero(~np.isnan(came_ns + entered_ns + enters_ns))
    if not len(known):
        return found
    known = known[np.argsort(enters_ns[known], kind="stable")]
    came, enters = came_ns[known], enters_ns[known]
    took = came - entered_ns[known]
    usual = float(np.median(took))
    # A host that stands still between handing on and writing down when it did, writes down too late a time.
    took[took < usual * _CREDIBLE] = usual
    entered = came - took
    found[known] = enters + took
    kept = np.flatnonzero(came <= np.minimum.accumulate(came[::-1])[::-1])
    before = np.concatenate([[-np.inf], came[kept][:-1]])
    through = _departures(enters[kept], came[kept] - np.maximum(entered[kept], before))
    # In a bunch an element may work at several frames at a time: with each alone it would not be faster than it mostly is.
    bunched = entered[kept] < before
    found[known[kept]] = np.where(bunched, np.maximum(through, enters[kept] + usual), through)
    return found


def _departures(came_ns: Floats, takes_ns: Floats) -> Floats:
    """When frames are gone from what serves them one after the other, in the order of the arrays."""
    if not len(came_ns):
        return came_ns
    served = np.cumsum(takes_ns)
    return np.asarray(served + np.maximum.accumulate(came_ns - (served - takes_ns)), np.float64)


def _takes_ns(frame_bytes: npt.NDArray[np.uint16], rate_bps: float) -> Floats:
    octets = np.maximum(frame_bytes, _FRAME_BYTES_MIN).astype(np.float64) + L1_OVERHEAD_BYTES
    return octets * (8e9 / rate_bps)


def _first(numbers: Numbers) -> npt.NDArray[np.intp]:
    """Positions of the first copies."""
    if len(numbers) < 2 or bool(np.all(numbers[1:] > numbers[:-1])):
        return np.arange(len(numbers))
    return np.unique(numbers, return_index=True)[1]

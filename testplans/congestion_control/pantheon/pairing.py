"""Which departure belongs to which arrival? Logs name none: flow, size and time of arrival (departure less delay) must agree."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rackproof.model.path import DROPPED, IN_FLIGHT
from rackproof.stats.matching import matches

Integers = npt.NDArray[np.int64]
Places = npt.NDArray[np.intp]

#: Both times are rounded to 1 us each, and so is their difference.
_TOLERANCES_US = (0, 1, -1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Events:
    """Events of one sort as columns of equal length, in the order of the log. came_us: when the packet arrived at the link."""

    came_us: Integers
    flow: npt.NDArray[np.uint16]
    octets: npt.NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.came_us)

    def at(self, which: Places) -> "Events":
        """Those at some places."""
        return Events(came_us=self.came_us[which], flow=self.flow[which], octets=self.octets[which])

    def and_then(self, others: "Events") -> "Events":
        """These, and the others behind them."""
        return Events(
            came_us=np.concatenate([self.came_us, others.came_us]),
            flow=np.concatenate([self.flow, others.flow]),
            octets=np.concatenate([self.octets, others.octets]),
        )


def pair(arrivals: Events, departures: Events) -> Places:
    """For each departure the place of its arrival, -1 where there is none. Of equal arrivals, the first to come is the first to leave."""
    found = np.full(len(departures), -1, np.intp)
    for flow in _values(departures.flow):
        mine, theirs = _of(departures, flow), _of(arrivals, flow)
        found[mine] = _pair_flow(_keys(arrivals, theirs), _keys(departures, mine), theirs)
    return found


def fates(arrivals: Events, paired: Places, left_us: Integers, dropped: Events | None) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """What became of each arrival: when it left [us], or DROPPED or IN_FLIGHT; and whether it left.

    paired, left_us: the arrival of each departure, and its time. dropped: what the log says was dropped. Where it says nothing, a packet
    that did not leave was in flight at the end of the log if it came after every packet of its flow that left, no longer before the end
    than the flow's longest delay; any other was dropped.
    """
    fate = np.full(len(arrivals), IN_FLIGHT, np.int64)
    left = np.zeros(len(arrivals), np.bool_)
    fate[paired], left[paired] = left_us, True
    missing = np.flatnonzero(~left)
    if dropped is not None:
        places = pair(arrivals.at(missing), dropped)
        fate[missing[places[places >= 0]]] = DROPPED
    elif len(missing):
        fate[missing[~_in_flight(arrivals, missing, paired, left_us)]] = DROPPED
    return fate, left


def _in_flight(arrivals: Events, missing: Places, paired: Places, left_us: Integers) -> npt.NDArray[np.bool_]:
    end_us = max(int(arrivals.came_us.max()), int(left_us.max(initial=0)))
    found = np.zeros(len(missing), np.bool_)
    for flow in _values(arrivals.flow[missing]):
        gone = arrivals.flow[paired] == flow
        came_us = arrivals.came_us[paired[gone]]
        if len(came_us):
            since_us = max(int(came_us.max()), end_us - int((left_us[gone] - came_us).max()))
            found |= (arrivals.flow[missing] == flow) & (arrivals.came_us[missing] >= since_us)
    return found


def _values(column: npt.NDArray[np.uint16]) -> Sequence[int]:
    return [int(value) for value in np.flatnonzero(np.bincount(column))]


def _of(events: Events, flow: int) -> Places:
    return np.flatnonzero(events.flow == flow)


def _keys(events: Events, places: Places) -> Integers:
    return (events.came_us[places] << 16) | events.octets[places]


def _pair_flow(arrived: Integers, left: Integers, places: Places) -> Places:
    """For each key of a departure the place whose key of an arrival it takes; places[k] is that of arrived[k]."""
    found = np.full(len(left), -1, np.intp)
    if np.array_equal(arrived[: len(left)], left):
        return places[: len(left)]
    open_arrivals, open_departures = np.arange(len(arrived)), np.arange(len(left))
    for tolerance_us in _TOLERANCES_US:
        taken = matches(arrived[open_arrivals], left[open_departures] + (tolerance_us << 16))
        hit = taken >= 0
        found[open_departures[hit]] = open_arrivals[taken[hit]]
        free = np.ones(len(open_arrivals), np.bool_)
        free[taken[hit]] = False
        open_arrivals, open_departures = open_arrivals[free], open_departures[~hit]
        if not len(open_departures) or not len(open_arrivals):
            break
    return np.where(found >= 0, places[found], -1)

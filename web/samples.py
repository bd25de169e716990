"""How do a million raw samples become a chart? The least and the largest delay of each stream in each of so many spans of time.

Nothing is left out: whatever is extreme within a span is at one of its two ends. What was read is kept for a while, because who looks at
samples zooms.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rackproof.model.campaign import SamplesFile
from rackproof.model.lsp import PROBE
from rackproof.model.xcf import FIRST_LINK
from rackproof.store import samples

POINTS_MAX = 4000
#: More streams than this are drawn as one: nobody could tell them apart, and each takes its own points.
STREAMS_MAX = 40
#: So many samples are kept in memory, over all trials: 16 bytes each.
_KEPT_ROWS = 12_000_000

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Stream:
    """The frames of a stream in order of arrival: when they came [s after the first frame of all], and their delay [us].

    name: the stream's number, where frames came at several ports with that of the port ("1, port 0"), or of the link that they were seen on
    ("1, link 2"); "0 to 99" for many streams together, "probes" for all probes.
    """

    name: str
    at_s: Floats
    delay_us: Floats


@dataclass(frozen=True, kw_only=True, slots=True)
class Delays:
    """The delays of a trial's frames, by stream."""

    streams: tuple[Stream, ...]
    rows: int
    until_s: float

    def between(self, start_s: float, end_s: float, points: int) -> Mapping[str, Any]:
        """For a chart: where each span begins, and the least and largest delay of each stream in it; null where it has no frame."""
        edges = np.linspace(start_s, end_s, points + 1)
        streams = []
        for stream in self.streams:
            places = np.searchsorted(stream.at_s, edges)
            # The last span has its end too.
            places[-1] = np.searchsorted(stream.at_s, end_s, side="right")
            counts = np.diff(places)
            filled = np.flatnonzero(counts)
            least: list[float | None] = [None] * points
            largest: list[float | None] = [None] * points
            if len(filled):
                starts = places[:-1][filled]
                # reduceat runs from each start to the next one, and the last to the end of what it is given.
                values = stream.delay_us[: places[-1]]
                for into, found in ((least, np.minimum.reduceat(values, starts)), (largest, np.maximum.reduceat(values, starts))):
                    for place, value in zip(filled.tolist(), found.round(3).tolist(), strict=True):
                        into[place] = value
            streams.append({"stream": stream.name, "frames": int(counts.sum()), "least": least, "largest": largest})
        return {
            "from": start_s,
            "to": end_s,
            "until": self.until_s,
            "rows": self.rows,
            "at": ((edges[:-1] + edges[1:]) / 2).round(9).tolist(),
            "unit": "us",
            "streams": streams,
        }


class Shelf:
    """What was read lately. Threads may share one; files are known by their hash, so none is ever out of date."""

    def __init__(self, rows_max: int = _KEPT_ROWS) -> None:
        self._rows_max = rows_max
        self._kept: OrderedDict[str, Delays] = OrderedDict()
        self._lock = threading.Lock()
        # Two who ask for the same file at the same moment read it once; reading is what takes memory, so it is one file at a time.
        self._reading = threading.Lock()

    def get(self, place: samples.Place, file: SamplesFile) -> Delays:
        """The delays in a file of samples. Raises StoreError."""
        found = self._find(file.sha256)
        if found is not None:
            return found
        with self._reading:
            found = self._find(file.sha256)
            if found is None:
                found = read(place, file)
                self._keep(file.sha256, found)
        return found

    def _find(self, sha256: str) -> Delays | None:
        with self._lock:
            found = self._kept.get(sha256)
            if found is not None:
                self._kept.move_to_end(sha256)
            return found

    def _keep(self, sha256: str, delays: Delays) -> None:
        with self._lock:
            self._kept[sha256] = delays
            while len(self._kept) > 1 and sum(one.rows for one in self._kept.values()) > self._rows_max:
                self._kept.popitem(last=False)


def read(place: samples.Place, file: SamplesFile) -> Delays:
    """The delays in a file of samples. Raises StoreError where it cannot be read, or is not what was written."""
    columns = samples.columns(place, file, ("tx_ns", "rx_ns", "stream", "port"))
    # What never arrived has no delay.
    arrived = np.flatnonzero(columns["rx_ns"] > 0)
    order = arrived[np.argsort(columns["rx_ns"][arrived], kind="stable")]
    sent, received, stream, port = (columns[name][order] for name in ("tx_ns", "rx_ns", "stream", "port"))
    if not len(received):
        return Delays(streams=(), rows=0, until_s=0.0)
    at_s = (received - received[0]) / 1e9
    delay_us = (received - sent) / 1e3
    probes = port == PROBE
    ways = np.where(probes, 0, stream).astype(np.int64) << 16 | port
    numbers, of = np.unique(ways, return_inverse=True)
    together = ""
    if len(numbers) > STREAMS_MAX:
        together = f"{stream[~probes].min()} to {stream[~probes].max()}"
        numbers, of = np.unique(port.astype(np.int64), return_inverse=True)
    several = len(np.unique(port[~probes])) > 1
    by_way = np.argsort(of, kind="stable")
    streams = tuple(
        Stream(name=_name(together or str(way >> 16), way & 0xFFFF, several=several), at_s=at_s[rows], delay_us=delay_us[rows])
        for way, rows in zip(numbers.tolist(), np.split(by_way, np.cumsum(np.bincount(of))[:-1]), strict=True)
    )
    return Delays(streams=streams, rows=len(received), until_s=float(at_s[-1]))


def _name(stream: str, port: int, *, several: bool) -> str:
    if port == PROBE:
        return "probes"
    if port >= FIRST_LINK:
        return f"{stream}, link {port - FIRST_LINK + 1}"
    return f"{stream}, port {port}" if several else stream

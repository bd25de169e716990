"""What does a log of a link say? Merged tunnel logs and mahimahi's own, as packets and delivery opportunities.

A line is a time [ms], what happened, and a size [byte]: `+` a packet arrived at the link, `-` it left (its one-way delay [ms] follows), `#`
the link could have delivered so much. Tunnel logs end arrivals and departures with the flow; mahimahi's know no flow, count whole
milliseconds, and write down drops (`d`, packets, bytes). Comments begin with `#`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt
import polars as pl

from rackproof.errors import FileError, Problem
from rackproof.model.path import Packets
from rackproof.units import NS_PER_S
from testplans.congestion_control.opportunities import Opportunities
from testplans.congestion_control.pantheon.pairing import Events, fates, pair

#: The comment of a log that writes down every drop (an export of ours), as mahimahi does, but with the flow at the end.
DROPS = b"# drops: all are written down\n"

#: Text is read in pieces of this size, so that it never stands in memory beside what was made of it.
_PIECE_BYTES = 8 << 20
_EVENTS = ("+", "-", "#", "d")
# polars takes the number of columns from a first line, which logs lack.
_HEADER = b"time event size more flow\n"
_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "time": pl.Float64,
    "event": pl.Enum(_EVENTS),
    "size": pl.UInt16,
    "more": pl.Float64,
    "flow": pl.UInt16,
}
_BEGIN = re.compile(rb"# (init|base) timestamp: *(\d+(?:\.\d+)?)\s*")
#: Times since the epoch are larger than this [ms]; a smaller "base timestamp" is none.
_EPOCH_MS = 10**11
_SIZE_MAX = 0xFFFF
_N = rb"-?\d+(?:\.\d+)?"
_TUNNEL = re.compile(rb"N \+ \d+ \d+|N - \d+ N \d+|N d \d+ \d+ \d+|N # \d+".replace(b"N", _N))
_MAHIMAHI = re.compile(rb"N \+ \d+|N - \d+ N|N d \d+ \d+|N # \d+".replace(b"N", _N))
_WHOLE = re.compile(rb"N \+ \d+ \d+|N - \d+ N \d+".replace(b"N", _N))


@dataclass(frozen=True, kw_only=True, slots=True)
class Log:
    """What a log says.

    unpaired: departures without an arrival; each is kept as a packet that came when its delay says. negative: departures with a delay
    below 0 (clocks that differ). torn: unfinished last lines, left out.
    """

    packets: Packets
    opportunities: Opportunities
    unpaired: int
    negative: int
    torn: int


#: The lines of each sort of event, in the order of _EVENTS.
_Lines = tuple[pl.DataFrame, ...]


def read_log(path: Path) -> Log:
    """Read a log. A line that is wrong, other than an unfinished last one, raises FileError. Raises OSError."""
    try:
        with path.open("rb") as file:
            begin_ns, drops_known = _head(file)
            text = _Text(file)
            pieces = [_lines(piece) for piece in text.pieces()]
        return _log(tuple(pl.concat(same) for same in zip(*pieces, strict=True)), begin_ns, drops_known, text.torn)
    except (_Wrong, pl.exceptions.PolarsError):
        raise _diagnosed(path) from None


class _Wrong(Exception):  # it never leaves this module
    """Some line is not what it should be."""


def _log(lines: _Lines, begin_ns: int, drops_known: bool, torn: int) -> Log:
    came, left, chances, lost = lines
    named = _named(came, left, lost)
    left_us = left["time"].to_numpy()
    arrivals = _events(came["time"], came["more"] if named else None, came["size"])
    departures = _events(left["time"] - left["delay"], left["flow"] if named else None, left["size"])
    drops = _events(lost["time"], lost["flow"] if named else None, lost["more"].cast(pl.UInt16)) if drops_known else None
    paired = pair(arrivals, departures)
    alone = np.flatnonzero(paired < 0)
    if len(alone):
        paired[alone] = len(arrivals) + np.arange(len(alone))
        arrivals = arrivals.and_then(departures.at(alone))
    fate, gone = fates(arrivals, paired, left_us, drops)
    return Log(
        packets=_packets(arrivals, np.where(gone, begin_ns + fate * 1000, fate), begin_ns),
        opportunities=Opportunities(time_ns=begin_ns + chances["time"].to_numpy() * 1000, octets=chances["size"].to_numpy()),
        unpaired=len(alone),
        negative=int((left["delay"] < 0).sum()),
        torn=torn,
    )


def _named(came: pl.DataFrame, left: pl.DataFrame, lost: pl.DataFrame) -> bool:
    """Whether the lines name flows; all of them do, or none. Raises _Wrong."""
    # An arrival has its flow where a departure has its delay.
    without = came["more"].null_count() + left["flow"].null_count()
    missing = left["more"].null_count() + lost["more"].null_count()
    if missing or came["flow"].null_count() < len(came) or without not in (0, len(came) + len(left)):
        raise _Wrong
    if (came["more"] != came["more"].floor()).any():
        raise _Wrong
    return without == 0


def _events(time_us: pl.Series, flow: pl.Series | None, size: pl.Series) -> Events:
    flows = np.ones(len(size), np.uint16) if flow is None else flow.cast(pl.UInt16).to_numpy()
    return Events(came_us=time_us.to_numpy(), flow=flows, octets=size.to_numpy())


def _packets(arrivals: Events, egress_ns: npt.NDArray[np.int64], begin_ns: int) -> Packets:
    ingress_ns, flow, octets = begin_ns + arrivals.came_us * 1000, arrivals.flow, arrivals.octets
    if np.any(ingress_ns[1:] < ingress_ns[:-1]):
        order = np.argsort(ingress_ns, kind="stable")
        ingress_ns, egress_ns, flow, octets = ingress_ns[order], egress_ns[order], flow[order], octets[order]
    return Packets(ingress_ns=ingress_ns, egress_ns=egress_ns, flow=flow, packet_bytes=octets)


# --- text to columns ---


def _head(file: IO[bytes]) -> tuple[int, bool]:
    """When time 0 was, and whether all drops are written down, from the comments at the beginning; the file stands at its start again.

    A log without the time of day begins one second after the epoch.
    """
    begins: dict[bytes, Decimal] = {}
    drops_known = False
    for line in file:
        if not line.startswith(b"#"):
            break
        drops_known |= line == DROPS
        if found := _BEGIN.fullmatch(line):
            begins[found[1]] = Decimal(found[2].decode())
    file.seek(0)
    begin_ms = begins.get(b"init", begins.get(b"base", Decimal(0)))
    return (int(begin_ms * 1_000_000) if begin_ms > _EPOCH_MS else NS_PER_S), drops_known


class _Text:
    """The text in pieces of whole lines; torn says afterwards whether an unfinished last line was left out."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._some = False
        self.torn = 0

    def pieces(self) -> Iterator[bytes]:
        """At least one piece, each with the line that names the columns in front."""
        rest = b""
        while block := self._file.read(_PIECE_BYTES):
            cut = block.rfind(b"\n") + 1
            if cut:
                self._some = True
                yield b"".join((_HEADER, rest, memoryview(block)[:cut]))
                rest = b""
            rest += block[cut:]
        # Only a flow at its end shows that a line is whole.
        whole = _WHOLE.fullmatch(rest) is not None
        self.torn = int(bool(rest) and not whole)
        if whole or not self._some:
            yield _HEADER + (rest if whole else b"")


def _lines(piece: bytes) -> _Lines:
    """The lines of a piece by event, times and delays in microseconds."""
    table = pl.read_csv(piece, separator=" ", schema=_SCHEMA, comment_prefix="#", quote_char=None)
    if any(table.select(pl.col("time", "event", "size").null_count()).row(0)):
        raise _Wrong
    microseconds = [(pl.col(name) * 1e3).round().cast(pl.Int64).alias(target) for name, target in (("time", "time"), ("more", "delay"))]
    return tuple(table.filter(pl.col("event") == event).select(*microseconds, "size", "more", "flow") for event in _EVENTS)


def _diagnosed(path: Path) -> FileError:
    """Which line is wrong? Line by line, as slow as that is."""
    form, expected = None, "TIME + SIZE FLOW, TIME - SIZE DELAY FLOW or TIME # SIZE"
    found, number = "numbers that are too large", None
    with path.open("rb") as file:
        for at, line in enumerate(file, start=1):
            text = line.removesuffix(b"\n")
            if line.startswith(b"#"):
                continue
            if form is None and b"#" not in text and _MAHIMAHI.fullmatch(text):
                form, expected = _MAHIMAHI, "TIME + SIZE, TIME - SIZE DELAY or TIME # SIZE, as the lines before it"
            elif form is None and b"#" not in text:
                form = _TUNNEL
            if not (form or _TUNNEL).fullmatch(text) or int(text.split()[2]) > _SIZE_MAX:
                found, number = repr(text[:80].decode(errors="replace")), at
                break
    return FileError(str(path), Problem(where="log", expected=expected, found=found, line=number))

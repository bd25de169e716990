"""What the signaller saw in one trial, as tables: LSPs by instance, flaps, probes. Times are seconds since the first flap began."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rackproof.model.lsp import FIRST_EVENT, PROBE, EventKind, ProbeState
from rackproof.model.traffic import Samples
from rackproof.units import NS_PER_S

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

#: A label that is not known.
UNKNOWN = -1
#: What the egress asks for where frames are to come without a label (RFC 3032): a frame without one has come as asked.
IMPLICIT_NULL = 3
_IDS = 1 << 16


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """A flap and the time in which its LSPs may come up again. following_s: when the next flap begins, inf after the last."""

    number: int
    begin_s: float
    end_s: float
    following_s: float

    def began(self, times: Floats) -> Bools:
        """Which of the times lie within it, or before the next."""
        return (times >= self.begin_s) & (times < self.following_s)

    @property
    def subject(self) -> dict[str, str]:
        """How measurements name it."""
        return {"flap": str(self.number)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Events:
    """All events in the order of their times."""

    kind: Ints
    when_s: Floats
    lsp: Ints
    instance: Ints
    value: Ints
    copy: Ints

    def of(self, kind: EventKind) -> Bools:
        """Which are of a kind."""
        return np.asarray(self.kind == kind)


@dataclass(frozen=True, kw_only=True, slots=True)
class Instances:
    """One row an instance; times are inf where it did not happen, labels UNKNOWN where nobody said.

    up_s: when its RESV came, -inf where it was up before anything was recorded; down_s: when it was given up, by a tear or by the other
    side; tear_again_s: when its tear was sent for the second time. asked: the label that the egress asked for; label: what the ingress was
    told to send with. refused: by PATH_ERR; given_up: its PATH was sent as often as may be; phantom: it came up past the devices.
    """

    lsp: Ints
    path_sent_s: Floats
    resv_sent_s: Floats
    up_s: Floats
    tear_sent_s: Floats
    tear_again_s: Floats
    tear_received_s: Floats
    down_s: Floats
    asked: Ints
    label: Ints
    refused: Bools
    given_up: Bools
    phantom: Bools

    def __len__(self) -> int:
        return len(self.lsp)

    def up_at(self, when_s: float) -> Bools:
        """Which are up at an instant."""
        return (self.up_s <= when_s) & (self.down_s >= when_s)


@dataclass(frozen=True, kw_only=True, slots=True)
class Probes:
    """One row a probe, in the order of sending. came_s: inf where it never came; instance: its row; entry: label stack entry, 0: none."""

    when_s: Floats
    came_s: Floats
    lsp: Ints
    instance: npt.NDArray[np.intp]
    entry: Ints
    state: Ints

    @property
    def came(self) -> Bools:
        """Which came."""
        return np.isfinite(self.came_s)

    @property
    def lost(self) -> Bools:
        """Which did not come though one that was sent later did; the others may still wait in a queue when the trial ends."""
        came = self.came
        return np.asarray(~came & (self.when_s < np.max(self.when_s[came], initial=-np.inf)))

    @property
    def label(self) -> Ints:
        """The label that each came with; implicit null where it came without."""
        return np.where(self.entry == 0, IMPLICIT_NULL, self.entry >> 12)

    def kept_up(self) -> Bools:
        """Which were sent while their LSP was up."""
        return np.asarray(self.state != ProbeState.TORN)


@dataclass(frozen=True, kw_only=True, slots=True)
class Signals:
    """All of it. origin_ns: the instant that times count from; flapped: the LSPs that are flapped."""

    origin_ns: int
    windows: tuple[Window, ...]
    events: Events
    instances: Instances
    probes: Probes
    flapped: range

    @property
    def end_s(self) -> float:
        """When the last thing was seen."""
        return float(max([self.events.when_s[-1], *self.probes.when_s[-1:]]))

    def up(self, when_s: float) -> int:
        """How many of the flapped LSPs are up at an instant."""
        return len(np.unique(self.instances.lsp[self.instances.up_at(when_s) & self.is_flapped(self.instances.lsp)]))

    def busy(self, when_s: Floats) -> Bools:
        """At which instants something is under way that was answered later: a tear, or a set-up."""
        all_of = self.instances
        pairs = ((all_of.tear_sent_s, all_of.tear_received_s), (all_of.path_sent_s, all_of.up_s))
        answered = [(begin_s, end_s, np.isfinite(begin_s) & np.isfinite(end_s)) for begin_s, end_s in pairs]
        begun = np.sort(np.concatenate([begin_s[known] for begin_s, _, known in answered]))
        ended = np.sort(np.concatenate([end_s[known] for _, end_s, known in answered]))
        return np.asarray(np.searchsorted(begun, when_s, "right") > np.searchsorted(ended, when_s, "right"))

    def is_flapped(self, lsps: Ints) -> Bools:
        """Which of the LSPs are flapped."""
        return (lsps >= self.flapped.start) & (lsps < self.flapped.stop)


def signals(samples: Samples, stable: int, flapped: int, windows_s: Sequence[float]) -> Signals | None:
    """The signaller's part of a trial's samples; None where no flap began."""
    of_events = np.flatnonzero(samples.port >= FIRST_EVENT)
    of_probes = np.flatnonzero(samples.port == PROBE)
    begun = of_events[samples.port[of_events] == FIRST_EVENT + EventKind.FLAP_BEGIN]
    if not len(begun):
        return None
    origin_ns = int(samples.tx_ns[begun].min())
    events = _events(samples, of_events, origin_ns)
    ids = np.unique(np.concatenate([events.instance[events.lsp < stable + flapped], samples.frame_bytes[of_probes].astype(np.int64)]))
    row = np.zeros(_IDS, np.intp)
    row[ids] = np.arange(len(ids))
    probes = _probes(samples, of_probes, origin_ns, row)
    return Signals(
        origin_ns=origin_ns,
        windows=_windows(events, windows_s),
        events=events,
        instances=_instances(events, probes, row, len(ids), stable + flapped),
        probes=probes,
        flapped=range(stable, stable + flapped),
    )


def _events(samples: Samples, rows: npt.NDArray[np.intp], origin_ns: int) -> Events:
    rows = rows[np.argsort(samples.tx_ns[rows], kind="stable")]
    return Events(
        kind=samples.port[rows].astype(np.int64) - FIRST_EVENT,
        when_s=(samples.tx_ns[rows] - origin_ns) / NS_PER_S,
        lsp=samples.stream[rows].astype(np.int64),
        instance=samples.frame_bytes[rows].astype(np.int64),
        value=samples.sequence[rows].astype(np.int64),
        copy=samples.pcp[rows].astype(np.int64),
    )


def _probes(samples: Samples, rows: npt.NDArray[np.intp], origin_ns: int, row: npt.NDArray[np.intp]) -> Probes:
    rows = rows[np.argsort(samples.tx_ns[rows], kind="stable")]
    came_ns = samples.rx_ns[rows]
    return Probes(
        when_s=(samples.tx_ns[rows] - origin_ns) / NS_PER_S,
        came_s=np.where(came_ns > 0, (came_ns - origin_ns) / NS_PER_S, np.inf),
        lsp=samples.stream[rows].astype(np.int64),
        instance=row[samples.frame_bytes[rows]],
        entry=samples.sequence[rows].astype(np.int64),
        state=samples.pcp[rows].astype(np.int64),
    )


def _windows(events: Events, windows_s: Sequence[float]) -> tuple[Window, ...]:
    """As they were seen; where an end was not, as the plan has it."""
    begun, ended = (events.of(kind) for kind in (EventKind.FLAP_BEGIN, EventKind.FLAP_END))
    ends = dict(zip(events.value[ended].tolist(), events.when_s[ended].tolist(), strict=True))
    begins = list(zip(events.value[begun].tolist(), events.when_s[begun].tolist(), strict=True))
    following = [*(begin for _, begin in begins[1:]), float("inf")]
    return tuple(
        Window(number=number, begin_s=begin, end_s=min(ends.get(number, begin + length), after), following_s=after)
        for (number, begin), after, length in zip(begins, following, windows_s, strict=False)
    )


def _instances(events: Events, probes: Probes, row: npt.NDArray[np.intp], count: int, lsps: int) -> Instances:
    known = events.lsp < lsps
    at = row[events.instance]

    def first(*kinds: EventKind, only: Bools | None = None) -> Floats:
        wanted = known & np.isin(events.kind, kinds) & (True if only is None else only)
        found = np.full(count, np.inf)
        np.minimum.at(found, at[wanted], events.when_s[wanted])
        return found

    def last_value(kind: EventKind) -> Ints:
        wanted = known & events.of(kind)
        found = np.full(count, UNKNOWN, np.int64)
        found[at[wanted]] = events.value[wanted]
        return found

    lsp = np.zeros(count, np.int64)
    lsp[probes.instance] = probes.lsp
    lsp[at[known]] = events.lsp[known]
    path_sent, up = first(EventKind.PATH_SENT), first(EventKind.RESV_RECEIVED)
    tear_sent = first(EventKind.TEAR_SENT)
    given_up = known & events.of(EventKind.GAVE_UP)
    return Instances(
        lsp=lsp,
        path_sent_s=path_sent,
        resv_sent_s=first(EventKind.RESV_SENT),
        up_s=np.where(np.isinf(path_sent) & np.isinf(up), -np.inf, up),
        tear_sent_s=tear_sent,
        tear_again_s=first(EventKind.TEAR_SENT, only=events.copy > 0),
        tear_received_s=first(EventKind.TEAR_RECEIVED),
        down_s=np.minimum(
            np.minimum(tear_sent, first(EventKind.RESV_TEAR)), first(EventKind.EXPIRED, only=events.value == 0)
        ),
        asked=last_value(EventKind.RESV_SENT),
        label=last_value(EventKind.RESV_RECEIVED),
        refused=np.bincount(at[known & events.of(EventKind.PATH_ERR)], minlength=count) > 0,
        given_up=np.bincount(at[given_up & (events.value == 0)], minlength=count) > 0,
        phantom=np.bincount(at[known & events.of(EventKind.PHANTOM)], minlength=count) > 0,
    )  # fmt: skip

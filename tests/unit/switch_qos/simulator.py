"""A queue simulator small enough to be right by inspection: senders, tail-drop queues, one link, strict priority or round robin."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rackproof.model.functions import Discipline
from rackproof.model.traffic import Arrivals, Calibration, Capture, Samples, Sent
from rackproof.model.trial import Observation, Trial
from testplans.switch_qos.plan import Scheduler, SwitchQosPlan

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

START_NS = 1_700_000_000_000_000_000
CALIBRATION = Calibration(delay_floor_us=1.5, timestamp_error_us_p50=0.5, timestamp_error_us_p99=3.0, honest_fps=200_000, frames=10_000)


@dataclass(frozen=True, kw_only=True, slots=True)
class Defects:
    """The defects of the bench's reference switch, with the same meaning."""

    leak: float = 0.0
    waste: float = 0.0
    unfair: float = 0.0


def simulate(plan: SwitchQosPlan, trial: Trial, defects: Defects | None = None) -> Observation:
    """What an otherwise perfect bench brings back from a trial."""
    defects = defects or Defects()
    times, senders, sizes, sent = _send(plan, trial)
    departures = _switch(plan, trial, times, senders, sizes, defects)
    return Observation(capture=_capture(plan, times, senders, sizes, sent, departures), counters={"queue.0.dropped": 0})


def _send(plan: SwitchQosPlan, trial: Trial) -> tuple[Floats, Ints, Ints, dict[int, Sent]]:
    rng = np.random.default_rng(trial.seed)
    span = plan.trial.warmup_s + plan.trial.duration_s
    times: list[Floats] = []
    senders: list[Ints] = []
    sizes: list[Ints] = []
    mine: Floats
    for sender in range(plan.traffic.senders):
        rate = plan.sender_fps(sender, float(trial.point["load_mbps"]))
        if plan.traffic.arrivals is Arrivals.POISSON:
            mine = np.cumsum(rng.exponential(1 / rate, int(rate * span * 1.5) + 100))
        else:
            mine = np.asarray((np.arange(int(rate * span) + 2) + rng.random()) / rate, np.float64)
        mine = mine[mine < span]
        parts = plan.traffic.frame_sizes(plan.traffic.sender_priorities[sender])
        weights = np.array([part.weight for part in parts])
        times.append(mine)
        senders.append(np.full(len(mine), sender))
        sizes.append(rng.choice([part.frame_bytes for part in parts], len(mine), p=weights / weights.sum()))
    whole = np.concatenate(times)
    order = np.argsort(whole, kind="stable")
    marks = plan.trial.warmup_s + np.linspace(0, plan.trial.duration_s, plan.trial.batches + 1)
    sent = {}
    for sender, (mine, octets) in enumerate(zip(times, sizes, strict=True)):
        first = np.searchsorted(mine, marks)
        total = np.concatenate([[0], np.cumsum(octets)])
        sent[sender] = Sent(first_sequence=first, octets=total[first], intended_frames=int(first[-1] - first[0]))
    return whole[order], np.concatenate(senders)[order], np.concatenate(sizes)[order], sent


def _switch(plan: SwitchQosPlan, trial: Trial, times: Floats, senders: Ints, sizes: Ints, defects: Defects) -> Floats:
    """Departure time [s] of each frame, nan where it was dropped."""
    rng = np.random.default_rng(trial.seed + 1)
    scheduler = plan.scheduler(str(trial.point["scheduler"]))
    room = plan.queues.length_frames
    queues: list[deque[int]] = [deque() for _ in range(plan.queues.count)]
    queue_of = [plan.queue_of(sender) for sender in range(plan.traffic.senders)]
    choose = _chooser(scheduler, queues, sizes)
    departures = np.full(len(times), np.nan)
    free, waiting = 0.0, 0
    service = ((sizes + 20) * 8 / plan.link.rate_bps).tolist()
    arrivals = times.tolist()
    who = senders.tolist()
    draws = iter(rng.random(2 * len(times) + 10).tolist())

    def serve() -> None:
        nonlocal free, waiting
        if scheduler.discipline is Discipline.STRICT_PRIORITY and defects.leak and next(draws) < defects.leak:
            chosen = next(queue for queue in queues if queue)
        else:
            chosen = queues[choose()]
        frame = chosen.popleft()
        waiting -= 1
        departures[frame] = free + service[frame]
        free += service[frame] / (1 - defects.waste)

    for frame, now in enumerate(arrivals):
        while waiting and free < now:
            serve()
        queue = queues[queue_of[who[frame]]]
        unfair = defects.unfair and who[frame] % 2 and len(queue) > room / 2 and next(draws) < defects.unfair
        if unfair or len(queue) >= room:
            continue
        if not waiting:
            free = max(free, now)
        queue.append(frame)
        waiting += 1
    while waiting:
        serve()
    return departures


def _chooser(scheduler: Scheduler, queues: Sequence[deque[int]], sizes: Ints) -> Callable[[], int]:
    order = list(reversed(range(len(queues))))
    if scheduler.discipline is Discipline.STRICT_PRIORITY:
        return lambda: next(queue for queue in order if queues[queue])
    by_bytes = scheduler.discipline is Discipline.WRR_BYTES
    least = min(scheduler.weights)
    grant = [weight / least * (scheduler.quantum_bytes if by_bytes else 1) for weight in scheduler.weights]
    credit = [0.0] * len(queues)
    turn, granted = len(queues) - 1, False

    def choose() -> int:
        nonlocal turn, granted
        while True:
            if queues[turn]:
                if not granted:
                    credit[turn] += grant[turn]
                    granted = True
                cost = float(sizes[queues[turn][0]]) if by_bytes else 1.0
                if credit[turn] >= cost - 1e-9:
                    credit[turn] -= cost
                    return turn
            else:
                credit[turn] = 0.0
            turn, granted = (turn - 1) % len(queues), False

    return choose


def _capture(plan: SwitchQosPlan, times: Floats, senders: Ints, sizes: Ints, sent: Mapping[int, Sent], departures: Floats) -> Capture:
    sequence = np.zeros(len(times), np.uint32)
    for sender in range(plan.traffic.senders):
        mine = senders == sender
        sequence[mine] = np.arange(mine.sum())
    kept = np.flatnonzero(~np.isnan(departures))
    kept = kept[np.argsort(departures[kept], kind="stable")]
    priorities = np.array(plan.traffic.sender_priorities, np.uint8)
    samples = Samples(
        tx_ns=START_NS + np.rint(times[kept] * 1e9).astype(np.int64),
        rx_ns=START_NS + np.rint(departures[kept] * 1e9).astype(np.int64),
        sequence=sequence[kept],
        stream=senders[kept].astype(np.uint16),
        frame_bytes=sizes[kept].astype(np.uint16),
        port=np.zeros(len(kept), np.uint16),
        pcp=priorities[senders[kept]],
    )
    marks = plan.trial.warmup_s + np.linspace(0, plan.trial.duration_s, plan.trial.batches + 1)
    return Capture(
        samples=samples,
        sent=sent,
        batch_starts_ns=START_NS + np.rint(marks * 1e9).astype(np.int64),
        health={
            "lateness_p50_us": 0.3,
            "lateness_p99_us": 4.0,
            "lateness_max_us": 90.0,
            "ring_drops": 0,
            "overflow": 0,
            "clock_step_us": 0,
        },
    )

"""From copies of frames as they arrived to records: when did each leave?

The instant of leaving is in ticks of the server's clock, whose rate and origin it does not tell. Both are found from the capture: no frame
arrives before it left, so the line under all arrivals is the clock, raised by the shortest delay, which the server's histogram tells.
"""

import numpy as np
import numpy.typing as npt

from orchestrator.generators.trex.messages import Copies, Run
from rackproof.model.traffic import RECORD_DTYPE, Records

#: The line is laid through the lowest points of so many slices, and corrected so often.
SLICES, ROUNDS = 10, 5


def records_of(run: Run, copies: Copies, shortest_us: float) -> Records:
    """Records of all copies, in the order of arrival. shortest_us: the shortest delay of all."""
    burst, number = copies["burst"], copies["number"]
    records = np.zeros(len(copies), RECORD_DTYPE)
    records["tx_ns"] = copies["at_ns"] - np.rint(1e3 * (_above_clock_us(copies) + shortest_us)).astype(np.int64)
    records["rx_ns"] = copies["at_ns"]
    records["stream"] = np.array([each.stream for each in run.counted])[burst]
    for name in ("port", "frame_bytes", "pcp"):
        records[name] = copies[name]
    for stream, bursts in _bursts_by_stream(run).items():
        own = records["stream"] == stream
        records["sequence"][own] = _ranks(run, bursts, burst[own], number[own])
    return records


def lateness_us(run: Run, copies: Copies, records: Records) -> dict[str, float]:
    """How late frames left after their time, against the frame that was the most punctual [us]: by the schedule of their bursts."""
    after_us, fps = (np.array([getattr(burst, name) for burst in run.counted])[copies["burst"]] for name in ("after_us", "fps"))
    late_us = (records["tx_ns"] - records["tx_ns"].min()) / 1e3 - after_us - copies["number"] * 1e6 / fps
    late_us -= late_us.min()
    p50, p99, most = np.percentile(late_us, [50, 99, 100])
    return {"lateness_p50_us": float(p50), "lateness_p99_us": float(p99), "lateness_max_us": float(most)}


def _above_clock_us(copies: Copies) -> npt.NDArray[np.float64]:
    """How much later each frame arrived than the fastest one did [us]."""
    ticks = (copies["ticks"] - copies["ticks"].min()).astype(float)
    at_us = (copies["at_ns"] - copies["at_ns"][0]) / 1e3
    order = np.argsort(ticks)
    ticks, sorted_us = ticks[order], at_us[order]
    rate = (sorted_us[-1] - sorted_us[0]) / ticks[-1]
    for _ in range(ROUNDS):
        above = sorted_us - rate * ticks
        lowest = [part[np.argmin(above[part])] for part in np.array_split(np.arange(len(ticks)), SLICES)]
        rate += np.polyfit(ticks[lowest], above[lowest], 1)[0]
    above = sorted_us - rate * ticks
    found: npt.NDArray[np.float64] = np.empty_like(above)
    found[order] = above - above.min()
    return found


def _bursts_by_stream(run: Run) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for at, burst in enumerate(run.counted):
        found.setdefault(burst.stream, []).append(at)
    return found


def _ranks(run: Run, bursts: list[int], burst: npt.NDArray[np.int64], number: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The numbers of frames within their stream: in the order in which the schedule lets its bursts' frames leave."""
    counted = run.counted
    due = [counted[at].after_us + np.arange(counted[at].frames) * 1e6 / counted[at].fps for at in bursts]
    rank = np.empty(sum(map(len, due)), np.int64)
    rank[np.argsort(np.concatenate(due), kind="stable")] = np.arange(len(rank))
    first = dict(zip(bursts, np.cumsum([0, *map(len, due[:-1])]), strict=True))
    found: npt.NDArray[np.int64] = rank[np.array([first[at] for at in burst.tolist()], np.int64) + number]
    return found

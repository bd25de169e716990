"""What a generator that counts, and keeps no frames, says of one trial: rates and loss, and delays as coarse as its histogram.

A delay counts as the upper edge of its bin. Which frames followed each other no histogram says, so nothing is known of how far delays
depend on each other: no delay has an interval, and no distribution is fitted.
"""

from collections.abc import Iterator

import numpy as np

from rackproof.model.measurement import Curve, Measurement
from rackproof.model.traffic import Capture
from rackproof.stats import batches
from rackproof.stats.counts import wilson
from rackproof.units import NS_PER_S, wire_bits
from testplans.xpfe_delay.plan import XpfeDelayPlan, percentile_name
from testplans.xpfe_delay.procedure import MEASURED


def is_counted(capture: Capture) -> bool:
    """True where tallies are all that there is."""
    return bool(capture.tallies) and not len(capture.samples)


def measurements(plan: XpfeDelayPlan, capture: Capture) -> Iterator[Measurement]:
    """Numbers of the measured stream."""
    sent, tally = capture.sent[MEASURED], capture.tallies[MEASURED]
    seconds = np.diff(capture.batch_starts_ns) / NS_PER_S
    overhead_bits = wire_bits(0, plan.link.layer)
    frames = sent.frames
    offered = (8 * float(sent.octets[-1] - sent.octets[0]) + overhead_bits * frames) / float(seconds.sum()) / 1e6
    throughput, interval = batches.mean((8 * tally.rx_octets + overhead_bits * tally.rx_frames) / seconds / 1e6)
    received = min(tally.received, frames)
    yield Measurement(name="offered", unit="Mbit/s", value=offered, n=frames)
    yield Measurement(name="throughput", unit="Mbit/s", value=throughput, n=int(tally.rx_frames.sum()), interval=interval)
    yield Measurement(name="sent", unit="1", value=float(frames), n=frames)
    yield Measurement(name="received", unit="1", value=float(received), n=frames)
    lost = frames - received
    yield Measurement(name="loss", unit="1", value=lost / frames if frames else 0.0, n=frames, interval=wilson(lost, frames))
    yield Measurement(name="duplicates", unit="1", value=float(tally.duplicates), n=received)
    yield Measurement(name="reordered", unit="1", value=float(tally.reordered), n=received)
    count = int(tally.delay_frames.sum())
    if count == 0:
        return
    known = np.cumsum(tally.delay_frames)
    yield Measurement(name="delay.mean", unit="us", value=float(tally.delays_us @ tally.delay_frames) / count, n=count)
    for percent in plan.all_percentiles:
        edge = tally.delays_us[int(np.searchsorted(known, percent / 100 * count - 1e-9))]
        yield Measurement(name=f"delay.{percentile_name(percent)}", unit="us", value=float(edge), n=count)


def curves(capture: Capture) -> Iterator[Curve]:
    """Delta-Q from end to end."""
    sent, tally = capture.sent[MEASURED], capture.tallies[MEASURED]
    count = int(tally.delay_frames.sum())
    if count == 0 or sent.frames == 0:
        return
    share = min(tally.received, sent.frames) / sent.frames / count
    yield Curve(
        name="delta-q",
        x_name="delay",
        x_unit="us",
        y_name="cumulative probability",
        y_unit="1",
        x=tuple(map(float, tally.delays_us)),
        y=tuple(float(each) for each in np.cumsum(tally.delay_frames) * share),
        n=sent.frames,
    )

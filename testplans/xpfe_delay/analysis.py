"""What did one trial measure? Every number with its interval, the curves, and whether it can be trusted."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from rackproof.model.measurement import Curve, Measurement
from rackproof.model.traffic import Calibration
from rackproof.model.trial import Observation, Trial, TrialResult
from rackproof.model.xcf import FIRST_LINK
from rackproof.stats.delta_q import delta_q
from rackproof.stats.study import Study, study
from testplans.results import result
from testplans.xpfe_delay import counted, numbers, validity
from testplans.xpfe_delay.flow import Flow, flow
from testplans.xpfe_delay.plan import BENCH, XpfeDelayPlan

Floats = npt.NDArray[np.float64]


def analyse(plan: XpfeDelayPlan, trial: Trial, observation: Observation, calibration: Calibration) -> TrialResult:
    """Measurements of one trial. INVALID where it did not do what was intended; what was measured is kept all the same."""
    capture = observation.capture
    why = validity.missing(plan, trial, capture)
    if why:
        return result(observation, why)
    if counted.is_counted(capture):
        why = validity.reason(plan, trial, observation, None, calibration)
        return result(observation, why, list(counted.measurements(plan, capture)), list(counted.curves(capture)))
    recorded = bool(len(capture.samples)) and int(capture.samples.port.max()) >= FIRST_LINK
    found = flow(plan, capture, int(trial.point["hops"]) - 1 if recorded else 0)
    why = validity.reason(plan, trial, observation, found, calibration)
    measurements: list[Measurement] = list(numbers.of_counts(found))
    curves: list[Curve] = []
    delays_us = _known(found.measured(found.path.delay_us))
    if len(delays_us):
        studied = study(delays_us, percentiles=plan.all_percentiles, confidence=plan.verdict.confidence, seed=trial.seed)
        raw_us = _known(found.measured(found.path.raw_us)) if plan.testbed == BENCH else None
        measurements += [*numbers.of_delays(studied, raw_us), *numbers.of_fits(studied), *numbers.of_hops(found)]
        curves = [*_histogram(studied), *_delta_q(found)]
    return result(observation, why, measurements, curves)


def _known(values: Floats) -> Floats:
    return values[~np.isnan(values)]


def _histogram(studied: Study) -> Iterator[Curve]:
    histogram = studied.histogram
    yield Curve(
        name="histogram", x_name="delay", x_unit="us", y_name="density", y_unit="1/us",
        x=histogram.edges, y=(*histogram.density, 0.0), n=studied.n,
    )  # fmt: skip
    for judged in studied.fits:
        x, y = judged.fit.grid()
        yield Curve(
            name="fit", x_name="delay", x_unit="us", y_name="density", y_unit="1/us",
            x=x, y=y, n=studied.n, subject={"distribution": judged.fit.name},
        )  # fmt: skip


def _delta_q(found: Flow) -> Iterator[Curve]:
    """From the start to the end, to behind each hop, and over each hop alone: of the frames that came to it."""
    path = found.path
    yield _distribution("delta-q", found.measured(path.delay_us), found.received, found.sent)
    for hop in range(1, path.hops + 1) if path.wires else ():
        subject, fate = {"hop": str(hop)}, found.fates[hop - 1]
        passed = fate.came - fate.lost
        yield _distribution("delta-q", found.measured(path.behind_us(hop)), passed, found.sent, subject)
        yield _distribution("hop.delta-q", found.measured(path.hop_us(hop)), passed, fate.came, subject)


def _distribution(name: str, delays_us: Floats, passed: int, came: int, subject: dict[str, str] | None = None) -> Curve:
    """Of `came` frames `passed` came through; delays_us are known of them, or, where some were lost later on, of most of them."""
    known = np.sort(_known(delays_us))
    x, y = delta_q(known, len(known))
    share = passed / came if came else 0.0
    return Curve(
        name=name, x_name="delay", x_unit="us", y_name="cumulative probability", y_unit="1",
        x=x, y=tuple(share * each for each in y), n=came, subject=subject or {},
    )  # fmt: skip

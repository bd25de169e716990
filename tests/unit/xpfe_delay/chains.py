"""Campaigns whose delays follow a formula: to be taken apart, predicted and judged."""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

from rackproof.model.campaign import CampaignRecord, TrialRecord
from rackproof.model.measurement import Curve, Interval, Measurement
from rackproof.model.trial import Trial, TrialResult
from rackproof.model.verdict import Verdict
from testplans.xpfe_delay.view import Key
from tests.unit.xpfe_delay.campaigns import bare

METHOD = "made up"
#: Half of a 95 % interval, in standard errors.
Z = 1.959964


def number(name: str, value: float, half: float | None = None, unit: str = "us", n: int = 1000, **subject: str) -> Measurement:
    interval = None if half is None else Interval(low=value - half, high=value + half, method=METHOD)
    return Measurement(name=name, unit=unit, value=value, n=n, interval=interval, subject=subject)


def ran(trials: Callable[[Key, int], Iterable[Measurement | Curve] | TrialResult | None], **keys: Any) -> CampaignRecord:
    """A campaign of trials that gave what `trials` says of a point and a repetition: measurements and curves, another result than PASS, or
    None where one has not run."""

    def record(trial: Trial) -> TrialRecord:
        point = trial.point
        key = Key(str(point["chain"]), int(point["hops"]), int(point["frame_bytes"]), float(point["rate_mbps"]))
        found = trials(key, trial.repetition)
        if found is None or isinstance(found, TrialResult):
            return TrialRecord(trial=trial, result=found)
        found = tuple(found)
        numbers = tuple(each for each in found if isinstance(each, Measurement))
        curves = tuple(each for each in found if isinstance(each, Curve))
        return TrialRecord(trial=trial, result=TrialResult(verdict=Verdict.PASS, measurements=numbers, curves=curves))

    empty = bare(**keys)
    return dataclasses.replace(empty, trials=tuple(record(each.trial) for each in empty.trials))


def delays(formula: Callable[[Key], float], half: float = 0.1, spread: float = 5.0, **keys: Any) -> CampaignRecord:
    """A campaign whose mean delay is a formula of the point, the 99th percentile `spread` above it, both to +- half [us]."""

    def measured(key: Key, _repetition: int) -> list[Measurement]:
        mean = formula(key)
        return [number("delay.mean", mean, half), number("delay.p99", mean + spread, half)]

    return ran(measured, **keys)


def store_and_forward(key: Key) -> float:
    """5 us at the ends, each hop 3 us and 12 ns a byte, 2 us more at 500 Mbit/s and 6 us at 750."""
    load = {250.0: 0.0, 500.0: 2.0, 750.0: 6.0}[key.rate_mbps]
    return 5.0 + key.hops * (3.0 + 0.012 * key.frame_bytes + load)

"""A named number with its unit, its interval and how many samples it rests on; and a named curve."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """A confidence interval; method says how it was made, in words that a report can print ("batch means, 20 batches")."""

    low: float
    high: float
    confidence: float = 0.95
    method: str

    @property
    def half_width(self) -> float:
        """Half of the interval's length, in the unit of the measurement."""
        return (self.high - self.low) / 2

    def contains(self, value: float) -> bool:
        """True where the value lies within, ends included."""
        return self.low <= value <= self.high


@dataclass(frozen=True, kw_only=True, slots=True)
class Measurement:
    """One number that a trial gave.

    name: dotted, lower case ("throughput", "delay.p99"); unit: as printed ("Mbit/s", "us", "1" for a ratio); subject: what it is of, as
    labels ({"queue": "3"}; {} for the whole trial). value may be inf (the delay of a starved queue). n counts the samples (frames, batches)
    below it. interval is None only where no interval can exist (n < 2, a counter).
    """

    name: str
    unit: str
    value: float
    n: int
    interval: Interval | None = None
    subject: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Curve:
    """A measured curve, short enough to keep beside the measurements (at most a few hundred points).

    An improper distribution (delta-Q) is a curve of cumulative probability over delay whose last y is 1 - loss.
    """

    name: str
    x_name: str
    x_unit: str
    y_name: str
    y_unit: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    n: int
    subject: Mapping[str, str] = field(default_factory=dict)

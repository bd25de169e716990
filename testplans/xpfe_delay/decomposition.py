"""What is the delay of a chain made of? Taken apart by how it grows with hops, frame size and rate, which needs no record of any hop.

At each rate of the plan, delay = constant + size x a + hops x (fixed + size x b): b is store and forward, what each further hop takes for
each byte, of which the link's own serialisation is 8 bits by its rate; what a hop takes more at a rate than at the lowest one is queueing
and whatever else load does. All rates share the scatter of the points about this model (rackproof/stats/regression.py). Where hops were
recorded and one stands out (hops.py), what it adds is no part of this: it is taken out of the points, and added once to predictions.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rackproof.model.measurement import Measurement
from rackproof.stats.regression import Fit, Floats, fit
from testplans.xpfe_delay.hops import Outstanding, outstanding
from testplans.xpfe_delay.view import Key, View

METHOD = "weighted least squares over hops, sizes and rates, with the scatter about the model (Paule and Mandel), Student's t"
#: Sizes stand in the model in so many bytes, which makes what a byte takes come out in ns.
_BYTES = 1000.0


@dataclass(frozen=True, kw_only=True)
class Model:
    """The delay of a chain over hops, size and rate.

    quantity: the measurement that it goes through; odd: hops that stand out, each of which counts once; residuals: number minus model [us].
    """

    chain: str
    quantity: str
    rates: tuple[float, ...]
    odd: tuple[Outstanding, ...]
    fit: Fit
    residuals: Mapping[Key, float]

    @property
    def aside(self) -> tuple[Key, ...]:
        """Points that lie far off what the others agree on."""
        keys = list(self.residuals)
        return tuple(keys[at] for at in self.fit.aside)

    @property
    def n(self) -> int:
        """Points that it goes through."""
        return self.fit.numbers

    def row(self, rate: float, *parts: float) -> Floats:
        """What stands before the coefficients. parts: of 1, size [1000 byte], hops, and hops x size."""
        row = np.zeros((len(self.rates), 4))
        row[self.rates.index(rate)] = parts
        return row.ravel()

    def of(self, name: str, row: Floats, unit: str = "us", scatter: bool = False) -> Measurement | None:
        """A combination of the coefficients; None where what was measured does not determine it. scatter: as in Fit.at."""
        found = self.fit.at(row, scatter)
        if found is None:
            return None
        value, error = found
        return Measurement(name=name, unit=unit, value=value, n=self.n, interval=self.fit.interval(value, error, METHOD))

    def at(self, hops: int, frame_bytes: float, rate: float, scatter: bool = True) -> Measurement | None:
        """The delay at a place, measured or not; None where what was measured does not determine it, or at a rate that was not.

        scatter: the interval is that of the truth there; else that of the model.
        """
        if rate not in self.rates:
            return None
        found = self.of(self.quantity, self.row(rate, *_terms(hops, frame_bytes)), scatter=scatter)
        return None if found is None else _plus(found, _beyond(self.odd, hops))


@dataclass(frozen=True, kw_only=True)
class Decomposition:
    """What a chain's delay is made of. link_ns: what the link's serialisation takes for a byte [ns].

    Where no rate is given, a part is its mean over the rates. A part is None where the points do not determine it: per_byte with a single
    size, everything per hop with a single hop count, load at the lowest rate.
    """

    model: Model
    link_ns: float

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Frame sizes that it rests on [byte]."""
        return tuple(sorted({key.frame_bytes for key in self.model.residuals}))

    def per_byte(self, rate: float | None = None) -> Measurement | None:
        """Store and forward: what each further hop takes for each byte [ns/byte]."""
        return self._mean("per_byte", rate, (0, 0, 0, 1), "ns/byte")

    def element_per_byte(self, rate: float | None = None) -> Measurement | None:
        """What of it the link does not take: copies within the element [ns/byte]."""
        found = self.per_byte(rate)
        return None if found is None else replace(_plus(found, -self.link_ns), name="element_per_byte")

    def fixed(self, rate: float | None = None) -> Measurement | None:
        """What each further hop takes whatever the size [us]."""
        return self._mean("fixed", rate, (0, 0, 1, 0))

    def constant(self, rate: float | None = None) -> Measurement | None:
        """What the ends take, whatever size and hops [us]: below 0 where a chain has fewer links than elements."""
        return self._mean("constant", rate, (1, 0, 0, 0))

    def constant_per_byte(self, rate: float | None = None) -> Measurement | None:
        """What the ends take for each byte [ns/byte]."""
        return self._mean("constant_per_byte", rate, (0, 1, 0, 0), "ns/byte")

    def ends(self, frame_bytes: float, rate: float | None = None) -> Measurement | None:
        """What the ends take at a size [us]: constant and constant_per_byte together."""
        return self._mean("ends", rate, (1, frame_bytes / _BYTES, 0, 0))

    def per_hop(self, frame_bytes: float, rate: float | None = None) -> Measurement | None:
        """All that each further hop takes at a size [us]."""
        return self._mean("per_hop", rate, (0, 0, 1, frame_bytes / _BYTES))

    def load(self, frame_bytes: float, rate: float) -> Measurement | None:
        """What each further hop takes more than at the lowest rate [us]: queueing, and whatever else comes with load."""
        least = self.model.rates[0]
        if rate == least:
            return None
        parts = (0, 0, 1, frame_bytes / _BYTES)
        return self.model.of("load", self.model.row(rate, *parts) - self.model.row(least, *parts))

    def _mean(self, name: str, rate: float | None, parts: Sequence[float], unit: str = "us") -> Measurement | None:
        rates = self.model.rates if rate is None else (rate,)
        rows = [self.model.row(each, *parts) for each in rates]
        return self.model.of(name, np.mean(rows, axis=0), unit)


def decompose(view: View, chain: str, quantity: str = "delay.mean") -> Decomposition | None:
    """The delay of a chain taken apart; None where no point has it."""
    model = model_of(view, chain, quantity, view.points)
    if model is None:
        return None
    return Decomposition(model=model, link_ns=8e9 / view.plan.link.rate_bps)


def model_of(view: View, chain: str, quantity: str, keys: Iterable[Key]) -> Model | None:
    """The model through those of the points that are the chain's and have the number; None where none is."""
    odd = view.once(outstanding, chain)
    found = {
        key: _plus(number, -_beyond(odd, key.hops))
        for key in keys
        if key.chain == chain and (number := view.points[key].get(quantity)) is not None
    }
    if not found:
        return None
    rates = tuple(sorted({key.rate_mbps for key in found}))
    rows = np.zeros((len(found), len(rates), 4))
    for row, key in zip(rows, found, strict=True):
        row[rates.index(key.rate_mbps)] = _terms(key.hops, key.frame_bytes)
    made = fit(rows.reshape(len(found), -1), tuple(found.values()), view.plan.verdict.confidence)
    residuals = dict(zip(found, map(float, made.residuals), strict=True))
    return Model(chain=chain, quantity=quantity, rates=rates, odd=odd, fit=made, residuals=residuals)


def _terms(hops: int, frame_bytes: float) -> tuple[float, ...]:
    size = frame_bytes / _BYTES
    return 1.0, size, float(hops), hops * size


def _beyond(odd: Iterable[Outstanding], hops: int) -> float:
    """What the hops that stand out add to a chain [us]."""
    return sum(found.more.value for found in odd if found.on(hops))


def _plus(number: Measurement, by: float) -> Measurement:
    """The number and a known one."""
    interval = number.interval
    if interval is not None:
        interval = replace(interval, low=interval.low + by, high=interval.high + by)
    return replace(number, value=number.value + by, interval=interval)

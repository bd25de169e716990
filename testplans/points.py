"""A campaign by its points: the trials that were measured at the same place of a sweep, pooled over their repetitions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, cast

from rackproof.model.campaign import CampaignRecord, TrialRecord
from rackproof.model.measurement import Curve, Measurement
from rackproof.model.trial import TrialResult
from rackproof.model.verdict import Verdict
from rackproof.stats.pooling import pool
from testplans.results import Name, by_name

K = TypeVar("K")
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Point(Generic[K]):
    """All repetitions of one point; those that are not valid count for nothing but their verdict."""

    key: K
    trials: tuple[TrialRecord, ...]

    @property
    def valid(self) -> tuple[TrialRecord, ...]:
        """Repetitions whose numbers count."""
        return tuple(record for record in self.trials if record.result is not None and record.result.verdict is Verdict.PASS)

    @property
    def missing(self) -> tuple[Verdict, ...]:
        """Verdicts of the other repetitions; ABORTED where one has not run."""
        return tuple(record.result.verdict if record.result else Verdict.ABORTED for record in self.trials if record not in self.valid)

    @property
    def why_not(self) -> str:
        """Why there is a repetition whose numbers do not count; empty where all do."""
        return next((_reason(record.result) for record in self.trials if record not in self.valid), "")

    @property
    def indices(self) -> tuple[int, ...]:
        """The indices of the trials."""
        return tuple(record.trial.index for record in self.trials)

    def get(self, name: str, **subject: str) -> Measurement | None:
        """A number pooled over the valid repetitions that have it (n: the sum of theirs); None where none has."""
        wanted = (name, frozenset(subject.items()))
        if wanted not in self._pooled:
            self._pooled[wanted] = _pool(self.each(name, **subject))
        return self._pooled[wanted]

    def each(self, name: str, **subject: str) -> tuple[Measurement, ...]:
        """A number of every valid repetition that has it."""
        wanted = (name, frozenset(subject.items()))
        return tuple(measurements[wanted] for measurements in self._measurements if wanted in measurements)

    def total(self, name: str, **subject: str) -> float:
        """The sum of a count over the valid repetitions."""
        return sum(each.value for each in self.each(name, **subject))

    def curves(self, name: str, **subject: str) -> tuple[Curve, ...]:
        """The curves of exactly this name and subject, one a valid repetition that has it."""
        found = (curve for record in self.valid if record.result for curve in record.result.curves)
        return tuple(curve for curve in found if curve.name == name and dict(curve.subject) == subject)

    def subjects(self, name: str) -> tuple[Mapping[str, str], ...]:
        """Of what there are numbers of that name, in the order of the first repetition that has them."""
        found: dict[frozenset[tuple[str, str]], Mapping[str, str]] = {}
        for record in self.valid:
            for each in record.result.measurements if record.result else ():
                if each.name == name:
                    found.setdefault(frozenset(each.subject.items()), each.subject)
        return tuple(found.values())

    @cached_property
    def _pooled(self) -> dict[Name, Measurement | None]:
        """What was asked for before."""
        return {}

    @cached_property
    def _measurements(self) -> tuple[Mapping[Name, Measurement], ...]:
        return tuple(by_name(record.result) for record in self.valid if record.result)


class Once:
    """What is made of a view is made once for all that look at it."""

    def once(self, make: Callable[Concatenate[Self, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """What `make` makes of this view and the arguments, which must be hashable; made only once."""
        wanted = (make, args, tuple(sorted(kwargs.items())))
        if wanted not in self._made:
            self._made[wanted] = make(self, *args, **kwargs)
        return cast(T, self._made[wanted])

    @cached_property
    def _made(self) -> dict[Any, Any]:
        return {}


def gathered(campaign: CampaignRecord, key: Callable[[Mapping[str, float | int | str]], K]) -> dict[K, Point[K]]:
    """The points of a campaign in the order of its trials. key: of a trial's point."""
    trials: dict[K, list[TrialRecord]] = {}
    for record in campaign.trials:
        trials.setdefault(key(record.trial.point), []).append(record)
    return {each: Point(key=each, trials=tuple(records)) for each, records in trials.items()}


def _pool(found: Sequence[Measurement]) -> Measurement | None:
    if len(found) < 2:
        return found[0] if found else None
    value, interval = pool([each.value for each in found], [each.interval for each in found])
    return replace(found[0], value=value, interval=interval, n=sum(each.n for each in found))


def _reason(result: TrialResult | None) -> str:
    return "it has not run" if result is None else result.reason

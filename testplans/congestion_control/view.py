"""A campaign as its report looks at it: the tests of the plan in its order, their runs, and averages over these."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from rackproof.errors import NotFound
from rackproof.model.campaign import CampaignRecord, TrialRecord
from rackproof.model.measurement import Curve, Measurement
from rackproof.model.verdict import Verdict
from rackproof.units import NS_PER_S
from testplans.congestion_control.plan import CongestionControlPlan
from testplans.congestion_control.schemes import registry
from testplans.congestion_control.summary import Average, average

#: The flow that stands for all flows of a trial together.
ALL = "all"


@dataclass(frozen=True, kw_only=True)
class Run:
    """One trial. flows: the scheme of each flow, from flow 1 on."""

    record: TrialRecord
    flows: tuple[str, ...]

    @property
    def number(self) -> int:
        """Which run of its test it is, from 1."""
        return self.record.trial.repetition

    @property
    def index(self) -> int:
        """The index of the trial."""
        return self.record.trial.index

    @property
    def verdict(self) -> Verdict | None:
        """PASS where its numbers count; None where it has not run."""
        return self.record.result.verdict if self.record.result else None

    @property
    def valid(self) -> bool:
        """Its numbers count."""
        return self.verdict is Verdict.PASS

    @property
    def why_not(self) -> str:
        """Why its numbers do not count, or there are none."""
        return "it has not run" if self.record.result is None else self.record.result.reason

    @property
    def labels(self) -> tuple[str, ...]:
        """Its flows as measurements name them: "1", "2", ..."""
        return tuple(str(flow) for flow in range(1, len(self.flows) + 1))

    @cached_property
    def measurements(self) -> Mapping[tuple[str, str], Measurement]:
        """By name and flow, ALL where a measurement names none; empty where there are none."""
        found = self.record.result.measurements if self.record.result else ()
        return {(each.name, each.subject.get("flow", ALL)): each for each in found}

    def get(self, name: str, flow: str = ALL) -> Measurement | None:
        """A number, None where it was not measured."""
        return self.measurements.get((name, flow))

    def curves(self, name: str) -> dict[str, Curve]:
        """The curves of that name by flow."""
        found = self.record.result.curves if self.record.result else ()
        return {each.subject.get("flow", ALL): each for each in found if each.name == name}

    @property
    def start(self) -> datetime | None:
        """When the first flow began; without flows, when the trial did."""
        return self._moment(min, "start_ns") or self.record.started

    @property
    def end(self) -> datetime | None:
        """When the last flow ended; without flows, when the trial did."""
        return self._moment(max, "end_ns") or self.record.ended

    def clock_offset_ms(self, side: str) -> float | None:
        """The offset of the "local", "remote", "sender" or "receiver" clock [ms]; None where there is no such clock."""
        return self.record.result.health.get(f"clock_offset.{side}_ms") if self.record.result else None

    def _moment(self, which: Callable[[list[int]], int], what: str) -> datetime | None:
        counters = self.record.result.counters if self.record.result else {}
        found = [value for name, value in counters.items() if name.startswith("flow.") and name.endswith(what)]
        return datetime.fromtimestamp(which(found) / NS_PER_S, UTC) if found else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """One scheme, or schemes side by side, with all its runs. id: as in Trial.point; flows: the scheme of each flow."""

    id: str
    label: str
    flows: tuple[str, ...]
    runs: tuple[Run, ...]

    @property
    def valid(self) -> tuple[Run, ...]:
        """Runs whose numbers count."""
        return tuple(run for run in self.runs if run.valid)

    def mean(self, name: str, flow: str = ALL) -> Average | None:
        """A number over the runs; those that are not valid, or do not have it, are ignored. None where none has it."""
        found = (run.get(name, flow) if run.valid else None for run in self.runs)
        return average(each.value if each else None for each in found)


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """The campaign, its plan, and its tests in the plan's order. labels: scheme id -> as people write it."""

    campaign: CampaignRecord
    plan: CongestionControlPlan
    tests: tuple[Group, ...]
    labels: Mapping[str, str]

    @property
    def flows(self) -> int:
        """The most flows that a test has."""
        return max((len(test.flows) for test in self.tests), default=1)

    def has(self, name: str, flow: str = ALL) -> bool:
        """Whether any valid run has the number."""
        return any(run.get(name, flow) is not None for test in self.tests for run in test.valid)


def view(campaign: CampaignRecord) -> View:
    """The campaign, gathered once for all sections."""
    plan = CongestionControlPlan.model_validate(campaign.plan)
    labels = _labels(campaign, plan)
    by_test: dict[str, list[TrialRecord]] = {}
    for record in campaign.trials:
        by_test.setdefault(str(record.trial.point["scheme"]), []).append(record)
    tests = tuple(
        Group(
            id=name,
            label=" + ".join(labels[each] for each in (flows if len(set(flows)) > 1 else flows[:1])),
            flows=flows,
            runs=tuple(sorted((Run(record=record, flows=flows) for record in by_test.get(name, ())), key=lambda run: run.number)),
        )
        for name, flows in plan.tests
    )
    return View(campaign=campaign, plan=plan, tests=tests, labels=labels)


def scheme_topic(scheme: str) -> str:
    """The topic of the provenance that says what a scheme was: label, program, version."""
    return f"Scheme {scheme}"


def _labels(campaign: CampaignRecord, plan: CongestionControlPlan) -> dict[str, str]:
    schemes: Iterable[str] = dict.fromkeys(scheme for _, flows in plan.tests for scheme in flows)
    return {scheme: campaign.provenance.get(scheme_topic(scheme), {}).get("label") or _label(scheme) for scheme in schemes}


def _label(scheme: str) -> str:
    try:
        return registry.scheme(scheme).label
    except NotFound:
        return scheme

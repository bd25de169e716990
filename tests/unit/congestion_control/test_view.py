"""The campaign as its report looks at it: tests in the plan's order, and averages over the runs that count."""

import dataclasses
from datetime import UTC, datetime

import pytest

from rackproof import palette
from rackproof.model.campaign import CampaignRecord
from rackproof.model.verdict import Verdict
from testplans.congestion_control.view import view
from tests.unit.congestion_control import campaigns


@pytest.fixture(scope="module")
def mixed() -> CampaignRecord:
    return campaigns.made_up(schemes=["vegas", "bbr"], mixes=[["cubic", "bbr"]], flows=2, runtime_s=4.0, repetitions=2, order="shuffled")


def test_tests_stand_in_the_order_of_the_plan_whatever_the_order_of_the_trials(mixed: CampaignRecord) -> None:
    seen = view(mixed)
    assert [(group.id, group.label, group.flows) for group in seen.tests] == [
        ("vegas", "TCP Vegas", ("vegas", "vegas")),
        ("bbr", "TCP BBR", ("bbr", "bbr")),
        ("cubic+bbr", "TCP Cubic + TCP BBR", ("cubic", "bbr")),
    ]
    assert [[run.number for run in group.runs] for group in seen.tests] == [[1, 2]] * 3
    assert seen.flows == 2


def test_a_mean_counts_only_runs_that_are_valid(mixed: CampaignRecord) -> None:
    group = view(mixed).tests[0]
    values = [run.measurements["throughput", "1"].value for run in group.runs]
    mean = group.mean("throughput", "1")
    assert mean is not None
    assert mean.value == pytest.approx(sum(values) / 2)
    assert mean.n == 2
    broken = tuple(
        dataclasses.replace(each, result=dataclasses.replace(each.result, verdict=Verdict.INVALID))
        if each.result and each.trial.index == group.runs[0].index
        else each
        for each in mixed.trials
    )
    less = view(dataclasses.replace(mixed, trials=broken)).tests[0].mean("throughput", "1")
    assert less is not None
    assert (less.value, less.n) == (values[1], 1)
    assert group.mean("throughput", "9") is None


def test_a_run_begins_with_its_first_flow_and_ends_with_its_last(mixed: CampaignRecord) -> None:
    run = view(mixed).tests[0].runs[0]
    assert run.record.result is not None
    counters = run.record.result.counters
    first = min(value for name, value in counters.items() if name.endswith("start_ns"))
    assert run.start == datetime.fromtimestamp(first / 1e9, UTC)
    assert run.end is not None
    assert run.start is not None
    assert (run.end - run.start).total_seconds() == pytest.approx(4.0)


def test_labels_come_from_the_provenance_else_from_the_registry_else_the_id_stands(mixed: CampaignRecord) -> None:
    bare = dataclasses.replace(mixed, provenance={"Scheme vegas": {"label": "Vegas of this host"}})
    assert view(bare).labels == {"vegas": "Vegas of this host", "bbr": "TCP BBR", "cubic": "TCP Cubic"}
    unknown = campaigns.bare(schemes=["my-own"], repetitions=1, path={"forward": {"elsewhere": "between two coasts"}})
    assert view(dataclasses.replace(unknown, provenance={})).labels == {"my-own": "my-own"}


def test_every_scheme_of_pantheon_has_a_colour_of_its_own_and_the_same_everywhere() -> None:
    marks = [palette.scheme(scheme) for scheme in campaigns.LABELS]
    assert len({mark.colour for mark in marks}) == len(marks)
    assert all(palette.DARK[mark.colour] == mark.dark for mark in marks)
    assert palette.scheme("my-own") == palette.scheme("my-own")
    assert palette.scheme("my-own").colour == palette.SCHEMES[palette.scheme_place("my-own")].colour

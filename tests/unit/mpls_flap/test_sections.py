"""The report says in plain words whether forwarding stays true, counts K in both ways, and keeps a place for what failed."""

import dataclasses
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import cache

import pytest

from rackproof.model.campaign import CampaignRecord
from rackproof.model.traffic import Samples
from rackproof.model.trial import TrialResult
from rackproof.model.verdict import Verdict, worst
from reports import figures
from reports.campaign import document
from reports.document import Block, Bullets, Callout, Document, Figure, Section, Table
from reports.plain import plain
from testplans.mpls_flap.choice import EVERY, chosen
from testplans.mpls_flap.criteria import conclude
from testplans.mpls_flap.sections import comparison, sections
from testplans.mpls_flap.view import view
from tests.unit.mpls_flap import reported
from tests.unit.mpls_flap.reported import CHAIN, PAPER, SINGLE, Router

GENERATED = datetime(2026, 3, 14, tzinfo=UTC)
LATE = TrialResult(verdict=Verdict.INVALID, reason="1 % of the frames were sent 6 200 us late or more")
BROKEN = TrialResult(verdict=Verdict.ERROR, reason="the engine of the routers ended")
SHORT = [{**PAPER[1], "flapped": [100, 300, 500]}]


def nothing(_trial: int) -> Samples | None:
    return None


def report(campaign: CampaignRecord) -> Document:
    findings = conclude(campaign)
    verdict = worst(finding.verdict for finding in findings)
    judged = dataclasses.replace(campaign, findings=findings, verdict=verdict)
    return document(judged, "MPLS while LSPs flap", sections(judged, nothing), GENERATED)


@cache
def paper() -> Document:
    """A test of each of the paper's four families on a chain and on one router, the first at five numbers of LSPs."""
    tests = [{**test, "flapped": [100, 300, 500, 700, 900] if test["name"] == "1.1" else [100, 300]} for test in PAPER[::3]]
    return report(reported.made_up(networks=[CHAIN, SINGLE], tests=tests))


def walk(parts: tuple[Section, ...]) -> Iterator[Section]:
    for part in parts:
        yield part
        yield from walk(part.sections)


def blocks(of: Document) -> list[Block]:
    return [block for section in walk(of.sections) for block in section.blocks]


def tables(of: Document, begin: str) -> list[Table]:
    return [block for block in blocks(of) if isinstance(block, Table) and block.caption.startswith(begin)]


def texts(found: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in found.rows]


def drawn(of: Document) -> list[Figure]:
    return [block for block in blocks(of) if isinstance(block, Figure)]


def callouts(of: Document) -> list[str]:
    return [f"{block.title}: {block.text}" for block in blocks(of) if isinstance(block, Callout)]


def test_the_papers_figures_and_tables_are_called_as_in_the_paper() -> None:
    captions = [figure.caption for figure in drawn(paper())]
    for figures_of in ("Figures 3 and 8", "Figures 4 and 9", "Figures 5 and 10", "Figures 6 and 11"):
        assert sum(figures_of in caption for caption in captions) == 1
    averages = tables(paper(), "Average delay")
    assert [table.caption[-len("Table VII.") :].split("Table ")[-1] for table in averages] == ["IV.", "V.", "VI.", "VII."]


def test_published_delays_stand_in_grey_beside_ours_with_the_difference() -> None:
    (four,) = [table for table in tables(paper(), "Average delay") if table.caption.endswith("Table IV.")]
    rows = {row[0].text.partition(":")[0]: row for row in four.rows}
    assert [cell.text for cell in rows["3.1"][4:6]] == ["119\u202f000", "120\u202f000"]
    assert all(cell.muted for cell in rows["1.1"][4:6])
    ours = float(rows["1.1"][2].text.split(" ±")[0])
    assert rows["1.1"][6].text == f"−{135 - ours:.0f}"


def test_k_equals_n_up_to_three_hundred_and_the_knee_is_found() -> None:
    (knees,) = tables(paper(), "Up to where K = N")
    rows = texts(knees)
    assert rows[0] == ["soft-lsr, chain of 3"]
    assert rows[1][:2] == ["1.1: 64 bytes, 500 Mbit/s", "300"]
    assert float(rows[1][2].split(" ")[0]) == pytest.approx(322, abs=8)
    k = tables(paper(), "K by the number N")[0]
    assert [row[1].strong for row in k.rows] == [True, True, False, False, False]


def test_the_papers_count_stands_in_brackets_where_tears_were_lost() -> None:
    of = report(reported.made_up({"soft-lsr": Router(tears_lost=0.1)}, networks=[SINGLE | {"name": "soft-lsr"}], tests=SHORT))
    (k,) = tables(of, "K by the number N")
    assert texts(k)[0] == ["100", "100 (80)"]
    assert any("P − N" in figure.caption or figure.data["panels"][0]["series"][0]["paper"] for figure in drawn(of)[:1])


def test_page_one_and_the_first_section_say_whether_forwarding_stays_true() -> None:
    of = report(
        reported.made_up(
            {"stale": Router(counts={"stale": 90}), "slow": Router(steal_us=400.0, loss=0.02)},
            networks=["soft-lsr", {"name": "stale", "model": "soft-lsr"}, {"name": "slow", "model": "soft-lsr"}],
            tests=SHORT,
            expect=[{"device": "stale", "criteria": ["stale-label"]}],
        )
    )
    assert callouts(of)[:3] == [
        "soft-lsr: Forwarding stays true while LSPs flap.",
        "stale: The stable LSPs do not notice that others flap, but something else is wrong (the plan expects what it fails).",
        "slow: Forwarding does not stay true while LSPs flap.",
    ]
    said = [item for block in blocks(of) if isinstance(block, Bullets) for item in block.items]
    assert any("still forwarded after their tear" in item for item in said)
    on_cover = {panel.title: " ".join(f"{title}: {value}" for _, title, value, _ in panel.criteria) for panel in of.cover.panels}
    assert "delay on the stable LSPs changes by" in on_cover["soft-lsr"]
    assert "still forwarded after their tear" in on_cover["stale"]
    assert "the stable LSPs are disturbed while others flap" in on_cover["slow"]


def test_effects_are_held_against_their_margins() -> None:
    of = report(
        reported.made_up(
            {"slow": Router(steal_us=400.0)}, networks=["soft-lsr", {"name": "slow", "model": "soft-lsr"}], tests=SHORT
        )
    )  # fmt: skip
    (within,) = tables(of, "How many points lie within")
    counted = [(row[0], row[1]) for row in texts(within) if len(row) > 1]
    assert [each for _, each in counted] == ["3 of 3", "3 of 3", "3 of 3", "0 of 3", "0 of 3", "3 of 3"]


def test_where_the_delay_grows_by_itself_the_report_says_that_its_change_cannot_be_told() -> None:
    said = callouts(report(reported.made_up({"soft-lsr": Router(growth_us_per_s=4e3)}, tests=SHORT)))
    assert any(each.startswith("A queue that grows: The delay of soft-lsr grows") for each in said)
    assert said[0].endswith("cannot be told: their delay grows by itself.")


def test_of_many_trials_some_of_each_network_have_a_page_and_all_have_a_row() -> None:
    seen = view(reported.made_up(networks=[CHAIN, SINGLE], tests=PAPER[:1]))
    why = chosen(seen)
    assert len(seen.campaign.trials) == 18 > EVERY
    assert {seen.campaign.trials[index - 1].trial.point["network"] for index in why} == {"soft-lsr", "one soft-lsr"}
    assert any("do not all come up again" in reason for reason in why.values())
    of = report(reported.made_up(networks=[CHAIN, SINGLE], tests=PAPER[:1]))
    pages = [section.id for section in walk(of.sections) if section.id.startswith("trial-")]
    assert pages == [f"trial-{index}" for index in why]
    (rows,) = tables(of, "All trials")
    assert sum(len(row) > 1 for row in rows.rows) == 18


def test_trials_that_failed_keep_their_place_and_their_reason() -> None:
    of = report(reported.made_up(failures={1: LATE, 3: BROKEN}, tests=SHORT))
    (rows,) = tables(of, "All trials")
    assert [row[4].text for row in rows.rows if len(row) > 4 and row[4].verdict] == [LATE.reason, BROKEN.reason]
    (k,) = tables(of, "K by the number N")
    assert [row[1].verdict for row in k.rows] == [Verdict.INVALID, None, Verdict.ERROR]
    assert "2 of 3 trials gave no valid measurement" in of.cover.verdict_statement


def test_lsps_that_are_flapped_by_configuration_have_no_messages() -> None:
    of = report(reported.made_up(probes=False, tests=SHORT, signalling={"by": "configuration"}))
    assert not tables(of, "PATH_TEARs")
    times = next(figure for figure in drawn(of) if figure.caption.startswith("Times of the first flap"))
    assert [each["title"] for each in times.data["quantities"]] == ["Outage"]
    assert {figures.draw(figure).error for figure in drawn(of)} == {""}


def test_without_probes_the_report_says_what_is_not_known() -> None:
    of = report(reported.made_up(probes=False, tests=SHORT))
    times = next(figure for figure in drawn(of) if figure.caption.startswith("Times of the first flap"))
    assert [bool(each["series"]) for each in times.data["quantities"]] == [True, True, False, False]
    assert figures.draw(times).svg.count("no probe tells") == 2


def test_the_microscope_lines_everything_up_on_one_axis() -> None:
    of = report(reported.made_up(tests=[{**PAPER[1], "flapped": [100]}]))
    scope = next(figure for figure in drawn(of) if "messages so far" in figure.caption)
    first, second = scope.data["flaps"]
    assert (first["window"], second["window"]) == (5.0, 2.0)
    assert first["from"] == pytest.approx(-0.5)
    svg = figures.draw(scope).svg
    for words in ("flap 1", "flap 2", "end", "Messages", "LSPs up", "Delay [µs]", "Time since the flap began [s]", "RESV received"):
        assert words in svg
    none = dict(scope.data["flaps"][0]["curves"])
    none["timeline.lost"] = none["timeline.probes_lost"] = []
    assert "nothing was lost" in figures.draw(dataclasses.replace(scope, data={"flaps": [{**first, "curves": none}]})).svg


@pytest.mark.parametrize(
    "campaign",
    [
        lambda: reported.made_up(tests=[{"name": "one", "stable": 5, "flapped": [10], "frame_bytes": 512, "rate_mbps": 40}]),
        lambda: reported.made_up(networks=[CHAIN, SINGLE], tests=SHORT, repetitions=2, failures={2: LATE}, phases={"windows_s": [1]}),
        lambda: reported.made_up({"soft-lsr": Router(growth_us_per_s=4e3, gap_ms=80.0, loss=0.2)}, tests=SHORT, rate_scale=0.1),
    ],
    ids=["one trial", "two networks, one window", "all wrong"],
)
def test_every_figure_is_drawn_and_every_link_leads_somewhere(campaign: Callable[[], CampaignRecord]) -> None:
    of = report(campaign())
    assert {figures.draw(figure).error for figure in drawn(of)} == {""}
    assert {"verdict", "setup", "control", "delay", "separation", "times", "counts", "trials"} <= {part.id for part in walk(of.sections)}
    assert plain(of)["flow"]
    assert comparison(campaign())


@pytest.mark.parametrize("campaign", [reported.bare(tests=SHORT), reported.made_up(tests=SHORT, failures=dict.fromkeys((1, 2, 3), BROKEN))])
def test_a_campaign_without_a_valid_trial_has_a_report_that_says_so(campaign: CampaignRecord) -> None:
    of = report(campaign)
    said = " ".join(callouts(of))
    for words in ("Nothing to count", "No delay", "Nothing to compare", "No flap was measured", "Nothing was counted"):
        assert words in said
    assert not drawn(of)

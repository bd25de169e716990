"""The report of a switch campaign says what the campaign found, also where the campaign went wrong."""

import dataclasses
import re
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from rackproof.model.campaign import CampaignRecord, CampaignState
from rackproof.model.verdict import Verdict
from reports import figures
from reports.campaign import document
from reports.configurations import configurations
from reports.document import Block, Callout, Document, Figure, Preformatted, Section, Table
from reports.plain import figures as figures_of
from reports.plain import plain
from testplans.switch_qos.sections import sections
from tests.unit.reports import campaigns

GENERATED = datetime(2026, 3, 14, 9, 30, tzinfo=UTC)


def report(campaign: CampaignRecord) -> Document:
    expected = {each["device"]: each["criteria"] for each in campaign.plan["expect"]}
    return document(campaign, "Switch QoS", sections(campaign), GENERATED, expected)


def walk(parts: tuple[Section, ...]) -> Iterator[Section]:
    for part in parts:
        yield part
        yield from walk(part.sections)


def blocks(made: Document) -> list[Block]:
    return [block for section in walk(made.sections) for block in section.blocks]


def tables(made: Document) -> dict[str, Table]:
    return {block.caption: block for block in blocks(made) if isinstance(block, Table)}


def rows(table: Table) -> dict[str, list[str]]:
    return {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}


@pytest.fixture(scope="module")
def demo() -> Document:
    return report(campaigns.demo())


def test_sections_come_in_the_order_in_which_the_paper_tells_it(demo: Document) -> None:
    assert [section.title for section in demo.sections] == [
        "What was tested",
        "Comparison of the switches",
        "Throughput against offered load",
        "Delay and loss against offered load",
        "Delay distribution at saturation",
        "Fairness",
        "Verdict",
        "The trials",
        "How far the measurement can be trusted",
        "Provenance",
        "Configurations",
        "Plan",
    ]


def test_cover_is_honest_about_a_failure_that_was_expected(demo: Document) -> None:
    assert demo.cover.verdict is Verdict.FAIL
    assert "were expected by the plan" in demo.cover.verdict_statement
    verdicts = {panel.title: panel.verdict for panel in demo.cover.panels}
    assert verdicts == {"linux-htb": Verdict.PASS, "reference": Verdict.PASS, "reference-faulty": Verdict.FAIL}
    unexpected = document(campaigns.demo(), "Switch QoS", [], GENERATED, {"reference": ["waste"]})
    assert "not those that the plan expects" in unexpected.cover.verdict_statement


def test_published_rows_stand_beside_the_measured_in_grey(demo: Document) -> None:
    table = tables(demo)["Throughput, strict priority, 60 Mbit/s per sender."]
    found = rows(table)
    assert found["#3"] == ["0.2", "3.4", "56", "922", "18.4", ""]
    assert found["Ideal"] == ["0", "0", "0", "100", "0", ""]
    assert all(cell.muted for row in table.rows for cell in row if row[0].text in {"#1", "Expected", "Ideal"})
    assert not any(cell.muted for row in table.rows for cell in row if row[0].text == "linux-htb")
    shares = rows(tables(demo)["The same as share of what the link can carry."])
    assert shares["#4"] == ["0", "0", "0.54", "97.2", "2.26", ""]
    delays = rows(tables(demo)["Mean delay, strict priority, 60 Mbit/s per sender."])
    assert delays["#4"] == ["∞", "∞", "351", "2.43", ""]
    assert delays["linux-htb"][:3] == ["∞"] * 3


def test_expected_ratios_are_those_of_the_paper(demo: Document) -> None:
    ratios = next(table for caption, table in tables(demo).items() if caption.startswith("Delay ratios"))
    assert rows(ratios)["Expected as the paper has it"][:4] == ["0.521", "0.271", "0.146", "0.062"]
    assert rows(ratios)["Expected, weights 0.1 0.2 0.3 0.4"] == ["0.52", "0.27", "0.15", "0.06", ""]


def test_every_measured_number_has_its_interval_and_n(demo: Document) -> None:
    for caption, table in tables(demo).items():
        if not caption.startswith(("Throughput of each", "Mean delay of each", "Frame loss rate")):
            continue
        assert table.columns[-1].title == "n"
        assert "95 %" in table.note
        for row in table.rows:
            if len(row) > 1 and not row[0].muted:
                assert all("±" in cell.text or " to " in cell.text or cell.text == "∞" for cell in row[1:-1]), caption
                assert re.fullmatch(r"[\d\u202f]+", row[-1].text)


def test_every_trial_has_its_section_with_samples_and_the_health_table_links_to_it(demo: Document) -> None:
    ids = {section.id for section in walk(demo.sections)}
    health = tables(demo)["Every trial, and how the generator fared in it."]
    assert len(health.rows) == 30
    assert {row[0].link for row in health.rows} <= ids
    assert all(cell.link in ids for block in blocks(demo) if isinstance(block, Table) for row in block.rows for cell in row if cell.link)
    digest = (campaigns.demo().trials[3].samples or campaigns.demo().trials[3]).sha256  # type: ignore[union-attr]
    assert digest in str(plain(demo))


def test_trials_that_went_wrong_keep_their_place_and_reason() -> None:
    made = report(campaigns.troubled())
    by_id = {section.id: section for section in walk(made.sections)}
    notes = {index: [b for b in by_id[f"trial-{index}"].blocks if isinstance(b, Callout)] for index in (5, 13, 30, 1)}
    assert [each.title for each in notes[5]] == ["INVALID"]
    assert "480 frames" in notes[5][0].text
    assert [each.title for each in notes[13]] == ["ERROR"]
    assert [each.title for each in notes[30]] == ["Not run"]
    assert notes[1] == []
    found = rows(tables(made)["Throughput, strict priority, 60 Mbit/s per sender."])
    assert found["linux-htb"] == ["trial 5: sender 3 sent 480 frames where 494 were intended"]
    assert "3 of 30 trials gave no valid measurement" in made.cover.verdict_statement
    assert "The campaign is ABORTED" in made.cover.verdict_statement


def test_a_resumed_campaign_shows_its_seam() -> None:
    made = report(campaigns.troubled())
    health = tables(made)["Every trial, and how the generator fared in it."]
    at = next(place for place, row in enumerate(health.rows) if len(row) == 1)
    assert health.rows[at][0].text.startswith("Interrupted; resumed 2026-03-14")
    assert health.rows[at + 1][0].text == "18"
    assert "resumed 1 time" in made.cover.verdict_statement


@pytest.mark.parametrize("ended", [0, 1, 7])
def test_a_campaign_that_has_hardly_begun_can_be_reported(ended: int) -> None:
    campaign = campaigns.demo()
    trials = tuple(
        record if record.trial.index <= ended else dataclasses.replace(record, result=None, samples=None, started=None, ended=None)
        for record in campaign.trials
    )
    begun = dataclasses.replace(
        campaign, trials=trials, findings=(), verdict=None, calibration=None, configurations={}, provenance={}, state=CampaignState.RUNNING
    )
    made = report(begun)
    assert made.cover.verdict is None
    drawings = figures.render(figures_of(made), workers=0)
    assert drawings
    assert not [drawing.error for drawing in drawings.values() if drawing.error]
    assert len(plain(made)["flow"]) > 60


def test_all_figures_of_a_campaign_can_be_drawn_and_show_their_units(demo: Document) -> None:
    drawings = figures.render(figures_of(demo), workers=0)
    assert len(drawings) == 8
    assert not [drawing.error for drawing in drawings.values() if drawing.error]
    assert "Offered load per sender [Mbit/s, L1]" in drawings["figure-1"].svg
    assert "Mean delay [ms]" in drawings["figure-3"].svg
    assert all(f">{point}<" in drawings["figure-1"].svg for point in "ABCD")
    assert all(f">{point}<" in drawings["figure-2"].svg for point in "EF")
    assert "∞" in drawings["figure-3"].svg
    assert all(figure.alt for figure in blocks(demo) if isinstance(figure, Figure))


def test_eight_queues_and_four_devices() -> None:
    weights = [0.05, 0.05, 0.1, 0.1, 0.15, 0.15, 0.2, 0.2]
    names = ["a", "b", "c", "d"]
    campaign = campaigns.demo(
        devices=[{"name": name, "model": "reference"} for name in names],
        expect=[],
        queues={"count": 8},
        disciplines=["strict-priority", {"discipline": "wrr-packets", "weights": weights}],
    )
    made = report(campaign)
    throughput = tables(made)["Throughput of each queue, strict priority."]
    assert throughput.wide
    assert [column.title for column in throughput.columns[1:9]] == [f"q{queue}" for queue in range(8)]
    assert "#1" not in rows(tables(made)["Throughput, strict priority, 60 Mbit/s per sender."])
    shown = [block for block in blocks(made) if isinstance(block, Figure) and block.caption.startswith("Throughput")]
    assert [len(figure.data["devices"]) for figure in shown] == [3, 1, 3, 1]
    drawings = figures.render(figures_of(made), workers=0)
    assert not [drawing.error for drawing in drawings.values() if drawing.error]


def test_configurations_say_what_changed_and_whether_it_was_restored() -> None:
    texts = {
        "a, before strict-priority": "one\ntwo\n",
        "a, as tested with strict-priority": "one\nthree\n",
        "a, after strict-priority": "one\ntwo\n",
    }
    (section,) = configurations(texts)
    good, before, changed = section.sections[0].blocks
    assert isinstance(good, Callout)
    assert good.title == "Restored"
    assert isinstance(before, Preformatted)
    assert isinstance(changed, Preformatted)
    assert changed.text.splitlines() == [" one", "-two", "+three"]
    (section,) = configurations({**texts, "a, after strict-priority": "one\n"})
    warning = section.sections[0].blocks[0]
    assert isinstance(warning, Callout)
    assert warning.title == "Not restored"
    assert list(configurations({})) == []

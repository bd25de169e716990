"""The report says what Pantheon's said, in its order and to its digits, and keeps a place for what failed."""

import csv
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rackproof.model.campaign import CampaignRecord
from rackproof.model.traffic import Samples
from rackproof.model.trial import TrialResult
from rackproof.model.verdict import Verdict
from reports.campaign import document
from reports.document import Block, Callout, Document, Figure, KeyValues, Preformatted, Section, Table
from reports.plain import export, plain
from testplans.congestion_control.criteria import conclude
from testplans.congestion_control.quantities import QUANTITIES
from testplans.congestion_control.sections import comparison, sections
from tests.unit.congestion_control import campaigns

KIND = Path(__file__).parents[3] / "testplans" / "congestion_control"
FAILURE = "the sender of flow 1 ended after 2.1 s with status 1:\n" + "\n".join(f"connection refused {line}" for line in range(40))
FAILED = {
    1: TrialResult(verdict=Verdict.ERROR, reason=FAILURE),
    2: TrialResult(verdict=Verdict.INVALID, reason="flow 1 was to use cubic, but its sender used bbr"),
    3: TrialResult(verdict=Verdict.ERROR, reason="the program verus is not there"),
    6: TrialResult(verdict=Verdict.ERROR, reason="the program verus is not there"),
}


def nothing(_trial: int) -> Samples | None:
    return None


def report(campaign: CampaignRecord) -> Document:
    return document(campaign, "Congestion control", sections(campaign, nothing), datetime(2026, 3, 14, tzinfo=UTC))


def walk(parts: tuple[Section, ...]) -> Iterator[Section]:
    for part in parts:
        yield part
        yield from walk(part.sections)


def found(made: Document, title: str) -> Section:
    return next(section for section in walk(made.sections) if section.title == title)


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in table.rows]


def words(blocks: tuple[Block, ...]) -> dict[str, str]:
    return {name: value for block in blocks if isinstance(block, KeyValues) for name, value in block.pairs}


@pytest.fixture(scope="module")
def seed() -> CampaignRecord:
    return campaigns.published(KIND / "published" / "pantheon_runs.csv")


@pytest.fixture(scope="module")
def troubled() -> CampaignRecord:
    return campaigns.made_up(failures=FAILED, schemes=["bbr", "cubic", "verus"], runtime_s=3.0)


@pytest.fixture(scope="module")
def three() -> CampaignRecord:
    return campaigns.made_up(
        schemes=["cubic"], mixes=[["cubic", "bbr"]], flows=3, flow_interval_s=1.0, runtime_s=4.0, criteria={"jain_min": 0.1}
    )


def test_the_published_runs_give_the_published_table_cell_by_cell(seed: CampaignRecord) -> None:
    with (KIND / "published" / "pantheon_summary.csv").open() as file:
        printed = [list(row) for row in csv.reader(file)][1:]
    (table,) = comparison(seed)
    assert [[row[0], row[1], *row[2:]] for row in texts(table)] == printed
    assert [(column.title, column.unit) for column in table.columns] == [
        ("scheme", ""), ("# runs", ""), ("mean avg tput", "Mbit/s"), ("mean 95th-%ile delay", "ms"), ("mean loss rate", "%"),
    ]  # fmt: skip
    assert table.wide


def test_the_published_pages_stand_in_their_order_with_times_and_clock_offsets(seed: CampaignRecord) -> None:
    made = report(seed)
    titles = [section.title for section in walk(found(made, "Every run").sections) if ": " in section.title]
    expected = [
        f"Run {run}: {page} of {label}" for label in campaigns.LABELS.values() for run in (1, 2, 3) for page in ("Statistics", "Report")
    ]
    assert titles == expected
    page = words(found(made, "Run 1: Statistics of TCP BBR").blocks)
    assert page["Start at"] == "2018-01-18 09:59:34 UTC"
    assert page["End at"] == "2018-01-18 10:00:04 UTC"
    assert page["Local clock offset"] == "2.340 ms"
    assert page["Remote clock offset"] == "−1.520 ms"
    missing = found(made, "Run 1: Statistics of TCP Cubic")
    assert isinstance(missing.blocks[0], Callout)
    assert "no valid statistics" in missing.blocks[0].text
    assert isinstance(found(made, "Run 1: Report of TCP Cubic").blocks[0], Callout)


def test_sections_come_in_the_order_of_pantheons_report(seed: CampaignRecord, three: CampaignRecord) -> None:
    assert [section.title for section in sections(seed, nothing)] == [
        "What was compared",
        "Throughput against delay",
        "Summary of the schemes",
        "Every run",
        "How each number is defined",
    ]
    judged = campaigns.judged(three, conclude(three))
    assert [section.title for section in sections(judged, nothing)][3] == "Verdict"


def test_tables_lead_to_the_runs_and_every_link_leads_somewhere(troubled: CampaignRecord) -> None:
    data = plain(report(troubled))
    anchors = {block["anchor"] for block in data["flow"] if block["type"] == "heading"}
    anchors |= {
        block["anchor"] for page in data["flow"] if page["type"] == "landscape" for block in page["blocks"] if block["type"] == "heading"
    }
    tables = [block for block in data["flow"] if block["type"] == "table"]
    tables += [block for page in data["flow"] if page["type"] == "landscape" for block in page["blocks"] if block["type"] == "table"]
    links = {cell["link"] for table in tables for row in table["rows"] for cell in row if cell.get("link")}
    assert links <= anchors
    runs = next(table for table in tables if table["caption"].startswith("Every run"))
    assert [row[1]["text"] for row in runs["rows"]] == ["run 1", "run 2", "run 3"] * 3
    assert all(row[1]["link"] for row in runs["rows"])


def test_a_run_that_failed_keeps_its_place_with_its_reason(troubled: CampaignRecord) -> None:
    made = report(troubled)
    page = found(made, "Run 1: Statistics of TCP BBR")
    assert isinstance(page.blocks[0], Callout)
    assert page.blocks[0].title.startswith("ERROR")
    # A long reason is the end of a program's output: it stands there line by line.
    assert any(isinstance(block, Preformatted) and block.text == FAILURE for block in page.blocks)
    wrong = found(made, "Run 1: Statistics of TCP Cubic").blocks[0]
    assert isinstance(wrong, Callout)
    assert wrong.text == "flow 1 was to use cubic, but its sender used bbr"
    (table,) = comparison(troubled)
    counted = {row[0]: row[1:] for row in texts(table)}
    assert [counted[scheme][0] for scheme in ("TCP BBR", "TCP Cubic", "Verus")] == ["2", "2", "1"]


def test_a_scheme_without_a_valid_run_keeps_its_row() -> None:
    gone = TrialResult(verdict=Verdict.ERROR, reason="the program verus is not there")
    made = campaigns.made_up(failures={2: gone}, schemes=["bbr", "verus"], runtime_s=3.0, repetitions=1)
    (table,) = comparison(made)
    assert texts(table)[1] == ["Verus", "0", "N/A", "N/A", "N/A"]
    more = next(
        block for block in found(report(made), "Summary of the schemes").blocks if isinstance(block, Table) and "cost" in block.caption
    )
    last = more.rows[1][-1]
    assert (last.verdict, last.text) == (Verdict.ERROR, "the program verus is not there")


def test_a_campaign_of_which_nothing_ran_has_a_report() -> None:
    data = plain(report(campaigns.bare(schemes=["bbr", "cubic"])))
    assert any(block.get("title") == "Nothing to draw" for block in data["flow"])


def test_several_flows_have_a_column_each_and_a_row_each(three: CampaignRecord) -> None:
    (brief,) = comparison(three)
    assert [column.title for column in brief.columns] == ["Scheme", "Runs", "Throughput", "Delay p95", "True loss", "Jain's index"]
    assert [row[0] for row in texts(brief)] == ["TCP Cubic", "TCP Cubic + TCP BBR"]
    table = next(block for block in found(report(three), "Summary of the schemes").blocks if isinstance(block, Table))
    assert [column.title for column in table.columns[2:5]] == ["tput, flow 1", "tput, flow 2", "tput, flow 3"]
    mixed = texts(table)[1]
    assert mixed[0] == "TCP Cubic + TCP BBR"
    assert (mixed[4], mixed[7], mixed[10]) == ("N/A",) * 3
    flows = next(
        block
        for block in found(report(three), "Summary of the schemes").blocks
        if isinstance(block, Table) and block.caption == "Each flow."
    )
    assert [row[0] for row in texts(flows)] == [
        "TCP Cubic (3 runs)", "flow 1, TCP Cubic", "flow 2, TCP Cubic", "flow 3, TCP Cubic", "all flows",
        "TCP Cubic + TCP BBR (3 runs)", "flow 1, TCP Cubic", "flow 2, TCP BBR", "all flows",
    ]  # fmt: skip
    shared = next(
        block for block in found(report(three), "Summary of the schemes").blocks if isinstance(block, Table) and "cost" in block.caption
    )
    row = dict(zip((column.title for column in shared.columns), texts(shared)[0], strict=True))
    assert row["Convergence"] == "∞"
    assert re.fullmatch(r"[\d.]+ ± [\d.]+", row["Jain's index"])


def test_an_average_shows_the_interval_over_its_runs(troubled: CampaignRecord) -> None:
    table = next(
        block for block in found(report(troubled), "Summary of the schemes").blocks if isinstance(block, Table) and "cost" in block.caption
    )
    row = dict(zip((column.title for column in table.columns), texts(table)[1], strict=True))
    assert row["Runs"] == "2 of 3"
    assert "±" in row["Throughput"]


def test_the_statistics_of_a_run_have_the_total_and_each_flow(three: CampaignRecord) -> None:
    page = found(report(three), "Run 1: Statistics of TCP Cubic")
    table = next(block for block in page.blocks if isinstance(block, Table))
    assert [column.title for column in table.columns] == ["Quantity", "Unit", "Total of 3 flows", "Flow 1", "Flow 2", "Flow 3"]
    rows = {row[0]: row[2:] for row in texts(table)}
    assert all(value != "–" for value in rows["True loss"] + rows["Loss as Pantheon counts"])
    assert rows["Capacity"][1:] == ["–"] * 3


def test_every_number_is_defined_in_the_report_and_on_the_page_of_the_method(troubled: CampaignRecord) -> None:
    table = next(block for block in found(report(troubled), "How each number is defined").blocks if isinstance(block, Table))
    assert [row[0] for row in texts(table)] == [quantity.title for quantity in QUANTITIES]
    method = (KIND / "method.md").read_text()
    assert [quantity.name for quantity in QUANTITIES if f"| {quantity.name} |" not in method] == []


def test_samples_are_read_by_whoever_draws_and_never_exported(troubled: CampaignRecord) -> None:
    def refuse(trial: int) -> Samples | None:
        raise AssertionError(f"the samples of trial {trial} were read")

    made = document(troubled, "Congestion control", sections(troubled, refuse), datetime(2026, 3, 14, tzinfo=UTC))
    drawn = [block for section in walk(made.sections) for block in section.blocks if isinstance(block, Figure) and block.sketched]
    assert len(drawn) == 5
    exported = [block["data"] for block in export(made)["flow"] if block["type"] == "figure"]
    assert all("samples" not in data for data in exported)


def test_a_campaign_that_is_judged_says_of_which_scheme(three: CampaignRecord) -> None:
    judged = campaigns.judged(three, conclude(three))
    assert [panel.title for panel in report(judged).cover.panels] == ["cubic", "cubic+bbr"]


def test_the_published_numbers_stand_beside_a_campaign_of_the_same_schemes(seed: CampaignRecord, troubled: CampaignRecord) -> None:
    def beside(campaign: CampaignRecord) -> list[Table]:
        blocks = found(report(campaign), "Summary of the schemes").blocks
        return [block for block in blocks if isinstance(block, Table) and "published" in block.caption]

    (table,) = beside(seed)
    bbr = table.rows[0]
    assert [cell.text for cell in bbr if cell.muted] == ["39.28", "105.79", "0.23"]
    assert beside(troubled) == []

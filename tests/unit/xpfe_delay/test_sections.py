"""The report says what the paper says of its own numbers, shows them beside ours, and keeps a place for what failed."""

import dataclasses
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rackproof.model.campaign import CampaignRecord
from rackproof.model.traffic import Samples
from rackproof.model.trial import TrialResult
from rackproof.model.verdict import Verdict
from reports import figures
from reports.campaign import document
from reports.document import Block, Callout, Document, Figure, KeyValues, Section, Table
from reports.plain import plain
from testplans.xpfe_delay.budget import Holding, Reach
from testplans.xpfe_delay.classes import TrafficClass
from testplans.xpfe_delay.criteria import conclude
from testplans.xpfe_delay.published import campaign as published
from testplans.xpfe_delay.sections import comparison, sections
from testplans.xpfe_delay.sections_budget import reach_words
from tests.unit.xpfe_delay import campaigns

GENERATED = datetime(2026, 3, 14, tzinfo=UTC)
CPRI = TrafficClass(name="cpri", title="CPRI", budget_us=100.0)
LATE = TrialResult(verdict=Verdict.INVALID, reason="1 % of the frames were sent 4 100 us late or more")
BROKEN = TrialResult(verdict=Verdict.ERROR, reason="the engine of the links ended")


def nothing(_trial: int) -> Samples | None:
    return None


def report(campaign: CampaignRecord) -> Document:
    return document(campaign, "Multi-hop delay", sections(campaign, nothing), GENERATED)


@cache
def small() -> CampaignRecord:
    """Like the bench, with 10 us behind hop 2."""
    return campaigns.made_up(
        "bench", hops=[2, 3, 4], frame_bytes=[500, 1500], rates_mbps=[250, 750], planted=[{"hop": 2, "delay_us": 10}], rate_scale=0.2
    )


@cache
def made() -> Document:
    campaign = small()
    return report(campaigns.judged(campaign, conclude(campaign)))


def walk(parts: tuple[Section, ...]) -> Iterator[Section]:
    for part in parts:
        yield part
        yield from walk(part.sections)


def blocks(of: Document) -> list[Block]:
    return [block for section in walk(of.sections) for block in section.blocks]


def table(of: Document, begin: str) -> Table:
    return next(block for block in blocks(of) if isinstance(block, Table) and block.caption.startswith(begin))


def texts(found: Table) -> list[list[str]]:
    return [[cell.text for cell in row] for row in found.rows]


def callouts(of: Document) -> list[str]:
    return [block.title for block in blocks(of) if isinstance(block, Callout)]


def test_the_papers_own_campaign_gives_the_papers_verdict() -> None:
    hops, delays = comparison(published())
    rows = {row[0]: row[1:] for row in texts(hops)[1:4]}
    assert texts(hops)[0] == ["CPRI: 100 µs"]
    # At 4 hops CPRI's 100 us hold for 500 bytes at up to 500 Mbit/s, and nowhere else.
    assert {rate: cells[0][0] for rate, cells in rows.items()} == {"250 Mbit/s": "4", "500 Mbit/s": "4", "750 Mbit/s": "3"}
    assert all("4" not in cell.split(" (")[0] for cells in rows.values() for cell in cells[1:])
    assert texts(hops)[4] == ["Other functional splits: 1 ms"]
    assert all(cell.split(" (")[0] == "4" for row in texts(hops)[5:] for cell in row[1:])
    assert [row[0] for row in texts(delays)] == ["2 hops", "3 hops", "4 hops"]


def test_the_published_tables_stand_in_grey_below_ours() -> None:
    of = report(campaigns.made_up(hops=[3], frame_bytes=[750, 1000], rates_mbps=[250, 500, 750]))
    values, intervals = table(of, "Delay, xpfe: mean"), table(of, "95 % intervals")
    assert [row[0] for row in texts(values)] == ["3 hops", "750", "paper", "1000", "paper"]
    assert texts(values)[2][1:4] == ["72.28", "57.97", "79.98"]
    assert all(cell.muted for cell in values.rows[2])
    assert not any(cell.muted for cell in values.rows[1])
    assert "±" in texts(values)[1][1]
    # What is illegible in the paper is a dash, what the fit says stands where it differs.
    assert [row[0] for row in texts(intervals)] == ["3 hops", "750", "fit", "paper", "1000", "fit", "paper"]
    assert texts(intervals)[3][6] == "–, 81.88"
    assert texts(intervals)[6][1] == "–, 89.32"


def test_sizes_and_rates_that_the_paper_lacks_have_no_published_row() -> None:
    of = report(campaigns.made_up(hops=[2], frame_bytes=[64, 500], rates_mbps=[250]))
    assert [row[0] for row in texts(table(of, "Delay, xpfe: mean"))] == ["2 hops", "64", "500", "paper"]


def test_the_first_page_says_how_many_hops_and_that_rates_were_scaled() -> None:
    (panel,) = [panel for panel in made().cover.panels if panel.title == "xpfe"]
    said = [f"{title}: {value}" for _, title, value, _ in panel.criteria]
    cpri = next(line for line in said if line.startswith("CPRI (100 µs at the 99th percentile"))
    assert ": at least 4 hops" in cpri
    assert "scaled" in cpri
    assert "µs, at 4 hops" in cpri


def test_scaled_rates_are_said_wherever_delays_are_compared() -> None:
    assert "Rates are scaled" in callouts(made())
    own = report(campaigns.made_up("bench", hops=[2], frame_bytes=[500], rates_mbps=[250]))
    assert "Rates are scaled" not in callouts(own)
    pairs = dict(pair for block in blocks(own) if isinstance(block, KeyValues) for pair in block.pairs)
    assert pairs["Rates"].endswith("The rates are the plan's own.")


def test_a_planted_delay_stands_out_at_its_hop() -> None:
    assert "Hop 2 stands out" in callouts(made())
    rows = texts(table(made(), "The delay of each hop of xpfe over 4 hops"))
    assert [row[4][:2] for row in rows[1:5]] == ["0.", "10", "0.", "–"]


def test_parts_of_a_hop_follow_from_size_and_rate() -> None:
    rows = {row[0]: row for row in texts(table(made(), "The mean delay of xpfe taken apart"))}
    # 8 ns for each byte on a link of 1 Gbit/s, and nearly nothing within an element of the bench.
    assert rows["Each further hop: for each byte"][2].startswith("8.2")
    assert rows["of it beyond the link's serialisation"][2].startswith("0.2")


def test_every_trial_has_its_place_and_every_link_leads_there() -> None:
    data = plain(made())
    pages = [data["flow"], *(page["blocks"] for page in data["flow"] if page["type"] == "landscape")]
    found = [block for page in pages for block in page]
    anchors = {block["anchor"] for block in found if block["type"] == "heading"}
    links = {cell["link"] for block in found if block["type"] == "table" for row in block["rows"] for cell in row if cell.get("link")}
    assert links <= anchors
    ids = {section.id for section in walk(made().sections)}
    assert {f"trial-{record.trial.index}" for record in small().trials} <= ids


def test_fits_of_a_trial_are_ranked_by_their_error() -> None:
    fits = table(made(), "Fits, xpfe, 2 hops, 500 bytes, 250 Mbit/s")
    errors = [float(row[1]) for row in texts(fits)]
    assert errors == sorted(errors)
    assert len(errors) == 5
    assert [row[0].strong for row in fits.rows] == [True, False, False, False, False]


def test_trials_that_failed_keep_their_place_and_their_reason() -> None:
    of = report(campaigns.made_up(failures={1: LATE, 2: BROKEN, 3: BROKEN}, hops=[2], frame_bytes=[500, 1500], rates_mbps=[250, 500]))
    by_id = {section.id: section for section in walk(of.sections)}
    notes = [block for index in (1, 2, 4) for block in by_id[f"trial-{index}"].blocks if isinstance(block, Callout)]
    assert [(note.title, note.text) for note in notes] == [("INVALID", LATE.reason), ("ERROR", BROKEN.reason)]
    assert texts(table(of, "Delay, xpfe: mean"))[1] == ["500", LATE.reason]
    assert "2 of 4 trials" not in of.cover.verdict_statement
    assert "3 of 4 trials gave no valid measurement" in of.cover.verdict_statement


def test_without_records_of_the_links_the_report_says_what_is_not_known() -> None:
    of = report(campaigns.made_up(taps=False, testbed="lab", hops=[2, 3], frame_bytes=[500, 1500], rates_mbps=[250, 500]))
    assert callouts(of).count("No record hop by hop") == 2
    assert "every hop alike" in table(of, "What takes how much of the budgets").note


def test_several_chains_stand_side_by_side() -> None:
    campaign = campaigns.made_up("bench", chains=["xpfe", "linux-bridge"], hops=[2, 4], frame_bytes=[500], rates_mbps=[250])
    first = comparison(campaign)[0]
    assert [column.title for column in first.columns] == ["Hops", "xpfe", "linux-bridge"]
    assert [row[0] for row in texts(first)] == ["500 bytes", "2 hops", "4 hops"]
    assert all("±" in cell for row in texts(first)[1:] for cell in row[1:])


@pytest.mark.parametrize(
    "changes",
    [
        {"hops": [1], "frame_bytes": [500], "rates_mbps": [250]},
        {"hops": [4], "frame_bytes": [1000], "rates_mbps": [100, 200, 300, 400]},
        {"hops": [2, 3], "frame_bytes": [500], "rates_mbps": [250], "repetitions": 2, "chains": ["xpfe", "linux-bridge"]},
    ],
    ids=["one trial", "one size and hop count", "two chains"],
)
def test_small_campaigns_have_a_whole_report(changes: Mapping[str, Any]) -> None:
    campaign = campaigns.made_up(**changes)
    of = report(campaigns.judged(campaign, conclude(campaign)))
    ids = {section.id for section in walk(of.sections)}
    assert {"setup", "hops", "tables", "distributions", "parts", "budget", "path", "verdict", "trials"} <= ids
    errors = [figures.draw(block).error for block in blocks(of) if isinstance(block, Figure)]
    assert errors
    assert set(errors) == {""}


def test_a_campaign_without_a_valid_trial_has_a_report_that_says_so() -> None:
    for campaign in (campaigns.bare(hops=[2]), campaigns.made_up(failures=dict.fromkeys(range(1, 4), BROKEN), hops=[2], frame_bytes=[500])):
        of = report(dataclasses.replace(campaign, findings=conclude(campaign)))
        assert {"Nothing to judge", "Nothing to draw", "Nothing to take apart", "Nothing to follow"} <= set(callouts(of))
        assert not [block for block in blocks(of) if isinstance(block, Figure)]


@pytest.mark.parametrize(
    ("measured", "predicted", "words"),
    [
        ({2: "holds", 4: "holds"}, {5: "holds", 6: "does not hold"}, "4 (5)"),
        ({2: "holds", 4: "holds"}, {5: "undecided"}, "4"),
        ({2: "holds", 4: "undecided"}, {}, "2, 4?"),
        ({2: "holds", 4: "does not hold"}, {}, "2"),
        ({2: "does not hold", 4: "does not hold"}, {}, "< 2"),
        ({2: "undecided"}, {}, "2?"),
        ({4: "holds"}, dict.fromkeys(range(5, 65), "holds"), "4 (≥64)"),
        ({}, {}, "–"),
    ],
)
def test_how_far_a_class_gets_is_said_in_few_letters(measured: dict[int, str], predicted: dict[int, str], words: str) -> None:
    found = [{hops: Holding(word) for hops, word in each.items()} for each in (measured, predicted)]
    reach = Reach(chain="xpfe", traffic_class=CPRI, frame_bytes=500, rate_mbps=250.0, measured=found[0], predicted=found[1])
    assert reach_words(reach) == words


def test_every_number_is_defined_on_the_page_of_the_method() -> None:
    method = (Path(__file__).parents[3] / "testplans" / "xpfe_delay" / "method.md").read_text()
    names = {each.name for record in small().trials if record.result for each in record.result.measurements}
    known = {name for name in names if not name.startswith(("fit.parameter.", "delay.fit."))}
    assert [name for name in sorted(known) if name not in method] == []

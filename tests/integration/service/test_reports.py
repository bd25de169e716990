"""Are finished reports found again?"""

from collections.abc import Callable

import pytest

from rackproof.errors import NotFound
from rackproof.store import Store


def files(letter: str) -> dict[str, tuple[str, str]]:
    return {kind: (f"report-1-{letter * 16}.{kind}", letter * 64) for kind in ("pdf", "html", "json")}


def test_the_newest_report_is_the_one_that_was_made_last(store: Store, campaign: Callable[..., int]) -> None:
    number = campaign()
    assert store.reports.latest(number) is None
    first = store.reports.add(number, **files("a"))
    second = store.reports.add(number, **files("b"))
    latest = store.reports.latest(number)
    assert latest is not None
    assert (latest.id, latest.campaign, latest.pdf_sha256) == (second, number, "b" * 64)
    # The same content again is the same report, and the newest.
    assert store.reports.add(number, **files("a")) == first
    assert [report.id for report in store.reports.list(number)] == [first, second]
    assert store.reports.get(second).html_path == f"report-1-{'b' * 16}.html"


def test_a_pin_says_who_set_it_first(store: Store, campaign: Callable[..., int]) -> None:
    report = store.reports.add(campaign(), **files("a"))
    assert store.reports.get(report).pinned is None
    pinned = store.reports.pin(report, "mira")
    assert pinned.pinned is not None
    assert store.reports.pin(report, "jan") == pinned
    assert pinned.pinned_by == "mira"
    unpinned = store.reports.unpin(report)
    assert (unpinned.pinned, unpinned.pinned_by) == (None, "")


def test_what_is_not_there_is_named(store: Store) -> None:
    with pytest.raises(NotFound, match="no report 5"):
        store.reports.get(5)
    with pytest.raises(NotFound, match="no report 5"):
        store.reports.pin(5, "mira")
    with pytest.raises(NotFound, match="no campaign 5"):
        store.reports.add(5, **files("a"))

"""What did the paper measure? Its Tables IV to VII, and what its text says of K."""

import csv
import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

NETWORK, SINGLE = "network", "single"

_TEST = re.compile(r"([1-4]\.[1-3])(\.(x|\d+))?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Published:
    """Average delay of the stable LSPs in one test, over all its numbers of flapped LSPs [ms]."""

    frame_bytes: int
    rate_mbps: float
    prior_ms: float
    during_ms: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Threshold:
    """K = N up to so many flapped LSPs, as the text says; least and most where it names a range."""

    least: int
    most: int


def published(scenario: str, test: str) -> Published | None:
    """A test ("1.1", "1.1.x" or "1.1.4") of the scenario NETWORK or SINGLE; None where the paper has none of that name."""
    found = _TEST.fullmatch(test)
    return _table().get((scenario, found[1])) if found else None


def threshold(test: str) -> Threshold | None:
    """Up to where K = N within the first window of 5 s, in either scenario; None where the paper says nothing.

    Section V: with 100 stable LSPs (tests 1 and 3) up to 300; with as many stable ones as flapped (2 and 4) "250 or 300 depending on the
    tests".
    """
    found = _TEST.fullmatch(test)
    if found is None:
        return None
    return Threshold(least=300, most=300) if found[1][0] in "13" else Threshold(least=250, most=300)


@functools.cache
def _table() -> Mapping[tuple[str, str], Published]:
    with (Path(__file__).parent / "mpls_delay.csv").open(newline="") as file:
        return {
            (row["scenario"], row["test"].removesuffix(".x")): Published(
                frame_bytes=int(row["frame_bytes"]),
                rate_mbps=float(row["rate_mbps"]),
                prior_ms=float(row["prior_ms"]),
                during_ms=float(row["during_ms"]),
            )
            for row in csv.DictReader(file)
        }

"""Which colour does a queue, a verdict or a line have? One answer for figures, PDF, HTML and the pages in the browser."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from rackproof.model.verdict import Verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """How one series is drawn, always: its colour on paper, its colour on a dark screen, its marker."""

    colour: str
    dark: str
    marker: str


#: Queue 0 (the lowest) to 7: after Okabe and Ito, told apart by people with any colour vision, and by marker where there is no colour.
#: The four of a four-queue switch go from warm to cool as the priority rises.
QUEUES: tuple[Mark, ...] = (
    Mark(colour="#c4500a", dark="#f08a4b", marker="o"),
    Mark(colour="#d99a00", dark="#f0bd45", marker="s"),
    Mark(colour="#00926b", dark="#35c79c", marker="^"),
    Mark(colour="#0067a8", dark="#5aaeea", marker="D"),
    Mark(colour="#b5568f", dark="#e08fc0", marker="v"),
    Mark(colour="#4aa3d6", dark="#8fd0f5", marker="P"),
    Mark(colour="#6a4fa3", dark="#ab95e0", marker="X"),
    Mark(colour="#4d4a45", dark="#b9b4ab", marker="*"),
)

#: Schemes of congestion control, by the place that scheme_place() gives: every colour once among the known ones.
SCHEMES: tuple[Mark, ...] = (
    Mark(colour="#0067a8", dark="#5aaeea", marker="o"),
    Mark(colour="#c4500a", dark="#f08a4b", marker="s"),
    Mark(colour="#00926b", dark="#35c79c", marker="^"),
    Mark(colour="#8a5a2b", dark="#c99a6b", marker="D"),
    Mark(colour="#d99a00", dark="#f0bd45", marker="v"),
    Mark(colour="#b5568f", dark="#e08fc0", marker="P"),
    Mark(colour="#4aa3d6", dark="#8fd0f5", marker="X"),
    Mark(colour="#5f8a1c", dark="#a4cf5f", marker="*"),
    Mark(colour="#6a4fa3", dark="#ab95e0", marker="s"),
    Mark(colour="#c0283c", dark="#f0707f", marker="D"),
    Mark(colour="#4d4a45", dark="#b9b4ab", marker="^"),
    Mark(colour="#007f86", dark="#45bfc6", marker="v"),
    Mark(colour="#9a8400", dark="#d3bd3f", marker="o"),
    Mark(colour="#3a45b0", dark="#8b95f0", marker="P"),
    Mark(colour="#84a01e", dark="#bfd96a", marker="X"),
    Mark(colour="#d1608a", dark="#f59dbb", marker="*"),
    Mark(colour="#9a6fd6", dark="#c9a9f7", marker="v"),
    Mark(colour="#2f6f4f", dark="#76b896", marker="s"),
    Mark(colour="#b07a4f", dark="#dbaf8b", marker="^"),
    Mark(colour="#5f7f9f", dark="#9fbbd6", marker="D"),
    Mark(colour="#a04a3a", dark="#d98f80", marker="o"),
    Mark(colour="#7a3f6f", dark="#c08ab5", marker="X"),
    Mark(colour="#3f9fa0", dark="#86d6d6", marker="P"),
    Mark(colour="#8c8c5a", dark="#c6c690", marker="*"),
)
#: Those that everybody compares have the first places: Pantheon's, in the order of its table, then newer ones.
_PLACES: Mapping[str, int] = {
    scheme: place
    for place, scheme in enumerate(
        (
            *("bbr", "cubic", "ledbat", "pcc", "quic-cubic", "scream", "webrtc", "sprout", "taova", "vegas", "verus", "copa", "fillp"),
            *("indigo", "vivace-latency", "vivace-loss", "vivace-lte", "reno", "bbr3", "newreno", "dctcp", "westwood", "illinois", "yeah"),
        )
    )
}

INK = "#1c2127"
INK_SOFT = "#59626d"
INK_FAINT = "#8b949e"
GRID = "#dfe3e8"
RULE = "#b4bcc6"
PAPER = "#ffffff"

#: Neutral colours of figures -> the same on a dark screen.
DARK: Mapping[str, str] = {
    INK: "#e6e9ed",
    INK_SOFT: "#aeb6c0",
    INK_FAINT: "#828b96",
    GRID: "#323943",
    RULE: "#4d5763",
    PAPER: "#15191e",
    **{mark.colour: mark.dark for mark in (*QUEUES, *SCHEMES)},
}

#: The ground of a verdict's badge, on which its word stands in white: at least 4.5 to 1.
VERDICTS: Mapping[Verdict, str] = {
    Verdict.PASS: "#1b7a46",
    Verdict.FAIL: "#b3241c",
    Verdict.INVALID: "#8a5800",
    Verdict.ABORTED: "#5a636e",
    Verdict.TIMEOUT: "#8a3b78",
    Verdict.ERROR: "#5b3fa0",
}
#: Where there is no verdict yet.
NO_VERDICT = "#5a636e"

#: Callouts: rule and title, by tone.
TONES: Mapping[str, str] = {"note": "#0067a8", "warning": "#8a5800", "good": "#1b7a46"}


def queue(index: int) -> Mark:
    """How queue `index` is drawn in every figure."""
    return QUEUES[index % len(QUEUES)]


def scheme_place(scheme: str) -> int:
    """The place in SCHEMES of a scheme's colour: its own for a known one; for any other it follows from the id, and may be shared."""
    known = _PLACES.get(scheme)
    return zlib.crc32(scheme.encode()) % len(SCHEMES) if known is None else known


def scheme(scheme: str) -> Mark:
    """How a scheme of congestion control is drawn in every figure; one that shares its colour mostly has a marker of its own."""
    mark = SCHEMES[scheme_place(scheme)]
    if scheme in _PLACES:
        return mark
    return replace(mark, marker=QUEUES[zlib.crc32(scheme.encode()) // len(SCHEMES) % len(QUEUES)].marker)

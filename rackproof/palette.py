"""Which colour does a queue, a verdict or a line have? One answer for figures, PDF, HTML and the pages in the browser."""

from collections.abc import Mapping
from dataclasses import dataclass

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
    **{mark.colour: mark.dark for mark in QUEUES},
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

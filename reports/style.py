"""What reports look like: colours (from the palette), markers and type. Free of matplotlib, so that it costs nothing to import."""

from collections.abc import Mapping
from typing import Any

from rackproof.palette import (
    DARK,
    GRID,
    INK,
    INK_FAINT,
    INK_SOFT,
    NO_VERDICT,
    PAPER,
    QUEUES,
    RULE,
    SCHEMES,
    TONES,
    VERDICTS,
    Mark,
    queue,
    scheme,
)
from reports import typeface

__all__ = [
    "DARK",
    "GRID",
    "INK",
    "INK_FAINT",
    "INK_SOFT",
    "NO_VERDICT",
    "PAPER",
    "QUEUES",
    "RC",
    "RULE",
    "SCHEMES",
    "SMALL_PT",
    "TEXT_PT",
    "TONES",
    "VERDICTS",
    "Mark",
    "queue",
    "scheme",
]

#: Sizes of type in figures [pt], at the size at which they are printed.
TEXT_PT = 8.0
SMALL_PT = 7.0

#: matplotlib's settings for every figure. Text is never markup: a device may be called "$x$".
RC: Mapping[str, Any] = {
    "text.parse_math": False,
    "text.usetex": False,
    "font.family": [typeface.FAMILY],
    "font.size": TEXT_PT,
    "text.color": INK,
    "axes.edgecolor": RULE,
    "axes.labelcolor": INK_SOFT,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "axes.axisbelow": True,
    "axes.xmargin": 0.0,
    "grid.color": GRID,
    "grid.linewidth": 0.5,
    "xtick.color": RULE,
    "ytick.color": RULE,
    "xtick.labelcolor": INK_SOFT,
    "ytick.labelcolor": INK_SOFT,
    "xtick.labelsize": SMALL_PT + 0.5,
    "ytick.labelsize": SMALL_PT + 0.5,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.6,
    "lines.markeredgewidth": 0.0,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "savefig.transparent": True,
    "figure.dpi": 200,
    "svg.fonttype": "none",
    "svg.hashsalt": "rackproof",
    "path.simplify": True,
}

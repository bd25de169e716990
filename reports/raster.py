"""Points by the hundred thousand, as one small image: 10 ms for what takes matplotlib a second."""

from collections.abc import Sequence
from io import BytesIO

import numpy as np
import numpy.typing as npt
from PIL import Image

from reports import style

DPI = 300
_POINTS_PER_INCH = 72
#: A dot's width [px] for up to so many points: few ones must be seen, many would run into each other.
_DOTS = ((2_000, 6), (20_000, 4), (60_000, 3))
_DOT = 2


def scatter(
    size_pt: tuple[float, float],
    across: npt.NDArray[np.float64],
    up: npt.NDArray[np.float64],
    series: npt.ArrayLike,
    colours: Sequence[str],
) -> bytes:
    """A PNG of all points, in their order: a later one covers an earlier one.

    across, up: places from 0 to 1 between the edges; what lies outside is left out. series: for each point the index of its colour
    ("#rrggbb"), of which there are at most 15. The ground is opaque paper: a transparent one costs twice the time in a PDF.
    """
    width, height = (round(side / _POINTS_PER_INCH * DPI) for side in size_pt)
    inside = (across >= 0) & (across <= 1) & (up >= 0) & (up <= 1)
    dot = next((size for most, size in _DOTS if np.count_nonzero(inside) <= most), _DOT)
    pixels = np.zeros((height, width), np.uint8)
    flat = pixels.reshape(-1)
    corner = ((1 - up[inside]) * (height - dot)).astype(np.int64) * width + (across[inside] * (width - dot)).astype(np.int64)
    colour = np.asarray(series, np.uint8)[inside] + np.uint8(1)
    for below in range(dot):
        for right in range(dot):
            flat[corner + (below * width + right)] = colour
    return _png(pixels, colours)


def _png(pixels: npt.NDArray[np.uint8], colours: Sequence[str]) -> bytes:
    """pixels: 0 for paper, else 1 + the index of a colour."""
    image = Image.fromarray(pixels)
    image.putpalette([int(colour[at : at + 2], 16) for colour in (style.PAPER, *colours) for at in (1, 3, 5)])
    out = BytesIO()
    image.save(out, "PNG", bits=1 if len(colours) == 1 else 2 if len(colours) <= 3 else 4, compress_level=4)
    return out.getvalue()

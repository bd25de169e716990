"""How evenly is something shared?"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def jain(shares: Floats) -> Floats:
    """Jain's index of each column (Jain, Chiu, Hawe 1984): 1 where all rows are equal, 1 / rows where one has all; nan where all are 0."""
    squares = (shares**2).sum(axis=0) * shares.shape[0]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(shares.sum(axis=0) ** 2 / squares, np.float64)


def spread(shares: Floats) -> float:
    """Largest relative difference: the largest share minus the smallest, by their mean; nan where nothing is shared."""
    centre = float(shares.mean()) if shares.size else 0.0
    return float(shares.max() - shares.min()) / centre if centre else float("nan")


def difference(high: int, low: int, shares: Floats) -> Floats:
    """The same between two given rows, signed, for each column: which rows are extreme is decided once, on all data."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((shares[high] - shares[low]) / shares.mean(axis=0), np.float64)

"""How much does delay vary from frame to frame?"""

import numpy as np
import numpy.typing as npt


def follows(sequence: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Which frames were sent right after the one before them in the array; never the first. Numbers ascend."""
    found = np.zeros(len(sequence), np.bool_)
    if len(sequence) > 1:
        np.equal(sequence[1:] - sequence[:-1], 1, out=found[1:])
    return found


def ipdv(delays: npt.NDArray[np.float32], pairs: npt.NDArray[np.bool_]) -> npt.NDArray[np.float32]:
    """Absolute one-way inter-packet delay variation (RFC 3393) of frames sent one after the other that both arrived; 0 elsewhere.

    Arrays are in the order of sending; pairs: see `follows`. IPDV and not PDV (RFC 5481, section 4): PDV is the delay above the least one,
    which the quantiles of the delay say already.
    """
    found = np.zeros(len(delays), np.float32)
    if len(delays) > 1:
        np.subtract(delays[1:], delays[:-1], out=found[1:])
        np.abs(found, out=found)
        found *= pairs
    return found

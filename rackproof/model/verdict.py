"""What a trial or a campaign came to."""

from collections.abc import Iterable
from enum import StrEnum


class Verdict(StrEnum):
    """The outcome of a trial, a criterion or a campaign (after openhtf).

    FAIL: the device is not what was promised. ERROR: the laboratory failed. TIMEOUT: something did not end within its bound.
    ABORTED: somebody stopped it. INVALID: it ran, but the measurement cannot be trusted.
    """

    PASS = "PASS"
    FAIL = "FAIL"
    INVALID = "INVALID"
    ABORTED = "ABORTED"
    TIMEOUT = "TIMEOUT"
    ERROR = "ERROR"


_SEVERITY = {verdict: rank for rank, verdict in enumerate(Verdict)}


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The most severe of the verdicts, in the order of the enumeration. Raises ValueError where there is none."""
    return max(verdicts, key=_SEVERITY.__getitem__)

"""What analysis concludes over a campaign."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rackproof.model.measurement import Interval
from rackproof.model.verdict import Verdict

#: A finding with this detail answers what the campaign was run for: whoever shows findings in short shows it, whatever its verdict.
ANSWER = "answer"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One criterion, judged.

    criterion: its id ("sp.leak"); title: in words; subject: of what ({"device": "linux-htb", "discipline": "strict-priority"}); value, unit
    and interval: the number it rests on; limit: the bound in words ("at most 1 %"); statement: one sentence that a vendor would read;
    trials: the indices that it rests on.
    """

    criterion: str
    title: str
    subject: Mapping[str, str]
    verdict: Verdict
    value: float
    unit: str
    n: int
    interval: Interval | None
    limit: str
    statement: str
    trials: tuple[int, ...]
    detail: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_answer(self) -> bool:
        """Whether it answers what the campaign was run for."""
        return ANSWER in self.detail

"""What do the findings of a network mean in plain words: does forwarding stay true while LSPs flap, and what is wrong with it?"""

from dataclasses import dataclass

from rackproof.model.finding import Finding
from rackproof.model.verdict import Verdict
from testplans.mpls_flap.view import View

#: Criteria that say whether the stable LSPs notice the flaps; the one that answers how many LSPs come back in time.
FORWARDING = ("separation", "loss")
CONTROL = "control"
_GROWING = "Whether the stable LSPs notice that others flap cannot be told: their delay grows by itself"


@dataclass(frozen=True, kw_only=True, slots=True)
class Meaning:
    """true: forwarding stays as it was (None: that is not settled). told: what it rests on; defects: what is wrong, besides."""

    network: str
    true: bool | None
    headline: str
    told: tuple[str, ...]
    defects: tuple[str, ...]
    expected: bool

    @property
    def tone(self) -> str:
        """How a remark of it is set apart."""
        if self.true and not self.defects:
            return "good"
        return "note" if self.true is None and not self.defects else "warning"


def meaning(seen: View, network: str) -> Meaning | None:
    """What the findings of a network say together; None where it was not judged."""
    mine = [finding for finding in seen.campaign.findings if finding.subject.get("device") == network]
    if not mine:
        return None
    forwarding = [finding for finding in mine if finding.criterion in FORWARDING]
    control = [finding for finding in mine if finding.criterion == CONTROL]
    others = [finding for finding in mine if finding not in forwarding and finding not in control]
    growing = any(finding.detail.get("growing") for finding in forwarding)
    true = None if growing else _true(forwarding)
    wrong = {finding.criterion for finding in mine if finding.verdict is Verdict.FAIL}
    expected = {each.device: set(each.criteria) for each in seen.plan.expect}
    return Meaning(
        network=network,
        true=true,
        headline=_GROWING if growing else _headline(true, bool(wrong - set(FORWARDING))),
        told=tuple(_of(network, finding) for finding in (*forwarding, *control)),
        defects=tuple(_of(network, finding) for finding in others if finding.verdict is not Verdict.PASS),
        expected=bool(wrong) and wrong == expected.get(network, set()),
    )


def _true(forwarding: list[Finding]) -> bool | None:
    verdicts = {finding.verdict for finding in forwarding}
    if Verdict.FAIL in verdicts:
        return False
    if any("growing" in finding.detail for finding in forwarding):
        return None  # nothing is worse, but what flaps add to a delay that grows anyway cannot be told
    return True if verdicts == {Verdict.PASS} else None


def _headline(true: bool | None, defects: bool) -> str:
    if true is None:
        return "Whether forwarding stays true while LSPs flap is not settled"
    if not true:
        return "Forwarding does not stay true while LSPs flap"
    return (
        "The stable LSPs do not notice that others flap, but something else is wrong"
        if defects
        else "Forwarding stays true while LSPs flap"
    )


def _of(network: str, finding: Finding) -> str:
    """The statement without the network's name in front, which stands above it."""
    text = finding.statement.removeprefix(f"{network}: ")
    return f"{text[:1].upper()}{text[1:]}"

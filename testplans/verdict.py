"""One verdict over a campaign, from its findings, its trials and what the plan expects."""

from collections.abc import Mapping, Sequence

from rackproof.model.campaign import TrialRecord
from rackproof.model.finding import Finding
from rackproof.model.verdict import Verdict, worst


def campaign_verdict(
    findings: Sequence[Finding], trials: Sequence[TrialRecord], expectation: Mapping[str, Sequence[str]]
) -> tuple[Verdict, str]:
    """The verdict and, where it is not PASS, why.

    expectation: device -> the criteria that it is expected to fail. Such a device must fail exactly these: one that fails others, or does
    not fail one of them, makes the campaign FAIL, for then either the planted fault or the analysis is not what it should be. Trials that
    gave no valid result outweigh every finding.
    """
    broken = [trial for trial in trials if trial.result is not None and trial.result.verdict is not Verdict.PASS]
    missing = [trial for trial in trials if trial.result is None]
    if missing:
        return Verdict.ABORTED, f"{len(missing)} of {len(trials)} trials have not run"
    if broken:
        verdict = worst(trial.result.verdict for trial in broken if trial.result is not None)
        first = broken[0]
        reason = first.result.reason if first.result is not None else ""
        return verdict, f"{len(broken)} of {len(trials)} trials gave no valid result; trial {first.trial.index}: {reason}"
    surprises = []
    for finding in findings:
        expected_to_fail = finding.criterion in expectation.get(finding.subject.get("device", ""), ())
        if finding.verdict is Verdict.FAIL and not expected_to_fail:
            surprises.append(finding.statement)
        elif finding.verdict not in (Verdict.PASS, Verdict.FAIL):
            return finding.verdict, finding.statement
    for device, criteria in expectation.items():
        failed = {finding.criterion for finding in findings if finding.subject.get("device") == device and finding.verdict is Verdict.FAIL}
        surprises += [f"{device} was expected to fail {criterion}, but did not" for criterion in criteria if criterion not in failed]
    if surprises:
        return Verdict.FAIL, "; ".join(surprises)
    return Verdict.PASS, ""

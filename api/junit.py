"""How does a CI system read a verdict? As JUnit XML: a suite for the campaign, a case for each finding and each trial that is not PASS."""

import re
from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement, tostring

from rackproof.model.finding import Finding
from rackproof.model.verdict import Verdict
from rackproof.store.browse_rows import CampaignDetail, TrialRow

MEDIA_TYPE = "application/xml"

# What XML 1.0 has no way to write.
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ELEMENTS = {Verdict.FAIL: "failure", Verdict.ABORTED: "skipped"}


def junit(detail: CampaignDetail, trials: Iterable[TrialRow], url: str) -> bytes:
    """The campaign as a document. FAIL is a failure, ABORTED skipped, and INVALID, TIMEOUT and ERROR are errors: the laboratory's."""
    row = detail.row
    root = Element("testsuites", {"name": "rackproof"})
    suite = SubElement(root, "testsuite", {"name": _text(row.name), "id": str(row.id), "hostname": _text(row.testbed)})
    if row.started is not None:
        suite.set("timestamp", row.started.isoformat(timespec="seconds"))
        if row.ended is not None:
            suite.set("time", f"{(row.ended - row.started).total_seconds():.3f}")
    properties = SubElement(suite, "properties")
    for name, value in (
        ("campaign", str(row.id)),
        ("kind", row.kind),
        ("testbed", row.testbed),
        ("state", row.state.value),
        ("verdict", row.verdict.value if row.verdict is not None else ""),
        ("reason", row.reason),
        ("plan_sha256", detail.plan_sha256),
        ("url", url),
    ):
        SubElement(properties, "property", {"name": name, "value": _text(value)})
    judged = [_finding(suite, row.kind, finding) for finding in detail.findings]
    judged += [_trial(suite, row.kind, trial) for trial in trials]
    if not judged and row.verdict is not None:
        case = SubElement(suite, "testcase", {"classname": row.kind, "name": "campaign"})
        judged.append(_judge(case, row.verdict, row.reason))
    suite.set("tests", str(len(judged)))
    for element, attribute in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(attribute, str(judged.count(element)))
    document: bytes = tostring(root, "utf-8", xml_declaration=True)
    return document


def _finding(suite: Element, kind: str, finding: Finding) -> str:
    subject = ", ".join(f"{name} {value}" for name, value in finding.subject.items())
    name = f"{finding.title} ({subject})" if subject else finding.title
    case = SubElement(suite, "testcase", {"classname": _text(f"{kind}.{finding.criterion}"), "name": _text(name)})
    element = _judge(case, finding.verdict, finding.statement)
    measured = f"{finding.statement}\nlimit: {finding.limit}\nvalue: {finding.value} {finding.unit} (n = {finding.n})"
    SubElement(case, "system-out").text = _text(measured)
    return element


def _trial(suite: Element, kind: str, trial: TrialRow) -> str:
    case = SubElement(suite, "testcase", {"classname": _text(f"{kind}.trial"), "name": _text(f"trial {trial.index}: {trial.label}")})
    if trial.started is not None and trial.ended is not None:
        case.set("time", f"{(trial.ended - trial.started).total_seconds():.3f}")
    return _judge(case, trial.verdict or Verdict.ABORTED, trial.reason)


def _judge(case: Element, verdict: Verdict, why: str) -> str:
    if verdict is Verdict.PASS:
        return ""
    element = _ELEMENTS.get(verdict, "error")
    said = SubElement(case, element, {"message": _text(why)})
    if element != "skipped":
        said.set("type", verdict.value)
        said.text = _text(why)
    return element


def _text(value: str) -> str:
    return _UNWRITABLE.sub("\N{REPLACEMENT CHARACTER}", value)

"""Does a digest say what it should, and stay harmless whatever people call things?"""

import json
from email import message_from_bytes
from email.policy import default
from typing import Any

import pytest

from orchestrator.service.letters import chat, mail

EVIL = '<script>alert(1)</script> & <!channel> "quoted"\nBcc: eve@example.org \u0000\ud800 {{ 7 * 7 }} |<https://evil.example|x>'


def a_digest(**changes: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "schedule": "nightly",
        "schedule_id": 1,
        "run": 7,
        "due": "2026-03-02T21:00:00+00:00",
        "due_there": "2026-03-02 22:00",
        "zone": "Europe/Zurich",
        "why": "",
        "verdict": "FAIL",
        "counts": {"PASS": 1, "FAIL": 1},
        "campaigns": [a_campaign(), a_campaign(id=13, name="other", verdict="FAIL", reason="q3 starves", was="PASS", report="late")],
        "refused": [{"plan": 3, "name": "plan 3", "error": "plan 3: the plan cannot be used\n  line 2: turns"}],
        "previous_run": 6,
        "changes": [{"campaign": "other", "what": "verdict", "title": "the verdict", "before": "PASS", "after": "FAIL"}],
        "link": "https://rackproof.example.org/schedules/runs/7",
    }
    return {**values, **changes}


def a_campaign(**changes: Any) -> dict[str, Any]:
    number = changes.get("id", 12)
    values: dict[str, Any] = {
        "id": number,
        "name": "strict priority",
        "testbed": "bench",
        "verdict": "PASS",
        "reason": "",
        "trials": 20,
        "duration_s": 61.0,
        "report": "ready",
        "was": "PASS",
        "previous": 2,
        "link": f"https://rackproof.example.org/campaigns/{number}",
        "report_link": f"https://rackproof.example.org/api/v1/campaigns/{number}/report.pdf",
    }
    return {**values, **changes}


def parts(digest: dict[str, Any]) -> tuple[Any, str, str]:
    """The mail as somebody else reads it: headers, plain text, HTML."""
    sent = mail(digest, sender="Rackproof <rackproof@example.org>", recipient="ada@example.org", message_id="<rackproof-7-1@example.org>")
    read = message_from_bytes(sent.as_bytes(), policy=default)
    text, html = read.get_body(("plain",)), read.get_body(("html",))
    assert text is not None
    assert html is not None
    return read, text.get_content(), html.get_content()


def test_a_mail_says_verdicts_changes_and_links_in_both_forms() -> None:
    read, text, html = parts(a_digest())
    assert read["Subject"] == "FAIL: nightly, run 7"
    assert (read["To"], read["Message-ID"]) == ("ada@example.org", "<rackproof-7-1@example.org>")
    for form in (text, html):
        for said in (
            "strict priority",
            "q3 starves",
            "was PASS",
            "2026-03-02 22:00 (Europe/Zurich)",
            "Changed since run 6",
            "/schedules/runs/7",
        ):
            assert said in form
        assert "campaigns/12/report.pdf" in form
        assert "campaigns/13/report.pdf" not in form
        assert "its report is not written yet" in form
        assert "plan 3 was not run" in form
    assert "- other: the verdict: PASS -> FAIL" in text
    assert "\n\n\n" not in text


def test_without_a_public_url_there_are_no_links_and_without_an_earlier_run_no_changes() -> None:
    campaign = a_campaign(link=None, report_link=None, was=None, previous=None)
    digest = a_digest(campaigns=[campaign], link=None, previous_run=None, changes=[], refused=[])
    _, text, html = parts(digest)
    assert "http" not in text
    assert "href" not in html
    assert "There is no earlier run" in text
    assert "Nothing changed since run 6" in parts(a_digest(changes=[]))[1]
    assert "http" not in json.dumps(chat(digest))


def test_what_people_typed_is_text_in_a_mail_and_nothing_else() -> None:
    digest = a_digest(
        schedule=EVIL,
        campaigns=[a_campaign(name=EVIL, reason=EVIL)],
        refused=[{"plan": 1, "name": EVIL, "error": EVIL}],
        changes=[{"campaign": EVIL, "what": "finding", "title": EVIL, "before": EVIL, "after": EVIL}],
    )
    read, text, html = parts(digest)
    assert "Bcc" not in read
    assert "\n" not in read["Subject"]
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert "{{ 7 * 7 }}" in text


def test_what_people_typed_mentions_nobody_and_links_nowhere_in_a_chat() -> None:
    digest = a_digest(schedule=EVIL, campaigns=[a_campaign(name=EVIL, reason=EVIL)], changes=[], refused=[])
    message = chat(digest)
    json.dumps(message).encode()
    texts = [block["text"]["text"] for block in message["blocks"] if block["type"] == "section"]
    for text in (message["text"], *texts):
        assert "<!channel>" not in text
        assert "<script" not in text
        assert "<https://evil" not in text
    assert "&lt;!channel&gt;" in texts[0]
    assert "<https://rackproof.example.org/campaigns/12|" in texts[0]
    assert "evil.example/x" in texts[0], "a bar would end the address of our own link"


@pytest.mark.parametrize("count", [0, 1, 19, 20, 21, 500])
def test_a_chat_message_stays_within_what_slack_takes(count: int) -> None:
    digest = a_digest(
        schedule="n" * 500,
        campaigns=[a_campaign(id=number, name="x" * 120, reason="y" * 4000) for number in range(count)],
        changes=[{"campaign": "c", "what": "value", "title": "t" * 999, "before": "1", "after": "2"}] * count,
        refused=[],
    )
    message = chat(digest)
    assert len(message["blocks"]) <= 50
    for block in message["blocks"]:
        assert 0 < len(block["text"]["text"]) <= (150 if block["type"] == "header" else 3000)
    assert ("and 480 more campaigns" in json.dumps(message)) is (count == 500)

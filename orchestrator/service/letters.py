"""How does a digest read as a mail and as a message in a chat?"""

import re
from collections.abc import Mapping
from email.message import EmailMessage
from email.utils import formatdate
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

_COLOURS = {"PASS": "#1b7837", "FAIL": "#b2182b", "INVALID": "#b35806"}
_OTHER_COLOUR = "#762a83"
_MARKS = {"PASS": ":white_check_mark:", "FAIL": ":x:"}
_OTHER_MARK = ":warning:"
# What Slack takes: 3,000 characters in a section, 50 blocks in a message, 150 characters in a header.
_SECTION_CHARACTERS, _HEADER_CHARACTERS, _CHANGES_MAX, _CAMPAIGNS_MAX = 2900, 150, 20, 20
_CHARACTERS_MAX = 300


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).with_name("mail")),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def mail(digest: Mapping[str, Any], *, sender: str, recipient: str, message_id: str) -> EmailMessage:
    """The digest as plain text and as HTML. message_id: the same for every attempt, so that a mail that arrives twice is seen as one."""
    message = EmailMessage()
    message["Subject"] = _line(f"{digest['verdict']}: {digest['schedule']}, run {digest['run']}", 200)
    message["From"] = sender
    message["To"] = recipient
    message["Date"] = formatdate(usegmt=True)
    message["Message-ID"] = message_id
    message["Auto-Submitted"] = "auto-generated"
    colours = {verdict: _COLOURS.get(verdict, _OTHER_COLOUR) for verdict in ("PASS", "FAIL", "INVALID", "ABORTED", "TIMEOUT", "ERROR")}
    message.set_content(_printable(_environment().get_template("digest.txt").render(digest=digest)))
    html = _environment().get_template("digest.html").render(digest=digest, colours=colours)
    message.add_alternative(_printable(html), subtype="html")
    return message


def chat(digest: Mapping[str, Any]) -> dict[str, Any]:
    """The digest as a message of Slack's kind: `text` for notifications, `blocks` for the channel."""
    title = f"{digest['schedule']}: {digest['verdict']}"
    blocks: list[dict[str, Any]] = [{"type": "header", "text": {"type": "plain_text", "text": _line(title, _HEADER_CHARACTERS)}}]
    lines = [_campaign(campaign) for campaign in digest["campaigns"][:_CAMPAIGNS_MAX]]
    lines += [f"{_OTHER_MARK} *ERROR* {_escaped(plan['name'])} was not run: {_escaped(plan['error'])}" for plan in digest["refused"]]
    lines += _rest(len(digest["campaigns"]) - _CAMPAIGNS_MAX, "campaigns")
    blocks += _sections(lines)
    if digest["previous_run"] is not None:
        changed = digest["changes"]
        if changed:
            lines = [f"*Changed since run {digest['previous_run']}*"]
            lines += [
                f"• {_escaped(one['campaign'])}: {_escaped(one['title'])}: {_escaped(one['before'])} → {_escaped(one['after'])}"
                for one in changed[:_CHANGES_MAX]
            ]
            lines += _rest(len(changed) - _CHANGES_MAX, "changes")
        else:
            lines = [f"Nothing changed since run {digest['previous_run']}."]
        blocks += _sections(lines)
    if digest["link"]:
        blocks += _sections([f"<{_escaped(digest['link'])}|The run>"])
    counts = ", ".join(f"{count} {verdict}" for verdict, count in digest["counts"].items())
    return {"text": f"{_escaped(title)} ({counts})" if counts else _escaped(title), "blocks": blocks[:50]}


def _campaign(campaign: Mapping[str, Any]) -> str:
    name = _escaped(campaign["name"])
    if campaign["link"]:
        # A bar ends the address of a link, and an angle bracket the link.
        name = f"<{_escaped(campaign['link'])}|{name.replace('|', '/')}>"
    words = [_MARKS.get(campaign["verdict"], _OTHER_MARK), f"*{campaign['verdict']}*", name]
    if campaign["was"] not in (None, campaign["verdict"]):
        words.append(f"(was {campaign['was']})")
    if campaign["reason"]:
        words.append(f"– {_escaped(campaign['reason'])}")
    if campaign["report"] == "ready" and campaign["report_link"]:
        words.append(f"<{_escaped(campaign['report_link'])}|PDF>")
    return " ".join(words)


def _rest(more: int, what: str) -> list[str]:
    return [f"and {more} more {what}"] if more > 0 else []


def _sections(lines: list[str]) -> list[dict[str, Any]]:
    """The lines in as few blocks as they fit into."""
    texts: list[str] = []
    for line in lines:
        if texts and len(texts[-1]) + len(line) < _SECTION_CHARACTERS:
            texts[-1] += f"\n{line}"
        else:
            texts.append(line[:_SECTION_CHARACTERS])
    return [{"type": "section", "text": {"type": "mrkdwn", "text": text}} for text in texts]


def _escaped(text: str) -> str:
    """Text that mentions nobody, links nowhere and stays on its line, whatever somebody called a plan."""
    return _line(text, _CHARACTERS_MAX).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _line(text: str, length: int) -> str:
    flat = re.sub(r"[\s\x00-\x1f\x7f]+", " ", _printable(text)).strip()
    return flat if len(flat) <= length else f"{flat[: length - 1]}…"


def _printable(text: str) -> str:
    """Without lone surrogates and control characters, which no mail may hold."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]", "�", text)

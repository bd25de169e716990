"""Can a schedule be used as it was entered?"""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from rackproof.errors import PlanError, Problem
from rackproof.store import cron as crons

_EMAIL = re.compile(r"[^@\s\x00-\x1f,;<>\"]{1,64}@[^@\s\x00-\x1f,;<>\"]{1,255}")
_NAME_LENGTH_MAX = 120


def check(name: str, cron: str, zone: str, plans: Sequence[str], emails: Sequence[str], webhooks: Sequence[str]) -> None:
    problems = []
    try:
        crons.check(cron, zone)
    except PlanError as error:
        problems += error.problems
    if not name.strip() or len(name) > _NAME_LENGTH_MAX:
        problems.append(Problem(where="name", expected=f"1 to {_NAME_LENGTH_MAX} characters", found=f"{len(name)}"))
    if not plans:
        problems.append(Problem(where="plans", expected="at least one plan", found="none"))
    for index, email in enumerate(emails):
        if not _EMAIL.fullmatch(email):
            problems.append(Problem(where=f"emails[{index}]", expected="one e-mail address", found=email))
    for index, url in enumerate(webhooks):
        if not _is_http(url):
            # A webhook's URL is a secret: it is not repeated.
            problems.append(Problem(where=f"webhooks[{index}]", expected="http://HOST/... or https://HOST/...", found="something else"))
    if problems:
        raise PlanError("the schedule", problems)


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and url.isascii() and url.isprintable() and " " not in url
    except ValueError:
        return False

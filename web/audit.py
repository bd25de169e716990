"""Where does the thing stand that an audit line is about?"""

import re
from urllib.parse import quote

_PATHS = {"campaign": "/campaigns", "schedule": "/schedules", "testbed": "/testbeds", "user": "/users"}


def target_path(target: str) -> str | None:
    """`campaign 12` is at /campaigns/12; None for what has no page of its own."""
    found = re.fullmatch(r"(\w+)[ :](.+)", target)
    if found is None:
        return None
    kind, name = found.groups()
    if kind not in _PATHS or (kind != "testbed" and not name.isdecimal()):
        return "/testbeds" if kind == "worker" else None
    return f"{_PATHS[kind]}/{quote(name, safe='')}"

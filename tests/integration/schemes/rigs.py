"""Schemes made for tests."""

import sys
from typing import Any

from testplans.congestion_control.schemes.model import Scheme

PORT = 5300


def made(**keys: Any) -> Scheme:
    """A scheme whose two sides do nothing for a minute, except for what is given."""
    given = {"id": "made", "label": "Made", "family": "udp", "first": "receiver", "ready": {"after_s": 0.1}}
    return Scheme.model_validate({**given, "sender": IDLE, "receiver": IDLE, **keys})


def python(script: str, *arguments: str) -> tuple[str, ...]:
    """Arguments that run a script, which ends at SIGINT without a word; braces in it are doubled, for they are no placeholders."""
    script = f"import signal; signal.signal(signal.SIGINT, signal.SIG_DFL)\n{script}"
    return (sys.executable, "-I", "-S", "-u", "-c", script.replace("{", "{{").replace("}", "}}"), *arguments)


IDLE = python("import time; time.sleep(60)")

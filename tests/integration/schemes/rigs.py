"""Two hosts that are cabled to each other, and schemes made for tests."""

import sys
from typing import Any

from rackproof.model.topology import Endpoint, HostSpec, Link, Topology
from testplans.congestion_control.schemes.model import Scheme

PAIR = Topology(
    devices=(),
    links=(Link(a=Endpoint(node="sender-1", port="eth0"), b=Endpoint(node="receiver-1", port="eth0")),),
    hosts=(
        HostSpec(name="sender-1", port="eth0", address="10.82.1.1/24"),
        HostSpec(name="receiver-1", port="eth0", address="10.82.1.2/24"),
    ),
)
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

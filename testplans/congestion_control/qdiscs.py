"""The queueing discipline of a sender's port: Pantheon tested BBR with fq, which paces for it, and the others with the host's default."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from rackproof.errors import LabError
from rackproof.ports import Host
from testplans.congestion_control.schemes.tools import Tools

Qdisc = Literal["fq", "fq_codel", "pfifo", "pfifo_fast"]
TC_S = 10.0


@contextmanager
def queued(host: Host, qdisc: Qdisc, tools: Tools) -> Iterator[None]:
    """The host's port has this discipline while the context lasts. Raises LabError, quoting the kernel, where it cannot."""
    _tc(host, tools, "replace", qdisc)
    try:
        yield
    finally:
        _tc(host, tools, "delete")


def _tc(host: Host, tools: Tools, what: str, *more: str) -> None:
    done = host.call(tools.command(("tc", "qdisc", what, "dev", host.port, "root", *more)), TC_S)
    if done.exit_status != 0:
        raise LabError(
            f"{host.name}: tc qdisc {what} dev {host.port} root {' '.join(more)}: expected exit status 0, found {done.output.strip()}"
        )

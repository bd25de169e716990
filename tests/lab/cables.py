"""Cables of tests, once they carry frames."""

from orchestrator.bench import links
from orchestrator.bench.namespaces import Namespace
from tests.waiting import until

IFF_RUNNING = 0x40


def until_running(namespace: Namespace, *ports: str) -> None:
    """The kernel says of a new cable up to a second later that it runs, a busy one later still."""
    until(lambda: all(links.flags(namespace, port) & IFF_RUNNING for port in ports), f"{', '.join(ports)}: the link does not come up")

"""Two hosts for tests, each a namespace with an OpenSSH server, and between them a third namespace with an emulated path in it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import pytest

from orchestrator.bench import links
from orchestrator.bench.devices import path
from orchestrator.bench.namespaces import Namespace
from rackproof.model.inventory import Credentials, HostEntry
from tests.lab.sshd import LinuxBox, linux_box

PORT = "test0"


@dataclass(frozen=True, kw_only=True)
class Pair:
    """entries: sender and receiver as an inventory has them. boxes: the same as they run. path: what is between them."""

    entries: tuple[HostEntry, HostEntry]
    boxes: tuple[LinuxBox, LinuxBox]
    path: path.Model


@contextmanager
def host_pair() -> Iterator[Pair]:
    """Two hosts that answer; skips the test where there can be none. Their path has to be set before anything passes."""
    if shutil.which("tcpdump", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is None:
        pytest.skip("hosts at the ends of a path need tcpdump (Debian package tcpdump)")
    with ExitStack() as stack:
        boxes = (stack.enter_context(linux_box("sender-1")), stack.enter_context(linux_box("receiver-1")))
        middle = stack.enter_context(Namespace("between"))
        for number, (box, port) in enumerate(zip(boxes, ("a1", "b1"), strict=True), 1):
            links.cable(box.namespace, PORT, middle, port)
            index = links.index(box.namespace, PORT)
            box.namespace.route.link("set", index=index, mtu=1500)
            box.namespace.route.addr("add", index=index, address=f"10.82.1.{number}", prefixlen=24)
        for one, other, last in ((0, 1, 2), (1, 0, 1)):
            hardware = links.hardware_address(boxes[other].namespace, PORT)
            index = links.index(boxes[one].namespace, PORT)
            boxes[one].namespace.route.neigh("add", dst=f"10.82.1.{last}", lladdr=hardware, ifindex=index, state="permanent")
        model = path.Model(name="between", namespace=middle, ports=("a1", "b1"), options={})
        stack.callback(model.restore)
        sender, receiver = (entry_of(box, f"10.82.1.{number}/24") for number, box in enumerate(boxes, 1))
        yield Pair(entries=(sender, receiver), boxes=boxes, path=model)


def entry_of(box: LinuxBox, address: str) -> HostEntry:
    """A box as a host of an inventory."""
    return HostEntry(
        name=box.name,
        address=box.address,
        port=box.port,
        known_host=box.known_host,
        credentials=Credentials(user="root", private_key=f"file:{box.private_key}"),
        test_port=PORT,
        test_address=address,
    )

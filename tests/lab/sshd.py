"""A Linux switch for tests: a network namespace of its own with an OpenSSH server in it, reached over a veth like a device in a rack.

    with linux_box("switch-1", ports=("eth1", "eth2")) as box:
        box.entry      # a DeviceEntry: address, port, host key, key pair by reference

The ports belong to a bridge (br0); the other end of each, under the same name, is in `box.far`. Whoever wants to cable it to something else
gives no ports and uses orchestrator.bench.links with `box.namespace`. It needs root and sshd; `why_not()` says what is missing.
"""

import os
import random
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyroute2 import IPRoute

from orchestrator.bench import links
from orchestrator.bench.namespaces import Namespace
from rackproof.model.inventory import Credentials, DeviceEntry
from rackproof.settings import is_machine_root

START_S = 60.0

_CONFIGURATION = """
ListenAddress {address}
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PubkeyAuthentication yes
PasswordAuthentication {passwords}
KbdInteractiveAuthentication no
PermitRootLogin yes
StrictModes no
UsePAM no
UseDNS no
PidFile none
PrintMotd no
MaxStartups 100
MaxSessions 100
LoginGraceTime 20
Subsystem sftp internal-sftp
"""

# sysfs shows this network namespace; passwords and the shell's start are the test's own; all ends with the PID namespace's first process.
_START = """
mount -t sysfs none /sys 2>/dev/null || true
mount -t tmpfs none /run && mkdir -p /run/sshd
mount --bind "$1/shadow" /etc/shadow
for own in "$HOME/.bashrc" /etc/bash.bashrc; do if [ -f "$own" ]; then mount --bind /dev/null "$own"; fi; done
exec "$2" -D -e -f "$1/sshd_config"
"""


@dataclass(frozen=True, kw_only=True)
class LinuxBox:
    """A running box. far: where the other ends of its ports are. pid: of the process whose end ends the box. log: what sshd wrote."""

    name: str
    namespace: Namespace
    far: Namespace
    address: str
    port: int
    known_host: str
    private_key: Path
    pid: int
    log: Path

    @property
    def entry(self) -> DeviceEntry:
        """The box as an inventory has it: root, signed in by key."""
        return DeviceEntry(
            name=self.name,
            address=self.address,
            port=self.port,
            platform="linux",
            known_host=self.known_host,
            credentials=Credentials(user="root", private_key=f"file:{self.private_key}"),
        )

    def run(self, *command: str) -> str:
        """Run a command in the box's network namespace, past SSH; its output."""
        inside = ["nsenter", f"--net=/proc/{os.getpid()}/fd/{self.namespace.fd}", *command]
        return subprocess.run(inside, check=True, capture_output=True, text=True, timeout=30).stdout


def why_not() -> str:
    """Why there can be no box here, "" where there can."""
    if not is_machine_root():
        return "a Linux switch over SSH needs root: sshd signs users in"
    missing = [name for name in ("sshd", "ssh", "ssh-keygen", "nsenter", "unshare", "tc") if not _program(name)]
    return f"a Linux switch over SSH needs {', '.join(missing)} (openssh-server, util-linux, iproute2)" if missing else ""


@contextmanager
def linux_box(name: str = "switch-1", *, ports: Sequence[str] = (), password: str | None = None) -> Iterator[LinuxBox]:
    """A box that answers; skips the test where there can be none. password: root may sign in with it too."""
    if why := why_not():
        pytest.skip(why)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rackproof-sshd-")))
        namespace = stack.enter_context(Namespace(name))
        far = stack.enter_context(Namespace(f"beyond {name}"))
        address = _managed(namespace, stack)
        for port in ports:
            links.cable(namespace, port, far, port)
        if ports:
            links.bridge(namespace, "br0", ports)
        known_host = _files(folder, address, 2222, password)
        pid = _started(folder, namespace, stack)
        _wait_until_it_answers(address, 2222, folder / "log")
        yield LinuxBox(
            name=name,
            namespace=namespace,
            far=far,
            address=address,
            port=2222,
            known_host=known_host,
            private_key=folder / "key",
            pid=pid,
            log=folder / "log",
        )


def _program(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def _managed(namespace: Namespace, stack: ExitStack) -> str:
    """A veth from here into the namespace; the address of its far end, of 198.18.0.0/15 (RFC 2544: for tests of networks)."""
    here = f"rpm{random.randrange(1 << 32):08x}"
    with IPRoute() as route:
        taken = {message.get_attr("IFA_ADDRESS") for message in route.get_addr(family=socket.AF_INET)}
        while True:
            base = random.randrange(1 << 15) * 4
            ours, theirs = (f"198.{18 + (base >> 16)}.{base >> 8 & 255}.{(base & 255) + host}" for host in (1, 2))
            if ours not in taken:
                break
        route.link("add", ifname=here, kind="veth", peer={"ifname": "mgmt", "net_ns_fd": namespace.path})
        stack.callback(_removed, here)
        index = route.link_lookup(ifname=here)[0]
        route.addr("add", index=index, address=ours, prefixlen=30)
        route.link("set", index=index, state="up")
    inner = links.index(namespace, "mgmt")
    namespace.route.addr("add", index=inner, address=theirs, prefixlen=30)
    for number in (inner, links.index(namespace, "lo")):
        namespace.route.link("set", index=number, state="up")
    return theirs


def _removed(name: str) -> None:
    with IPRoute() as route:
        for index in route.link_lookup(ifname=name):
            route.link("del", index=index)


def _files(folder: Path, address: str, port: int, password: str | None) -> str:
    """Keys, configuration and passwords; the public host key."""
    for key in ("host_key", "key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "test", "-f", folder / key], check=True)
    shutil.copy(folder / "key.pub", folder / "authorized_keys")
    text = _CONFIGURATION.format(address=address, port=port, folder=folder, passwords="yes" if password else "no")
    (folder / "sshd_config").write_text(text)
    hashed = "*"
    if password is not None:
        asked = ["openssl", "passwd", "-6", "-stdin"]
        hashed = subprocess.run(asked, input=password, check=True, capture_output=True, text=True).stdout.strip()
    (folder / "shadow").write_text(f"root:{hashed}:19000:0:99999:7:::\nsshd:!:19000::::::\n")
    return (folder / "host_key.pub").read_text().rsplit(" ", 1)[0]


def _started(folder: Path, namespace: Namespace, stack: ExitStack) -> int:
    command = ["nsenter", f"--net=/proc/self/fd/{namespace.fd}", "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    command += ["sh", "-c", _START, "sh", str(folder), str(_program("sshd"))]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            command, pass_fds=(namespace.fd,), stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    stack.callback(process.wait)
    stack.callback(process.kill)
    return process.pid


def _wait_until_it_answers(address: str, port: int, log: Path) -> None:
    end = time.monotonic() + START_S
    while True:
        try:
            with socket.create_connection((address, port), timeout=1.0):
                return
        except OSError:
            if time.monotonic() > end:
                raise AssertionError(f"sshd does not answer: {log.read_text()}") from None
            time.sleep(0.02)

"""A network interface that one process has alone: locked, made plain for measuring, and given back as it was.

The lock is a file that its holder keeps locked and that says who that is and how the interface was. Where a holder was killed, the file is
still there: the next one finds in it what must be given back.
"""

import fcntl
import json
import os
import pwd
import signal
import socket
import struct
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from orchestrator.generators.driver import PortState
from orchestrator.generators.native import ethtool
from rackproof.errors import GeneratorError

LOCKS = Path("/run/lock")
#: How long the holder of a port may take to give it up, and one that says that it is about to: it tears LSPs down.
GIVE_UP_S, ENDING_S = 15.0, 25.0
POLL_S = 0.05

_IFF_UP, _IFF_RUNNING = 0x1, 0x40
_SIOCGIFFLAGS, _SIOCGIFMTU = 0x8913, 0x8921
_SO_NETNS_COOKIE = 71
_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, _PACKET_MR_PROMISC = 263, 1, 1
#: Would merge frames, take their tags off, or keep frames out whose VLAN nobody announced.
_FEATURES = ("rx-gro", "rx-lro", "rx-gro-hw", "rx-vlan-hw-parse", "rx-vlan-filter")


def interfaces() -> list[str]:
    """Names of the interfaces of this thread's network namespace."""
    return [name for _, name in socket.if_nameindex()]


class TakenPort:
    """An interface that is this process's until close(). Raises GeneratorError: down, or somebody else's, who is named.

    owner: this process, in words. lsps: the file that says which LSPs its holder has in the devices.
    """

    def __init__(self, name: str, *, take_over: bool) -> None:
        self.name = name
        if not _flags(name) & _IFF_UP:
            raise GeneratorError(f"{name}: the interface is down; `ip link set {name} up`")
        self._path = LOCKS / f"rackproof-port-{namespace_number()}-{name}"
        self.owner = f"process {os.getpid()} of user {_user()}"
        self.lsps = self._path.with_name(f"{self._path.name}.lsps")
        self._lock = _locked(self._path, name, take_over)
        # The kernel counts who wants promiscuous mode, and forgets whoever ends.
        self._listener = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self._before: dict[str, bool] = {}
        try:
            self._make_plain()
        except BaseException:
            self.close()
            raise

    def _make_plain(self) -> None:
        left: dict[str, bool] = _read(self._lock).get("features", {})
        now = ethtool.features(self.name, _FEATURES)
        self._before = {**now, **{feature: on for feature, on in left.items() if feature in now}}
        _write(self._lock, {"pid": os.getpid(), "owner": self.owner, "features": self._before})
        wanted = struct.pack("=iHH8s", socket.if_nametoindex(self.name), _PACKET_MR_PROMISC, 0, b"")
        self._listener.setsockopt(_SOL_PACKET, _PACKET_ADD_MEMBERSHIP, wanted)
        ethtool.set_features(self.name, dict.fromkeys(now, False))

    def state(self) -> PortState:
        """As it is now."""
        running = bool(_flags(self.name) & _IFF_RUNNING)
        return PortState(name=self.name, link_up=running, speed_mbps=ethtool.speed_mbps(self.name), owner=self.owner)

    @property
    def mtu(self) -> int:
        """The longest payload of a frame, one VLAN tag not counted [bytes]."""
        return int(struct.unpack_from("=16xi", _asked(_SIOCGIFMTU, self.name))[0])

    def described(self) -> str:
        """Driver, firmware and where it sits, for provenance."""
        return ethtool.described(self.name)

    def ending(self) -> None:
        """Say in the lock that the port is about to be given back: whoever comes then waits."""
        _write(self._lock, {**_read(self._lock), "ends": True})

    def close(self) -> None:
        """Give it back as it was."""
        self._listener.close()
        # Where that fails the lock stays, and with it what is still to be given back.
        with suppress(GeneratorError):
            ethtool.set_features(self.name, self._before)
            self._path.unlink(missing_ok=True)
        os.close(self._lock)


def _locked(path: Path, name: str, take_over: bool) -> int:
    """The lock's file, open and locked. Raises GeneratorError."""
    begun, asked = time.monotonic(), False
    while True:
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        except OSError as error:
            raise GeneratorError(f"{name}: the lock of the port cannot be made: {path}: {error.strerror}") from error
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder, waited_s = _read(fd), time.monotonic() - begun
            os.close(fd)
            if not holder and waited_s < GIVE_UP_S:  # whoever has just taken it is about to say who that is
                time.sleep(POLL_S)
                continue
            owner = holder.get("owner", "another process")
            ends = bool(holder.get("ends"))
            if not take_over and not ends:
                raise GeneratorError(f"{name}: {owner} has the port; end it, or ask for a takeover") from None
            if waited_s > (ENDING_S if ends else GIVE_UP_S):
                raise GeneratorError(f"{name}: {owner} did not give the port up within {waited_s:.0f} s") from None
            asked = asked or ends or _ask_for_it(name, holder.get("pid", 0), owner)
            time.sleep(POLL_S)
            continue
        # The last holder may have removed the file between opening and locking.
        if os.fstat(fd).st_nlink:
            return fd
        os.close(fd)


def _ask_for_it(name: str, pid: int, owner: str) -> bool:
    """End the holder's process, which gives its ports back first; only one that is really the engine's."""
    try:
        if b"orchestrator.generators.native.process" not in Path(f"/proc/{pid}/cmdline").read_bytes():
            raise GeneratorError(f"{name}: {owner} has the port, and is not to be seen from here: end it yourself")
        os.kill(pid, signal.SIGTERM)
    except OSError as error:
        raise GeneratorError(f"{name}: {owner} has the port, and cannot be asked for it: {error.strerror}") from error
    return True


def _read(fd: int) -> dict[str, Any]:
    """What the lock says; nothing where nobody has written it yet."""
    text = os.pread(fd, 65536, 0)
    with suppress(ValueError):
        found = json.loads(text)
        if isinstance(found, dict):
            return found
    return {}


def _write(fd: int, value: Mapping[str, Any]) -> None:
    os.ftruncate(fd, 0)
    os.pwrite(fd, json.dumps(value).encode(), 0)


def _flags(name: str) -> int:
    return int(struct.unpack_from("=16xH", _asked(_SIOCGIFFLAGS, name))[0])


def _asked(what: int, name: str) -> bytes:
    """The kernel's answer to a question about an interface (netdevice(7)). Raises GeneratorError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            return fcntl.ioctl(sock, what, struct.pack("16s24x", name.encode()))
        except OSError as error:
            raise GeneratorError(f"{name}: the interface cannot be asked: {error.strerror}") from error


def namespace_number() -> int:
    """What tells this thread's network namespace from all others since the machine was started."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            return int(struct.unpack("=Q", sock.getsockopt(socket.SOL_SOCKET, _SO_NETNS_COOKIE, 8))[0])
        except OSError:  # before Linux 5.14
            return Path("/proc/thread-self/ns/net").stat().st_ino


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())

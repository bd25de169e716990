"""How do the processes of `rackproof up` stay up? A light process starts them, watches them, starts them again, and ends them in order.

It imports little, because it does nothing all day. `rackproof up` prepares everything (settings, database, socket) and becomes this process
by exec: `python -m rackproof.supervisor FD`, where the file FD holds a Tree as JSON.
"""

import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from rackproof.parent import VARIABLE
from rackproof.record import Record

#: A process that dies is started again after this long, twice as long the next time [s]; one that lived for a while is forgiven.
_FIRST_PAUSE_S, _LONGEST_PAUSE_S, _FORGIVEN_S = 0.2, 10.0, 30.0
_LOOK_AT_LOGS_S = 60.0
#: What a member says when it can be used goes here: a file descriptor that is open in it.
READY = "RACKPROOF_READY_FD"
_READY_FD = 4
#: A member's socket.
SOCKET_FD = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class MemberPlan:
    """A process of the tree. grace_s: how long it may take to end. socket: the file descriptor that it gets as SOCKET_FD."""

    name: str
    command: Sequence[str]
    grace_s: float
    socket: int | None = None
    says_ready: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Tree:
    """All that the supervisor needs to know. share: the file descriptor that is a share in the embedded database of data_dir, if any.

    keep: further descriptors that must stay open as long as the tree lives. ready: what to say when everything can be used.
    """

    members: Sequence[MemberPlan]
    environment: dict[str, str]
    data_dir: str
    share: int | None
    keep: Sequence[int]
    logs: str | None
    ready: str

    def to_json(self) -> str:
        """As from_json() wants it."""
        members = [{name: getattr(member, name) for name in MemberPlan.__slots__} for member in self.members]
        return json.dumps({**{name: getattr(self, name) for name in Tree.__slots__}, "members": members})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """What to_json() was given."""
        values: dict[str, Any] = json.loads(text)
        members = tuple(MemberPlan(**member) for member in values.pop("members"))
        return cls(**values, members=members)


@dataclass(kw_only=True, slots=True)
class Member:
    """A process under watch."""

    plan: MemberPlan
    pid: int | None = None
    pidfd: int = -1
    started: float = 0.0
    due: float | None = 0.0
    pause_s: float = field(default=_FIRST_PAUSE_S)


class Supervisor:
    """Runs until a signal asks for the end."""

    def __init__(self, tree: Tree, record: Record) -> None:
        self._tree = tree
        self._record = record
        self._members = [Member(plan=plan) for plan in tree.members]
        self._poll = select.poll()
        self._ready: dict[int, Member] = {}
        self._unready = {member.plan.name for member in self._members if member.plan.says_ready}
        self._signals, waker = socket.socketpair()
        for end in (self._signals, waker):
            end.setblocking(False)
        self._waker = waker
        self._database = Database(tree, record) if tree.share is not None else None
        self._asked = ""

    def run(self) -> int:
        """Keep the members up; the exit status."""
        signal.set_wakeup_fd(self._waker.fileno())
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: None)
        self._poll.register(self._signals, select.POLLIN)
        if self._database is not None:
            self._database.watch(self._poll)
        while not self._asked:
            self._start_due()
            self._wait(self._until_next())
            self._record.rotate(_LOOK_AT_LOGS_S)
        self._record.say(f"ending ({self._asked})")
        self._end()
        return 0

    # --- while it runs ---

    def _start_due(self) -> None:
        now = time.monotonic()
        for member in self._members:
            if member.due is not None and member.due <= now:
                member.due = None
                self._start(member)
        if self._database is not None:
            self._database.start_due(self._poll)

    def _start(self, member: Member) -> None:
        plan = member.plan
        environment = {**self._tree.environment, VARIABLE: str(os.getpid())}
        files: list[tuple[Any, ...]] = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), *self._record.files(plan.name)]
        ready = -1
        if plan.says_ready:
            ready, theirs = map(out_of_the_way, os.pipe())
            environment[READY] = str(_READY_FD)
            files.append((os.POSIX_SPAWN_DUP2, theirs, _READY_FD))
        if plan.socket is not None:
            files.append((os.POSIX_SPAWN_DUP2, plan.socket, SOCKET_FD))
        command = [sys.executable, "-m", "rackproof.parent", "SIGTERM", *plan.command]
        # A session of its own: Ctrl-C reaches this process alone, which ends the others in order.
        member.pid = os.posix_spawn(command[0], command, environment, file_actions=files, setsid=True, setsigmask=[])
        member.started = time.monotonic()
        member.pidfd = os.pidfd_open(member.pid)
        self._poll.register(member.pidfd, select.POLLIN)
        if plan.says_ready:
            os.close(theirs)
            self._ready[ready] = member
            self._poll.register(ready, select.POLLIN)

    def _until_next(self) -> float:
        due = [member.due for member in self._members if member.due is not None]
        if self._database is not None and self._database.due is not None:
            due.append(self._database.due)
        return min([max(0.0, moment - time.monotonic()) for moment in due] + [_LOOK_AT_LOGS_S])

    def _wait(self, seconds: float) -> None:
        for fd, _ in self._poll.poll(seconds * 1e3 + 1):
            if fd == self._signals.fileno():
                self._hear()
            elif fd in self._ready:
                self._is_ready(fd)
            elif self._database is not None and fd == self._database.pidfd:
                self._database.ended(self._poll)
            else:
                for member in self._members:
                    if member.pidfd == fd:
                        self._ended(member)

    def _hear(self) -> None:
        with suppress(BlockingIOError):
            self._asked = f"told to by {signal.Signals(self._signals.recv(64)[0]).name}"

    def _is_ready(self, fd: int) -> None:
        member = self._ready.pop(fd)
        said = os.read(fd, 64)
        self._poll.unregister(fd)
        os.close(fd)
        if not said:
            return  # it ended before it was ready
        if member.plan.name not in self._unready:
            self._record.say(f"{member.plan.name} runs again")
            return
        self._unready.remove(member.plan.name)
        if not self._unready:
            self._record.say(self._tree.ready)

    def _ended(self, member: Member) -> None:
        status = self._reap(member)
        lived_s = time.monotonic() - member.started
        if lived_s > _FORGIVEN_S:
            member.pause_s = _FIRST_PAUSE_S
        member.due = time.monotonic() + member.pause_s
        why = self._record.last_words(member.plan.name)
        self._record.say(f"{member.plan.name} {_how(status)}; starting it again in {member.pause_s:.1f} s{why}", level="warning")
        member.pause_s = min(2 * member.pause_s, _LONGEST_PAUSE_S)

    def _reap(self, member: Member) -> int:
        assert member.pid is not None
        self._poll.unregister(member.pidfd)
        os.close(member.pidfd)
        member.pidfd = -1
        _, status = os.waitpid(member.pid, 0)
        member.pid = None
        return os.waitstatus_to_exitcode(status)

    # --- at the end ---

    def _end(self) -> None:
        """End all members at once, each within its grace; a second signal ends the patience."""
        for fd in self._ready:
            self._poll.unregister(fd)
        for member in self._members:
            self._send(member, signal.SIGTERM)
        began = time.monotonic()
        self._asked = ""
        while alive := [member for member in self._members if member.pid is not None]:
            for member in alive:
                if member.pid is None or not (self._asked or time.monotonic() - began >= member.plan.grace_s):
                    continue
                self._record.say(f"{member.plan.name} does not end: killing it", level="warning")
                self._send(member, signal.SIGKILL)
                self._reap(member)
            for fd, _ in self._poll.poll(200):
                if fd == self._signals.fileno():
                    self._hear()
                for member in alive:
                    if member.pid is not None and member.pidfd == fd:
                        self._reap(member)
        if self._database is not None:
            self._database.stop()

    @staticmethod
    def _send(member: Member, number: signal.Signals) -> None:
        if member.pid is not None:
            os.kill(member.pid, number)


class Database:
    """The embedded server: started by others, watched and stopped here."""

    def __init__(self, tree: Tree, record: Record) -> None:
        self._tree = tree
        self._record = record
        self._helper: int | None = None
        self._pause_s = _FIRST_PAUSE_S
        self._pid = 0
        self.pidfd = -1
        self.due: float | None = None

    def watch(self, poll: select.poll) -> None:
        """Look for the server and be told when it ends."""
        from rackproof.store.cluster import server_pid
        from rackproof.store.embedded import cluster_of

        self._pid = server_pid(cluster_of(Path(self._tree.data_dir))) or 0
        try:
            self.pidfd = os.pidfd_open(self._pid)
        except OSError:  # it ended, or is another's process now
            self.due = time.monotonic() + self._pause_s
            return
        poll.register(self.pidfd, select.POLLIN)
        self._pause_s = _FIRST_PAUSE_S

    def ended(self, poll: select.poll) -> None:
        """The server, or the process that was to start it again, is gone."""
        poll.unregister(self.pidfd)
        os.close(self.pidfd)
        self.pidfd = -1
        if self._helper is None:
            with suppress(ChildProcessError):  # it was started by this process, or by another
                os.waitpid(self._pid, os.WNOHANG)
            self.due = time.monotonic() + self._pause_s
            self._record.say(f"the database's server ended; starting it again in {self._pause_s:.1f} s", level="warning")
            return
        _, status = os.waitpid(self._helper, 0)
        self._helper = None
        if status == 0:
            self._record.say("the database's server runs again")
            self.watch(poll)
            return
        self._pause_s = min(2 * self._pause_s, _LONGEST_PAUSE_S)
        self.due = time.monotonic() + self._pause_s
        why = self._record.last_words("database")
        self._record.say(f"the database's server could not be started; trying again in {self._pause_s:.1f} s{why}", level="error")

    def start_due(self, poll: select.poll) -> None:
        """Start it again where it is time."""
        if self.due is None or self.due > time.monotonic():
            return
        self.due = None
        command = [sys.executable, "-m", "rackproof.store.restart", self._tree.data_dir]
        files = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), *self._record.files("database")]
        self._helper = os.posix_spawn(command[0], command, self._tree.environment, file_actions=files, setsid=True, setsigmask=[])
        self.pidfd = os.pidfd_open(self._helper)
        poll.register(self.pidfd, select.POLLIN)

    def stop(self) -> None:
        """Give the share back, and stop the server where nobody else has one."""
        from rackproof.errors import StoreError
        from rackproof.store.embedded import stop_if_unused

        if self._helper is not None:
            os.waitpid(self._helper, 0)
        assert self._tree.share is not None
        os.close(self._tree.share)
        try:
            stop_if_unused(Path(self._tree.data_dir))
        except StoreError as error:
            self._record.say(str(error), level="error")


def _how(status: int) -> str:
    return f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"


def out_of_the_way(fd: int) -> int:
    """The same file under a number that no member's files have; fd is closed."""
    import fcntl

    copy = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(fd)
    return copy


def main() -> None:
    """Read the tree and keep it up."""
    fd = int(sys.argv[1])
    with os.fdopen(fd, closefd=True) as source:
        tree = Tree.from_json(source.read())
    for kept in (*tree.keep, *([tree.share] if tree.share is not None else [])):
        os.set_inheritable(kept, False)
    for member in tree.members:
        if member.socket is not None:
            os.set_inheritable(member.socket, False)
    sys.exit(Supervisor(tree, Record(tree.logs)).run())


if __name__ == "__main__":
    main()

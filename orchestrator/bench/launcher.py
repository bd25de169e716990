"""Runs one program of a host, and ends whatever it started: `python -I -S launcher.py NETNS CONTROL REPORT PROGRAM ARGUMENT...`.

NETNS, CONTROL and REPORT are file descriptors. This process enters the network namespace (that alone: mounts stay as they are; NETNS -1:
it stays in its own) and makes a PID namespace. The first process in there starts the program in a session of its own, keeps its standard
input open and the end of its output. A byte on CONTROL stops the program; when CONTROL closes, or its parent ends, everything in the PID
namespace is killed.

REPORT gets two lines of JSON: {"refused": why it did not start, or null}, and how it ended (rackproof.model.program.Ended).
Standard library alone: it is run without the project on its path.
"""

import ctypes
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

CLONE_NEWNET = 0x40000000
CLONE_NEWPID = 0x20000000
PR_SET_PDEATHSIG = 1
#: How much of the end of the output is kept [byte].
OUTPUT_BYTES = 8192
#: How long a program has between SIGINT and SIGKILL [s].
GRACE_S = 2.0

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Enter the namespaces and wait for the end of the process that rules there."""
    netns, control, report = map(int, sys.argv[1:4])
    _checked(_libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
    if netns >= 0:
        _checked(_libc.setns(netns, CLONE_NEWNET))
        os.close(netns)
    _checked(_libc.unshare(CLONE_NEWPID))
    first = os.fork()
    if first == 0:
        _checked(_libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0))
        _Program(control, report).run(sys.argv[4:])
        os._exit(0)
    os.close(control)
    os.close(report)
    os.waitpid(first, 0)


def _checked(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


class _Program:
    """The program under the first process of its PID namespace, which is this one."""

    def __init__(self, control: int, report: int) -> None:
        self._control = control
        self._report = report
        # The writing end stays open here, so that the reading end never says that the output is over.
        self._output, self._writing = os.pipe()
        os.set_blocking(self._output, False)
        self._stdin, self._keep_open = os.pipe()
        self._kept = b""

    def run(self, command: list[str]) -> None:
        """Start the program, wait for its end, end the rest, and report."""
        wake, waking = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)  # ignored by the bench's process, and that is inherited
        begun = time.monotonic()
        try:
            program = subprocess.Popen(command, stdin=self._stdin, stdout=self._writing, stderr=self._writing, start_new_session=True)
        except OSError as error:
            self._tell({"refused": error.strerror})
            return
        self._tell({"refused": None})
        exit_status = self._attend(program.pid, wake)
        wall_s = time.monotonic() - begun
        _end_all()
        self._read()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        self._tell(
            {
                "exit_status": exit_status,
                "cpu_s": used.ru_utime + used.ru_stime,
                "wall_s": wall_s,
                "output": self._kept.decode(errors="replace"),
            }
        )

    def _attend(self, program: int, wake: int) -> int | None:
        """Wait until the program ends or must; its exit status, None where it was stopped."""
        deadline: float | None = None
        while deadline is None or time.monotonic() < deadline:
            left_s = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready, _, _ = select.select([self._output, wake, self._control], [], [], left_s)
            if self._output in ready:
                self._read()
            if self._control in ready:
                if not os.read(self._control, 1):
                    return None
                deadline = deadline or time.monotonic() + GRACE_S
                with suppress(ProcessLookupError):
                    os.killpg(program, signal.SIGINT)
            if wake in ready:
                os.read(wake, 4096)
                status = _reap(program)
                if status is not None:
                    return status if deadline is None else None
        return None

    def _read(self) -> None:
        with suppress(BlockingIOError):
            self._kept = (self._kept + os.read(self._output, 1 << 16))[-OUTPUT_BYTES:]

    def _tell(self, message: dict[str, Any]) -> None:
        os.write(self._report, json.dumps(message, ensure_ascii=False).encode() + b"\n")


def _reap(program: int) -> int | None:
    """Collect what has ended; the program's exit status as a shell counts, None where it still runs."""
    found = None
    with suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                break
            if pid == program:
                code = os.waitstatus_to_exitcode(status)
                found = code if code >= 0 else 128 - code
    return found


def _end_all() -> None:
    """Kill every process of the namespace but this one, and collect them, so that their processor time is known."""
    while True:
        with suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


if __name__ == "__main__":
    main()

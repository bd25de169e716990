"""Captures packets on a host of a lab: `python3 -I -S -c RECORDER AGENT PORT SNAP FILTER`, with a connection as its input and output.

tcpdump writes to a file without a name, so that nothing is left of it. Out goes a line of JSON as soon as it listens: {"begin_ns": time},
or {"refused": why}. A byte m on standard input marks the end of what counts; a byte e ends the capture: a second line of JSON follows,
{"end_ns": time of the mark, "mtu": of the port, "said": what tcpdump said at its end, "size": bytes}, and then the capture. When standard
input ends, or the process AGENT does, the capture is ended and thrown away. Standard library alone: the host has nothing of the project.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time

PR_SET_PDEATHSIG = 1
#: Kernel memory for packets that tcpdump has not read yet [KiB].
BUFFER_KIB = 65536
#: How long tcpdump may take to listen, and to write its rest [s].
START_S = 10.0
END_S = 20.0

_libc = ctypes.CDLL(None)


def main() -> None:
    """Capture until the end is asked for."""
    agent, port, snap, expression = int(sys.argv[1]), *sys.argv[2:5]
    command = ["tcpdump", "-i", port, "-n", "-s", snap, "-B", str(BUFFER_KIB), "--time-stamp-precision", "nano", "-Z", "root", "-w", "-"]
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])
    with tempfile.TemporaryFile() as file:
        try:
            tcpdump = subprocess.Popen(
                [*command, expression],
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.PIPE,
                bufsize=0,
                env={**os.environ, "PATH": path},
                preexec_fn=_with_parent,  # noqa: PLW1509 - there is one thread
            )
        except OSError as error:
            _tell({"refused": f"tcpdump: {error.strerror}"})
            return
        try:
            said = _until(tcpdump, b"listening on", START_S)
            if b"listening on" not in said:
                _tell({"refused": said.decode(errors="replace").strip() or "tcpdump said nothing"})
                return
            _tell({"begin_ns": time.time_ns()})
            end_ns = _attend(agent)
            if end_ns:
                tcpdump.send_signal(signal.SIGINT)
                _hand_over(tcpdump, file.fileno(), end_ns, port)
        finally:
            tcpdump.kill()
            tcpdump.wait()


def _with_parent() -> None:
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _attend(agent: int) -> int:
    """Wait until the end is asked for; when it was marked, 0 where nobody is there any more."""
    end_ns = 0
    while True:
        if select.select([0], [], [], 1.0)[0]:
            word = os.read(0, 1)
            if word == b"m":
                end_ns = end_ns or time.time_ns()
            else:
                return end_ns if word == b"e" else 0
        try:
            os.kill(agent, 0)
        except OSError:
            return 0


def _hand_over(tcpdump: subprocess.Popen[bytes], file: int, end_ns: int, port: str) -> None:
    said = _until(tcpdump, None, END_S)
    with open(f"/sys/class/net/{port}/mtu") as text:
        mtu = int(text.read())
    size = os.fstat(file).st_size
    _tell({"end_ns": end_ns, "mtu": mtu, "said": said.decode(errors="replace"), "size": size})
    os.lseek(file, 0, os.SEEK_SET)
    while piece := os.read(file, 1 << 20):
        _write(piece)


def _until(tcpdump: subprocess.Popen[bytes], word: bytes | None, seconds: float) -> bytes:
    """What tcpdump wrote until a word came, its end did, or the time was over."""
    assert tcpdump.stderr is not None
    said, deadline = b"", time.monotonic() + seconds
    while word is None or word not in said:
        if not select.select([tcpdump.stderr], [], [], max(0.0, deadline - time.monotonic()))[0]:
            break
        got = os.read(tcpdump.stderr.fileno(), 4096)
        if not got:
            break
        said += got
    return said


def _tell(message: dict[str, object]) -> None:
    _write(json.dumps(message).encode() + b"\n")


def _write(rest: bytes) -> None:
    while rest:
        rest = rest[os.write(1, rest) :]


if __name__ == "__main__":
    main()

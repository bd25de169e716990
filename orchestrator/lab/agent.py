"""Runs programs on a host of a lab: `python3 -I -S -c AGENT LAUNCHER`, texts of modules of ours; a connection is its standard input.

Lines of JSON come in: {"start": number, "arguments": [...], "environment": {...}}, {"stop": number}, {"alive": true}. Out go
{"ready": process id}, and for every line of a launcher's report {"program": number, "report": ...}, null at its end.
When its standard input ends, or nothing comes in for SILENCE_S, every program is killed with all that it started, and this process ends.
Standard library alone: the host has nothing of the project.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

SILENCE_S = 20.0
#: How long what is killed may take to be gone [s].
END_S = 5.0


def main() -> None:
    """Serve until nobody is there."""
    programs: dict[int, _Program] = {}
    try:
        _serve(programs)
    finally:
        for program in programs.values():
            program.close()
        for program in programs.values():
            with suppress(subprocess.TimeoutExpired):
                program.process.wait(END_S)


def _serve(programs: dict[int, _Program]) -> None:
    _tell({"ready": os.getpid()})
    requests = _Lines(0)
    heard = time.monotonic()
    while time.monotonic() < heard + SILENCE_S:
        numbers = {program.report.fd: number for number, program in programs.items()}
        ready, _, _ = select.select([0, *numbers], [], [], 1.0)
        for fd in ready:
            if fd == 0:
                heard = time.monotonic()
                for request in requests.read():
                    _do(programs, json.loads(request))
                if requests.over:
                    return
                continue
            number = numbers[fd]
            program = programs[number]
            for line in program.report.read():
                _tell({"program": number, "report": json.loads(line)})
            if program.report.over:
                del programs[number]
                program.close()
                program.process.wait()
                _tell({"program": number, "report": None})


def _do(programs: dict[int, _Program], request: dict[str, Any]) -> None:
    if "start" in request:
        programs[request["start"]] = _Program(request["arguments"], request["environment"])
    elif request.get("stop") in programs:
        programs[request["stop"]].stop()


def _tell(message: dict[str, Any]) -> None:
    rest = json.dumps(message).encode() + b"\n"
    while rest:
        rest = rest[os.write(1, rest) :]


class _Lines:
    """Whole lines of a pipe."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.over = False
        self._partial = b""

    def read(self) -> list[bytes]:
        """What has come since; over is true at the end."""
        got = os.read(self.fd, 1 << 16)
        self.over = not got
        *whole, self._partial = (self._partial + got).split(b"\n")
        return whole


class _Program:
    """A launcher and the pipes that lead to it."""

    def __init__(self, arguments: list[str], environment: dict[str, str]) -> None:
        control, self._control = os.pipe()
        reported, report = os.pipe()
        self.report = _Lines(reported)
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", sys.argv[1], "-1", str(control), str(report), *arguments],
            pass_fds=(control, report),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={**os.environ, **environment},
            start_new_session=True,
        )
        os.close(control)
        os.close(report)

    def stop(self) -> None:
        """Have the program ended."""
        with suppress(BrokenPipeError):
            os.write(self._control, b"x")

    def close(self) -> None:
        """Have everything killed that is left."""
        for fd in (self._control, self.report.fd):
            with suppress(OSError):
                os.close(fd)


if __name__ == "__main__":
    main()

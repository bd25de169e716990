"""The whole service as a person starts it: `rackproof up`, in a data folder of its own."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from tests.e2e.plans import ROOT, command


def clean_environment(data: Path, **settings: str) -> dict[str, str]:
    """The environment of a service that has nothing to do with this machine's own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RACKPROOF_")}
    return {**kept, "RACKPROOF_DATA_DIR": str(data), **{f"RACKPROOF_{name.upper()}": value for name, value in settings.items()}}


def until(what: Callable[[], Any], bound_s: float) -> Any:
    end = time.monotonic() + bound_s
    while not (found := what()):
        assert time.monotonic() < end, f"it did not happen within {bound_s:.0f} s"
        time.sleep(0.2)
    return found


@contextmanager
def service(environment: Mapping[str, str], log: Path) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    """`rackproof up` on a free port, and its address."""
    with log.open("w") as said, subprocess.Popen(command("up", "--port", "0"), env=environment, stderr=said, cwd=ROOT) as up:
        try:
            address = until(lambda: re.search(r"ready: (http://127\.0\.0\.1:\d+)\D", log.read_text()), 180)[1]
            yield up, address
        finally:
            up.send_signal(signal.SIGTERM)
            try:
                up.wait(180)
            except subprocess.TimeoutExpired:
                up.kill()
                raise


def worker_of(up: "subprocess.Popen[bytes]") -> psutil.Process:
    (found,) = [child for child in psutil.Process(up.pid).children() if "worker" in child.cmdline()]
    return found

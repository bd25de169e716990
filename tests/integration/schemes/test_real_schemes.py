"""Every scheme that this machine has, for real: both sides run, packets flow, and the algorithm in use is the one asked for."""

import dataclasses
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rackproof.ports import Rig
from rackproof.settings import Settings
from testplans.congestion_control.schemes.model import Scheme
from testplans.congestion_control.schemes.probe import probe
from testplans.congestion_control.schemes.registry import schemes
from testplans.congestion_control.schemes.runner import Flow
from testplans.congestion_control.schemes.tools import BPF, SCRIPTS, Tools
from tests.integration.schemes.rigs import PORT
from tests.unit.congestion_control.test_indigo import indigo_weights

pytestmark = [pytest.mark.netns, pytest.mark.slow]

#: As the machine's owner has set: read here, because no test sees such settings.
TOOLS = Tools.of(Settings.load())
#: Less than this in the time of a test is no traffic [byte].
LEAST_BYTES = 100_000
RUN_S = 2.0
#: Browsers take some seconds to start.
BROWSER_RUN_S = 12.0
LONG = os.environ.get("RACKPROOF_LONG") == "1"


@pytest.mark.parametrize("name", schemes())
def test_a_scheme(rig: Rig, name: str) -> None:
    if schemes()[name].family == "webrtc" and not LONG:
        pytest.skip("a quarter of a minute: RACKPROOF_LONG=1")
    run(rig, schemes()[name], TOOLS)


def test_indigo_with_weights_that_leave_the_window_alone(rig: Rig, tmp_path: Path) -> None:
    tools = dataclasses.replace(TOOLS, indigo_weights=indigo_weights(tmp_path / "weights", action=2))
    run(rig, schemes()["indigo"], tools)


def run(rig: Rig, scheme: Scheme, tools: Tools) -> None:
    """Run a scheme where it is available, and see that it does what it should."""
    (here,) = probe([scheme], rig.host("sender-1").call, tools)
    if not here.available:
        pytest.skip(f"{scheme.label}: {'; '.join(here.missing)}")
    run_s = BROWSER_RUN_S if scheme.family == "webrtc" else RUN_S
    before = received_bytes(rig)
    with Flow(scheme, rig.host("sender-1"), rig.host("receiver-1"), port=PORT, runtime_s=run_s, tools=tools) as flow:
        flow.start()
        end = time.monotonic() + run_s
        while time.monotonic() < end:
            flow.check()
            time.sleep(0.2)
        seen = flow.verify()
        ended = flow.finish()
    assert scheme.is_right(seen or ended.algorithm), (seen, ended)
    assert received_bytes(rig) - before > LEAST_BYTES
    assert ended.sender.cpu_s > 0
    assert not [each for each in registered() if f"{os.getpid():x}" in each]


def received_bytes(rig: Rig) -> int:
    """What came to the receiver's port until now."""
    host = rig.host("receiver-1")
    said = host.call(Tools().command(("cat", "/proc/thread-self/net/dev")), 30.0).output
    (line,) = [line for line in said.splitlines() if line.strip().startswith("eth0:")]
    return int(line.split()[1])


def registered() -> set[str]:
    """Algorithms in this machine's kernel that come from this project."""
    names = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    return {name for name in names if name.startswith("rp")}


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("bpftool") is None, reason="needs root and bpftool (Debian package bpftool)")
def test_a_name_that_a_killed_process_has_left_is_unregistered_by_the_next() -> None:
    name = f"rpvegas{pid_of_nobody():x}00"
    script = [sys.executable, str(SCRIPTS / "bpf_algorithm.py"), str(BPF / "vegas.bpf.o")]
    with subprocess.Popen([*script, name]) as holder:
        deadline = time.monotonic() + 20.0
        while name not in registered() and holder.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        holder.kill()
    if holder.returncode > 0:
        pytest.skip("this kernel takes no BPF program for congestion control")
    assert name in registered()
    subprocess.run([*script, f"rpvegas{os.getpid():x}ff", "--try"], check=True, timeout=30)
    assert name not in registered()


def pid_of_nobody() -> int:
    """A process id that was in use and is not any more."""
    with subprocess.Popen(["true"]) as process:
        return process.pid

"""The bench for real: what it isolates, what it leaves behind (nothing), and what it says when a part of it dies."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from orchestrator.bench.devices import models
from orchestrator.bench.testbed import Bench
from orchestrator.calibration import calibrate
from rackproof.errors import BenchError, GeneratorError
from rackproof.model.functions import Discipline
from rackproof.model.topology import Setup
from tests.bench_plans import one_device, scheduler, traffic
from tests.waiting import SOON_S

pytestmark = pytest.mark.netns


def host_links() -> set[str]:
    """Those of other tests aside (tests/lab/sshd.py)."""
    return {name for name in os.listdir("/sys/class/net") if not name.startswith("rpm")}


def wait_until_gone(pid: int) -> bool:
    try:
        psutil.Process(pid).wait(SOON_S)
    except psutil.NoSuchProcess:
        return True
    except psutil.TimeoutExpired:
        return False
    return True


@pytest.fixture
def bench() -> Iterator[Bench]:
    with Bench() as bench:
        yield bench


def test_nothing_of_it_is_seen_on_the_host(bench: Bench) -> None:
    links = host_links()
    with bench.assemble(one_device("reference")):
        assert host_links() == links
    names = Path("/run/netns")
    assert not names.exists() or not any("generator" in name for name in os.listdir(names))


def test_a_late_frame_of_an_earlier_trial_is_counted_apart(bench: Bench) -> None:
    # Full queues of 4 x 400 frames take a third of a second to empty, and the first trial does not wait for that; where this process stood
    # still so long, longer ones are tried.
    for queue_frames in (400, 4000):
        with bench.assemble(one_device("linux-htb")) as rig:
            rig.device("dut").apply(replace(scheduler(), queue_frames=queue_frames))
            first = rig.generator.start(traffic(load_mbps=40.0, trial=1, drain_s=0.0)).wait()
            second = rig.generator.start(traffic(load_mbps=1.0, trial=2)).wait()
        if second.health["foreign_frames"]:
            break
    assert first.health["foreign_frames"] == 0
    assert second.health["foreign_frames"] > 100
    for stream, sent in second.sent.items():
        assert (second.samples.stream == stream).sum() <= sent.first_sequence[-1]


def test_stop_ends_the_traffic_early(bench: Bench) -> None:
    with bench.assemble(one_device("reference")) as rig:
        rig.device("dut").apply(scheduler())
        begun = time.monotonic()
        run = rig.generator.start(traffic(duration_s=60.0))
        run.stop()
        capture = run.wait()
    assert time.monotonic() - begun < 30
    assert sum(sent.frames for sent in capture.sent.values()) < 60 * 900 * 4 / 2


def test_one_run_of_traffic_at_a_time(bench: Bench) -> None:
    with bench.assemble(one_device("reference")) as rig:
        run = rig.generator.start(traffic(duration_s=0.2))
        with pytest.raises(GeneratorError, match="under way"):
            rig.generator.start(traffic())
        run.wait()


def test_an_unknown_model_is_refused_by_name(bench: Bench) -> None:
    with (
        pytest.raises(BenchError, match=r"dut: expected a device model of the bench \(.*linux-htb.*\), found toaster"),
        bench.assemble(one_device("toaster")),
    ):
        pass
    with bench.assemble(one_device("reference")):
        pass  # what was half built is gone


def test_objections_need_no_bench() -> None:
    topology = one_device("linux-htb")
    function = scheduler(Discipline.WRR_PACKETS, (0.1, 0.2, 0.3, 0.4))
    (why,) = Bench().objections(Setup(topology=topology, functions={"dut": (function,)}))
    assert why.startswith("dut: linux-htb schedules by bytes")
    assert Bench().objections(Setup(topology=topology, functions={"dut": (scheduler(),)})) == ()


def test_its_death_is_an_error_and_the_next_topology_gets_a_new_one(bench: Bench) -> None:
    pid = bench.pid
    with pytest.raises(BenchError, match="ended unexpectedly"), bench.assemble(one_device("reference")) as rig:
        run = rig.generator.start(traffic(duration_s=30.0))
        os.kill(pid, signal.SIGKILL)
        run.wait()
    with bench.assemble(one_device("reference")) as rig:
        rig.device("dut").apply(scheduler())
        assert len(rig.generator.start(traffic()).wait().samples) > 0
    assert bench.pid != pid


def test_it_ends_with_its_parent_even_while_sending(tmp_path: Path) -> None:
    script = (
        "import time\n"
        "from orchestrator.bench.testbed import Bench\n"
        "from tests.bench_plans import one_device, scheduler, traffic\n"
        "with Bench() as bench, bench.assemble(one_device('reference')) as rig:\n"
        "    rig.device('dut').apply(scheduler())\n"
        "    rig.generator.start(traffic(duration_s=120.0))\n"
        "    print(bench.pid, flush=True)\n"
        "    time.sleep(120)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        parent.kill()
        assert wait_until_gone(child)


def test_calibration_on_a_bare_cable(bench: Bench) -> None:
    calibration = calibrate(bench, campaign=1)
    assert 0 < calibration.delay_floor_us < 1000
    assert calibration.honest_fps >= 10_000
    assert calibration.frames >= 3_900
    assert calibration.detail["ceiling_fps"] >= calibration.honest_fps


def test_every_probe_says_why_or_yes(bench: Bench) -> None:
    probes = {probe.name: probe for probe in bench.probe()}
    assert {f"device {name}" for name in models()} <= set(probes)
    assert all(probe.available or probe.why for probe in probes.values())
    assert all(probe.available for probe in probes.values() if probe.needed)


WITHOUT_RIGHTS = """
from orchestrator.bench.testbed import Bench
from tests.bench_plans import one_device, scheduler, traffic
with Bench() as bench, bench.assemble(one_device('linux-htb')) as rig:
    rig.device('dut').apply(scheduler())
    print(bench.rights, len(rig.generator.start(traffic()).wait().samples), sep=',')
"""
PR_CAPBSET_DROP = 24
CAP_SETFCAP = 31


def drop_capabilities() -> None:
    """What is executed next has no more rights than an ordinary user, whoever it is.

    Root keeps CAP_SETFCAP, which the kernel asks of it, and of nobody else, before it maps itself into a user namespace.
    """
    libc = ctypes.CDLL(None)
    for capability in set(range(64)) - {CAP_SETFCAP}:
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


def test_without_rights_it_makes_a_user_namespace_of_its_own() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_RIGHTS], capture_output=True, text=True, timeout=60, check=False, preexec_fn=drop_capabilities
    )
    if "Remedy:" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    rights, frames = done.stdout.strip().split(",")
    assert rights == "user namespace"
    assert int(frames) > 500


def test_where_namespaces_are_forbidden_it_names_the_setting_and_the_remedy() -> None:
    # A user namespace that allows no further namespaces within it, as a locked-down host does.
    script = (
        "import os\n"
        "from orchestrator.bench.privileges import CLONE_NEWUSER, unshare\n"
        "unshare(CLONE_NEWUSER)\n"
        "open('/proc/self/setgroups', 'w').write('deny')\n"
        "open('/proc/self/uid_map', 'w').write('0 OUTER 1')\n"
        "open('/proc/sys/user/max_net_namespaces', 'w').write('0')\n"
        "open('/proc/sys/user/max_user_namespaces', 'w').write('0')\n"
        "from orchestrator.bench.testbed import Bench\n"
        "Bench().__enter__()\n"
    ).replace("OUTER", str(os.getuid()))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "BenchError: the virtual bench cannot run here" in done.stderr
    assert "max_user_namespaces = 0" in done.stderr
    assert "Remedy: run as root" in done.stderr

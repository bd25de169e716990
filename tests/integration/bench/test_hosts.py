"""Hosts of the bench for real: programs reach each other, are accounted for, and never outlive their trial."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from orchestrator.bench import launcher
from orchestrator.bench.testbed import Bench
from rackproof.errors import BenchError, LabError, TrialTimeout
from rackproof.model.program import Command, Ended
from rackproof.model.topology import HostSpec, Topology
from rackproof.ports import Host, Program, Rig
from tests.bench_plans import PAIR, one_device
from tests.integration.bench.test_testbed import drop_capabilities, wait_until_gone
from tests.waiting import SOON_S, until

pytestmark = pytest.mark.netns


@pytest.fixture
def sender(rig: Rig) -> Host:
    return rig.host("sender-1")


#: How long a program may take to say something, on a machine that is idle, or busy, or stands still [s].
PATIENCE_S = (0.5, 5.0, 30.0)
#: Nobody listens there, and whoever is reached says so.
KNOCK = """
import socket, sys
try:
    socket.create_connection((sys.argv[1], 9), 20)
except OSError as error:
    print(type(error).__name__)
"""


def python(script: str, *arguments: str) -> Command:
    return Command(arguments=(sys.executable, "-I", "-S", "-c", script, *arguments))


def shell(script: str) -> Command:
    return Command(arguments=("sh", "-c", script))


def wait_for(program: Program) -> Ended:
    until(lambda: program.poll() is not None, "the program did not end")
    ended = program.poll()
    assert ended is not None
    return ended


def running(host: Host, script: str, begun: Path) -> Program:
    """A script of Python that has made the file `begun`, which it is called with."""
    program = host.start(python(script, str(begun)))
    until(begun.exists)
    return program


def counted_where_killed(host: Host, done: Path) -> None:
    """Processor time of a child with a session of its own, which is killed after its parent has ended, is its program's."""
    script = (
        "import os, sys, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    while time.process_time() < 0.5: pass\n"
        "    print(time.process_time(), flush=True)\n"
        "    open(sys.argv[1], 'w').close()\n"
        "time.sleep(60)\n"
    )
    program = running(host, script, done)
    assert program.poll() is None
    ended = program.stop()
    assert ended.exit_status is None
    used_s = float(ended.output.split()[0])
    assert 0.5 <= used_s <= ended.cpu_s < 2 * used_s
    assert processes_with(str(done)) == []
    assert program.stop() == program.poll() == ended


def told_where_it_hangs(host: Host) -> None:
    """A call that takes too long fails with what the program said, however slowly that came."""
    for seconds in PATIENCE_S:
        with pytest.raises(TrialTimeout, match=rf"sh -c .* did not end within {seconds:g} s; its output ends: ") as told:
            host.call(shell("echo half way; sleep 60"), seconds)
        if str(told.value).endswith("'half way\\n'"):
            return
    raise AssertionError("it says nothing")


def test_a_host_has_its_address_its_neighbour_and_nothing_else(sender: Host) -> None:
    assert (sender.name, sender.address) == ("sender-1", "10.82.1.1")
    (port,) = json.loads(sender.call(Command(arguments=("ip", "-json", "address", "show", "eth0")), SOON_S).output)
    assert (port["mtu"], port["operstate"]) == (1500, "UP")
    assert [(each["local"], each["prefixlen"]) for each in port["addr_info"]] == [("10.82.1.1", 24)]
    (neighbour,) = json.loads(sender.call(Command(arguments=("ip", "-json", "neighbour")), SOON_S).output)
    assert (neighbour["dst"], neighbour["state"]) == ("10.82.1.2", ["PERMANENT"])
    assert sender.call(python(KNOCK, "127.0.0.1"), SOON_S).output == "ConnectionRefusedError\n"


@pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed (Debian package iperf3)")
def test_iperf3_between_two_hosts(rig: Rig) -> None:
    server = rig.host("receiver-1").start(Command(arguments=("iperf3", "-s", "-1")))
    client = Command(arguments=("iperf3", "-c", "10.82.1.2", "-t", "1", "--json"))
    deadline = time.monotonic() + SOON_S
    while (ended := rig.host("sender-1").call(client, SOON_S)).exit_status != 0 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert ended.exit_status == 0, ended.output
    # 8 kB of JSON are kept: its end, where the sums stand.
    assert '"sum_received"' in ended.output
    served = wait_for(server)
    assert served.exit_status == 0
    assert served.cpu_s > 0


def test_processor_time_is_that_of_the_program_and_its_children(sender: Host) -> None:
    script = (
        "import os, time\n"
        "def burn(seconds):\n"
        "    while time.process_time() < seconds: pass\n"
        "child = os.fork()\n"
        "burn(0.6 if child else 0.4)\n"
        "print(time.process_time(), flush=True)\n"
        "if child: os.waitpid(child, 0)\n"
    )
    ended = sender.call(python(script), SOON_S)
    assert ended.exit_status == 0
    assert ended.cpu_s == pytest.approx(sum(map(float, ended.output.split())), rel=0.1)
    assert ended.wall_s >= 0.5


def test_processor_time_counts_what_was_killed(sender: Host, tmp_path: Path) -> None:
    counted_where_killed(sender, tmp_path / "done")


def test_what_ignores_sigint_and_forks_is_gone_after_stop(sender: Host, tmp_path: Path) -> None:
    script = (
        "import os, signal, sys, time\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "for depth in range(3):\n"
        "    if os.fork() == 0: os.setsid()\n"
        "time.sleep(120)\n"
    )
    mark = f"{tmp_path}"
    program = sender.start(python(script, mark))
    until(lambda: len(processes_with(mark)) == 8 + 2)  # its launcher and its first process have the mark, too
    begun = time.monotonic()
    ended = program.stop()
    assert ended.exit_status is None
    assert time.monotonic() - begun >= launcher.GRACE_S
    assert processes_with(mark) == []
    assert program.poll() == ended
    assert program.stop() == ended


def test_sigint_is_heard(sender: Host, tmp_path: Path) -> None:
    script = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "try:\n"
        "    print('ready', flush=True); open(sys.argv[1], 'w').close(); time.sleep(60)\n"
        "except KeyboardInterrupt:\n"
        "    print('goodbye')\n"
    )
    ready = tmp_path / "ready"
    ended = running(sender, script, ready).stop()
    assert (ended.exit_status, ended.output) == (None, "ready\ngoodbye\n")


def test_the_end_of_the_output_is_kept(sender: Host) -> None:
    ended = sender.call(python("import sys\nfor line in range(200_000): print(line)\nsys.stderr.write('the end')"), SOON_S)
    assert len(ended.output) == launcher.OUTPUT_BYTES
    assert ended.output.endswith("199999\nthe end")


def test_exit_statuses(sender: Host) -> None:
    assert sender.call(shell("exit 7"), SOON_S).exit_status == 7
    assert sender.call(shell("kill -9 $$"), SOON_S).exit_status == 128 + signal.SIGKILL


def test_standard_input_stays_open(sender: Host) -> None:
    program = sender.start(Command(arguments=("cat",)))
    time.sleep(0.3)
    assert program.poll() is None
    program.stop()


def test_environment(sender: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    command = Command(arguments=("env",), environment={"SCHEME": "cubic"})
    lines = sender.call(command, SOON_S).output.splitlines()
    assert "SCHEME=cubic" in lines
    assert not [line for line in lines if line.startswith(("PYTHONPATH=", "RACKPROOF_"))]


def test_what_cannot_be_found_is_named(sender: Host) -> None:
    with pytest.raises(LabError, match=r"sender-1: iperf7 cannot be started: No such file or directory; is it installed"):
        sender.start(Command(arguments=("iperf7", "-s")))
    with pytest.raises(LabError, match="expected a program"):
        sender.start(Command(arguments=()))


def test_a_program_that_hangs_is_told_with_its_output(sender: Host) -> None:
    told_where_it_hangs(sender)


def test_nothing_survives_the_rig(bench: Bench, tmp_path: Path) -> None:
    with bench.assemble(PAIR) as rig:
        rig.host("sender-1").start(shell(f"(trap '' INT; setsid sleep 300; : {tmp_path}) & sleep 300; : {tmp_path}"))
        time.sleep(0.2)
        assert processes_with(str(tmp_path))
    assert processes_with(str(tmp_path)) == []


def test_hundred_processes_are_gone_with_the_rig(bench: Bench, tmp_path: Path) -> None:
    one = f"setsid sh -c 'while :; do sleep 1; done; : {tmp_path}'"
    script = f"trap '' INT; for n in $(seq 100); do ({one} &) ; done; sleep 300; : {tmp_path}"
    with bench.assemble(PAIR) as rig:
        program = rig.host("sender-1").start(shell(script))
        until(lambda: len(processes_with(str(tmp_path))) >= 100)
        assert program.poll() is None
    assert processes_with(str(tmp_path)) == []


def test_nothing_survives_the_bench(tmp_path: Path) -> None:
    with Bench() as bench, pytest.raises(BenchError, match="ended unexpectedly"), bench.assemble(PAIR) as rig:
        program = rig.host("sender-1").start(shell(f"setsid sleep 300 & sleep 300; : {tmp_path}"))
        pids = [process.pid for process in processes_with(str(tmp_path))]
        assert len(pids) >= 3
        os.kill(bench.pid, signal.SIGKILL)
        program.poll()
    assert all(wait_until_gone(pid) for pid in pids)
    until(lambda: processes_with(str(tmp_path)) == [])


def test_hosts_must_be_cabled_and_have_addresses(bench: Bench) -> None:
    alone = Topology(devices=(), links=(), hosts=PAIR.hosts)
    with pytest.raises(BenchError, match="sender-1: expected a cable to its port eth0"), bench.assemble(alone):
        pass
    wrong = HostSpec(name="sender-1", port="eth0", address="10.82.1")
    with (
        pytest.raises(BenchError, match=r"expected an IPv4 address .* found '10.82.1'"),
        bench.assemble(Topology(devices=(), links=PAIR.links, hosts=(wrong, PAIR.hosts[1]))),
    ):
        pass
    with bench.assemble(one_device("reference")) as rig, pytest.raises(KeyError):
        rig.host("sender-1")


WITHOUT_RIGHTS = """
from orchestrator.bench.testbed import Bench
from tests.integration.bench.test_hosts import KNOCK, PAIR, python
with Bench() as bench, bench.assemble(PAIR) as rig:
    print(bench.rights, rig.host("sender-1").call(python(KNOCK, "10.82.1.2"), 30.0).output, sep=",")
"""


def test_without_rights_hosts_work_in_a_user_namespace() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_RIGHTS], capture_output=True, text=True, timeout=60, check=False, preexec_fn=drop_capabilities
    )
    if "Remedy:" in done.stderr:
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.stdout.strip() == "user namespace,ConnectionRefusedError", done.stderr


def processes_with(mark: str) -> list[psutil.Process]:
    """Processes whose command line has a mark in it."""
    found = []
    for process in psutil.process_iter():
        try:
            if any(mark in argument for argument in process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found

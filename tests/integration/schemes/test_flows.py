"""Flows on two real hosts: what starts, what is ready when, what is said when it fails, and that nothing stays."""

import time
from pathlib import Path

import pytest

from rackproof.errors import LabError
from rackproof.model.program import Command
from rackproof.ports import Rig
from testplans.congestion_control.qdiscs import queued
from testplans.congestion_control.schemes.model import Scheme
from testplans.congestion_control.schemes.runner import Flow, SchemeFailed
from testplans.congestion_control.schemes.tools import Tools
from tests.integration.bench.test_hosts import PATIENCE_S
from tests.integration.schemes.rigs import IDLE, PORT, made, python
from tests.waiting import SOON_S, until

pytestmark = pytest.mark.netns

#: Listens after a while on a UDP port and tells what comes, and a file that it came; sends what it is told to.
LISTEN = """
import socket, sys, time
time.sleep(0.6)
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.bind((sys.argv[1], int(sys.argv[2])))
while True:
    print(sock.recv(2000).decode())
    open(sys.argv[3], "w").close()
"""
SAY = """
import socket, sys, time
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.bind((sys.argv[1], 0))
sock.sendto(f"from {sys.argv[1]} for {sys.argv[4]} s".encode(), (sys.argv[2], int(sys.argv[3])))
time.sleep(60)
"""


def flow(rig: Rig, scheme: Scheme, runtime_s: float = 5.0) -> Flow:
    return Flow(scheme, rig.host("sender-1"), rig.host("receiver-1"), port=PORT, runtime_s=runtime_s)


def fails(running: Flow) -> bool:
    """Never: it raises."""
    running.check()
    return False


def test_the_second_side_starts_when_the_first_listens(rig: Rig, tmp_path: Path) -> None:
    came = tmp_path / "came"
    scheme = made(
        ready={"listens": "udp"},
        receiver=python(LISTEN, "{bind}", "{port}", str(came)),
        sender=python(SAY, "{bind}", "{peer}", "{port}", "{duration}"),
        verify={"output": "from [0-9.]+", "of": "receiver"},
    )
    before_ns = time.time_ns()
    with flow(rig, scheme) as running:
        running.start()
        until(came.exists)
        running.check()
        assert running.verify() == ""
        end = running.finish()
    assert end.receiver.output == "from 10.82.1.1 for 15 s\n"
    assert end.algorithm == "from 10.82.1.1"
    assert scheme.is_right(end.algorithm)
    assert before_ns < end.start_ns < end.end_ns < time.time_ns()
    assert (end.sender.exit_status, end.receiver.exit_status) == (None, None)


def test_the_sender_may_run_first(rig: Rig, tmp_path: Path) -> None:
    came = tmp_path / "came"
    scheme = made(
        first="sender",
        ready={"listens": "udp"},
        sender=python(LISTEN, "{bind}", "{port}", str(came)),
        receiver=python(SAY, "{bind}", "{peer}", "{port}", "{duration}"),
    )
    with flow(rig, scheme) as running:
        running.start()
        until(came.exists)
        assert running.finish().sender.output == "from 10.82.1.2 for 15 s\n"


def test_a_crash_is_told_with_the_end_of_the_output(rig: Rig) -> None:
    with (
        flow(rig, made(sender=python("import time; time.sleep(0.5); raise RuntimeError('no route')"))) as running,
        pytest.raises(SchemeFailed, match=r"(?s)Made: the sender ended after [0-9.]+ s with exit status 1; .*no route"),
    ):
        running.start()
        until(lambda: fails(running))


def test_an_end_before_the_time_is_a_failure(rig: Rig) -> None:
    with (
        flow(rig, made(receiver=python("import time; time.sleep(0.6)"))) as running,
        pytest.raises(SchemeFailed, match=r"Made: the receiver ended after [0-9.]+ s with exit status 0, and said nothing"),
    ):
        running.start()
        until(lambda: running._programs["receiver"].poll() is not None)
        running.finish()


def test_a_side_that_is_never_ready_is_told(rig: Rig) -> None:
    thinks = python("import time; print('thinking'); time.sleep(60)")
    for within_s in PATIENCE_S:
        never = made(ready={"listens": "tcp", "within_s": within_s}, receiver=thinks)
        said = rf"the receiver did not listen on tcp port {PORT} within {within_s:g} s"
        with pytest.raises(SchemeFailed, match=said) as told, flow(rig, never) as running:
            running.start()
        if str(told.value).endswith("; the end of its output:\nreceiver: thinking"):
            return
    raise AssertionError("its output is not told")


def test_a_program_that_is_not_there_is_named(rig: Rig) -> None:
    with (
        pytest.raises(LabError, match="sender-1: sproutbt2 cannot be started: No such file"),
        flow(rig, made(sender=["sproutbt2"])) as running,
    ):
        running.start()


def test_preparation_happens_on_its_side_in_a_folder_that_goes_away(rig: Rig, tmp_path: Path) -> None:
    told = tmp_path / "told"
    script = "import os, sys, time; print(os.listdir(sys.argv[1]), sys.argv[1]); open(sys.argv[2], 'w').close(); time.sleep(60)"
    scheme = made(
        first="sender",
        prepare_sender=[["cp", "/etc/hostname", "{folder}/prepared"]],
        sender=python(script, "{folder}", str(told)),
    )
    with flow(rig, scheme) as running:
        running.start()
        until(told.exists)
        said = running.finish().sender.output
    listing, folder = said.rsplit(maxsplit=1)
    assert listing == "['prepared']"
    assert rig.host("sender-1").call(Command(arguments=("test", "-e", folder)), SOON_S).exit_status == 1


def test_preparation_that_fails_is_told(rig: Rig) -> None:
    with (
        pytest.raises(SchemeFailed, match="cp /nowhere /tmp ended with exit status 1: cp: cannot stat"),
        flow(rig, made(prepare_receiver=[["cp", "/nowhere", "/tmp"]])) as running,
    ):
        running.start()


def test_leaving_it_ends_both_sides(rig: Rig) -> None:
    running = flow(rig, made(receiver=IDLE))
    with running:
        running.start()
        programs = list(running._programs.values())
        assert [program.poll() for program in programs] == [None, None]
    assert all(program.poll() is not None for program in programs)


def test_a_kernel_without_the_algorithm_is_named(rig: Rig) -> None:
    scheme = made(family="tcp", algorithm="nosuchcc")
    with pytest.raises(LabError, match="sender-1: expected a kernel with the algorithm nosuchcc"), flow(rig, scheme) as running:
        running.start()


def test_a_port_has_its_queueing_discipline_as_long_as_it_is_asked_for(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    host = rig.host("sender-1")
    shown = Command(arguments=("tc", "qdisc", "show", "dev", "eth0"))
    before = host.call(shown, SOON_S).output
    with queued(host, "pfifo", Tools()):
        assert "qdisc pfifo " in host.call(shown, SOON_S).output
    assert host.call(shown, SOON_S).output == before
    said = r"sender-1: tc qdisc replace dev nothing root pfifo: expected exit status 0, found .*nothing"
    monkeypatch.setattr(host, "port", "nothing")
    with pytest.raises(LabError, match=said), queued(host, "pfifo", Tools()):
        pass

"""Hosts of a lab for real, over SSH: programs start and end as on the bench, and never outlive whoever started them."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from inspect import getsource
from pathlib import Path

import psutil
import pytest

from orchestrator.bench import launcher
from orchestrator.lab import agent
from orchestrator.lab.hosts import LabHost, opened
from rackproof.errors import LabError
from rackproof.model.inventory import Credentials
from rackproof.model.program import Command
from rackproof.ports import Program
from tests.integration.bench.test_hosts import counted_where_killed, processes_with, python, shell, told_where_it_hangs
from tests.lab.pair import entry_of
from tests.lab.sshd import LinuxBox, linux_box
from tests.waiting import SOON_S, until

pytestmark = pytest.mark.netns


@pytest.fixture(scope="module")
def box() -> Iterator[LinuxBox]:
    with linux_box("sender-1") as box:
        yield box


@pytest.fixture(scope="module")
def host(box: LinuxBox) -> Iterator[LabHost]:
    with opened(entry_of(box, "10.82.1.1/24")) as host:
        yield host


def wait_until_none(mark: str) -> None:
    until(lambda: processes_with(mark) == [])


def wait_for_some(mark: str, number: int) -> None:
    until(lambda: len(processes_with(mark)) >= number)


def test_a_program_runs_there_as_root_with_the_end_of_its_output(host: LabHost) -> None:
    assert (host.name, host.address, host.port) == ("sender-1", "10.82.1.1", "test0")
    ended = host.call(
        Command(arguments=("sh", "-c", 'id -u; echo "$WORD"; ip -br link; exit 3'), environment={"WORD": "it's a 'word'"}), SOON_S
    )
    uid, word, *links = ended.output.splitlines()
    assert (ended.exit_status, uid, word) == (3, "0", "it's a 'word'")
    assert any(line.startswith("mgmt@") for line in links)
    ended = host.call(python("print('x' * 20000 + 'end')"), SOON_S)
    assert len(ended.output) == launcher.OUTPUT_BYTES
    assert ended.output.endswith("xend\n")


def test_processor_time_counts_children_that_were_killed(host: LabHost, tmp_path: Path) -> None:
    counted_where_killed(host, tmp_path / "done")


def test_sigint_first_and_sigkill_after_two_seconds(host: LabHost, tmp_path: Path) -> None:
    ready = tmp_path.parent / f"{tmp_path.name}-ready"
    polite = host.start(shell(f"trap 'echo goodbye; exit' INT; echo ready; : > {ready}; sleep 60 & wait"))
    script = "import os, signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nfor _ in range(3): os.fork()\ntime.sleep(60)\n"
    rude = host.start(python(script, str(tmp_path)))
    until(ready.exists)
    wait_for_some(f"{tmp_path}", 8 + 2)
    assert polite.stop().output.split() == ["ready", "goodbye"]
    begun = time.monotonic()
    assert rude.stop().exit_status is None
    assert time.monotonic() - begun >= launcher.GRACE_S
    assert processes_with(str(tmp_path)) == []


def test_what_cannot_be_started_or_does_not_end_says_so(host: LabHost) -> None:
    with pytest.raises(LabError, match="sender-1: no-such-program cannot be started: No such file or directory; is it installed"):
        host.start(Command(arguments=("no-such-program",)))
    with pytest.raises(LabError, match="expected a program, found an empty command"):
        host.start(Command(arguments=()))
    told_where_it_hangs(host)


def test_twelve_programs_at_a_time(host: LabHost, tmp_path: Path) -> None:
    programs: list[Program] = [host.start(shell(f"echo {number}; : > {tmp_path}/{number}; sleep 60")) for number in range(12)]
    until(lambda: len(os.listdir(tmp_path)) == 12)
    assert [program.stop().output for program in programs] == [f"{number}\n" for number in range(12)]


def test_nothing_survives_the_connection(box: LinuxBox, tmp_path: Path) -> None:
    with opened(entry_of(box, "10.82.1.1/24")) as host:
        host.start(python("import os, time\nos.fork()\ntime.sleep(60)", str(tmp_path)))
        wait_for_some(str(tmp_path), 2)
    wait_until_none(str(tmp_path))


_HOLDER = """
import sys, time
from orchestrator.lab import agent
from orchestrator.lab.hosts import opened
from rackproof.model.inventory import HostEntry
from rackproof.model.program import Command
with opened(HostEntry.model_validate_json(sys.argv[1])) as host:
    host.start(Command(arguments=("sh", "-c", "sleep 60 & sleep 61", sys.argv[2])))
    print("started", flush=True)
    time.sleep(60)
"""


def test_nothing_survives_this_process(box: LinuxBox, tmp_path: Path) -> None:
    """It is killed in the middle, without a chance to say anything."""

    arguments = [sys.executable, "-c", _HOLDER, entry_of(box, "10.82.1.1/24").model_dump_json(), str(tmp_path)]
    holder = subprocess.Popen(arguments, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3])
    assert holder.stdout is not None
    with holder.stdout:
        assert holder.stdout.readline() == b"started\n"
        wait_for_some(str(tmp_path), 2)
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
    wait_until_none(str(tmp_path))


def test_nothing_survives_a_silence(tmp_path: Path) -> None:
    """A cable is cut: nobody hangs up, and nobody says anything any more. The agent runs here, and waits a second in place of twenty."""
    source = getsource(agent).replace("SILENCE_S = 20.0", "SILENCE_S = 1.0")
    request = {"start": 1, "arguments": ["sh", "-c", f"sleep 60 & sleep 61; : {tmp_path}"], "environment": {}}
    reading, writing = os.pipe()
    with open(reading, "rb") as stdin, open(writing, "wb", buffering=0) as said:
        said.write(json.dumps(request).encode() + b"\n")  # before it listens: its second of silence is short
        command = [sys.executable, "-I", "-S", "-c", source, getsource(launcher)]
        process = subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE)
        assert process.stdout is not None
        with process.stdout:
            assert json.loads(process.stdout.readline()) == {"ready": process.pid}
            assert json.loads(process.stdout.readline()) == {"program": 1, "report": {"refused": None}}
            process.wait(SOON_S)
    wait_until_none(str(tmp_path))


def test_a_connection_that_breaks_is_told(box: LinuxBox, tmp_path: Path) -> None:
    before = psutil.Process().children()
    with opened(entry_of(box, "10.82.1.1/24")) as host:
        program = host.start(shell(f"sleep 60; : {tmp_path}"))
        (client,) = (child for child in psutil.Process().children() if child not in before)
        client.kill()
        with pytest.raises(LabError, match=r"sender-1: sh: sender-1 \(198\..* port 2222\): the connection ended"):
            program.stop()
    wait_until_none(str(tmp_path))


def test_the_key_of_the_inventory_and_no_other(box: LinuxBox) -> None:
    entry = entry_of(box, "10.82.1.1/24")
    with (
        pytest.raises(LabError, match=r"expected its SSH host key in the inventory \(known_host"),
        opened(entry.model_copy(update={"known_host": ""})),
    ):
        pass
    other = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0kWXOxKdXHDuUMNXjDjyVxGxmhzZY3zFsTD8m2tqgQ"
    with (
        pytest.raises(LabError, match="Host key verification failed"),
        opened(entry.model_copy(update={"known_host": other})),
    ):
        pass


def test_who_may_not_sign_in_is_told(box: LinuxBox, tmp_path: Path) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "key"], check=True)
    entry = entry_of(box, "10.82.1.1/24")
    for changes, said in (
        ({"credentials": Credentials(user="root", private_key=f"file:{tmp_path}/key")}, r"sender-1 \(.*Permission denied \(publickey\)"),
        ({"credentials": Credentials(user="root", password="env:PASSWORD")}, "expected a private key in its credentials"),
        ({"port": 9}, "Connection refused"),
    ):
        with pytest.raises(LabError, match=said), opened(entry.model_copy(update=changes)):
            pass

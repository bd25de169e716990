"""Do the processes of `rackproof up` stay up, and end with it?"""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

import psutil
import pytest

from rackproof.store.cluster import server_pid
from rackproof.store.embedded import cluster_of, stop_if_unused
from rackproof.supervisor import MemberPlan, Tree
from tests import waiting

ROOT = Path(__file__).parents[3]
BOUND_S = 180.0


until = partial(waiting.until, bound_s=BOUND_S)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tests.kinds.launch", *arguments]


@contextmanager
def ended(process: "subprocess.Popen[str]") -> Iterator["subprocess.Popen[str]"]:
    """The process, and what it started, are gone afterwards, whatever happened."""
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(BOUND_S)
                except subprocess.TimeoutExpired:
                    process.kill()


def lines_of(log: Path, words: str) -> list[str]:
    whole = log.read_text().rpartition("\n")[0]  # the last line may be being written
    return [line for line in whole.splitlines() if words in line]


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "data"
    yield folder
    stop_if_unused(folder)


class Up:
    """`rackproof up` in a folder, with everything that it says in a file."""

    def __init__(self, data_dir: Path, log: Path) -> None:
        self.data_dir = data_dir
        self.log = log
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RACKPROOF_")}
        environment = {**kept, "RACKPROOF_DATA_DIR": str(data_dir)}
        with log.open("w") as output:
            self.process = subprocess.Popen(
                command("up", "--port", "0", "--no-bench"), cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stderr=output, text=True
            )

    @property
    def address(self) -> str:
        (line,) = lines_of(self.log, "ready: http")[:1]
        return str(json.loads(line)["message"]).removeprefix("ready: ")

    def ready(self) -> "Up":
        def or_ended() -> bool:
            assert self.process.poll() is None, self.log.read_text()
            return bool(lines_of(self.log, "ready: http"))

        until(or_ended)
        return self

    def member(self, words: str) -> psutil.Process | None:
        """The process of the tree whose arguments have these words next to each other."""
        for child in psutil.Process(self.process.pid).children():
            try:
                if words in " ".join(child.cmdline()):
                    return child
            except psutil.Error:
                continue
        return None

    def answer(self, path: str = "/readyz") -> int:
        with urllib.request.urlopen(self.address + path, timeout=BOUND_S) as answer:
            return int(answer.status)


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    folder = tmp_path_factory.mktemp("up")
    started = Up(folder / "data", folder / "up.log")
    with ended(started.process):
        yield started.ready()
    assert server_pid(cluster_of(folder / "data")) is None


def test_what_dies_is_started_again_and_nobody_is_turned_away(up: Up) -> None:
    assert up.answer() == 200
    api = up.member("serve --fd")
    assert api is not None
    api.kill()
    api.wait(BOUND_S)
    # The socket belongs to the supervisor: a request that comes meanwhile waits, and is answered.
    assert up.answer("/healthz") == 200
    assert up.member("serve --fd") != api
    cluster = cluster_of(up.data_dir)
    server = server_pid(cluster)
    assert server is not None
    os.kill(server, signal.SIGKILL)
    until(lambda: server_pid(cluster) not in (None, server) and lines_of(up.log, "runs again"))

    def answers() -> bool:
        try:
            return up.answer() == 200
        except urllib.error.HTTPError as error:
            error.close()
            return False

    until(answers)
    assert lines_of(up.log, "the API was ended by SIGKILL; starting it again in 0.2 s")
    assert lines_of(up.log, "the database's server ended; starting it again")
    # What it says when nobody looks on is JSON, every line of it, the API's own included.
    assert {json.loads(line)["level"] for line in lines_of(up.log, '"logger"')} <= {"info", "warning", "error"}
    assert "admin" in lines_of(up.log, "no account yet")[0]


def test_a_second_one_in_the_same_folder_and_a_port_in_use_are_refused(up: Up, tmp_path: Path) -> None:
    def refused(folder: Path, *arguments: str) -> str:
        environment = {**os.environ, "RACKPROOF_DATA_DIR": str(folder), "COLUMNS": "300"}
        done = subprocess.run(
            command("up", *arguments), cwd=ROOT, env=environment, capture_output=True, text=True, timeout=BOUND_S, check=False
        )
        assert done.returncode == 3, done.stderr
        return done.stderr

    said = refused(up.data_dir)
    assert f"Rackproof is up already with {up.data_dir}: process {up.process.pid} since" in said
    assert up.address in said
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = refused(tmp_path / "other", "--port", port)
    assert f"cannot listen on 127.0.0.1, port {port}: Address already in use; end what uses it, or choose another --port" in said
    assert not (tmp_path / "other" / "postgres").exists()


def test_the_supervisor_is_light(up: Up) -> None:
    assert psutil.Process(up.process.pid).memory_full_info().pss < 40e6


def test_when_the_supervisor_is_killed_the_others_end_and_the_next_start_works_and_ends_in_order(data_dir: Path, tmp_path: Path) -> None:
    first = Up(data_dir, tmp_path / "up.log")
    with ended(first.process):
        family = [child for child in psutil.Process(first.ready().process.pid).children() if "postgres" not in child.name()]
        assert family
        first.process.kill()
        _, alive = psutil.wait_procs(family, timeout=BOUND_S)
        assert not alive
    again = Up(data_dir, tmp_path / "again.log")
    with ended(again.process):
        assert again.ready().answer() == 200
        family = psutil.Process(again.process.pid).children(recursive=True)
        assert len(family) >= 2
        again.process.send_signal(signal.SIGINT)
        assert again.process.wait(BOUND_S) == 0
        assert not lines_of(again.log, "the worker does not end")
        _, alive = psutil.wait_procs(family, timeout=BOUND_S)
        assert not alive
    assert server_pid(cluster_of(data_dir)) is None


# --- a tree of small programs ---


@contextmanager
def supervised(folder: Path, script: str, grace_s: float = 5.0) -> Iterator["tuple[subprocess.Popen[str], IO[str]]"]:
    member = MemberPlan(name="the program", command=["/bin/sh", "-c", script], grace_s=grace_s)
    tree = Tree(
        members=(member,), environment=dict(os.environ), data_dir=str(folder), share=None, keep=(), logs=str(folder / "logs"), ready=""
    )
    fd = os.memfd_create("tree", 0)
    os.write(fd, tree.to_json().encode())
    os.lseek(fd, 0, os.SEEK_SET)
    with subprocess.Popen(
        [sys.executable, "-m", "rackproof.supervisor", str(fd)], pass_fds=(fd,), cwd=ROOT, text=True, stderr=subprocess.PIPE
    ) as process:
        os.close(fd)
        assert process.stderr is not None
        with ended(process):
            yield process, process.stderr


def test_one_that_dies_at_once_is_started_less_and_less_often_and_its_last_words_are_shown(tmp_path: Path) -> None:
    with supervised(tmp_path, """echo '{"message": "no such luck"}' >&2; echo '-----' >&2; exit 7""") as (_, said):
        found = [said.readline().strip() for _ in range(9)]
    pauses = [line.rpartition("in ")[2] for line in found if "ended with status 7" in line]
    assert pauses == ["0.2 s", "0.4 s", "0.8 s"]
    assert found[1] == "it said last: no such luck"
    assert found[2] == f"its log: {tmp_path}/logs/program.log"


def test_one_that_does_not_end_is_killed(tmp_path: Path) -> None:
    script = f"trap '' TERM; touch {tmp_path}/up; while :; do sleep 0.1; done"
    with supervised(tmp_path, script, grace_s=0.5) as (process, said):
        until((tmp_path / "up").exists)
        process.terminate()
        assert process.wait(BOUND_S) == 0
        assert "the program does not end: killing it" in said.read()


def test_a_second_signal_ends_the_patience(tmp_path: Path) -> None:
    script = f"trap '' TERM; touch {tmp_path}/up; while :; do sleep 0.1; done"
    with supervised(tmp_path, script, grace_s=600) as (process, said):
        until((tmp_path / "up").exists)
        process.send_signal(signal.SIGINT)
        assert "ending (told to by SIGINT)" in said.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(BOUND_S) == 0


def test_a_log_that_is_too_long_begins_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rackproof import record

    monkeypatch.setattr(record, "LONGEST_BYTES", 100)
    log = tmp_path / "API.log"
    with log.open("ab") as writer:
        writer.write(b"old" * 50)
        writer.flush()
        record.Record(str(tmp_path)).rotate(0.0)
        writer.write(b"new")
    assert (log.read_bytes(), (tmp_path / "API.log.1").read_bytes()) == (b"new", b"old" * 50)

"""A service to do harm to: `rackproof up` with a second worker, all on a disk of its own."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import psutil

from rackproof.errors import StoreError
from rackproof.settings import Settings
from rackproof.store import Store
from rackproof.store.cluster import server_pid
from rackproof.store.embedded import cluster_of, stop_if_unused

ROOT = Path(__file__).parents[2]
TESTBED = "n1"
#: No wait is longer [s].
BOUND_S = 90.0
#: A worker that is silent for so long is taken for dead [s].
WORKER_TIMEOUT_S = 4.0
_DISK_BYTES = 400_000_000

T = TypeVar("T")


class Hung(AssertionError):
    """Something did not happen in time."""


def until(what: str, happened: Callable[[], T]) -> T:
    """Wait until something is true; what the database refuses meanwhile counts as not yet. Raises Hung."""
    end = time.monotonic() + BOUND_S
    while True:
        why = ""
        try:
            if found := happened():
                return found
        except StoreError as error:
            why = f" ({error})"
        if time.monotonic() > end:
            raise Hung(f"{what}: it did not happen within {BOUND_S:.0f} s{why}")
        time.sleep(0.02)


class Tree:
    """The processes, found by what they are; each property is None while there is none."""

    def __init__(self, folder: Path, testbeds: tuple[str, ...]) -> None:
        self.folder = folder
        self.data_dir = folder / "data"
        self.marker = folder / "executions"
        self._testbeds = [word for testbed in testbeds for word in ("--testbed", testbed)]
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RACKPROOF_")}
        self._environment = {**kept, "RACKPROOF_DATA_DIR": str(self.data_dir), "RACKPROOF_WORKER_TIMEOUT_S": str(WORKER_TIMEOUT_S)}
        self._log = (folder / "up.log").open("a")
        self._up: subprocess.Popen[bytes] | None = None
        self._second: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return cluster_of(self.data_dir).url()

    @property
    def settings(self) -> Settings:
        return Settings.load(data_dir=self.data_dir, database_url=self.url)

    def start(self) -> None:
        """Start everything that does not run, and wait until it does."""
        before = self._said("ready: http")
        if self._up is None or self._up.poll() is not None:
            self._up = self._launch("up", "--port", "0", "--name", "first", *self._testbeds)
            until("the API is ready", lambda: len(self._said("ready: http")) > len(before))
        if self._second is None or self._second.poll() is not None:
            environment = {**self._environment, "RACKPROOF_DATABASE_URL": self.url}
            self._second = self._launch("worker", "--name", "second", *self._testbeds, environment=environment)

    def stop(self) -> None:
        """End everything, as a person would."""
        for process in (self._second, self._up):
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for process in (self._second, self._up):
            if process is not None:
                try:
                    process.wait(BOUND_S)
                except subprocess.TimeoutExpired as error:
                    process.kill()
                    raise Hung("it does not end when told to") from error
        self._log.close()
        stop_if_unused(self.data_dir)

    def kill_all(self) -> None:
        """What a power cut does, as far as processes know of it."""
        processes = [process for each in (self._up, self._second) if each is not None for process in family(each.pid)]
        server = server_pid(cluster_of(self.data_dir))
        processes += family(server) if server is not None else []
        for process in processes:
            with contextlib.suppress(psutil.Error):
                process.kill()
        for each in (self._up, self._second):
            if each is not None:
                each.wait(BOUND_S)
        psutil.wait_procs(processes, timeout=BOUND_S)

    def workers(self) -> list[psutil.Process]:
        """The processes that run campaigns."""
        found = [process for process in self._children() if "worker" in _words(process)]
        if self._second is not None and self._second.poll() is None:
            found.append(psutil.Process(self._second.pid))
        return found

    def api(self) -> psutil.Process | None:
        return next((process for process in self._children() if "serve" in _words(process)), None)

    def postmaster(self) -> psutil.Process | None:
        pid = server_pid(cluster_of(self.data_dir))
        return psutil.Process(pid) if pid is not None else None

    def answers(self) -> bool:
        """True where the API says that it is ready."""
        address = self._said("ready: http")[-1]
        try:
            with urllib.request.urlopen(f"{address}/readyz", timeout=30) as answer:
                return int(answer.status) == 200
        except urllib.error.HTTPError as error:
            error.close()
            return False
        except OSError:
            return False

    def _children(self) -> list[psutil.Process]:
        if self._up is None or self._up.poll() is not None:
            return []
        with contextlib.suppress(psutil.Error):
            return psutil.Process(self._up.pid).children()
        return []

    def _launch(self, *arguments: str, environment: dict[str, str] | None = None) -> "subprocess.Popen[bytes]":
        command = [sys.executable, "-m", "tests.kinds.launch", *arguments]
        return subprocess.Popen(
            command, cwd=ROOT, env=environment or self._environment, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log
        )

    def _said(self, words: str) -> list[str]:
        whole = (self.folder / "up.log").read_text().rpartition("\n")[0]  # the last line may be being written
        lines = [line for line in whole.splitlines() if words in line]
        return [str(json.loads(line)["message"]).removeprefix("ready: ") for line in lines if line.startswith("{")]


@contextlib.contextmanager
def tree(folder: Path, testbeds: tuple[str, ...]) -> Iterator[tuple[Tree, Store]]:
    """A service that runs, and its store as the harness sees it."""
    with _disk(folder / "data"):
        made = Tree(folder, testbeds)
        try:
            made.start()
            with Store.open(made.settings) as store:
                yield made, store
        finally:
            made.stop()


def has_own_disk(folder: Path) -> bool:
    """True where the folder is a file system of its own, which may be filled without harm to anybody."""
    return folder.is_mount()


@contextlib.contextmanager
def _disk(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True)
    mount = shutil.which("mount")
    mounted = False
    if mount is not None and os.geteuid() == 0:
        options = f"size={_DISK_BYTES},mode=700"
        mounted = subprocess.run([mount, "-t", "tmpfs", "-o", options, "chaos", str(folder)], check=False).returncode == 0
    try:
        yield
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)


def family(pid: int) -> list[psutil.Process]:
    """A process and all below it."""
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        return [process, *process.children(recursive=True)]
    return []


def _words(process: psutil.Process) -> list[str]:
    with contextlib.suppress(psutil.Error):
        return process.cmdline()
    return []

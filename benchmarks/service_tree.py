"""What do the benchmarks of the service have in common? Processes of a service with a database of its own, and how rows are printed."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg

from rackproof.model.account import Scope
from rackproof.model.campaign import CampaignState
from rackproof.model.service import Role
from rackproof.settings import Settings
from rackproof.store import Store
from rackproof.store.embedded import EmbeddedServer
from testplans.submission import submission
from tests.kinds.launch import extend

ROOT = Path(__file__).parents[1]
BOUND_S = 300.0
Row = dict[str, Any]


class Service:
    """A database of its own, and as many processes as are asked for; all end with it."""

    def __init__(self, folder: Path, server: EmbeddedServer, store: Store) -> None:
        self.folder = folder
        self.server = server
        self.store = store
        self._log = (folder / "log").open("a")
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def launch(self, *arguments: str) -> "subprocess.Popen[bytes]":
        """One process of the command line, with the kind `nothing`."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RACKPROOF_")}
        environment = {**kept, "RACKPROOF_DATA_DIR": str(self.folder), "RACKPROOF_DATABASE_URL": self.server.url}
        command = [sys.executable, "-m", "tests.kinds.launch", *arguments]
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=self._log, stderr=self._log)
        self._processes.append(process)
        return process

    def worker(self, name: str, *testbeds: str) -> "subprocess.Popen[bytes]":
        """A worker that serves testbeds where nothing is done."""
        return self.launch("worker", "--name", name, *(word for each in testbeds for word in ("--testbed", f"{each}=nothing")))

    def api(self, port: int) -> "tuple[subprocess.Popen[bytes], str]":
        """The API, ready, and its address."""
        process = self.launch("serve", "--port", str(port))
        address = f"http://127.0.0.1:{port}"
        until("the API is ready", lambda: _answers(f"{address}/readyz"))
        return process, address

    def workers_live(self, many: int) -> None:
        """Wait until so many workers live."""
        until(f"{many} workers live", lambda: sum(worker.alive for worker in self.store.workers.list()) >= many)

    def submit(self, testbed: str = "n1", **keys: Any) -> int:
        """Put a campaign of the kind `nothing` into the queue."""
        plan = {"kind": "nothing", "name": "benchmark", "testbed": testbed, **keys}
        return self.store.queue.submit(**submission(json.dumps(plan).encode()).columns())

    def ended(self, *campaigns: int) -> None:
        """Wait until they have ended well."""
        for campaign in campaigns:
            until(f"campaign {campaign} ends", lambda each=campaign: self.store.campaign(each).state not in _OPEN)  # type: ignore[misc]
            state = self.store.campaign(campaign).state
            assert state is CampaignState.DONE, f"campaign {campaign} is {state.value}"

    def token(self) -> str:
        """What a reader signs in with."""
        user = self.store.accounts.create_user(name="benchmark", role=Role.VIEWER, password=None)
        expires = datetime.now(UTC) + timedelta(days=1)
        secret, _ = self.store.accounts.create_token(user.id, name="benchmark", scopes=[Scope.READ], expires=expires)
        return secret

    def round_trip_ms(self, times: int = 300) -> float:
        """Median of one INSERT and its commit over a connection that stands: what a stored result costs at least [ms]."""
        took = []
        with psycopg.connect(self.server.url.replace("+psycopg", ""), autocommit=True) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS bare (id bigserial PRIMARY KEY, at timestamptz DEFAULT now())")
            for _ in range(times):
                began = time.perf_counter()
                connection.execute("INSERT INTO bare DEFAULT VALUES")
                took.append((time.perf_counter() - began) * 1e3)
        return statistics.median(took)

    def close(self) -> None:
        """End all processes."""
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
        self._log.close()


_OPEN = {CampaignState.PENDING, CampaignState.RUNNING, CampaignState.INTERRUPTED}


@contextmanager
def service() -> Iterator[Service]:
    """A service without processes yet."""
    extend()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="rackproof-benchmark-")))
        server = stack.enter_context(EmbeddedServer(folder))
        store = stack.enter_context(Store.open(Settings.load(data_dir=folder, database_url=server.url)))
        found = Service(folder, server, store)
        stack.callback(found.close)
        yield found


def until(what: str, happened: Callable[[], bool]) -> None:
    """Wait until something is so. Raises TimeoutError."""
    end = time.monotonic() + BOUND_S
    while not happened():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {BOUND_S:.0f} s")
        time.sleep(0.02)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def row(name: str, value: float, unit: str, target: str, met: bool | None) -> Row:
    """As benchmarks/__main__.py prints it."""
    return {"name": name, "value": round(float(value), 3), "unit": unit, "target": target, "met": met}


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False

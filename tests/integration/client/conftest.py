"""A whole service: the API and a worker with a testbed on which nothing is done, each a process of its own, on a database of their own."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rackproof.client import Client, ServerError
from rackproof.model.account import scopes_of
from rackproof.model.service import Role
from rackproof.settings import Settings
from rackproof.store import Store
from rackproof.store.embedded import EmbeddedServer
from tests.conftest import _database

LAUNCH = [sys.executable, "-m", "tests.kinds.launch"]
WAIT_S = 90.0
PASSWORD = "a dozen ducks in a row"


class Service:
    """The processes. The API's socket is this process's: while the API is killed and started again, clients wait in the backlog."""

    def __init__(self, settings: Settings, tokens: dict[Role, str], logs: Path) -> None:
        assert settings.database_url is not None
        self.settings = settings
        self.tokens = tokens
        self._logs = logs
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("RACKPROOF_")},
            "RACKPROOF_DATA_DIR": str(settings.data_dir),
            "RACKPROOF_DATABASE_URL": settings.database_url.get_secret_value(),
        }
        self.api = self._start_api()
        self.worker = self._start("worker", "worker", "--name", "w", "--testbed", "nothing")

    def client(self, role: Role = Role.ENGINEER) -> Client:
        return Client(self.url, self.tokens[role])

    def kill_api(self) -> None:
        """As an out-of-memory killer does."""
        self.api.kill()
        self.api.wait(timeout=WAIT_S)

    def restart_api(self) -> None:
        self.api = self._start_api()

    def close(self) -> None:
        for process in (self.api, self.worker):
            process.send_signal(signal.SIGTERM)
        try:
            for process in (self.api, self.worker):
                process.wait(timeout=WAIT_S)
        finally:
            for process in (self.api, self.worker):
                process.kill()
                process.wait()
            self._socket.close()

    def said(self) -> str:
        """The last words of both."""
        return "\n".join(path.read_text()[-3000:] for path in sorted(self._logs.glob("*.log")))

    def _start_api(self) -> subprocess.Popen[bytes]:
        return self._start("api", "serve", "--fd", str(self._socket.fileno()))

    def _start(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        with (self._logs / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [*LAUNCH, *arguments],
                env=self.environment,
                pass_fds=[self._socket.fileno()],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )

    def wait(self) -> None:
        """Until the worker serves its testbed."""
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            assert self.api.poll() is None, self.said()
            assert self.worker.poll() is None, self.said()
            try:
                with self.client(Role.VIEWER) as client:
                    if any(testbed.workers for testbed in client.testbeds()):
                        return
            except ServerError:
                pass
            time.sleep(0.1)
        raise AssertionError(f"the service did not start:\n{self.said()}")


@pytest.fixture(scope="session")
def service(postgres: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service for all tests of the client."""
    folder = tmp_path_factory.mktemp("service")
    with _database(postgres, "template_of_tests") as url:
        settings = Settings.load(data_dir=folder / "data", database_url=url)
        with _running(settings, folder) as running:
            yield running


@pytest.fixture
def client(service: Service) -> Iterator[Client]:
    """An engineer's."""
    with service.client() as made:
        yield made


@contextmanager
def _running(settings: Settings, folder: Path) -> Iterator[Service]:
    tokens = {}
    with Store.open(settings) as store:
        for role in Role:
            user = store.accounts.create_user(name=role.value, role=role, password=PASSWORD)
            expires = datetime.now(UTC) + timedelta(hours=1)
            tokens[role], _ = store.accounts.create_token(user.id, name="test", scopes=scopes_of(role), expires=expires)
    service = Service(settings, tokens, folder)
    try:
        service.wait()
        yield service
    finally:
        service.close()

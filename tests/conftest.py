"""Fixtures that all tests share: a real PostgreSQL for the session, and a database and a store for each test."""

import itertools
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import hypothesis
import psycopg
import pytest

from rackproof.model.trial import Trial
from rackproof.settings import Settings
from rackproof.store import Store, database
from rackproof.store.cluster import USER
from rackproof.store.embedded import EmbeddedServer

# How long an example takes, and its making, says how busy the machine is.
_ANY_SPEED = hypothesis.settings(deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.register_profile("dev", _ANY_SPEED)
hypothesis.settings.register_profile("ci", _ANY_SPEED, derandomize=True, print_blob=True)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

_TEMPLATE = "template_of_tests"
_numbers = itertools.count(1)
#: How long threads that began in a test may take to end after it [s].
_LEAVE_S = 30.0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The browser comes last: while it is open, its event loop runs in this thread, and other tests have loops of their own."""
    items.sort(key=lambda item: "tests/browser/" in item.nodeid)


@pytest.fixture(autouse=True)
def _no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the settings of whoever runs it, or writes where that person keeps results."""
    for name in [name for name in os.environ if name.startswith("RACKPROOF_")]:
        monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """A PostgreSQL for the session, with a migrated database that others are copied from."""
    with EmbeddedServer(tmp_path_factory.mktemp("pg"), [("fsync", "off"), ("full_page_writes", "off")]) as server:
        _administer(server, f"CREATE DATABASE {_TEMPLATE}")
        engine = database.connect(server.cluster.url(_TEMPLATE))
        database.migrate(engine)
        engine.dispose()
        yield server


@pytest.fixture
def empty_database(postgres: EmbeddedServer) -> Iterator[str]:
    """The URL of a database with nothing in it."""
    with _database(postgres, "template0") as url:
        yield url


@pytest.fixture
def database_url(postgres: EmbeddedServer) -> Iterator[str]:
    """The URL of a migrated database that is this test's own."""
    with _database(postgres, _TEMPLATE) as url:
        yield url


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    """Settings of a machine that is this test's own."""
    return Settings.load(data_dir=tmp_path / "data", database_url=database_url)


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    """An open store with nothing in it. A test that leaves somebody at work on it fails, in place of one that comes later."""
    before = frozenset(threading.enumerate())
    with Store.open(settings) as opened:
        yield opened
        _wait_for_those_who_use(opened, before)


@pytest.fixture
def environment(settings: Settings) -> dict[str, str]:
    """The environment of a `rackproof` process that shares this test's settings."""
    assert settings.database_url is not None
    url = settings.database_url.get_secret_value()
    return {**os.environ, "RACKPROOF_DATA_DIR": str(settings.data_dir), "RACKPROOF_DATABASE_URL": url}


@pytest.fixture
def campaign(store: Store) -> Callable[..., int]:
    """Makes a campaign with so many trials; its id."""

    def make(trials: int = 3, name: str = "a campaign") -> int:
        return store.create_campaign(
            name=name,
            kind="switch-qos",
            testbed="bench",
            plan={"kind": "switch-qos", "weights": [0.1, 0.2], "limits": {"most": float("inf")}},
            plan_text="kind: switch-qos\n",
            plan_sha256="0" * 64,
            trials=[a_trial(index) for index in range(1, trials + 1)],
        )

    return make


def a_trial(index: int) -> Trial:
    """A trial with a point of every scalar type."""
    point: dict[str, float | int | str] = {"load_mbps": 60.5, "device": "linux-htb", "senders": 8}
    return Trial(index=index, label=f"trial {index}", point=point, repetition=1, seed=2**64 - index, duration_s=1.5)


def _wait_for_those_who_use(store: Store, before: frozenset[threading.Thread]) -> None:
    """Threads that began with the test end with it: one that goes on would use connections that nobody closes any more."""
    deadline = time.monotonic() + _LEAVE_S
    while True:
        threads = [thread.name for thread in threading.enumerate() if thread not in before]
        connections = store.transactions.engine.pool.checkedout()  # type: ignore[attr-defined]
        if not threads and not connections:
            return
        assert time.monotonic() < deadline, f"after the test, the store is still used: {connections} connections, threads {threads}"
        time.sleep(0.005)


@contextmanager
def _database(server: EmbeddedServer, template: str) -> Iterator[str]:
    name = f"test_{os.getpid()}_{next(_numbers)}"
    _administer(server, f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
    try:
        yield server.cluster.url(name)
    finally:
        _administer(server, f"DROP DATABASE {name} WITH (FORCE)")


def _administer(server: EmbeddedServer, statement: str) -> None:
    with psycopg.connect(host=str(server.cluster.socket_dir), user=USER, dbname="postgres", autocommit=True) as connection:
        connection.execute(statement.encode())

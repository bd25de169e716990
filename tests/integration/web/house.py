"""The whole site behind a real server, on a copy of a database in which something of everything has happened, with a client for each role.

The house is filled once a session. Each test gets a copy of its database; the files of samples and reports are shared.
"""

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psycopg
import pytest

from rackproof.model.service import Role
from rackproof.settings import Settings
from rackproof.store import Store
from rackproof.store.cluster import USER
from rackproof.store.embedded import EmbeddedServer
from tests.integration.accounts.serving import serving
from tests.integration.web.seeds import Seeds, cheap, seeded
from web.site import create_site

Client = Callable[[Role | None], httpx.Client]
#: How the browser's cookie is called where the service is reached by http on loopback.
COOKIE = "rackproof"
_numbers = itertools.count(1)
_filled: dict[str, "House"] = {}


@dataclass(frozen=True, kw_only=True, slots=True)
class House:
    """A filled database, to be copied, and the folder with its files."""

    database: str
    folder: Path
    seeds: Seeds


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    """A site that answers. Whoever writes into the store is seen on its pages. closing: what ends before the site does."""

    address: str
    store: Store
    settings: Settings
    seeds: Seeds
    closing: ExitStack = field(default_factory=ExitStack)


@pytest.fixture(scope="session")
def house(postgres: EmbeddedServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Filled once, also where two areas of tests have this fixture."""
    if (found := _filled.get(postgres.cluster.url("house"))) is not None:
        yield found
        return
    folder = tmp_path_factory.mktemp("house")
    with _database(postgres, "template_of_tests") as name:
        settings = Settings.load(data_dir=folder, database_url=postgres.cluster.url(name))
        with Store.open(settings) as store:
            seeds = seeded(store, settings)
        made = _filled[postgres.cluster.url("house")] = House(database=name, folder=folder, seeds=seeds)
        yield made


@pytest.fixture
def site(postgres: EmbeddedServer, house: House) -> Iterator[Site]:
    """A site of this test's own."""
    with _site(postgres, house) as made:
        yield made


@pytest.fixture(scope="module")
def quiet_site(postgres: EmbeddedServer, house: House) -> Iterator[Site]:
    """A site for all tests of a module that only look."""
    with _site(postgres, house) as made:
        yield made


@pytest.fixture
def seeds(house: House) -> Seeds:
    """Numbers of what is there."""
    return house.seeds


@pytest.fixture
def client(site: Site) -> Iterator[Client]:
    """Makes a client that is signed in with a role, or not at all; redirects are not followed."""
    with clients(site) as make:
        yield make


@pytest.fixture(scope="module")
def quiet(quiet_site: Site) -> Iterator[Client]:
    """The same on the site for tests that only look."""
    with clients(quiet_site) as make:
        yield make


@contextmanager
def clients(site: Site) -> Iterator[Client]:
    """Makes clients that are signed in by a session, as browsers are."""
    with ExitStack() as stack:

        def make(role: Role | None) -> httpx.Client:
            made = stack.enter_context(httpx.Client(base_url=site.address, timeout=60))
            if role is not None:
                secret, session = site.store.accounts.open_session(site.store.accounts.by_name(role.value).id)
                made.cookies.set(COOKIE, secret)
                made.headers["X-CSRF-Token"] = session.csrf
            return made

        yield make


@contextmanager
def _site(postgres: EmbeddedServer, house: House) -> Iterator[Site]:
    with _database(postgres, house.database) as name:
        settings = Settings.load(data_dir=house.folder, database_url=postgres.cluster.url(name))
        with Store.open(settings) as store, serving(create_site(settings, cheap(store))) as address:
            made = Site(address=address, store=store, settings=settings, seeds=house.seeds)
            with made.closing:
                yield made


@contextmanager
def _database(server: EmbeddedServer, template: str) -> Iterator[str]:
    name = f"web_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(host=str(server.cluster.socket_dir), user=USER, dbname="postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy".encode())
        try:
            yield name
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())

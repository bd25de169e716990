"""The whole application behind a real server, on a database with a campaign of every sort, and a client for each role."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from fastapi import FastAPI

from api.app import create_app
from rackproof.model.account import scopes_of
from rackproof.model.service import Role
from rackproof.settings import Settings
from rackproof.store import Store
from tests.integration.accounts.serving import serving
from tests.integration.api.seeds import Seeds, seeded

Client = Callable[[Role | None], httpx.Client]


@pytest.fixture
def seeds(store: Store, settings: Settings) -> Seeds:
    """What the database holds."""
    return seeded(store, settings)


@pytest.fixture
def app(settings: Settings, store: Store) -> FastAPI:
    """The application."""
    return create_app(settings, store)


@pytest.fixture
def served(app: FastAPI) -> Iterator[str]:
    """The address of a server with the application."""
    with serving(app) as address:
        yield address


@pytest.fixture
def tokens(store: Store) -> dict[Role, str]:
    """A token for a user of each role, who is called as the role is."""
    made = {}
    for role in Role:
        user = store.accounts.create_user(name=role.value, role=role, password=None)
        expires = datetime.now(UTC) + timedelta(hours=1)
        made[role], _ = store.accounts.create_token(user.id, name="test", scopes=scopes_of(role), expires=expires)
    return made


@pytest.fixture
def client(served: str, tokens: dict[Role, str]) -> Iterator[Client]:
    """Makes a client that is signed in with a role, or not at all."""
    with ExitStack() as stack:

        def make(role: Role | None) -> httpx.Client:
            headers = {} if role is None else {"Authorization": f"Bearer {tokens[role]}"}
            return stack.enter_context(httpx.Client(base_url=f"{served}/api/v1", headers=headers, timeout=60, verify=False))

        yield make


@pytest.fixture
def viewer(client: Client) -> httpx.Client:
    """Signed in as viewer."""
    return client(Role.VIEWER)


@pytest.fixture
def engineer(client: Client) -> httpx.Client:
    """Signed in as engineer."""
    return client(Role.ENGINEER)


@pytest.fixture
def admin(client: Client) -> httpx.Client:
    """Signed in as admin."""
    return client(Role.ADMIN)

"""Accounts on a real database, and their routes behind a real server. Hashing is cheap here, by the constructor alone."""

from collections.abc import Callable, Iterator

import httpx
import pytest
from argon2 import PasswordHasher
from fastapi import FastAPI

import api.accounts
from api import problems
from rackproof.model.account import User
from rackproof.model.service import Role
from rackproof.settings import Settings
from rackproof.store import Store
from rackproof.store.accounts import Accounts
from tests.integration.accounts.serving import PASSWORD, serving

MakeUser = Callable[..., User]


@pytest.fixture
def accounts(store: Store) -> Accounts:
    """The store's accounts, with a hasher that costs nothing."""
    cheap = Accounts(store.transactions, PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    store.accounts = cheap
    return cheap


@pytest.fixture
def user(accounts: Accounts) -> MakeUser:
    """Makes a user."""

    def make(name: str = "ada", role: Role = Role.ENGINEER) -> User:
        return accounts.create_user(name=name, role=role, password=PASSWORD)

    return make


@pytest.fixture
def served(settings: Settings, store: Store, accounts: Accounts) -> Iterator[str]:
    """The address of a server with the routes of accounts alone."""
    with serving(accounts_app(settings, store)) as address:
        yield address


@pytest.fixture
def browser(served: str) -> Iterator[httpx.Client]:
    """Something that keeps cookies."""
    with httpx.Client(base_url=f"{served}/api/v1", timeout=30) as client:
        yield client


def accounts_app(settings: Settings, store: Store) -> FastAPI:
    app = FastAPI(openapi_url="/api/v1/openapi.json")
    app.state.settings, app.state.store = settings, store
    app.include_router(api.accounts.router, prefix="/api/v1")
    problems.install(app)
    return app

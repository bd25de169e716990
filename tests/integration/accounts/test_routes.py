"""Does every route of the service say what it needs, and answer nobody who does not have it?"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute, RouteContext, iter_route_contexts

from api.app import create_app
from api.identity import GuardedRoute, OpenToAll, Requirement, SessionRequirement, declared
from rackproof.model.account import Scope, scopes_of
from rackproof.model.service import Role
from rackproof.settings import Settings
from rackproof.store import Store
from rackproof.store.accounts import Accounts
from tests.integration.accounts.conftest import MakeUser
from tests.integration.accounts.serving import serving

#: All that answers without signing in.
OPEN = {
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/api/v1/openapi.json"),
    ("GET", "/api/v1/setup"),
    ("POST", "/api/v1/setup"),
    ("POST", "/api/v1/session"),
    ("GET", "/api/v1/oidc/start"),
    ("GET", "/api/v1/oidc/callback"),
}
_LESSER = {Role.VIEWER: None, Role.ENGINEER: Role.VIEWER, Role.ADMIN: Role.ENGINEER}


@dataclass(frozen=True, slots=True)
class Walked:
    """A route with a method; requirement is None where it is open."""

    method: str
    path: str
    requirement: Requirement | None

    @property
    def address(self) -> str:
        """An address of the route whose thing does not exist."""
        return re.sub(r"\{[^}]*\}", "987654321", self.path)


@pytest.fixture
def app(settings: Settings, store: Store, accounts: Accounts) -> FastAPI:
    return create_app(settings, store)


@pytest.fixture
def client(app: FastAPI) -> Iterator[httpx.Client]:
    with serving(app) as address, httpx.Client(base_url=address, timeout=30) as made:
        yield made


def _walk(app: FastAPI) -> list[Walked]:
    return [
        Walked(method, context.path or "", requirement if isinstance(requirement := _declared(context), Requirement) else None)
        for context in iter_route_contexts(app.routes)
        for method in sorted((context.methods or set()) - {"HEAD"})
    ]


def _declared(context: RouteContext) -> Requirement | OpenToAll | None:
    return declared(context.dependant) if isinstance(context.original_route, APIRoute) else None


def test_every_route_says_what_it_needs_and_is_guarded_before_its_body_is_read(app: FastAPI) -> None:
    silent = [
        context.path
        for context in iter_route_contexts(app.routes)
        if not isinstance(context.original_route, GuardedRoute) or _declared(context) is None
    ]
    # FastAPI adds the OpenAPI document by itself.
    assert silent == ["/api/v1/openapi.json"]


def test_what_is_open_is_spelled_out(app: FastAPI) -> None:
    walked = _walk(app)
    assert {(each.method, each.path) for each in walked if each.requirement is None} == OPEN
    assert len(walked) > 60


def _ask(client: httpx.Client, each: Walked, headers: dict[str, str], *, body: bool = False) -> httpx.Response:
    content: dict[str, Any] = (
        {"content": b'{"broken', "headers": {**headers, "Content-Type": "application/json"}} if body else {"headers": headers}
    )
    with client.stream(each.method, each.address, **content) as answer:
        # A stream of events that is let in never ends; its status has come.
        if answer.status_code >= 400:
            answer.read()
        return answer


def test_nobody_gets_in_without_credentials(app: FastAPI, client: httpx.Client) -> None:
    for each in _walk(app):
        if each.requirement is None:
            continue
        for headers in ({}, {"Authorization": "Bearer rp_unknown"}, {"Cookie": "rackproof=unknown"}):
            for body in (False, True):
                answer = _ask(client, each, headers, body=body)
                assert answer.status_code == 401, (each, headers, body, answer.text)
                assert answer.headers["www-authenticate"].startswith("Bearer")
                assert answer.headers["content-type"] == "application/problem+json"


def test_a_lesser_role_or_a_token_without_the_scope_is_refused_before_anything_is_looked_up(
    app: FastAPI, client: httpx.Client, accounts: Accounts, user: MakeUser
) -> None:
    def bearer(role: Role, *scopes: Scope) -> dict[str, str]:
        who = accounts.by_name(role.value)
        secret, _ = accounts.create_token(who.id, name="walk", scopes=scopes, expires=datetime.now(UTC) + timedelta(days=1))
        return {"Authorization": f"Bearer {secret}"}

    for role in Role:
        user(role.value, role)
    of_role = {role: bearer(role, *scopes_of(role)) for role in Role}
    without = {scope: bearer(Role.ADMIN, *(set(Scope) - {scope})) for scope in Scope}
    sessions = {role: {"Cookie": f"rackproof={accounts.open_session(accounts.by_name(role.value).id)[0]}"} for role in Role}
    for each in _walk(app):
        if each.requirement is None:
            continue
        refused = [without[each.requirement.scope]]
        if isinstance(each.requirement, SessionRequirement):
            refused.append(of_role[Role.ADMIN])
        lesser = _LESSER[each.requirement.role]
        if lesser is not None:
            refused += [of_role[lesser], sessions[lesser]]
        if each.method != "GET":
            # With the right role, but without the CSRF token.
            refused.append(sessions[Role.ADMIN])
        for headers in refused:
            for body in (False, True):
                answer = _ask(client, each, headers, body=body)
                assert answer.status_code == 403, (each, body, answer.text)


def test_who_has_the_right_gets_past_it(app: FastAPI, client: httpx.Client, accounts: Accounts, user: MakeUser) -> None:
    """Without this, a service that refuses everybody would pass."""
    admin = user("root", Role.ADMIN)
    secret, session = accounts.open_session(admin.id)
    headers = {"Cookie": f"rackproof={secret}", "X-CSRF-Token": session.csrf}
    for each in _walk(app):
        if each.requirement is not None and (each.method, each.path) != ("DELETE", "/api/v1/session"):
            answer = _ask(client, each, headers, body=each.method != "GET")
            assert answer.status_code not in {401, 403, 405, 500}, (each, answer.status_code)


def test_the_document_says_what_each_operation_needs(app: FastAPI) -> None:
    document = app.openapi()
    schemes = document["components"]["securitySchemes"]
    assert (schemes["token"]["scheme"], schemes["session"]["in"]) == ("bearer", "cookie")
    for each in _walk(app):
        if each.path not in document["paths"]:
            continue
        operation = document["paths"][each.path][each.method.lower()]
        if each.requirement is None:
            assert "security" not in operation, each
            continue
        expected: list[dict[str, list[str]]] = (
            [{"session": []}] if isinstance(each.requirement, SessionRequirement) else [{"token": []}, {"session": []}]
        )
        assert sorted(operation["security"], key=str) == sorted(expected, key=str), each
        assert {"401", "403"} <= set(operation["responses"]), each

"""Does every route answer as the OpenAPI document says, whatever it is sent and whoever sends it? RACKPROOF_LONG=1 tries far more."""

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from schemathesis.checks import CHECKS as CHECKS_BY_NAME
from schemathesis.checks import load_all_checks
from schemathesis.core.failures import Failure
from schemathesis.core.result import Ok
from schemathesis.schemas import APIOperation

from rackproof.inventory import parse_inventory
from rackproof.model.account import scopes_of
from rackproof.model.service import Role
from rackproof.store import Store
from tests.integration.accounts.serving import PASSWORD
from tests.integration.api.seeds import PLAN, Seeds
from tests.inventories import LAB

#: Read before the settings of the machine are hidden from tests.
LONG = bool(os.environ.get("RACKPROOF_LONG"))
EXAMPLES = (
    {Role.ADMIN: 60, Role.ENGINEER: 40, Role.VIEWER: 20, None: 20} if LONG else {Role.ADMIN: 5, Role.ENGINEER: 2, Role.VIEWER: 1, None: 1}
)

Operation = APIOperation[Any, Any, Any, Any]

load_all_checks()
CHECKS: list[Any] = [
    CHECKS_BY_NAME.get_one(name)
    for name in (
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
        "response_schema_conformance",
    )
]


@pytest.fixture
def operations(served: str, seeds: Seeds, store: Store, monkeypatch: pytest.MonkeyPatch) -> list[Operation]:
    """Every operation of the document, on a database in which the small numbers name something."""
    monkeypatch.setattr("api.routes.plans.WAIT_S", 0.02)
    schedule = store.schedules.create(
        name="Nightly", cron="0 3 * * *", zone="UTC", plans=[PLAN], owner="ada", webhooks=["http://127.0.0.1/x"]
    )
    store.deliveries.add(store.schedules.run_now(schedule.id), "webhook", "http://127.0.0.1/x")
    now = datetime.now(UTC)
    store.reservations.reserve(testbed="bench", user_id=None, owner="ada", starts=now + timedelta(days=1), ends=now + timedelta(days=2))
    store.workers.register("lab-1", ["bench"], timeout_s=3600)
    store.inventories.put(parse_inventory(LAB.encode(), "lab1")[1], LAB, by="ada")
    store.devices.offline("lab1", "switch-1", "it could not be restored")
    schema = schemathesis.openapi.from_url(f"{served}/api/v1/openapi.json", timeout=60)
    return [result.ok() for result in schema.get_all_operations() if isinstance(result, Ok)]


def people(store: Store, role: Role | None) -> Iterator[dict[str, str]]:
    """Headers of a new user for each operation: some operations end what their caller has."""
    number = 0
    while True:
        number += 1
        if role is None:
            yield {}
            continue
        user = store.accounts.create_user(name=f"{role.value}-{number}", role=role, password=PASSWORD if number == 1 else None)
        expires = datetime.now(UTC) + timedelta(hours=1)
        token, _ = store.accounts.create_token(user.id, name="test", scopes=scopes_of(role), expires=expires)
        yield {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize("role", [Role.ADMIN, Role.ENGINEER, Role.VIEWER, None], ids=str)
def test_every_route_answers_as_documented(
    operations: list[Operation], app: FastAPI, store: Store, seeds: Seeds, role: Role | None
) -> None:
    known: dict[str, Sequence[int | str]] = {
        "campaign": [seeds.done, seeds.waiting],
        "report": [seeds.report],
        "form": ["pdf", "html", "json"],
        "kind": ["switch-qos"],
        "testbed": ["bench", "lab1"],
        "inventory": ["lab1"],
        "device": ["switch-1"],
        "worker": ["lab-1"],
    }
    assert len(operations) > 60
    wrong = []
    for operation, headers in zip(operations, people(store, role), strict=False):
        try:
            try_out(operation, headers, known, EXAMPLES[role])
        except* Failure as group:
            wrong.append(f"{operation.label}: {group.exceptions}")
    assert not wrong, "\n".join(wrong)


def try_out(operation: Operation, headers: dict[str, str], known: Mapping[str, Sequence[int | str]], examples: int) -> None:
    """Send what the document allows, half of the time to things that are there."""

    @given(case=operation.as_strategy(), data=st.data())
    @hypothesis_settings(
        max_examples=examples,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
        derandomize=not LONG,
    )
    def answers(case: schemathesis.Case[Any], data: st.DataObject) -> None:
        for name in case.path_parameters:
            if data.draw(st.booleans()):
                case.path_parameters[name] = data.draw(st.sampled_from(known.get(name, (1, 2))))
        case.call_and_validate(headers=headers, checks=CHECKS, timeout=60)

    answers()

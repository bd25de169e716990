"""Which testbeds are there, what can they carry, and may anything start on them?"""

import builtins
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, func, select, update
from sqlalchemy.dialects.postgresql import insert

from rackproof.errors import NotFound
from rackproof.model.service import TestbedState
from rackproof.ports import Limits
from rackproof.store import life
from rackproof.store.lineup import holders
from rackproof.store.schema_service import Testbed
from rackproof.store.transactions import WORK, Transactions, notify

_LIMITS = TypeAdapter(Limits)


@dataclass(frozen=True, kw_only=True, slots=True)
class TestbedRecord:
    """A testbed. limits: rackproof.ports.Limits as plain data, None until it was asked; workers: those alive that serve it.

    in_use_by: in words, "" where it is free. golden_*: the health check's plan text, when it runs, and its latest campaign.
    """

    __test__ = False  # not a test, whatever pytest makes of its name

    name: str
    driver: str
    description: str
    resources: tuple[str, ...]
    state: TestbedState
    reason: str
    limits: Mapping[str, Any] | None
    facts: Mapping[str, Any]
    workers: tuple[str, ...]
    in_use_by: str
    golden_plan: str | None
    golden_cron: str | None
    golden_zone: str
    golden_next: datetime | None
    golden_campaign_id: int | None

    @property
    def carries(self) -> Limits | None:
        """What it can carry; None until its worker said so, and where that was a worker of another version, which says it otherwise."""
        try:
            return _LIMITS.validate_python(self.limits)
        except ValidationError:
            return None


class Testbeds:
    """Which testbeds are there, what can they carry, and may anything start on them?"""

    __test__ = False  # not a test, whatever pytest makes of its name

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def announce(
        self,
        name: str,
        driver: str,
        resources: Sequence[str],
        limits: Mapping[str, Any] | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        """Write down a testbed that a worker serves. What is None stays as it is known; state and health check are never touched."""
        values: dict[str, Any] = {"driver": driver, "resources": sorted(resources)}
        values |= {key: value for key, value in (("limits", limits), ("facts", facts)) if value is not None}
        anew = {**values, "announced": func.clock_timestamp()}
        with self._transactions.step(f"testbed {name} could not be announced") as connection:
            connection.execute(
                insert(Testbed)
                .values(name=name, **values, state=TestbedState.ONLINE)
                .on_conflict_do_update(index_elements=[Testbed.name], set_=anew)
            )
            notify(connection, WORK, "queue")

    def list(self) -> builtins.list[TestbedRecord]:
        """All testbeds by name."""
        with self._transactions.reading("the testbeds could not be read") as connection:
            return _load(connection)

    def names(self) -> builtins.list[str]:
        """The names of all testbeds."""
        with self._transactions.step("the testbeds could not be read") as connection:
            return builtins.list(connection.scalars(select(Testbed.name).order_by(Testbed.name)))

    def get(self, name: str) -> TestbedRecord:
        """One testbed. Raises NotFound with the names that there are."""
        found = {record.name: record for record in self.list()}
        if name not in found:
            raise _not_found(name, sorted(found))
        return found[name]

    def set_state(self, name: str, state: TestbedState, reason: str) -> None:
        """Take it offline or bring it back. Raises NotFound."""
        self._update(name, state=state, reason=reason)

    def set_golden(self, name: str, plan: str | None, cron: str | None, zone: str) -> None:
        """Set the health check: the text of its plan, when it runs, in which time zone; None, None: no check. Raises NotFound.

        golden_next is forgotten: whoever keeps the time works it out from now.
        """
        self._update(name, golden_plan=plan, golden_cron=cron, golden_zone=zone, golden_next=None)

    def _update(self, name: str, **values: Any) -> None:
        with self._transactions.step(f"testbed {name} could not be changed") as connection:
            if connection.scalar(update(Testbed).where(Testbed.name == name).values(**values).returning(Testbed.name)) is None:
                raise _not_found(name, connection.scalars(select(Testbed.name).order_by(Testbed.name)).all())
            notify(connection, WORK, "queue")
            notify(connection, WORK, "schedule")


def _not_found(name: str, names: Sequence[str]) -> NotFound:
    return NotFound(f"there is no testbed {name!r}; there are: {', '.join(names) or 'none yet: start a worker'}")


def _load(connection: Connection) -> list[TestbedRecord]:
    serving = life.serving(connection)
    used = holders(connection)
    return [
        TestbedRecord(
            name=row.name,
            driver=row.driver,
            description=row.description,
            resources=tuple(row.resources),
            state=TestbedState(row.state),
            reason=row.reason,
            limits=row.limits,
            facts=row.facts,
            workers=tuple(serving.get(row.name, ())),
            in_use_by=next((used[resource] for resource in row.resources if resource in used), ""),
            golden_plan=row.golden_plan,
            golden_cron=row.golden_cron,
            golden_zone=row.golden_zone,
            golden_next=row.golden_next,
            golden_campaign_id=row.golden_campaign_id,
        )
        for row in connection.execute(select(*Testbed.__table__.columns).order_by(Testbed.name))
    ]

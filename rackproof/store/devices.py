"""Which devices may nothing start on, and why? A device whose configuration could not be brought back waits for somebody to look at it."""

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from rackproof.errors import NotFound
from rackproof.store.schema_service import OfflineDevice as Row
from rackproof.store.transactions import WORK, Transactions, notify


@dataclass(frozen=True, kw_only=True, slots=True)
class OfflineDevice:
    """A device that was taken offline. campaign: the one after which that was, None where it was none or is gone."""

    testbed: str
    device: str
    reason: str
    campaign: int | None
    since: datetime


class Devices:
    """Taking devices offline and clearing them."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def offline(self, testbed: str, device: str, reason: str, campaign: int | None = None) -> None:
        """Let nothing start on the device any more; the latest reason counts."""
        values = {"reason": reason, "campaign_id": campaign, "since": func.clock_timestamp()}
        with self._transactions.step(f"device {device} of testbed {testbed} could not be taken offline") as connection:
            connection.execute(
                insert(Row)
                .values(testbed=testbed, device=device, **values)
                .on_conflict_do_update(index_elements=[Row.testbed, Row.device], set_=values)
            )
            notify(connection, WORK, "queue")

    def clear(self, testbed: str, device: str) -> None:
        """Let campaigns have the device again: somebody looked at it. Raises NotFound where it is not offline."""
        with self._transactions.step(f"device {device} of testbed {testbed} could not be cleared") as connection:
            this = (Row.testbed == testbed, Row.device == device)
            if connection.scalar(delete(Row).where(*this).returning(Row.device)) is None:
                raise NotFound(f"no device {device!r} of testbed {testbed} is offline")
            notify(connection, WORK, "queue")

    def list(self, testbed: str | None = None) -> builtins.list[OfflineDevice]:
        """Those that are offline, of one testbed or of all, by name."""
        return self._read() if testbed is None else self._read(Row.testbed == testbed)

    def of(self, testbed: str, resources: Sequence[str]) -> builtins.list[OfflineDevice]:
        """Those for which nothing starts on a testbed: its own, and those that it shares with the testbed that took them offline."""
        return self._read(_in(testbed, resources))

    def _read(self, *which: ColumnElement[bool]) -> builtins.list[OfflineDevice]:
        wanted = select(*Row.__table__.columns).where(*which).order_by(Row.testbed, Row.device)
        with self._transactions.step("the devices could not be read") as connection:
            return [
                OfflineDevice(testbed=row.testbed, device=row.device, reason=row.reason, campaign=row.campaign_id, since=row.since)
                for row in connection.execute(wanted)
            ]


def in_the_way(connection: Connection, testbed: str, resources: Sequence[str]) -> str:
    """Why nothing may start on a testbed because of its devices, in words; "" where it may."""
    wanted = select(Row.device, Row.reason).where(_in(testbed, resources)).order_by(Row.device).limit(1)
    row = connection.execute(wanted).one_or_none()
    return "" if row is None else f"device {row.device}, which is offline until somebody clears it: {row.reason}"


def _in(testbed: str, resources: Sequence[str]) -> ColumnElement[bool]:
    return (Row.testbed == testbed) | Row.device.in_(resources)

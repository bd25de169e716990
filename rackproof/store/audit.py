"""Who did what? Written in the transaction of the deed itself, and kept when the user is gone."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import insert, select

from rackproof.model.account import User
from rackproof.store.schema_service import Audit
from rackproof.store.transactions import Transactions

#: A detail of such a name would put a secret where it is never removed.
_SECRET = ("password", "secret", "csrf", "cookie", "authorization", "hash")


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditEntry:
    """Something that somebody did. user_id is None once the user was removed; user_name stays."""

    id: int
    at: datetime
    user_id: int | None
    user_name: str
    action: str
    target: str
    detail: Mapping[str, Any]
    address: str


class AuditTrail:
    """The audit trail. Nothing removes or changes its lines."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def record(
        self,
        *,
        user: User | None,
        user_name: str,
        action: str,
        target: str = "",
        detail: Mapping[str, Any] | None = None,
        address: str = "",
    ) -> None:
        """Write a line; `with store.transactions.together(...)` keeps it with the deed. Raises ValueError where it would hold a secret."""
        if found := [key for key in detail or {} if any(word in key.lower() for word in _SECRET)]:
            raise ValueError(f"expected details without secrets, found {', '.join(found)}")
        values = {"user_id": user.id if user is not None else None, "user_name": user_name, "action": action, "target": target}
        with self._transactions.step("the audit trail could not be written") as connection:
            connection.execute(insert(Audit).values(**values, detail=dict(detail or {}), address=address))

    def list(
        self,
        before: int | None = None,
        limit: int = 100,
        *,
        user_name: str | None = None,
        target: str | None = None,
        action: str | None = None,
    ) -> "list[AuditEntry]":
        """Lines, newest first; before: the id of the last one that is known already."""
        wanted = [(Audit.user_name, user_name), (Audit.target, target), (Audit.action, action)]
        conditions = [column == value for column, value in wanted if value is not None]
        if before is not None:
            conditions.append(Audit.id < before)
        with self._transactions.step("the audit trail could not be read") as connection:
            rows = connection.execute(select(Audit.__table__).where(*conditions).order_by(Audit.id.desc()).limit(limit))
            return [AuditEntry(**row._mapping) for row in rows]

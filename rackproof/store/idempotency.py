"""Was this submission sent before? The same key of the same user stands for one campaign, however often it is sent."""

from collections.abc import Callable

from sqlalchemy import insert, select, text

from rackproof.errors import RackproofError
from rackproof.store.schema_service import IdempotencyKey
from rackproof.store.transactions import Transactions


class KeyReused(RackproofError):
    """The idempotency key was used for another request."""


def known(transactions: Transactions, *, user: int, key: str, request_sha256: str) -> int | None:
    """The campaign that this key stands for already. Raises KeyReused where it was used for another request."""
    table = IdempotencyKey
    with transactions.step("the submissions could not be read") as connection:
        row = connection.execute(
            select(table.request_sha256, table.campaign_id).where(table.user_id == user, table.key == key)
        ).one_or_none()
    if row is None:
        return None
    if row.request_sha256 != request_sha256:
        raise KeyReused(f"the key {key!r} was used for another submission, which became campaign {row.campaign_id}")
    return int(row.campaign_id)


def once(transactions: Transactions, *, user: int, key: str, request_sha256: str, submit: Callable[[], int]) -> tuple[int, bool]:
    """The campaign of this key, and whether it is new; to be called within transactions.together(). Raises KeyReused."""
    with transactions.step("the submission could not be stored") as connection:
        # The second of two at once waits here until the first is done, and then finds what it did.
        connection.execute(text("SELECT pg_advisory_xact_lock(hashtextextended(:key, 0))"), {"key": f"submission {user} {key}"})
        found = known(transactions, user=user, key=key, request_sha256=request_sha256)
        if found is not None:
            return found, False
        campaign = submit()
        values = {"user_id": user, "key": key, "request_sha256": request_sha256, "campaign_id": campaign}
        connection.execute(insert(IdempotencyKey).values(**values))
        return campaign, True

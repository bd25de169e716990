"""When did the trials of a campaign run that was measured elsewhere, and is kept here?"""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import bindparam, update

from rackproof.store.schema import Campaign, Trial
from rackproof.store.transactions import Transactions

#: When something began and ended.
Times = tuple[datetime, datetime]


class Elsewhere:
    """What the store keeps of campaigns that it did not see happen."""

    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def date(self, campaign: int, times: Mapping[int, Times]) -> None:
        """Write down when trials, by index, began and ended, and the campaign with the first and the last of them. Raises StoreError."""
        if not times:
            return
        trials = update(Trial).where(Trial.campaign_id == campaign, Trial.index == bindparam("place"))
        trials = trials.values(started=bindparam("began"), ended=bindparam("over"))
        rows = [{"place": index, "began": began, "over": over} for index, (began, over) in times.items()]
        first, last = min(began for began, _ in times.values()), max(over for _, over in times.values())
        with self._transactions.step(f"the times of campaign {campaign} could not be stored") as connection:
            connection.execute(trials.execution_options(synchronize_session=False), rows)
            connection.execute(update(Campaign).where(Campaign.id == campaign).values(started=first, ended=last))

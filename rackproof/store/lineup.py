"""What does the line look like at this moment? Everything that the decision about the next start rests on, read from the tables."""

from collections import defaultdict
from datetime import datetime, timedelta

from sqlalchemy import Connection, func, select, text

from rackproof.model.campaign import CampaignState
from rackproof.model.service import TestbedState
from rackproof.store import devices, life
from rackproof.store.line import LEFT_S_MIN, OFFLINE, Bed, Booking, Holding, Line, Waiting, in_words
from rackproof.store.moves import IS_PENDING, IS_RUNNING
from rackproof.store.schema import Campaign
from rackproof.store.schema_service import Lease, Reservation, Testbed

# What is left of campaigns some of whose trials are done: the others need not be counted.
_LEFT = text("""
    SELECT campaign_id, sum(duration_s) AS left_s FROM trials WHERE campaign_id = ANY(:campaigns) AND verdict IS NULL GROUP BY campaign_id
""")
_LAST = text("""
    SELECT pairs.testbed, pairs.owner, newest.started
    FROM unnest(CAST(:testbeds AS text[]), CAST(:owners AS text[])) AS pairs (testbed, owner),
    LATERAL (
        SELECT started FROM campaigns c WHERE c.testbed = pairs.testbed AND c.owner = pairs.owner AND c.started IS NOT NULL
        ORDER BY c.started DESC LIMIT 1
    ) newest
""")


def load(connection: Connection) -> Line:
    """The line as it is now."""
    now: datetime = connection.scalars(select(func.clock_timestamp())).one()
    beds, checks = _beds(connection)
    campaigns = connection.execute(
        select(
            Campaign.id,
            Campaign.name,
            Campaign.testbed,
            Campaign.owner,
            Campaign.priority,
            Campaign.queued,
            Campaign.state,
            Campaign.duration_s,
            Campaign.trials_done,
        ).where(
            IS_RUNNING | (IS_PENDING & Campaign.queued.is_not(None)),
        )
    ).all()
    begun = [row.id for row in campaigns if row.trials_done]
    left = dict.fromkeys(begun, 0.0)
    if begun:
        left |= {row.campaign_id: row.left_s for row in connection.execute(_LEFT, {"campaigns": begun})}
    waiting = [
        Waiting(
            campaign=row.id,
            name=row.name,
            testbed=row.testbed,
            owner=row.owner,
            priority=row.priority,
            queued=row.queued,
            duration_s=left.get(row.id, row.duration_s),
            check=row.id in checks,
        )
        for row in campaigns
        if row.state == CampaignState.PENDING
    ]
    leases: dict[tuple[int | None, int | None], list[str]] = defaultdict(list)
    since: dict[tuple[int | None, int | None], datetime] = {}
    for lease in connection.execute(select(Lease.resource, Lease.campaign_id, Lease.reservation_id, Lease.since)):
        leases[lease.campaign_id, lease.reservation_id].append(lease.resource)
        since[lease.campaign_id, lease.reservation_id] = lease.since
    bookings, holdings = [], []
    for one in connection.execute(
        select(*Reservation.__table__.columns).where(Reservation.released.is_(None), Reservation.ends > func.clock_timestamp())
    ):
        held = leases.get((None, one.id))
        if held is None:
            bookings.append(
                Booking(reservation=one.id, testbed=one.testbed, owner=one.owner, reason=one.reason, starts=one.starts, ends=one.ends)
            )
        else:
            holdings.append(
                Holding(
                    campaign=None,
                    reservation=one.id,
                    testbed=one.testbed,
                    owner=one.owner,
                    name=one.reason,
                    resources=frozenset(held),
                    since=since[None, one.id],
                    ends=one.ends,
                )
            )
    for row in campaigns:
        if row.state != CampaignState.RUNNING:
            continue
        took = since.get((row.id, None), now)
        ends = now + timedelta(seconds=max(LEFT_S_MIN, left.get(row.id, row.duration_s)))
        holdings.append(
            Holding(
                campaign=row.id,
                reservation=None,
                testbed=row.testbed,
                owner=row.owner,
                name=row.name,
                resources=frozenset(leases.get((row.id, None), ())),
                since=took,
                ends=ends,
            )
        )
    return Line(now=now, beds=beds, waiting=waiting, bookings=bookings, holdings=holdings, last=_last(connection, waiting))


def holders(connection: Connection) -> dict[str, str]:
    """Who has each device and generator that is in use, in words."""
    held = (
        select(Lease.resource, Lease.campaign_id, Campaign.name, Reservation.owner, Reservation.ends)
        .select_from(Lease)
        .join(Campaign, (Campaign.id == Lease.campaign_id) & IS_RUNNING, isouter=True)
        .join(
            Reservation,
            (Reservation.id == Lease.reservation_id) & Reservation.released.is_(None) & (Reservation.ends > func.clock_timestamp()),
            isouter=True,
        )
        .where(Campaign.id.is_not(None) | Reservation.id.is_not(None))
    )
    return {row.resource: in_words(row.campaign_id, row.name, row.owner, row.ends) for row in connection.execute(held)}


def _beds(connection: Connection) -> tuple[dict[str, Bed], frozenset[int]]:
    """The testbeds by name, and the campaigns that are their health checks."""
    served = life.serving(connection)
    beds, checks = {}, set()
    over = Campaign.state.in_((CampaignState.DONE, CampaignState.FAILED, CampaignState.ABORTED))
    unjudged = over & Testbed.golden_judged.is_distinct_from(Testbed.golden_campaign_id)
    columns = (Testbed.name, Testbed.resources, Testbed.state, Testbed.reason, Testbed.golden_campaign_id, unjudged.label("unjudged"))
    for row in connection.execute(select(*columns).join(Campaign, Campaign.id == Testbed.golden_campaign_id, isouter=True)):
        closed = ""
        if row.name not in served:
            closed = f"a worker that serves testbed {row.name}"
        elif row.state != TestbedState.ONLINE:
            closed = f"{OFFLINE}: {row.reason}" if row.reason else OFFLINE
        elif row.unjudged:
            closed = "the judgement of its health check"
        if not closed or closed.startswith(OFFLINE):
            # No health check either: it would be measured on a device that nobody knows.
            closed = devices.in_the_way(connection, row.name, row.resources) or closed
        beds[row.name] = Bed(name=row.name, resources=frozenset(row.resources), closed=closed)
        if row.golden_campaign_id is not None:
            checks.add(row.golden_campaign_id)
    return beds, frozenset(checks)


def _last(connection: Connection, waiting: list[Waiting]) -> dict[tuple[str, str], datetime]:
    owners: dict[str, set[str]] = defaultdict(set)
    for one in waiting:
        owners[one.testbed].add(one.owner)
    pairs = [(testbed, owner) for testbed, names in owners.items() if len(names) > 1 for owner in names]
    if not pairs:
        return {}
    rows = connection.execute(_LAST, {"testbeds": [testbed for testbed, _ in pairs], "owners": [owner for _, owner in pairs]})
    return {(row.testbed, row.owner): row.started for row in rows}

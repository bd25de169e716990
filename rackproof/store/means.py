"""What is each measurement of a campaign on average, over its valid trials? One number, which trends are made of.

The database adds up: a long trend is of a hundred thousand trials. What a campaign that is done came to over all its points is kept.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, text

from rackproof.model.verdict import Verdict
from rackproof.store.columns import encode

_VALID = (Verdict.PASS.value, Verdict.FAIL.value)
#: As in rackproof.stats.pooling, which brings numpy and scipy along.
_REPETITIONS_MIN = 4
#: Beyond so many degrees of freedom Student's t no longer changes.
_T_KNOWN = 200

# By point first, whose trials are repetitions: see rackproof.stats.pooling. Then over the points, which may lie far apart: the mean is as
# sure as they are.
_MEANS = """
    WITH points AS (
        SELECT
            {sort}
            trials.campaign_id,
            count(*) FILTER (WHERE valid) AS n,
            count(*) FILTER (WHERE NOT valid) AS left_out,
            count(low) FILTER (WHERE valid AND high IS NOT NULL) AS known,
            avg(value) FILTER (WHERE valid) AS mean,
            var_samp(value) FILTER (WHERE valid) AS variance,
            sum((value - low) ^ 2) FILTER (WHERE valid) AS low,
            sum((high - value) ^ 2) FILTER (WHERE valid) AS high
        FROM trials
        JOIN measurements ON measurements.trial_id = trials.id
        {join}
        CROSS JOIN LATERAL (SELECT trials.verdict = ANY(CAST(:valid AS text[])) AS valid) judged
        WHERE trials.campaign_id = ANY(CAST(:campaigns AS bigint[]))
            AND trials.verdict IS NOT NULL
            {conditions}
        GROUP BY {sort} trials.campaign_id, trials.point
    ), spread AS (
        SELECT *, n * variance * (CAST(:t AS float8[]))[least(n - 1, array_length(CAST(:t AS float8[]), 1))] ^ 2 AS students
        FROM points
    )
    SELECT
        {sort}
        campaign_id,
        CAST(sum(n) AS bigint) AS n,
        CAST(sum(left_out) AS bigint) AS left_out,
        CAST(count(*) FILTER (WHERE n > 0) AS bigint) AS points,
        sum(n * mean) / nullif(sum(n), 0) AS mean,
        bool_and(n >= :from OR known = n) AS known,
        sum(CASE WHEN n >= :from THEN students ELSE low END) / nullif(sum(n), 0) ^ 2 AS low,
        sum(CASE WHEN n >= :from THEN students ELSE high END) / nullif(sum(n), 0) ^ 2 AS high
    FROM spread
    GROUP BY {sort} campaign_id
"""
_OF_QUANTITIES = "AND measurements.quantity_id = ANY(CAST(:quantities AS int[]))"
_AT_POINT = f"{_OF_QUANTITIES} AND trials.point @> CAST(:point AS jsonb)"
_OF_ONE = {"sort": "", "join": ""}
_OF_EACH = {"sort": "name, unit, subject,", "join": "JOIN quantities ON quantities.id = measurements.quantity_id"}
_AT = text(_MEANS.format(conditions=_AT_POINT, **_OF_ONE))
# The fence grows before anything of a campaign is measured again: what was kept under another one is of no use.
_KEEP = """
    INSERT INTO means (campaign_id, quantity_id, fence, n, left_out, points, mean, known, low, high)
    SELECT campaigns.id, {quantity}, campaigns.fence, coalesce(n, 0), coalesce(left_out, 0), coalesce(points, 0), mean,
           coalesce(known, false), low, high
    FROM campaigns {join} JOIN ({means}) found ON found.campaign_id = campaigns.id
    WHERE campaigns.id = ANY(CAST(:campaigns AS bigint[])) AND campaigns.state = 'DONE' ORDER BY 1, 2
    ON CONFLICT (campaign_id, quantity_id) DO UPDATE SET (fence, n, left_out, points, mean, known, low, high)
        = (excluded.fence, excluded.n, excluded.left_out, excluded.points, excluded.mean, excluded.known, excluded.low, excluded.high)
"""
# A quantity that was measured in several ways is one, under the first of its numbers.
_FIRST = "(SELECT min(q.id) FROM quantities q WHERE (q.name, q.unit, q.subject) = (found.name, found.unit, found.subject))"
_KEEP_EACH = text(_KEEP.format(quantity=_FIRST, join="", means=_MEANS.format(conditions="", **_OF_EACH)))
# Of a campaign that did not measure it, that is kept too.
_KEEP_ONE = text(_KEEP.format(quantity="CAST(:first AS int)", join="LEFT", means=_MEANS.format(conditions=_OF_QUANTITIES, **_OF_ONE)))
_KEPT = text("""
    SELECT means.* FROM means JOIN campaigns ON campaigns.id = means.campaign_id AND campaigns.fence = means.fence
    WHERE means.campaign_id = ANY(CAST(:campaigns AS bigint[])) AND means.quantity_id = :first
""")


def keep(connection: Connection, campaign: int) -> None:
    """Work out and keep what a campaign that is done came to."""
    connection.execute(_KEEP_EACH, _values([campaign]))


def kept(connection: Connection, campaigns: Sequence[int], quantities: Sequence[int]) -> dict[int, Any]:
    """What campaigns that are done came to, by number: one quantity, measured in one or several ways. What is not kept yet is kept now."""
    if not quantities:
        return {}
    values = {**_values(campaigns), "quantities": list(quantities), "first": min(quantities)}
    found = _kept(connection, values)
    missing = [campaign for campaign in campaigns if campaign not in found]
    if missing:
        connection.execute(_KEEP_ONE, {**values, "campaigns": missing})
        found = _kept(connection, values)
    return found


def at(connection: Connection, campaigns: Sequence[int], quantities: Sequence[int], point: Mapping[str, Any]) -> dict[int, Any]:
    """The same of trials at a point alone; nothing of that is kept."""
    values = {**_values(campaigns), "quantities": list(quantities), "point": json.dumps(encode(dict(point)))}
    return {row.campaign_id: row for row in connection.execute(_AT, values)}


def _kept(connection: Connection, values: Mapping[str, Any]) -> dict[int, Any]:
    return {row.campaign_id: row for row in connection.execute(_KEPT, values)}


def _values(campaigns: Sequence[int]) -> dict[str, Any]:
    from rackproof.stats.batches import t_quantile

    t = [t_quantile(degrees) for degrees in range(1, _T_KNOWN + 1)]
    return {"campaigns": list(campaigns), "valid": list(_VALID), "t": t, "from": _REPETITIONS_MIN}

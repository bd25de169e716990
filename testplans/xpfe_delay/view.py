"""A campaign as what judges it and what shows it look at it: points of chain, hop count, frame size and rate, pooled over repetitions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from rackproof.model.campaign import CampaignRecord
from testplans import points
from testplans.xpfe_delay.plan import XpfeDelayPlan, percentile_name


@dataclass(frozen=True, order=True, slots=True)
class Key:
    """What a point is measured at. rate_mbps: the rate that the plan names, whatever share of it was offered."""

    chain: str
    hops: int
    frame_bytes: int
    rate_mbps: float

    @classmethod
    def of(cls, point: Mapping[str, float | int | str]) -> Self:
        """The key of a trial's point."""
        return cls(str(point["chain"]), int(point["hops"]), int(point["frame_bytes"]), float(point["rate_mbps"]))


Point = points.Point[Key]


@dataclass(frozen=True, kw_only=True)
class View(points.Once):
    """A campaign by its points, in the order of its trials."""

    campaign: CampaignRecord
    plan: XpfeDelayPlan
    points: Mapping[Key, Point]

    @cached_property
    def chains(self) -> tuple[str, ...]:
        """Names of the chains."""
        return tuple(dict.fromkeys(key.chain for key in self.points))

    @property
    def percentile(self) -> str:
        """The name of the measurement that budgets are judged by ("delay.p99")."""
        return f"delay.{percentile_name(self.plan.verdict.percentile)}"

    def of(self, chain: str) -> Iterator[Point]:
        """The points of a chain."""
        return (point for key, point in self.points.items() if key.chain == chain)

    def hops(self, chain: str) -> tuple[int, ...]:
        """Hop counts at which a chain was to be measured, ascending."""
        return tuple(sorted({key.hops for key in self.points if key.chain == chain}))

    def sizes(self, chain: str) -> tuple[int, ...]:
        """Frame sizes at which a chain was to be measured [byte], ascending."""
        return tuple(sorted({key.frame_bytes for key in self.points if key.chain == chain}))

    def rates(self, chain: str) -> tuple[float, ...]:
        """Rates at which a chain was to be measured [Mbit/s], ascending."""
        return tuple(sorted({key.rate_mbps for key in self.points if key.chain == chain}))


def view(campaign: CampaignRecord) -> View:
    """The campaign, gathered once for all that look at it."""
    return View(campaign=campaign, plan=XpfeDelayPlan.model_validate(campaign.plan), points=points.gathered(campaign, Key.of))

"""A campaign as what judges it and what shows it look at it: points of network, test and numbers of LSPs, pooled over repetitions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from rackproof.model.campaign import CampaignRecord
from testplans import points
from testplans.mpls_flap.plan import MplsFlapPlan


@dataclass(frozen=True, order=True, slots=True)
class Key:
    """What a point is measured at. rate_mbps: the rate that the plan names, whatever share of it was offered."""

    network: str
    test: str
    stable: int
    flapped: int
    frame_bytes: int
    rate_mbps: float

    @classmethod
    def of(cls, point: Mapping[str, float | int | str]) -> Self:
        """The key of a trial's point."""
        return cls(
            network=str(point["network"]),
            test=str(point["test"]),
            stable=int(point["stable"]),
            flapped=int(point["flapped"]),
            frame_bytes=int(point["frame_bytes"]),
            rate_mbps=float(point["rate_mbps"]),
        )


Point = points.Point[Key]


@dataclass(frozen=True, kw_only=True)
class View(points.Once):
    """A campaign by its points, in the order of its trials."""

    campaign: CampaignRecord
    plan: MplsFlapPlan
    points: Mapping[Key, Point]

    @cached_property
    def networks(self) -> tuple[str, ...]:
        """Names of the networks."""
        return tuple(dict.fromkeys(key.network for key in self.points))

    def of(self, network: str, test: str = "") -> Iterator[Point]:
        """The points of a network, or of one of its tests, in the order of the trials."""
        return (point for key, point in self.points.items() if key.network == network and test in ("", key.test))

    def tests(self, network: str) -> tuple[str, ...]:
        """The tests of a network."""
        return tuple(dict.fromkeys(point.key.test for point in self.of(network)))


def view(campaign: CampaignRecord) -> View:
    """The campaign, gathered once for all that look at it."""
    return View(campaign=campaign, plan=MplsFlapPlan.model_validate(campaign.plan), points=points.gathered(campaign, Key.of))

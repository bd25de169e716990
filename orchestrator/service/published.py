"""What can a testbed carry, as its worker published it? For a rehearsal, which must not touch a testbed that may be measuring."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

from rackproof.errors import LabError
from rackproof.model.topology import Setup, Topology
from rackproof.model.traffic import Calibration
from rackproof.ports import Limits, Rig, Testbed
from rackproof.store.testbeds import TestbedRecord


class PublishedTestbed:
    """A testbed that only answers questions (rackproof.ports.Testbed). driver: asked for objections, which touch nothing."""

    def __init__(self, record: TestbedRecord, driver: Testbed) -> None:
        self._record = record
        self._driver = driver

    @property
    def name(self) -> str:
        return self._record.name

    @property
    def resources(self) -> tuple[str, ...]:
        return self._record.resources

    def limits(self) -> Limits:
        """As published. Raises LabError where the testbed has not been asked yet."""
        limits = self._record.carries
        if limits is None:
            raise LabError(f"testbed {self.name}: its worker has not yet said what it can carry; try again in a moment")
        return limits

    def objections(self, setup: Setup) -> tuple[str, ...]:
        """What the driver says, which touches nothing."""
        return self._driver.objections(setup)

    def facts(self) -> Mapping[str, str]:
        return {name: str(value) for name, value in self._record.facts.items()}

    def begin(self, campaign: int, heard: Callable[[str], None]) -> None:  # noqa: ARG002 - nobody hears of a rehearsal
        raise LabError(f"testbed {self.name}: a rehearsal begins no campaign ({campaign})")

    def calibrate(self, campaign: int) -> Calibration:
        raise LabError(f"testbed {self.name}: a rehearsal cannot calibrate (campaign {campaign})")

    def assemble(self, topology: Topology) -> AbstractContextManager[Rig]:
        raise LabError(f"testbed {self.name}: a rehearsal builds nothing, not even {len(topology.devices)} devices")

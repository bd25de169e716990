"""When could the link have delivered, and how much? What a link that follows a trace says of its capacity."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rackproof.model.path import BACKWARD, FORWARD
from rackproof.model.traffic import Samples

#: Samples.port of delivery opportunities of each direction: such a row has tx_ns, no rx_ns (0), and frame_bytes that could have left then.
PORTS = {FORWARD: 2, BACKWARD: 3}


@dataclass(frozen=True, kw_only=True, slots=True)
class Opportunities:
    """Delivery opportunities as columns of equal length, in order of time (CLOCK_REALTIME); empty where the link said nothing of them."""

    time_ns: npt.NDArray[np.int64]
    octets: npt.NDArray[np.uint16]

    def __len__(self) -> int:
        return len(self.time_ns)

    @classmethod
    def none(cls) -> "Opportunities":
        """No opportunity is known."""
        return cls(time_ns=np.empty(0, np.int64), octets=np.empty(0, np.uint16))

    @classmethod
    def of(cls, samples: Samples, direction: int) -> "Opportunities":
        """The opportunities of one direction (FORWARD or BACKWARD) among the samples of a trial."""
        mine = samples.port == PORTS[direction]
        return cls(time_ns=samples.tx_ns[mine], octets=samples.frame_bytes[mine]) if mine.any() else cls.none()

    @property
    def capacity_bps(self) -> float | None:
        """Bits by the time from the first to the last opportunity, as Pantheon has it; None where there are not two."""
        if len(self) < 2 or self.time_ns[-1] == self.time_ns[0]:
            return None
        return float(self.octets.sum(dtype=np.int64)) * 8e9 / float(self.time_ns[-1] - self.time_ns[0])

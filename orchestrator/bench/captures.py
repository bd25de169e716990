"""From the records that the bench's process hands over in a file to a capture."""

import mmap
import os

import numpy as np

from orchestrator.generators.native.run import Outcome
from rackproof.model.traffic import RECORD_DTYPE, Capture, Samples, Sent


def capture_of(outcome: Outcome, fd: int) -> Capture:
    """The capture whose records are in the file fd, which is closed."""
    try:
        if outcome.records:
            # The mapping lives as long as the arrays over it.
            records = np.frombuffer(mmap.mmap(fd, outcome.records * RECORD_DTYPE.itemsize, prot=mmap.PROT_READ), RECORD_DTYPE)
        else:
            records = np.empty(0, RECORD_DTYPE)
    finally:
        os.close(fd)
    return Capture(
        samples=Samples.of(records),
        sent={
            stream: Sent(
                first_sequence=outcome.first_sequence[stream],
                octets=outcome.octets[stream],
                intended_frames=outcome.intended_frames[stream],
            )
            for stream in outcome.first_sequence
        },
        batch_starts_ns=outcome.batch_starts_ns,
        health=outcome.health,
    )

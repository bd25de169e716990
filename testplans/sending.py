"""What the procedures of kinds share that send frames through devices: traffic to its end, and what devices counted meanwhile."""

from collections.abc import Mapping
from dataclasses import fields, replace

import numpy as np

from rackproof.model.traffic import Capture, Samples, Traffic
from rackproof.ports import Generator

#: Counters that are readings and not counts: a difference of two would say nothing.
_READINGS = ("_ns", "_us")


def sent(generator: Generator, traffic: Traffic) -> Capture:
    """Send, and wait for what comes; whatever ends the wait ends the traffic. Raises GeneratorError."""
    under_way = generator.start(traffic)
    try:
        return under_way.wait()
    except BaseException:
        under_way.stop()
        raise


def counted(before: Mapping[str, int], after: Mapping[str, int]) -> dict[str, int]:
    """What was counted between two looks at a device; readings as they were at the second."""
    return {name: value if name.endswith(_READINGS) else value - before.get(name, 0) for name, value in after.items()}


def merged(capture: Capture, other: Capture, prefix: str) -> Capture:
    """What the generator saw, and after it what another saw, in one; the other's health has names of its own, by the prefix."""
    samples = Samples(
        **{
            column.name: np.concatenate([getattr(capture.samples, column.name), getattr(other.samples, column.name)])
            for column in fields(Samples)
        }
    )
    return replace(capture, samples=samples, health={**capture.health, **{prefix + name: value for name, value in other.health.items()}})

"""Device models of the bench, one file each: a model is found by being here.

A module of this folder names MODEL, OPTIONS (settings it knows), LINK_RATE_BPS_MAX (the fastest link it keeps up with on two cores), and
has probe() and a class Model. One that chains are made of also names WIRES_FPS_MAX: the most frames per second over all emulated links
between such devices (rackproof.ports.Limits). One that may forward by a thread of ours says by shares_processor() whether it does,
and by WIRES_FPS_MAX_SHARED what holds then.
"""

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Protocol, runtime_checkable

from orchestrator.bench.namespaces import Namespace
from orchestrator.generators.native.run import Outcome
from rackproof.model.functions import DeviceFunction
from rackproof.ports import Device


class BenchDevice(Device, Protocol):
    """A device of the bench: a device that can also be taken away."""

    def close(self) -> None:
        """Stop whatever it runs; its namespace is closed by whoever made it."""


@runtime_checkable
class Tapped(Protocol):
    """A device that can write down every packet that enters and leaves it."""

    def tap_start(self) -> None:
        """Begin to record. Raises DeviceError."""

    def tap_stop(self) -> None:
        """End recording. Raises DeviceError."""

    def tap_collect(self) -> Outcome:
        """What the last recording saw, once; its file is the caller's. Raises GeneratorError."""


class ModelClass(Protocol):
    """What a device model's class is called with."""

    def __call__(
        self, *, name: str, namespace: Namespace, ports: Sequence[str], options: Mapping[str, float | int | bool | str]
    ) -> BenchDevice: ...


class ModelModule(Protocol):
    """What a module of this folder holds."""

    MODEL: str
    OPTIONS: frozenset[str]
    LINK_RATE_BPS_MAX: float
    Model: ModelClass

    def objection(self, function: DeviceFunction) -> str:
        """Why the model cannot do the function, "" where it can; needs no privileges."""
        ...

    def probe(self) -> str:
        """Why the model cannot run on this machine, "" where it can; tries it in a namespace of its own."""
        ...


@cache
def models() -> Mapping[str, ModelModule]:
    """All device models by name. Raises RuntimeError that names a module that is broken."""
    found: dict[str, ModelModule] = {}
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        if not hasattr(module, "MODEL"):
            continue  # a helper that several models share
        missing = [name for name in ("OPTIONS", "LINK_RATE_BPS_MAX", "Model", "objection", "probe") if not hasattr(module, name)]
        if missing:
            raise RuntimeError(f"{module.__name__}: a device model needs {', '.join(missing)}")
        if module.MODEL in found:
            raise RuntimeError(f"{module.__name__}: there is another device model called {module.MODEL}")
        found[module.MODEL] = module
    return found

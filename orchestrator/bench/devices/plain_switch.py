"""What the models share that forward between all of their ports, as learning switches do, and have nothing to configure."""

from collections.abc import Mapping, Sequence

from orchestrator.bench import links
from orchestrator.bench.namespaces import Namespace
from rackproof.errors import DeviceError
from rackproof.model.functions import DeviceFunction


def objection(model: str, function: DeviceFunction) -> str:
    """It forwards, and can do nothing else."""
    return f"{model} cannot do {type(function).__name__}: it forwards and has nothing to configure"


class PlainSwitch:
    """Forwards from the moment it is made; how, the model that is made from it says."""

    def __init__(
        self, *, name: str, namespace: Namespace, ports: Sequence[str], options: Mapping[str, float | int | bool | str], model: str
    ) -> None:
        if options:
            raise DeviceError(f"{name}: expected no options, for {model} has none; found {', '.join(sorted(options))}")
        self.name = name
        self._namespace = namespace
        self._ports = tuple(ports)
        self._model = model

    def configuration(self) -> str:
        """Its ports."""
        return f"bridge br0 {' '.join(self._ports)}"

    def apply(self, function: DeviceFunction) -> None:
        """Nothing can be configured."""
        raise DeviceError(f"{self.name}: {objection(self._model, function)}")

    def check(self, function: DeviceFunction) -> None:
        """Nothing can be configured."""
        raise DeviceError(f"{self.name}: {objection(self._model, function)}")

    def restore(self) -> None:
        """Nothing was configured."""

    def counters(self) -> Mapping[str, int]:
        """Frames that each port received, sent and dropped ("east.received")."""
        return links.counters(self._namespace, self._ports)

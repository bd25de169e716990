"""A server of the Open Traffic Generator API: what it is asked, what it answers, every call with a bound."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx

from orchestrator.generators.otg.models import model
from rackproof.errors import GeneratorError

#: A configuration of hardware ports may take long; everything else answers at once.
CONFIGURE_S = 60.0
CALL_S = 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Count:
    """What the server has counted of a flow since it was configured. delays_us: least, mean and greatest, None where not measured."""

    sending: bool
    tx_frames: int
    rx_frames: int
    tx_octets: int
    rx_octets: int
    delays_us: tuple[float, float, float] | None


@dataclass(frozen=True, kw_only=True, slots=True)
class PortCount:
    """What the server says of a port. speed_mbps: 0 where it does not say."""

    link_up: bool
    speed_mbps: float


class Server:
    """A context manager that hangs up at the end. Every method raises GeneratorError that quotes the server."""

    def __init__(self, name: str, address: str, *, verify: bool) -> None:
        self._name = name
        self._client = httpx.Client(base_url=address, verify=verify, timeout=CALL_S, trust_env=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._client.close()

    def versions(self) -> dict[str, str]:
        """Versions of the API and of the server."""
        told = self._call("GET", "/capabilities/version", None, model("Version"))
        named = {"server": told.app_version, "api version": told.api_spec_version, "sdk version": told.sdk_version}
        return {name: value or "not told" for name, value in named.items()}

    def configure(self, config: Any) -> tuple[str, ...]:
        """Replace the configuration; what the server warns of."""
        return tuple(self._call("POST", "/config", config, model("Warning"), CONFIGURE_S).warnings or ())

    def transmit(self, state: str) -> None:
        """Start or stop every flow."""
        wanted = model("ControlState")
        wanted.traffic.flow_transmit.state = state
        self._call("POST", "/control/state", wanted, model("Warning"))

    def flows(self, names: Iterable[str]) -> dict[str, Count]:
        """The counters of flows, all of them where no names are given."""
        asked = model("MetricsRequest")
        asked.flow.flow_names = list(names)
        told = self._call("POST", "/monitor/metrics", asked, model("MetricsResponse"))
        return {flow.name: _count(flow) for flow in told.flow_metrics} if told.choice == "flow_metrics" else {}

    def ports(self) -> dict[str, PortCount]:
        """Every port of the configuration."""
        asked = model("MetricsRequest")
        asked.port.port_names = []
        told = self._call("POST", "/monitor/metrics", asked, model("MetricsResponse"))
        return {port.name: PortCount(link_up=port.link == "up", speed_mbps=float(port.speed or 0) / 1e6) for port in told.port_metrics}

    def _call(self, method: str, path: str, asked: Any, answer: Any, timeout_s: float | None = None) -> Any:
        begun = time.monotonic()
        try:
            body = None if asked is None else asked.serialize()
        except (ValueError, TypeError) as error:
            raise GeneratorError(f"{self._name}: the Open Traffic Generator API does not allow what was asked for: {error}") from error
        try:
            response = self._client.request(
                method, path, content=body, headers={"Content-Type": "application/json"}, timeout=timeout_s or CALL_S
            )
        except httpx.TimeoutException as error:
            raise GeneratorError(f"{self._name}: no answer to {method} {path} within {time.monotonic() - begun:.1f} s") from error
        except httpx.HTTPError as error:
            raise GeneratorError(f"{self._name}: {method} {self._client.base_url}{path} failed: {error}") from error
        if not response.is_success:
            raise GeneratorError(f"{self._name} refused {method} {path} ({response.status_code}): {_quoted(response)}")
        try:
            answer.deserialize(response.json() if response.content else {})
        except (ValueError, TypeError, KeyError) as error:
            raise GeneratorError(f"{self._name} answered {method} {path} with what the API does not know: {error}") from error
        return answer


def _quoted(response: httpx.Response) -> str:
    try:
        told = response.json()
        return "; ".join(told["errors"])
    except (ValueError, KeyError, TypeError):
        return response.text[:500]


def _count(flow: Any) -> Count:
    latency = flow.latency
    parts = (latency.minimum_ns, latency.average_ns, latency.maximum_ns)
    return Count(
        sending=flow.transmit == "started",
        tx_frames=flow.frames_tx or 0,
        rx_frames=flow.frames_rx or 0,
        tx_octets=flow.bytes_tx or 0,
        rx_octets=flow.bytes_rx or 0,
        delays_us=None if None in parts else (parts[0] / 1e3, parts[1] / 1e3, parts[2] / 1e3),
    )

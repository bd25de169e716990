"""linux-mpls: the kernel's label switching, with static labels and routes: label switched paths come and go by configuring it."""

import platform
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from socket import AF_INET
from typing import Any

from pyroute2 import NetlinkError

from orchestrator.bench import links
from orchestrator.bench.namespaces import Namespace
from rackproof.errors import DeviceError
from rackproof.model.functions import DeviceFunction, Mpls, MplsInterface, StaticLabel

MODEL = "linux-mpls"
OPTIONS: frozenset[str] = frozenset()
LINK_RATE_BPS_MAX = 1e9

_AF_MPLS = 28
_LABELS = 1_048_576
_SYSCTL = Path("/proc/sys/net")
_ROUTER = Mpls(router_id="0.0.0.0", interfaces=())  # noqa: S104 - the id of a router that was given none


def objection(function: DeviceFunction) -> str:
    """It has static labels, and no protocol that signals any."""
    if not isinstance(function, Mpls):
        return f"{MODEL} cannot do {type(function).__name__}"
    if any(interface.rsvp or interface.ldp for interface in function.interfaces):
        return f"{MODEL} has neither RSVP nor LDP; its label switched paths are made by configuration"
    if any(label.push is not None for label in function.labels):
        return f"{MODEL} swaps and pops labels; it pushes none"
    return ""


def probe() -> str:
    """Why the kernel switches no labels, "" where it does; tried by adding one."""
    with Namespace("probe") as probe, Namespace("far") as far:
        links.cable(probe, "near", far, "far")
        try:
            router = Model(name=MODEL, namespace=probe, ports=("near",), options={})
            interface = MplsInterface(port="near", address="192.0.2.1/30", rsvp=False)
            label = StaticLabel(in_label=100, port="near", next_hop="192.0.2.2", out_label=200)
            router.apply(Mpls(router_id="192.0.2.1", interfaces=(interface,), labels=(label,)))
        except DeviceError as error:
            return str(error).removeprefix(f"{MODEL}: ")
    return ""


class Model:
    """The router; until it is given a function it forwards nothing."""

    def __init__(self, *, name: str, namespace: Namespace, ports: Sequence[str], options: Mapping[str, float | int | bool | str]) -> None:
        if options:
            raise DeviceError(f"{name}: expected no options, for {MODEL} has none; found {', '.join(sorted(options))}")
        self.name = name
        self._namespace = namespace
        self._ports = tuple(ports)
        self._function = _ROUTER

    def facts(self) -> Mapping[str, str]:
        """Model and kernel."""
        return {"model": MODEL, "kernel": platform.release(), "ports": str(len(self._ports)), "forwarding": "the kernel's MPLS"}

    def configuration(self) -> str:
        """Addresses, labels and routes, one a line."""
        lines = [f"address {each.port} {each.address}" for each in sorted(self._function.interfaces, key=lambda each: each.port)]
        lines += [_words(label) for label in sorted(self._function.labels, key=lambda label: label.in_label)]
        lines += [f"route {prefix} via {hop}" for prefix, hop in sorted(self._function.routes.items())]
        return "\n".join([f"ports {' '.join(self._ports)}", *lines])

    def apply(self, function: DeviceFunction) -> None:
        """Configure what differs from what it has; labels that stay are not touched."""
        if (why := objection(function)) or not isinstance(function, Mpls):
            raise DeviceError(f"{self.name}: {why}")
        asked = {each.port for each in function.interfaces} | {each.port for each in function.labels}
        if unknown := asked - {*self._ports}:
            raise DeviceError(f"{self.name}: expected its ports {', '.join(self._ports)}, found {', '.join(sorted(unknown))}")
        if not (_SYSCTL / "mpls").exists():
            raise DeviceError(f"{self.name}: the kernel has no MPLS routing (module mpls_router)")
        try:
            self._change(self._function, function)
        except (NetlinkError, OSError) as error:
            self._flush()
            raise DeviceError(f"{self.name}: the kernel says: {error}") from error
        self._function = function

    def _change(self, before: Mpls, after: Mpls) -> None:
        gone = {*before.routes.items()} - {*after.routes.items()}
        for prefix, _ in gone:
            self._namespace.route.route("del", dst=prefix)
        self._labels("del", set(before.labels) - set(after.labels))
        self._address("del", set(before.interfaces) - set(after.interfaces))
        self._namespace.run(partial(_open, [each.port for each in after.interfaces]))
        self._address("add", set(after.interfaces) - set(before.interfaces))
        self._labels("add", set(after.labels) - set(before.labels))
        for prefix, next_hop in {*after.routes.items()} - {*before.routes.items()}:
            self._namespace.route.route("add", dst=prefix, gateway=next_hop)

    def _address(self, verb: str, interfaces: Iterable[MplsInterface]) -> None:
        for each in interfaces:
            address, _, length = each.address.partition("/")
            self._namespace.route.addr(verb, index=links.index(self._namespace, each.port), address=address, prefixlen=int(length))

    def _labels(self, verb: str, labels: Iterable[StaticLabel]) -> None:
        ports = {port: links.index(self._namespace, port) for port in self._ports}
        for label in labels:
            self._namespace.route.route(verb, **_route(label, ports[label.port]))

    def check(self, function: DeviceFunction) -> None:
        """Read every label back from the kernel."""
        if not isinstance(function, Mpls):
            raise DeviceError(f"{self.name}: {objection(function)}")
        found = {int(route.get_attr("RTA_DST")[0]["label"]): route for route in self._namespace.route.get_routes(family=_AF_MPLS)}
        wrong = [_words(label) for label in function.labels if _read(found.get(label.in_label)) != (label.next_hop, label.out_label)]
        wrong += [f"label {number}: not asked for" for number in found.keys() - {label.in_label for label in function.labels}]
        if wrong:
            raise DeviceError(f"{self.name}: expected as asked, found {len(wrong)} differences: {'; '.join(wrong[:5])}")

    def restore(self) -> None:
        """Take away what was configured."""
        if self._function != _ROUTER:
            self._flush()

    def _flush(self) -> None:
        """Nobody else configures the namespace: all that is there goes. Routes go with the addresses that they need."""
        self._function = _ROUTER
        with suppress(NetlinkError):
            self._namespace.route.flush_routes(family=_AF_MPLS)
        for port in self._ports:
            with suppress(NetlinkError):
                self._namespace.route.flush_addr(index=links.index(self._namespace, port))

    def counters(self) -> Mapping[str, int]:
        """Frames that each port received, sent and dropped ("east.received"), and how many labels are in use."""
        return {**links.counters(self._namespace, self._ports), "labels_in_use": len(self._function.labels)}

    def close(self) -> None:
        """Nothing runs in user space."""


def _open(ports: Sequence[str]) -> None:
    """Let ports take labelled frames; in the namespace's own thread."""
    settings = {"ipv4/ip_forward": 1, "mpls/platform_labels": _LABELS - 1, **{f"mpls/conf/{port}/input": 1 for port in ports}}
    for name, value in settings.items():
        file = _SYSCTL / name
        if file.read_text().strip() != str(value):
            file.write_text(str(value))


def _route(label: StaticLabel, index: int) -> dict[str, Any]:
    out = {} if label.out_label is None else {"newdst": [{"label": label.out_label, "bos": 1}]}
    return {
        "family": _AF_MPLS,
        "dst": {"label": label.in_label, "bos": 1},
        "via": {"family": AF_INET, "addr": label.next_hop},
        "oif": index,
        **out,
    }


def _read(route: Any) -> tuple[str, int | None] | None:
    """(next hop, outgoing label) of a route of the kernel's, None where there is none."""
    if route is None:
        return None
    out = route.get_attr("RTA_NEWDST")
    return route.get_attr("RTA_VIA")["addr"], int(out[0]["label"]) if out else None


def _words(label: StaticLabel) -> str:
    return f"label {label.in_label} to {label.next_hop} by {label.port} as {'none' if label.out_label is None else label.out_label}"

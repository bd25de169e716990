"""soft-lsr: a label switching router of our own: RSVP-TE with a service-time model, and a label table in XDP or in the native engine.

docs/soft_lsr.md says what it models, its options and defects, and where it ends.
"""

import platform
from collections.abc import Mapping, Sequence
from functools import cache
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from pathlib import Path

from rackproof_native import Lsr, LsrReport, Routers, Xdp

from orchestrator.bench import links, lsr
from orchestrator.bench.cpus import Cpus
from orchestrator.bench.lsr.options import NAMES, Forwarding, checked
from orchestrator.bench.namespaces import Namespace
from rackproof.errors import DeviceError
from rackproof.model.functions import DeviceFunction, Mpls

MODEL = "soft-lsr"
OPTIONS = NAMES
#: A link of 1 Gbit/s full of the smallest frames is beyond two cores; the rate that holds is what the calibration allows.
LINK_RATE_BPS_MAX = 1e9

_OBJECT = Path(lsr.__file__).with_name("lsr.bpf.o")
_LABELS = range(16, 1 << 20)
#: Labels that frames may leave with: explicit null for IPv4 and IPv6 beside those that are not reserved (RFC 3032, 2.1; RFC 4182).
_EXPLICIT_NULL = (0, 2)


def objection(function: DeviceFunction) -> str:
    """It has RSVP-TE and static labels, and no LDP."""
    if not isinstance(function, Mpls):
        return f"{MODEL} cannot do {type(function).__name__}"
    if any(interface.ldp for interface in function.interfaces):
        return f"{MODEL} has no LDP"
    return _nonsense(function)


def probe() -> str:
    """It needs raw sockets and nothing else of the kernel: where XDP is not allowed, the native engine forwards."""
    return ""


def shares_processor() -> bool:
    """Whether a thread of ours forwards, which emulated links on the same processor must let run."""
    return not _xdp_allowed()


class Model:
    """The router; until it is given a function it forwards and says nothing."""

    def __init__(self, *, name: str, namespace: Namespace, ports: Sequence[str], options: Mapping[str, float | int | bool | str]) -> None:
        self.name = name
        self._namespace = namespace
        self._ports = tuple(ports)
        self._options = checked(name, options)
        self._router: Lsr | None = None
        self._function: Mpls | None = None

    def facts(self) -> Mapping[str, str]:
        """Model, kernel, what forwards, service times and planted defects."""
        made = self._options
        return {
            "model": MODEL,
            "kernel": platform.release(),
            "ports": str(len(self._ports)),
            "forwarding": "XDP (generic)" if self._in_xdp else "native engine, user space",
            "service times": f"PATH {made.path_us:g}, RESV {made.resv_us:g}, TEAR {made.tear_us:g} us, +-{made.jitter:.0%}",
            "queue": f"{made.queue} messages, {made.drop} drop",
            **{f"option {name}": str(value) for name, value in made.defects.items()},
        }

    def configuration(self) -> str:
        """Interfaces, routes and static labels, one a line."""
        function = self._function
        lines = [f"ports {' '.join(self._ports)}", *(f"option {name} {value}" for name, value in self._options.defects.items())]
        if function is None:
            return "\n".join([*lines, "mpls none"])
        lines.append(f"router-id {function.router_id}")
        lines += [f"interface {each.port} {each.address}{' rsvp' if each.rsvp else ''}" for each in function.interfaces]
        lines += [f"route {prefix} via {next_hop}" for prefix, next_hop in sorted(function.routes.items())]
        for label in sorted(function.labels, key=lambda label: label.in_label):
            out = "pop" if label.out_label is None else f"swap {label.out_label}"
            push = "" if label.push is None else f" push {label.push}"
            lines.append(f"label {label.in_label} {out}{push} via {label.next_hop} {label.port}")
        return "\n".join(lines)

    def apply(self, function: DeviceFunction) -> None:
        """Speak and forward so; where it does already, only what differs is changed, while frames pass."""
        if (why := objection(function)) or not isinstance(function, Mpls):
            raise DeviceError(f"{self.name}: {why}")
        used = {interface.port for interface in function.interfaces} | {label.port for label in function.labels}
        if unknown := used - {*self._ports}:
            raise DeviceError(f"{self.name}: expected its ports {', '.join(self._ports)}, found {', '.join(sorted(unknown))}")
        try:
            if self._router is None:
                self._router = Lsr(
                    _routers(),
                    netns_fd=self._namespace.fd,
                    ports=[(port, links.hardware_address(self._namespace, port)) for port in self._ports],
                    mpls=function,
                    options=self._options,
                    xdp=_object() if self._in_xdp else None,
                )
            else:
                self._router.change(function)
        except (OSError, RuntimeError) as error:
            raise DeviceError(f"{self.name}: it does not route so: {error}") from error
        self._function = function

    def check(self, function: DeviceFunction) -> None:
        """Read labels back from what forwards; those of neighbours that have not said their address yet are not there."""
        if function != self._function:
            raise DeviceError(f"{self.name}: it has another configuration")
        if different := self._report().differences:
            raise DeviceError(f"{self.name}: labels {', '.join(map(str, different[:5]))} are not forwarded as they should be")

    def restore(self) -> None:
        """Stop speaking and forwarding."""
        if self._router is not None:
            self._router.stop()
        self._router = self._function = None

    def counters(self) -> Mapping[str, int]:
        """RSVP messages by type and direction, what was dropped by reason, the queue's high-water mark, labels, LSPs, frames."""
        if self._router is None:
            return {}
        report = self._report()
        return {**report.counters, "labels.forwarding": report.labels}

    def close(self) -> None:
        """Stop."""
        self.restore()

    @property
    def _in_xdp(self) -> bool:
        made = self._options
        if made.forwarding is Forwarding.AUTO:
            return _xdp_allowed() and not made.user_space
        return made.forwarding is Forwarding.XDP

    def _report(self) -> LsrReport:
        if self._router is None:
            raise DeviceError(f"{self.name}: it has no configuration")
        try:
            return self._router.report()
        except (OSError, RuntimeError) as error:
            raise DeviceError(f"{self.name}: {error}") from error


def _nonsense(function: Mpls) -> str:
    """What of a configuration makes no sense, "" where all does."""
    try:
        IPv4Address(function.router_id)
        networks = [IPv4Interface(each.address).network for each in function.interfaces]
        for prefix in function.routes:
            IPv4Network(prefix)
        hops = [IPv4Address(hop) for hop in (*function.routes.values(), *(label.next_hop for label in function.labels))]
    except ValueError as error:
        return f"{MODEL}: {error}"
    if len({each.port for each in function.interfaces}) < len(function.interfaces):
        return f"{MODEL}: expected one interface a port"
    if far := [hop for hop in hops if not any(hop in network for network in networks)]:
        return f"{MODEL}: expected next hops on the networks of its interfaces, found {far[0]}"
    if len({label.in_label for label in function.labels}) < len(function.labels):
        return f"{MODEL}: expected each label once"
    if bare := [label for label in function.labels if label.push is not None and label.out_label is None]:
        return f"{MODEL}: expected an out_label below the label {bare[0].push} that label {bare[0].in_label} pushes"
    taken = [label.in_label for label in function.labels]
    given = [out for label in function.labels for out in (label.out_label, label.push) if out not in (None, *_EXPLICIT_NULL)]
    if wrong := [label for label in (*taken, *given) if label not in _LABELS]:
        return f"{MODEL}: expected labels from {_LABELS.start} to {_LABELS.stop - 1}, found {wrong[0]}"
    return ""


@cache
def _routers() -> Routers:
    """One thread for all routers of this process."""
    cpus = Cpus.of_process()
    return Routers(cpu=cpus.device, nice=cpus.nice)


@cache
def _object() -> bytes:
    return _OBJECT.read_bytes()


@cache
def _xdp_allowed() -> bool:
    """Whether this process may load programs: XDP needs root."""
    with Namespace("probe") as namespace:
        try:
            Xdp(_object(), netns_fd=namespace.fd)
        except OSError:
            return False
    return True

"""A function of the plan in the words of a device: its port names instead of the plan's."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace

from rackproof.errors import DeviceError
from rackproof.model.functions import DeviceFunction, Discipline, Flow, HostTuning, Mpls, OpenFlowPipeline, QosScheduler, Vlan
from rackproof.model.xcf import ForwardingElement


def suited(function: DeviceFunction, disciplines: Collection[Discipline]) -> DeviceFunction:
    """The function as a device with these disciplines can do it.

    Round robin by packets is asked for by bytes where every frame has one size: both are then the same.
    """
    by_bytes = Discipline.WRR_PACKETS not in disciplines and Discipline.WRR_BYTES in disciplines
    match function:
        case QosScheduler(discipline=Discipline.WRR_PACKETS, frame_bytes=int(size)) if by_bytes:
            return replace(function, discipline=Discipline.WRR_BYTES, quantum_bytes=size)
        case _:
            return function


def translated(function: DeviceFunction, ports: Mapping[str, str]) -> DeviceFunction:
    """The function with every port of the plan replaced by the device's own. Raises DeviceError where it is not known which that is."""

    def own(port: str) -> str:
        try:
            return ports[port]
        except KeyError:
            raise DeviceError(f"it is not known which port {port} is; known are {', '.join(sorted(ports)) or 'none'}") from None

    match function:
        case QosScheduler():
            return replace(function, port=own(function.port))
        case Vlan():
            return replace(function, tagged=_once(map(own, function.tagged)), untagged=_once(map(own, function.untagged)))
        case Mpls():
            return replace(
                function,
                interfaces=tuple(replace(each, port=own(each.port)) for each in function.interfaces),
                labels=tuple(replace(each, port=own(each.port)) for each in function.labels),
            )
        case OpenFlowPipeline():
            flows = tuple(_flow(flow, ports) for flow in function.flows)
            return replace(function, ports=_once(map(own, function.ports)), flows=flows)
        case ForwardingElement():
            return _element(function, own)
        case HostTuning():
            return replace(function, features={own(port): features for port, features in function.features.items()})
        case _:
            raise DeviceError(f"no device of a lab knows the function {type(function).__name__}")


def _element(element: ForwardingElement, own: Callable[[str], str]) -> ForwardingElement:
    return replace(
        element,
        uni=_once(map(own, element.uni)),
        nni=_once(map(own, element.nni)),
        services=tuple(
            replace(service, attachments=tuple(replace(each, port=own(each.port)) for each in service.attachments))
            for service in element.services
        ),
        stations=tuple(station if station.port is None else replace(station, port=own(station.port)) for station in element.stations),
        routes=tuple(replace(route, ports=_once(map(own, route.ports))) for route in element.routes),
    )


def _once(ports: Iterable[str]) -> tuple[str, ...]:
    """Each port once: several ports of the plan may be one port here."""
    return tuple(dict.fromkeys(ports))


def _flow(flow: Flow, ports: Mapping[str, str]) -> Flow:
    """Ports stand in matches and actions as words of their own ("in_port=p0", "output:out")."""

    def own(text: str) -> str:
        return re.sub(r"(?<=[=:])[A-Za-z][\w.-]*", lambda word: ports.get(word[0], word[0]), text)

    return replace(flow, match=own(flow.match), actions=own(flow.actions))

"""Cables and bridges of the bench, made by netlink."""

from collections.abc import Iterable
from functools import partial

from pyroute2.ethtool.ioctl import IoctlEthtool

from orchestrator.bench.namespaces import Namespace

#: Room for a tag stack or a MAC-in-MAC header above 1500 octets of payload; XDP refuses much larger ones.
MTU = 2000

#: Offloads that would hand over super-packets, or frames whose checksum was never computed.
_OFFLOADS = ("tx-checksumming", "tcp-segmentation-offload", "generic-segmentation-offload", "generic-receive-offload")


def cable(a: Namespace, a_port: str, b: Namespace, b_port: str) -> None:
    """A veth pair between two namespaces, both ends up, offloads off."""
    a.route.link("add", ifname=a_port, kind="veth", mtu=MTU, peer={"ifname": b_port, "net_ns_fd": b.path, "mtu": MTU})
    for namespace, port in ((a, a_port), (b, b_port)):
        namespace.route.link("set", index=index(namespace, port), state="up", mtu=MTU)
        namespace.run(partial(_plain, port))


def bridge(namespace: Namespace, name: str, ports: Iterable[str]) -> int:
    """A learning bridge without spanning tree or snooping over the ports; its interface index."""
    namespace.route.link("add", ifname=name, kind="bridge", br_stp_state=0, br_mcast_snooping=0, br_forward_delay=0)
    number = index(namespace, name)
    for port in ports:
        namespace.route.link("set", index=index(namespace, port), master=number)
    namespace.route.link("set", index=number, state="up", mtu=MTU)
    return number


def index(namespace: Namespace, port: str) -> int:
    """Interface index of a port. Raises KeyError."""
    found = namespace.route.link_lookup(ifname=port)
    if not found:
        raise KeyError(port)
    return int(found[0])


def hardware_address(namespace: Namespace, port: str) -> str:
    """Hardware address of a port ("02:..."). Raises KeyError."""
    (link,) = namespace.route.get_links(index(namespace, port))
    return str(link.get_attr("IFLA_ADDRESS"))


def flags(namespace: Namespace, port: str) -> int:
    """What the kernel says of a port: IFF_* of <linux/if.h>. Raises KeyError."""
    (link,) = namespace.route.get_links(index(namespace, port))
    return int(link["flags"])


def counters(namespace: Namespace, ports: Iterable[str]) -> dict[str, int]:
    """Frames that the kernel counted at each port as received, sent and dropped ("east.received")."""
    counted: dict[str, int] = {}
    for port in ports:
        (link,) = namespace.route.get_links(index(namespace, port))
        statistics = link.get_attr("IFLA_STATS64")
        counted |= {
            f"{port}.received": int(statistics["rx_packets"]),
            f"{port}.sent": int(statistics["tx_packets"]),
            f"{port}.dropped": int(statistics["rx_dropped"] + statistics["tx_dropped"]),
        }
    return counted


def _plain(port: str) -> None:
    ethtool = IoctlEthtool(port)
    try:
        for name in _OFFLOADS:
            ethtool.set_offload_flag(name, False)
    finally:
        ethtool.close()

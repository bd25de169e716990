"""Queueing disciplines, classes and filters by netlink, for what pyroute2 has no words for: size tables, classic BPF, ETS, flower.

Handles are written as (major, minor). Layouts are those of linux/pkt_sched.h and linux/pkt_cls.h.
"""

import struct
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from pyroute2.netlink import NLA_F_NESTED, nlmsg_atoms
from pyroute2.netlink.rtnl.tcmsg import plugins, sched_htb, sched_tbf

from orchestrator.bench.links import index
from orchestrator.bench.namespaces import Namespace

ROOT = 0xFFFFFFFF
ETH_P_ALL = 0x0003

TCA_ETS_NBANDS, TCA_ETS_NSTRICT, TCA_ETS_QUANTA, TCA_ETS_QUANTA_BAND, TCA_ETS_PRIOMAP, TCA_ETS_PRIOMAP_BAND = 1, 2, 3, 4, 5, 6
TCA_BPF_CLASSID, TCA_BPF_OPS_LEN, TCA_BPF_OPS = 3, 4, 5
TCA_FLOWER_CLASSID, TCA_FLOWER_KEY_ETH_TYPE, TCA_FLOWER_KEY_VLAN_PRIO = 1, 8, 24
ETH_P_8021Q = 0x8100


class _NestedBytes(nlmsg_atoms.cdata):  # type: ignore[misc]  # pyroute2 has no types
    """Packed attributes; ETS insists that the nest is marked as one."""

    nla_flags = NLA_F_NESTED


# pyroute2 sends the options of these as the bytes or the attributes that it is given.
plugins.update({kind: SimpleNamespace(options=nlmsg_atoms.cdata) for kind in ("bpf", "flower", "pfifo")})
plugins["ets"] = SimpleNamespace(options=_NestedBytes)
plugins.update({kind: SimpleNamespace(options=module.options) for kind, module in (("htb", sched_htb), ("tbf", sched_tbf))})


def handle(major: int, minor: int = 0) -> int:
    """major:minor as the kernel has it."""
    return (major << 16) | minor


def add_qdisc(
    namespace: Namespace, port: str, kind: str, *, parent: int, number: int, options: Any, overhead_bytes: int | None = None
) -> None:
    """Add a qdisc; overhead_bytes is added to every packet's length by a size table (what the wire adds to what the kernel sees)."""
    extra = {}
    if overhead_bytes is not None:
        # struct tc_sizespec with an empty table: length plus overhead.
        extra["stab"] = attribute(1, struct.pack("=BBhiIIII", 0, 0, 0, overhead_bytes, 0, 0, 0, 0))
    namespace.route.tc("add", kind, index=index(namespace, port), parent=parent, handle=number, options=options, **extra)


def add_class(namespace: Namespace, port: str, kind: str, *, parent: int, number: int, options: Any) -> None:
    """Add a class to a classful qdisc."""
    namespace.route.tc("add-class", kind, index=index(namespace, port), parent=parent, handle=number, options=options)


def add_filter(namespace: Namespace, port: str, kind: str, *, parent: int, priority: int, protocol: int, options: bytes) -> None:
    """Add a filter; protocol is an EtherType."""
    info = (priority << 16) | struct.unpack("=H", struct.pack("!H", protocol))[0]
    namespace.route.tc("add-filter", kind, index=index(namespace, port), parent=parent, handle=0, info=info, options=options)


def delete_root(namespace: Namespace, port: str) -> None:
    """Take away the root qdisc of a port, and with it all classes and filters."""
    namespace.route.tc("del", index=index(namespace, port), parent=ROOT)


def htb_root(default: int = 0) -> Any:
    """Options of an HTB qdisc; default: the minor number of the class of unclassified packets."""
    return sched_htb.get_parameters({"default": default})


def htb_class(*, rate_bps: float, ceil_bps: float, burst_bytes: int, prio: int = 0, quantum_bytes: int = 0) -> Any:
    """Options of an HTB class."""
    return sched_htb.get_class_parameters(
        {
            "rate": int(rate_bps / 8),
            "ceil": int(ceil_bps / 8),
            "burst": burst_bytes,
            "cburst": burst_bytes,
            "prio": prio,
            "quantum": quantum_bytes,
        }
    )


def tbf(*, rate_bps: float, burst_bytes: int, limit_bytes: int) -> Any:
    """Options of a token bucket."""
    return sched_tbf.get_parameters({"rate": int(rate_bps / 8), "burst": burst_bytes, "limit": limit_bytes})


def pfifo(limit_frames: int) -> bytes:
    """Options of a first-in first-out queue that holds limit_frames packets."""
    return struct.pack("=I", limit_frames)


def ets(*, bands: int, strict: int, quanta: Sequence[int]) -> bytes:
    """Options of enhanced transmission selection (IEEE 802.1Qaz): band 0 is served first; quanta of the bands that are not strict."""
    inner = b"".join(attribute(TCA_ETS_QUANTA_BAND, struct.pack("=I", quantum)) for quantum in quanta)
    options = attribute(TCA_ETS_NBANDS, struct.pack("=B", bands)) + attribute(TCA_ETS_NSTRICT, struct.pack("=B", strict))
    return options + (attribute(TCA_ETS_QUANTA | NLA_F_NESTED, inner) if quanta else b"")


def bpf_by_vlan_priority(classes: Sequence[int]) -> bytes:
    """A classic BPF classifier: a packet of VLAN priority p goes to classes[p]; untagged packets count as priority 0.

    The tag is read from the packet's metadata, where the kernel keeps it after the first interface.
    """
    ld_tci, rsh_13, ret = 0x20, 0x74, 0x06
    skf_ad_vlan_tag = 0xFFFFF000 + 44
    program = [(ld_tci, 0, 0, skf_ad_vlan_tag), (rsh_13, 0, 0, 13)]
    for priority, target in enumerate(classes[:-1]):
        program += [(0x15, 0, 1, priority), (ret, 0, 0, target)]
    program.append((ret, 0, 0, classes[-1]))
    ops = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    return attribute(TCA_BPF_OPS_LEN, struct.pack("=H", len(program))) + attribute(TCA_BPF_OPS, ops)


def flower_vlan_priority(priority: int, target: int) -> bytes:
    """A flower match on one VLAN priority."""
    return (
        attribute(TCA_FLOWER_CLASSID, struct.pack("=I", target))
        + attribute(TCA_FLOWER_KEY_ETH_TYPE, struct.pack("!H", ETH_P_8021Q))
        + attribute(TCA_FLOWER_KEY_VLAN_PRIO, struct.pack("=B", priority))
    )


def attribute(kind: int, payload: bytes) -> bytes:
    """One netlink attribute, padded to four octets."""
    return struct.pack("=HH", 4 + len(payload), kind) + payload + b"\0" * (-len(payload) % 4)


def statistics(namespace: Namespace, port: str) -> Mapping[int, Mapping[str, int]]:
    """Packets sent, dropped and waiting by handle, of all qdiscs and classes of a port; leaf qdiscs under their own handle."""
    number = index(namespace, port)
    found: dict[int, Mapping[str, int]] = {}
    for message in (*namespace.route.get_qdiscs(number), *namespace.route.get_classes(number)):
        stats = message.get_attr("TCA_STATS")
        if message["index"] == number and stats is not None:
            found[message["handle"]] = {"sent": stats["packets"], "dropped": stats["drop"], "backlog": stats["qlen"]}
    return found


def configuration(namespace: Namespace, port: str) -> list[str]:
    """Every qdisc and class of a port, as one line each, without counters and in a fixed order."""
    number = index(namespace, port)
    lines = []
    for word, messages in (
        ("qdisc", namespace.route.get_qdiscs(number)),
        ("class", namespace.route.get_classes(number)),
        ("filter", namespace.route.get_filters(number)),
    ):
        for message in messages:
            if message["index"] != number:
                continue
            options = message.get_attr("TCA_OPTIONS")
            lines.append(
                f"{word} {message.get_attr('TCA_KIND')} {_name(message['handle'])} parent {_name(message['parent'])}{_text(options)}"
            )
    return sorted(lines)


def _name(number: int) -> str:
    return "root" if number == ROOT else f"{number >> 16:x}:{number & 0xFFFF:x}"


def _text(options: Any) -> str:
    if options is None:
        return ""
    if isinstance(options, bytes | str):
        data = options if isinstance(options, bytes) else options.encode("latin-1")
        return f" {data.hex()}"
    parameters = options.get_attr("TCA_HTB_PARMS") or options.get_attr("TCA_TBF_PARMS")
    if parameters is None:
        return ""
    keys = [key for key in ("rate", "ceil", "prio", "quantum", "limit") if key in parameters.keys()]  # noqa: SIM118 (not a dict)
    return "".join(f" {key} {parameters[key]}" for key in keys)

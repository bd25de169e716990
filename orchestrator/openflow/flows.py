"""Entries of OpenFlow tables as data, and the words that matches and actions are written in: a part of what `ovs-ofctl` takes.

Match: "in_port=west,eth_dst=02:00:00:00:00:01/ff:ff:ff:ff:ff:ff,dl_vlan=10": fields by their names in the OpenFlow standard (OXM), with a
mask after a slash; dl_dst, dl_src, dl_type, dl_vlan and dl_vlan_pcp are what `ovs-ofctl` calls five of them. Actions, in order:
output:PORT, group:N, push_vlan:TYPE, pop_vlan, push_pbb:TYPE, pop_pbb, set_field:VALUE->FIELD, set_queue:N; and the instructions meter:N,
write_metadata:VALUE/MASK and goto_table:N. No action, or drop: the frame ends there.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from rackproof.errors import DeviceError
from rackproof.model.functions import Flow

#: vlan_vid has this bit where there is a tag at all.
VLAN_PRESENT = 0x1000
#: Ports that are no numbers.
RESERVED_PORTS = {
    "in_port": 0xFFFFFFF8,
    "normal": 0xFFFFFFFA,
    "flood": 0xFFFFFFFB,
    "all": 0xFFFFFFFC,
    "controller": 0xFFFFFFFD,
    "local": 0xFFFFFFFE,
}

_ALSO_CALLED = {"dl_dst": "eth_dst", "dl_src": "eth_src", "dl_type": "eth_type", "dl_vlan": "vlan_vid", "dl_vlan_pcp": "vlan_pcp"}
_ADDRESS = re.compile(r"[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5}")
_PLAIN = ("pop_vlan", "pop_pbb")
_NUMBERED = ("group", "push_vlan", "push_pbb", "set_queue")

#: A field's value: a number, an address or, for in_port, a port's name. And its mask, None: all of it.
Value = int | str
Match = Mapping[str, tuple[Value, Value | None]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """A group of type all: a copy of the frame goes through every bucket; buckets are actions as text."""

    number: int
    buckets: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Meter:
    """What exceeds rate_kbps with bursts of burst_kbits is dropped."""

    number: int
    rate_kbps: int
    burst_kbits: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Tables:
    """All that a switch has to hold."""

    flows: tuple[Flow, ...]
    groups: tuple[Group, ...] = ()
    meters: tuple[Meter, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Action:
    """One action: its name, and what it takes: a port, a number, or (set_field) the value of `field`."""

    name: str
    value: Value = 0
    field: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Instructions:
    """What a flow does: meter, then actions, then metadata (value, mask), then the next table."""

    actions: tuple[Action, ...] = ()
    meter: int | None = None
    metadata: tuple[int, int] | None = None
    table: int | None = None


@dataclass(slots=True)
class _Found:
    actions: list[Action] = field(default_factory=list)
    meter: int | None = None
    metadata: tuple[int, int] | None = None
    table: int | None = None


def match_of(text: str) -> Match:
    """Field -> (value, mask). Raises DeviceError that quotes what it does not know."""
    found: dict[str, tuple[Value, Value | None]] = {}
    for word in filter(None, re.split(r"[,\s]+", text)):
        name, equals, value = word.partition("=")
        if not equals:
            raise DeviceError(f"match {text!r}: expected FIELD=VALUE, found {word!r}")
        first, _, mask = value.partition("/")
        number = _value(first)
        if name == "dl_vlan":
            number = 0 if number == 0xFFFF else int(number) | VLAN_PRESENT
        found[_ALSO_CALLED.get(name, name)] = (number, _value(mask) if mask else None)
    return found


def instructions_of(text: str) -> Instructions:
    """What the text of a flow's actions says. Raises DeviceError that quotes what it does not know."""
    found = _Found()
    for word in _words(text):
        name, _, value = word.partition(":")
        match name:
            case "goto_table":
                found.table = _number(word, value)
            case "meter":
                found.meter = _number(word, value)
            case "write_metadata":
                first, _, mask = value.partition("/")
                found.metadata = _number(word, first), _number(word, mask) if mask else (1 << 64) - 1
            case _:
                found.actions.append(_action(word))
    return Instructions(actions=tuple(found.actions), meter=found.meter, metadata=found.metadata, table=found.table)


def actions_of(text: str) -> tuple[Action, ...]:
    """The actions of a bucket. Raises DeviceError that quotes what it does not know."""
    return tuple(map(_action, _words(text)))


def _words(text: str) -> Iterator[str]:
    return (word for word in re.split(r"[,\s]+", text) if word not in ("", "drop"))


def _action(word: str) -> Action:
    name, _, value = word.partition(":")
    if name in _PLAIN and not value:
        return Action(name=name)
    if name in _NUMBERED:
        return Action(name=name, value=_number(word, value))
    if name == "output":
        return Action(name=name, value=_value(value))
    if name == "set_field" and "->" in value:
        what, _, target = value.partition("->")
        called = _ALSO_CALLED.get(target, target)
        number = _value(what)
        return Action(name=name, field=called, value=int(number) | VLAN_PRESENT if target == "dl_vlan" else number)
    raise DeviceError(f"it does not know the action {word!r}")


def _value(text: str) -> Value:
    if _ADDRESS.fullmatch(text):
        return text.lower()
    try:
        return int(text, 0)
    except ValueError:
        return text


def _number(word: str, text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise DeviceError(f"expected a number in {word!r}, found {text!r}") from None

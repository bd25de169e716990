"""What an OpenFlow switch holds, as text from which it can be brought back; and how it is made to hold what is asked for."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from orchestrator.openflow import entries, messages
from orchestrator.openflow.entries import Plain
from orchestrator.openflow.flows import Tables
from orchestrator.openflow.messages import Message
from orchestrator.openflow.session import Session
from rackproof.errors import DeviceError


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    """All entries as plain data: groups and meters by number, flows by table, priority and match."""

    flows: Mapping[str, Plain]
    groups: Mapping[str, Plain] = field(default_factory=dict)
    meters: Mapping[str, Plain] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """One entry a line: meters, groups, flows; the same text for the same entries."""
        kinds = (("meter", self.meters), ("group", self.groups), ("flow", self.flows))
        return "".join(
            f"{kind} {line}\n" for kind, found in kinds for line in sorted(json.dumps(each, sort_keys=True) for each in found.values())
        )


def state_of(text: str) -> State:
    """The state that a text (State.text) says."""
    lines = [line.partition(" ") for line in text.splitlines()]
    found = {kind: [json.loads(rest) for word, _, rest in lines if word == kind] for kind in ("flow", "group", "meter")}
    return _state(found["flow"], found["group"], found["meter"])


def wanted(tables: Tables, ports: Mapping[str, int]) -> State:
    """The state that tables are; ports: name -> number. Raises DeviceError that quotes the flow that cannot be."""
    return _state(
        (entries.flow(entry, ports) for entry in tables.flows),
        (entries.group(entry, ports) for entry in tables.groups),
        map(entries.meter, tables.meters),
    )


def read(session: Session) -> State:
    """What the switch holds. Raises DeviceError."""
    return _state(
        map(entries.plain_flow, session.all_of(messages.flow_statistics())),
        map(entries.plain_group, _if_there_are(session, messages.group_descriptions())),
        map(entries.plain_meter, _if_there_are(session, messages.meter_configurations())),
    )


def facts(session: Session) -> Mapping[str, str]:
    """What the switch says of itself. Raises DeviceError."""
    about = session.ask(messages.description()).body
    names = {"manufacturer": "mfr_desc", "model": "hw_desc", "version": "sw_desc", "serial number": "serial_num", "datapath": "dp_desc"}
    words = {name: _words(getattr(about, key)) for name, key in names.items()}
    return {
        **{name: text for name, text in words.items() if text},
        "datapath id": f"{session.features.datapath_id:016x}",
        "tables": str(session.features.n_tables),
        "ports": " ".join(f"{name}={number}" for name, number in ports(session).items()),
    }


def ports(session: Session) -> Mapping[str, int]:
    """Name of a port -> its number; a number is a name as well. Raises DeviceError."""
    return {_words(port.name): port.port_no for port in session.all_of(messages.port_descriptions())}


def counters(session: Session) -> Mapping[str, int]:
    """Frames and octets that each flow and group has seen: "flow.TABLE.PRIORITY.MATCH.frames". Raises DeviceError."""
    found: dict[str, int] = {}
    for each in session.all_of(messages.flow_statistics()):
        name = entries.described(entries.plain_flow(each)).partition(" actions=")[0]
        found |= {f"flow.{name}.frames": each.packet_count, f"flow.{name}.octets": each.byte_count}
    for each in _if_there_are(session, messages.group_statistics()):
        found |= {f"group.{each.group_id}.frames": each.packet_count, f"group.{each.group_id}.octets": each.byte_count}
    return found


def differences(asked: State, found: State) -> list[str]:
    """What is not as asked for, in words."""
    return [
        line for kind in ("meter", "group", "flow") for line in _differences(kind, getattr(asked, f"{kind}s"), getattr(found, f"{kind}s"))
    ]


def change(session: Session, asked: State, found: State) -> None:
    """Make the switch hold what is asked for, and only that. Raises DeviceError that quotes what it refuses.

    Meters and groups come before the flows that use them and go after those that did. What a switch refuses is left undone.
    """
    unlike = [key for key, entry in asked.flows.items() if found.flows.get(key) != entry]
    session.tell([*_said(asked, found, "meter", entries.meter_mod), *_said(asked, found, "group", entries.group_mod)])
    gone = [found.flows[key] for key in found.flows.keys() - asked.flows.keys()]
    session.tell([(entries.flow_mod(entry, remove=True), entries.described(entry)) for entry in gone])
    session.tell([(entries.flow_mod(asked.flows[key]), entries.described(asked.flows[key])) for key in unlike])
    for kind, remove in (("group", entries.group_removal), ("meter", entries.meter_removal)):
        left = getattr(found, f"{kind}s").keys() - getattr(asked, f"{kind}s").keys()
        session.tell([(remove(int(number)), f"{kind} {number}") for number in left])


def _said(asked: State, found: State, kind: str, message: Message) -> Sequence[tuple[Message, str]]:
    ours, theirs = getattr(asked, f"{kind}s"), getattr(found, f"{kind}s")
    return [(message(entry, there=key in theirs), f"{kind} {key}") for key, entry in ours.items() if theirs.get(key) != entry]


def _differences(kind: str, asked: Mapping[str, Plain], found: Mapping[str, Plain]) -> Iterator[str]:
    for key, entry in asked.items():
        if key not in found:
            yield f"missing {kind}: {entries.described(entry)}"
        elif found[key] != entry:
            yield f"{kind}: expected {entries.described(entry)}, found {entries.described(found[key])}"
    for key in found.keys() - asked.keys():
        yield f"{kind} that was not asked for: {entries.described(found[key])}"


def _state(flows: Iterable[Plain], groups: Iterable[Plain], meters: Iterable[Plain]) -> State:
    return State(
        flows={json.dumps([each["table_id"], each["priority"], each["match"]], sort_keys=True): each for each in flows},
        groups={str(each["group_id"]): each for each in groups},
        meters={str(each["meter_id"]): each for each in meters},
    )


def _if_there_are(session: Session, request: Message) -> list[Message]:
    """What a switch without groups or meters answers is that it knows no such request."""
    try:
        return session.all_of(request)
    except DeviceError as error:
        if "OFPBRC_BAD_MULTIPART" in str(error) or "OFPBRC_BAD_STAT" in str(error):
            return []
        raise


def _words(name: str | bytes) -> str:
    text = name.decode(errors="replace") if isinstance(name, bytes) else name
    return text.rstrip("\0")

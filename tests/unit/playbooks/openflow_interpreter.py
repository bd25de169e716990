"""An OpenFlow switch in a few lines: runs frames through flows and groups as the standard says (1.3.1, section 5), without meters."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from orchestrator.openflow.flows import Action, Instructions, Match, Tables, actions_of, instructions_of, match_of
from rackproof.model.functions import Flow

_TAGS = (0x8100, 0x88A8)
I_TAG = 0x88E7


def integer(octets: bytes) -> int:
    return int.from_bytes(octets, "big")


def address(text: str) -> int:
    return int(text.replace(":", ""), 16)


@dataclass
class Packet:
    frame: bytes
    in_port: str
    metadata: int = 0
    out: list[tuple[str, bytes]] = field(default_factory=list)

    def fields(self) -> Mapping[str, int | str]:
        """What can be matched of the frame as it is now."""
        kind, place, tag = integer(self.frame[12:14]), 14, 0
        if kind in _TAGS:
            tag, place = integer(self.frame[14:16]), 18
            while (kind := integer(self.frame[place - 2 : place])) in _TAGS:
                place += 4
        found: dict[str, int | str] = {"in_port": self.in_port, "metadata": self.metadata, "eth_type": kind}
        found |= {"eth_dst": integer(self.frame[:6]), "eth_src": integer(self.frame[6:12]), "vlan_vid": 0}
        if integer(self.frame[12:14]) in _TAGS:
            found |= {"vlan_vid": tag & 0xFFF | 0x1000, "vlan_pcp": tag >> 13}
        if kind == I_TAG:
            found["pbb_isid"] = integer(self.frame[place + 1 : place + 4])
        return found


class Interpreter:
    """Flows are read once; the one with the highest priority that matches counts."""

    def __init__(self, tables: Tables) -> None:
        ordered = sorted(tables.flows, key=lambda flow: -flow.priority)
        self._tables: dict[int, list[tuple[Flow, Match, Instructions]]] = {}
        for flow in ordered:
            self._tables.setdefault(flow.table, []).append((flow, match_of(flow.match), instructions_of(flow.actions)))
        self._groups = {group.number: [actions_of(bucket) for bucket in group.buckets] for group in tables.groups}
        self.seen: set[Flow] = set()

    def run(self, frame: bytes, in_port: str) -> list[tuple[str, bytes]]:
        """The frames that leave, by port."""
        packet, table = Packet(frame, in_port), 0
        while True:
            fields = packet.fields()
            found = next((entry for entry in self._tables.get(table, []) if _matches(entry[1], fields)), None)
            if found is None:
                return packet.out
            flow, _, done = found
            self.seen.add(flow)
            for action in done.actions:
                self._act(action, packet)
            if done.metadata is not None:
                value, mask = done.metadata
                packet.metadata = packet.metadata & ~mask | value & mask
            if done.table is None:
                return packet.out
            assert done.table > table, "a flow goes on to a table of a higher number only"
            table = done.table

    def _act(self, action: Action, packet: Packet) -> None:
        frame = packet.frame
        match action.name:
            case "output":
                if action.value != packet.in_port:
                    packet.out.append((str(action.value), frame))
            case "group":
                for bucket in self._groups[int(action.value)]:
                    copy = Packet(frame, packet.in_port, packet.metadata, packet.out)
                    for each in bucket:
                        self._act(each, copy)
            case "push_vlan":
                packet.frame = frame[:12] + int(action.value).to_bytes(2, "big") + b"\0\0" + frame[12:]
            case "pop_vlan":
                packet.frame = frame[:12] + frame[16:]
            case "push_pbb":
                assert action.value == I_TAG
                priority = frame[14] & 0xE0 if integer(frame[12:14]) in _TAGS else 0
                packet.frame = frame[:12] + bytes.fromhex("88e7") + bytes([priority, 0, 0, 0]) + frame
            case "pop_pbb":
                assert integer(frame[12:14]) == I_TAG
                packet.frame = frame[18:]
            case "set_field":
                packet.frame = _set(frame, action)


def _matches(match: Match, fields: Mapping[str, int | str]) -> bool:
    for name, (value, mask) in match.items():
        found = fields.get(name)
        if name == "in_port" or found is None:
            if found != value:
                return False
            continue
        number, bits = (address(each) if isinstance(each, str) else each for each in (value, -1 if mask is None else mask))
        if int(found) & bits != number:
            return False
    return True


def _set(frame: bytes, action: Action) -> bytes:
    value = action.value
    match action.field:
        case "eth_dst":
            return address(str(value)).to_bytes(6, "big") + frame[6:]
        case "eth_src":
            return frame[:6] + address(str(value)).to_bytes(6, "big") + frame[12:]
        case "vlan_vid":
            return frame[:14] + (integer(frame[14:16]) & 0xF000 | int(value) & 0xFFF).to_bytes(2, "big") + frame[16:]
        case "vlan_pcp":
            return frame[:14] + (integer(frame[14:16]) & 0x1FFF | int(value) << 13).to_bytes(2, "big") + frame[16:]
        case _:
            assert action.field == "pbb_isid"
            place = 14 if integer(frame[12:14]) == I_TAG else 18
            assert integer(frame[place - 2 : place]) == I_TAG
            return frame[: place + 1] + int(value).to_bytes(3, "big") + frame[place + 4 :]

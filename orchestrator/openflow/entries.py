"""Flows, groups and meters as plain data: os-ken's own JSON form, from which it makes the same octets again."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from os_ken.exception import OSKenException
from os_ken.ofproto import ofproto_v1_3 as ofp
from os_ken.ofproto import ofproto_v1_3_parser as parser

from orchestrator.openflow.flows import RESERVED_PORTS, Action, Group, Instructions, Meter, actions_of, instructions_of, match_of
from orchestrator.openflow.messages import SWITCH, Message
from rackproof.errors import DeviceError
from rackproof.model.functions import Flow

Plain = Mapping[str, Any]

#: What os-ken works out itself, and how much of a frame a controller is sent, which is none here.
_ASIDE = {"len", "length", "max_len"}
#: Actions and instructions that take the number of something.
_COUNTED = {"output", "group", "goto_table", "meter", "set_queue"}


def flow(entry: Flow, ports: Mapping[str, int]) -> Plain:
    """A flow as plain data. Raises DeviceError that quotes the flow."""
    try:
        fields = {name: _field(name, value, mask, ports) for name, (value, mask) in match_of(entry.match).items()}
        match = parser.OFPMatch(**fields)
        made = parser.OFPFlowMod(
            SWITCH,
            table_id=entry.table,
            priority=entry.priority,
            match=match,
            instructions=_instructions(instructions_of(entry.actions), ports),
        )
        made.xid = 0
        made.serialize()
    except (DeviceError, OSKenException, KeyError, ValueError, TypeError) as error:
        raise DeviceError(f"flow {text_of(entry)!r}: {error if isinstance(error, DeviceError) else f'{error!r} is not known'}") from error
    return plain_flow(made)


def group(entry: Group, ports: Mapping[str, int]) -> Plain:
    """A group as plain data."""
    buckets = [parser.OFPBucket(actions=[_action(action, ports) for action in actions_of(bucket)]) for bucket in entry.buckets]
    return plain_group(parser.OFPGroupMod(SWITCH, ofp.OFPGC_ADD, ofp.OFPGT_ALL, entry.number, buckets))


def meter(entry: Meter) -> Plain:
    """A meter as plain data."""
    bands = [parser.OFPMeterBandDrop(rate=entry.rate_kbps, burst_size=entry.burst_kbits)]
    return plain_meter(parser.OFPMeterMod(SWITCH, ofp.OFPMC_ADD, ofp.OFPMF_KBPS | ofp.OFPMF_BURST, entry.number, bands))


def plain_flow(found: Message) -> Plain:
    """What a flow of a message does, without its counters."""
    names = ("table_id", "priority", "cookie", "idle_timeout", "hard_timeout")
    return {
        **{name: getattr(found, name) for name in names},
        "flags": found.flags & ~ofp.OFPFF_RESET_COUNTS,
        "match": _in_order(_still(found.match.to_jsondict())),
        "instructions": [_still(each.to_jsondict()) for each in found.instructions],
    }


def plain_group(found: Message) -> Plain:
    """What a group of a message does."""
    return {"group_id": found.group_id, "type": found.type, "buckets": [_still(each.to_jsondict()) for each in found.buckets]}


def plain_meter(found: Message) -> Plain:
    """What a meter of a message does."""
    return {"meter_id": found.meter_id, "flags": found.flags, "bands": [_still(each.to_jsondict()) for each in found.bands]}


def flow_mod(plain: Plain, *, remove: bool = False) -> Message:
    """Add a flow (in place of one with the same table, priority and match), or remove it."""
    command = ofp.OFPFC_DELETE_STRICT if remove else ofp.OFPFC_ADD
    return parser.OFPFlowMod.from_jsondict(
        {
            **plain,
            "cookie_mask": 0,
            "command": command,
            "buffer_id": ofp.OFP_NO_BUFFER,
            "out_port": ofp.OFPP_ANY,
            "out_group": ofp.OFPG_ANY,
        },
        datapath=SWITCH,
    )


def group_mod(plain: Plain, *, there: bool) -> Message:
    """Add a group, or change the one that is there."""
    command = ofp.OFPGC_MODIFY if there else ofp.OFPGC_ADD
    return parser.OFPGroupMod.from_jsondict({**plain, "command": command}, datapath=SWITCH)


def group_removal(number: int) -> Message:
    """Remove a group."""
    return parser.OFPGroupMod(SWITCH, ofp.OFPGC_DELETE, ofp.OFPGT_ALL, number, [])


def meter_mod(plain: Plain, *, there: bool) -> Message:
    """Add a meter, or change the one that is there."""
    command = ofp.OFPMC_MODIFY if there else ofp.OFPMC_ADD
    return parser.OFPMeterMod.from_jsondict({**plain, "command": command}, datapath=SWITCH)


def meter_removal(number: int) -> Message:
    """Remove a meter."""
    return parser.OFPMeterMod(SWITCH, ofp.OFPMC_DELETE, 0, number, [])


def text_of(entry: Flow) -> str:
    """A flow as `ovs-ofctl` writes it."""
    match = f",{entry.match}" if entry.match else ""
    return f"table={entry.table},priority={entry.priority}{match} actions={entry.actions or 'drop'}"


def described(plain: Plain) -> str:
    """A flow, group or meter that a switch has, in one line."""
    if "match" not in plain:
        return json.dumps(plain, sort_keys=True)
    fields = [_matched(each["OXMTlv"]) for each in plain["match"]["OFPMatch"]["oxm_fields"]]
    done = ",".join(map(_done, plain["instructions"])) or "drop"
    return ",".join([f"table={plain['table_id']}", f"priority={plain['priority']}", *fields]) + f" actions={done}"


def _in_order(match: Any) -> Plain:
    """The match with its fields in the order of the standard: switches give them in any, and take those first that others need."""
    fields = match["OFPMatch"]["oxm_fields"]
    return {
        "OFPMatch": {**match["OFPMatch"], "oxm_fields": sorted(fields, key=lambda each: ofp.oxm_from_user_header(each["OXMTlv"]["field"]))}
    }


def _matched(field: Plain) -> str:
    mask = "" if field["mask"] is None else f"/{_shown(field['mask'])}"
    return f"{field['field']}={_shown(field['value'])}{mask}"


def _shown(value: Any) -> str:
    return f"{value:#x}" if isinstance(value, int) else str(value)


def _done(plain: Plain) -> str:
    """An instruction or action as text: its name without os-ken's prefix, and what it takes."""
    ((name, values),) = plain.items()
    if "actions" in values:
        return ",".join(map(_done, values["actions"])) or "nothing"
    word = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", re.sub("^OFP(Action|Instruction)", "", name)).lower()
    if "field" in values:
        tlv = values["field"]["OXMTlv"]
        return f"{word}:{_shown(tlv['value'])}->{tlv['field']}"
    shown = str if word in _COUNTED else _shown
    taken = "/".join(shown(value) for key, value in values.items() if key != "type" and value is not None)
    return f"{word}:{taken}" if taken else word


def _still(plain: Any) -> Any:
    """os-ken's form without lengths, which it works out again."""
    if isinstance(plain, Mapping):
        return {key: _still(value) for key, value in plain.items() if key not in _ASIDE}
    return [_still(each) for each in plain] if isinstance(plain, list) else plain


def _field(name: str, value: Any, mask: Any, ports: Mapping[str, int]) -> Any:
    number = _port(value, ports) if name == "in_port" else value
    return number if mask is None else (number, mask)


def _port(value: int | str, ports: Mapping[str, int]) -> int:
    if isinstance(value, int):
        return value
    known = {**RESERVED_PORTS, **ports}
    if value not in known:
        raise DeviceError(f"the switch has no port {value} (it has {', '.join(ports) or 'none'})")
    return known[value]


def _instructions(done: Instructions, ports: Mapping[str, int]) -> list[Any]:
    return list(_each_instruction(done, ports))


def _each_instruction(done: Instructions, ports: Mapping[str, int]) -> Iterator[Any]:
    if done.meter is not None:
        yield parser.OFPInstructionMeter(done.meter)
    if done.actions:
        yield parser.OFPInstructionActions(ofp.OFPIT_APPLY_ACTIONS, [_action(action, ports) for action in done.actions])
    if done.metadata is not None:
        yield parser.OFPInstructionWriteMetadata(*done.metadata)
    if done.table is not None:
        yield parser.OFPInstructionGotoTable(done.table)


def _action(action: Action, ports: Mapping[str, int]) -> Any:
    match action.name:
        case "output":
            return parser.OFPActionOutput(_port(action.value, ports))
        case "set_field":
            return parser.OFPActionSetField(**{action.field: action.value})
        case "group":
            return parser.OFPActionGroup(action.value)
        case "set_queue":
            return parser.OFPActionSetQueue(action.value)
        case "push_vlan":
            return parser.OFPActionPushVlan(action.value)
        case "push_pbb":
            return parser.OFPActionPushPbb(action.value)
        case "pop_vlan":
            return parser.OFPActionPopVlan()
        case _:
            return parser.OFPActionPopPbb()

"""Messages of OpenFlow 1.3. With orchestrator.openflow.entries the one place that knows os-ken, and of that only its messages."""

from types import SimpleNamespace
from typing import Any

from os_ken.exception import OSKenException
from os_ken.ofproto import ofproto_parser
from os_ken.ofproto import ofproto_v1_3 as ofp
from os_ken.ofproto import ofproto_v1_3_parser as parser

from rackproof.errors import DeviceError

Message = Any

HEADER_BYTES = 8
VERSION = ofp.OFP_VERSION
#: What messages are made for: os-ken looks here for its own modules.
SWITCH = SimpleNamespace(ofproto=ofp, ofproto_parser=parser)


def hello() -> Message:
    """Hello: OpenFlow 1.3 alone."""
    return parser.OFPHello(SWITCH, elements=[parser.OFPHelloElemVersionBitmap(versions=[VERSION])])


def echo_reply(request: Message) -> Message:
    """The answer that carries what the request did."""
    reply = parser.OFPEchoReply(SWITCH, data=request.data)
    reply.set_xid(request.xid)
    return reply


def features() -> Message:
    """What is the switch?"""
    return parser.OFPFeaturesRequest(SWITCH)


def barrier() -> Message:
    """Answer when all before is done."""
    return parser.OFPBarrierRequest(SWITCH)


def description() -> Message:
    """Who made the switch?"""
    return parser.OFPDescStatsRequest(SWITCH, 0)


def port_descriptions() -> Message:
    """Which ports has it?"""
    return parser.OFPPortDescStatsRequest(SWITCH, 0)


def flow_statistics() -> Message:
    """All flows with their counters."""
    return parser.OFPFlowStatsRequest(SWITCH, 0, ofp.OFPTT_ALL, ofp.OFPP_ANY, ofp.OFPG_ANY, 0, 0, parser.OFPMatch())


def group_descriptions() -> Message:
    """All groups."""
    return parser.OFPGroupDescStatsRequest(SWITCH, 0)


def group_statistics() -> Message:
    """Counters of all groups."""
    return parser.OFPGroupStatsRequest(SWITCH, 0, ofp.OFPG_ALL)


def meter_configurations() -> Message:
    """All meters."""
    return parser.OFPMeterConfigStatsRequest(SWITCH, 0, ofp.OFPM_ALL)


def octets(message: Message, xid: int) -> bytes:
    """The message as it is sent, under transaction xid."""
    message.xid = None
    message.set_xid(xid)
    message.serialize()
    return bytes(message.buf)


def length(header: bytes) -> int:
    """How long a message is [byte], from its first eight octets. Raises DeviceError where that cannot be."""
    _, _, found, _ = ofproto_parser.header(header)
    if found < HEADER_BYTES:
        raise DeviceError(f"the switch sent a message of {found} octets; a header alone has {HEADER_BYTES}")
    return int(found)


def received(data: bytes) -> Message:
    """The message that the switch sent. Raises DeviceError where it is not one of OpenFlow 1.3."""
    version, kind, size, xid = ofproto_parser.header(data)
    if version != VERSION and kind not in (ofp.OFPT_HELLO, ofp.OFPT_ERROR):
        raise DeviceError(f"expected OpenFlow 1.3 (version 4), found version {version}")
    try:
        message = parser.msg_parser(SWITCH, version, kind, size, xid, data)
    except (OSKenException, AssertionError, KeyError, ValueError, IndexError, TypeError) as error:
        raise DeviceError(f"the switch sent a message of type {kind} that cannot be read: {type(error).__name__}: {error}") from error
    message.version = version
    return message


def is_a(message: Message, name: str) -> bool:
    """Is it an "OFPHello"?"""
    return isinstance(message, getattr(parser, name))


def goes_on(message: Message) -> bool:
    """Is there more of this answer to come?"""
    return bool(message.flags & ofp.OFPMPF_REPLY_MORE)


def words(error: Message) -> str:
    """The words of the standard for an error: "OFPET_BAD_ACTION(2), OFPBAC_BAD_TYPE(0)"."""
    kind = ofp.ofp_error_type_to_str(error.type)
    return f"{kind}, {ofp.ofp_error_code_to_str(error.type, error.code)}"

//! One packet of every kind; between them they have every object.

#![allow(dead_code)] // not every user takes all of it

mod objects;

use std::net::Ipv4Addr;

use rackproof_rsvp::ip::{Ipv4Header, NETWORK_CONTROL};
use rackproof_rsvp::*;

pub use objects::*;

pub const INGRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub const TRANSIT: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
pub const EGRESS: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 9);

pub fn message(kind: MessageType, objects: Vec<Object>) -> Message {
    let header = Header {
        flags: Header::REFRESH_REDUCTION,
        ttl: 64,
        ..Header::default()
    };
    Message {
        header,
        kind,
        objects,
    }
}

pub fn path() -> Message {
    let mut id = message_id(1);
    id.flags = MessageId::ACK_DESIRED;
    let mut objects = vec![
        Object::MessageId(id),
        session(),
        hop(INGRESS),
        Object::TimeValues(TimeValues { refresh_ms: 30_000 }),
        explicit_route(),
        Object::LabelRequest(LabelRequest::IPV4),
        attribute(None),
        Object::FastReroute(FastReroute {
            setup_priority: 7,
            holding_priority: 6,
            hop_limit: 16,
            flags: FastReroute::FACILITY,
            bandwidth: 1_250_000.0,
            include_any: 1,
            exclude_any: 2,
            include_all: 4,
        }),
    ];
    objects.extend(sender());
    objects.extend([Object::Adspec(adspec()), record_route()]);
    message(MessageType::Path, objects)
}

/// What a protecting router sends beside [`path`].
fn detour_path() -> Message {
    let affinities = Affinities {
        exclude_any: 1,
        include_any: 2,
        include_all: 4,
    };
    let interfaces = vec![InterfaceTlv::IfIndex {
        address: TRANSIT,
        interface: 513,
    }];
    let mut objects = vec![
        session(),
        Object::Hop(Hop {
            address: TRANSIT,
            interface_handle: 9,
            interfaces: Some(interfaces),
        }),
        Object::TimeValues(TimeValues { refresh_ms: 30_000 }),
        Object::LabelRequest(LabelRequest::IPV4),
        attribute(Some(affinities)),
        Object::Detour(Detour {
            pairs: vec![DetourPair {
                point_of_local_repair: TRANSIT,
                avoided_node: EGRESS,
            }],
        }),
    ];
    objects.extend(sender());
    message(MessageType::Path, objects)
}

pub fn resv_fixed_filter() -> Message {
    let objects = vec![
        session(),
        hop(TRANSIT),
        Object::TimeValues(TimeValues { refresh_ms: 30_000 }),
        Object::ResvConfirm(EGRESS),
        Object::Style(Style::FIXED_FILTER),
        flowspec(),
        Object::FilterSpec(lsp(11)),
        Object::Label(Label::Mpls(299_776)),
        record_route(),
        guaranteed_flowspec(),
        Object::FilterSpec(lsp(12)),
        Object::Label(Label::Mpls(Label::IMPLICIT_NULL)),
    ];
    message(MessageType::Resv, objects)
}

fn resv_shared_explicit() -> Message {
    let objects = vec![
        session(),
        hop(TRANSIT),
        Object::TimeValues(TimeValues { refresh_ms: 30_000 }),
        Object::Style(Style::SHARED_EXPLICIT),
        flowspec(),
        Object::FilterSpec(lsp(11)),
        Object::Label(Label::Generalized(vec![0, 0, 0x03, 0xe9])),
        Object::FilterSpec(lsp(12)),
        Object::Label(Label::Generalized(vec![0, 0, 0x03, 0xea])),
    ];
    message(MessageType::Resv, objects)
}

fn hello(kind: HelloKind) -> Message {
    let hello = Hello {
        kind,
        source_instance: 0x1122_3344,
        destination_instance: 0x5566_7788,
    };
    let restart = RestartCapability {
        restart_ms: 60_000,
        recovery_ms: 120_000,
    };
    let flags = Capability::RECOVERY_PATH_DESIRED | Capability::RECOVERY_PATH_SREFRESH;
    let objects = vec![
        Object::Hello(hello),
        Object::RestartCapability(restart),
        Object::Capability(Capability { flags }),
    ];
    message(MessageType::Hello, objects)
}

fn ack() -> Message {
    let objects = vec![
        Object::MessageIdAck(Acknowledgement::Ack, message_id(1)),
        Object::MessageIdAck(Acknowledgement::Nack, message_id(2)),
    ];
    message(MessageType::Ack, objects)
}

fn srefresh() -> Message {
    let list = MessageIdList {
        flags: 0,
        epoch: 0x12_3456,
        identifiers: vec![1, 2, 3],
    };
    message(MessageType::Srefresh, vec![Object::MessageIdList(list)])
}

fn with_error(kind: MessageType, from: Ipv4Addr, code: u8, value: u16) -> Message {
    let mut objects = vec![session(), hop(from), error(code, value)];
    if kind == MessageType::PathErr {
        objects.remove(1);
        objects.extend(sender());
    } else {
        objects.extend([
            Object::Style(Style::FIXED_FILTER),
            flowspec(),
            Object::FilterSpec(lsp(11)),
        ]);
    }
    message(kind, objects)
}

/// As a router answers that names interfaces.
fn path_err_of_interface() -> Message {
    let mut message = with_error(MessageType::PathErr, TRANSIT, 24, 5);
    message.objects[1] = Object::ErrorSpec(ErrorSpec {
        node: TRANSIT,
        flags: ErrorSpec::PATH_STATE_REMOVED,
        code: 24,
        value: 5,
        interfaces: Some(vec![InterfaceTlv::IfIndex {
            address: TRANSIT,
            interface: 513,
        }]),
    });
    message
}

fn resv_conf() -> Message {
    let objects = vec![
        session(),
        error(0, 0),
        Object::ResvConfirm(EGRESS),
        Object::Style(Style::FIXED_FILTER),
        flowspec(),
        Object::FilterSpec(lsp(11)),
    ];
    message(MessageType::ResvConf, objects)
}

fn path_tear() -> Message {
    let mut objects = vec![session(), hop(INGRESS)];
    objects.extend(sender());
    message(MessageType::PathTear, objects)
}

fn resv_tear() -> Message {
    let objects = vec![
        session(),
        hop(TRANSIT),
        Object::Style(Style::SHARED_EXPLICIT),
        Object::FilterSpec(lsp(11)),
        Object::FilterSpec(lsp(12)),
    ];
    message(MessageType::ResvTear, objects)
}

fn bundle() -> Bundle {
    let messages = vec![path_tear(), ack(), srefresh()];
    Bundle {
        header: messages[0].header,
        messages,
    }
}

/// Every packet with its name.
pub fn packets() -> Vec<(&'static str, Packet)> {
    let errored = |kind, code, value| Packet::Message(with_error(kind, TRANSIT, code, value));
    vec![
        ("path", Packet::Message(path())),
        ("path-detour", Packet::Message(detour_path())),
        ("resv-ff", Packet::Message(resv_fixed_filter())),
        ("resv-se", Packet::Message(resv_shared_explicit())),
        ("path-err", errored(MessageType::PathErr, 24, 5)),
        (
            "path-err-interface",
            Packet::Message(path_err_of_interface()),
        ),
        ("resv-err", errored(MessageType::ResvErr, 6, 0)),
        ("path-tear", Packet::Message(path_tear())),
        ("resv-tear", Packet::Message(resv_tear())),
        ("resv-conf", Packet::Message(resv_conf())),
        ("bundle", Packet::Bundle(bundle())),
        ("ack", Packet::Message(ack())),
        ("srefresh", Packet::Message(srefresh())),
        ("hello-request", Packet::Message(hello(HelloKind::Request))),
        ("hello-ack", Packet::Message(hello(HelloKind::Ack))),
    ]
}

/// The packet as it goes out: PATH, PATH_TEAR and RESV_CONF end to end with Router Alert, the others to the next hop.
pub fn on_ip(packet: &Packet) -> Vec<u8> {
    let mut payload = Vec::new();
    packet.encode(&mut payload).expect("a sample encodes");
    let end_to_end = match packet {
        Packet::Bundle(_) => false,
        Packet::Message(message) => matches!(
            message.kind,
            MessageType::Path | MessageType::PathTear | MessageType::ResvConf
        ),
    };
    let header = Ipv4Header {
        source: INGRESS,
        destination: if end_to_end { EGRESS } else { TRANSIT },
        ttl: 64,
        tos: NETWORK_CONTROL,
        identification: 0,
        router_alert: end_to_end,
    };
    let mut bytes = Vec::new();
    header.encode(&payload, &mut bytes).expect("a sample fits");
    bytes
}

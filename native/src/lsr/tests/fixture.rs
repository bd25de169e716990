//! A router with a neighbour on each side, and messages for it.

use std::net::Ipv4Addr;

use rackproof_rsvp::ip::Ipv4Header;
use rackproof_rsvp::{
    Header, Hop, IntServ, Label, LabelRequest, Lsp, Message, MessageType, Object, Packet, Session,
    Style, TimeValues, TokenBucket, service,
};

use crate::lsr::config::{self, Config};
use crate::lsr::router::{Action, Router};
use crate::lsr::spec::{Mpls, MplsInterface, Options, StaticLabel};
use crate::lsr::table::Entry;

pub const MS: i64 = 1_000_000;
pub const INGRESS: Ipv4Addr = Ipv4Addr::new(10, 83, 254, 1);
pub const EGRESS: Ipv4Addr = Ipv4Addr::new(10, 83, 254, 2);
/// The neighbour upstream and the router's address there.
pub const BEFORE: Ipv4Addr = Ipv4Addr::new(10, 83, 0, 2);
pub const WEST: Ipv4Addr = Ipv4Addr::new(10, 83, 0, 1);
/// The router's address downstream and the neighbour there.
pub const EAST: Ipv4Addr = Ipv4Addr::new(10, 83, 1, 1);
pub const AFTER: Ipv4Addr = Ipv4Addr::new(10, 83, 1, 2);
pub const REFRESH_MS: u32 = 1_000;

pub fn mpls() -> Mpls {
    let interface = |port: &str, address: &str| MplsInterface {
        port: port.to_owned(),
        address: address.to_owned(),
        rsvp: true,
    };
    Mpls {
        router_id: "10.83.253.1".to_owned(),
        interfaces: vec![
            interface("west", "10.83.0.1/30"),
            interface("east", "10.83.1.1/30"),
        ],
        labels: vec![StaticLabel {
            in_label: 100_016,
            port: "east".to_owned(),
            next_hop: AFTER.to_string(),
            out_label: Some(55),
            push: None,
        }],
        routes: [(format!("{EGRESS}/32"), AFTER.to_string())].into(),
    }
}

pub fn config_of(mpls: &Mpls) -> Config {
    Config::new(mpls, &["west".to_owned(), "east".to_owned()]).unwrap()
}

pub fn router(options: Options) -> Router {
    let mut router = Router::new(config_of(&mpls()), options, 77);
    router.take_actions();
    router
}

pub fn session(tunnel_id: u16) -> Session {
    Session {
        endpoint: EGRESS,
        reserved: 0,
        tunnel_id,
        extended_tunnel_id: INGRESS.into(),
    }
}

pub fn lsp(lsp_id: u16) -> Lsp {
    Lsp {
        sender: INGRESS,
        reserved: 0,
        lsp_id,
    }
}

pub fn traffic(number: u8) -> IntServ {
    let bucket = TokenBucket {
        rate: 0.0,
        size: 0.0,
        peak_rate: 0.0,
        minimum_policed_unit: 64,
        maximum_packet_size: 1500,
    };
    IntServ::from_bucket(number, bucket)
}

pub fn hop(address: Ipv4Addr) -> Object {
    Object::Hop(Hop {
        address,
        interface_handle: 9,
        interfaces: None,
    })
}

/// Of LSP id `lsp_id` in the tunnel of the same number.
pub fn path(lsp_id: u16) -> Vec<Object> {
    vec![
        Object::Session(session(lsp_id)),
        hop(BEFORE),
        Object::TimeValues(TimeValues {
            refresh_ms: REFRESH_MS,
        }),
        Object::LabelRequest(LabelRequest::IPV4),
        Object::SenderTemplate(lsp(lsp_id)),
        Object::SenderTspec(traffic(service::GENERAL)),
    ]
}

pub fn tear(lsp_id: u16) -> Vec<Object> {
    vec![
        Object::Session(session(lsp_id)),
        hop(BEFORE),
        Object::SenderTemplate(lsp(lsp_id)),
    ]
}

pub fn resv(lsp_id: u16, label: u32, style: Style) -> Vec<Object> {
    vec![
        Object::Session(session(lsp_id)),
        hop(AFTER),
        Object::TimeValues(TimeValues {
            refresh_ms: REFRESH_MS,
        }),
        Object::Style(style),
        Object::Flowspec(traffic(service::CONTROLLED_LOAD)),
        Object::FilterSpec(lsp(lsp_id)),
        Object::Label(Label::Mpls(label)),
    ]
}

/// An IP packet; what comes from upstream is for the egress, with Router Alert.
pub fn packet(kind: MessageType, objects: Vec<Object>, from: Ipv4Addr) -> Vec<u8> {
    let is_alert = matches!(kind, MessageType::Path | MessageType::PathTear);
    let (destination, source) = match (is_alert, from == BEFORE) {
        (true, _) => (EGRESS, INGRESS),
        (false, true) => (WEST, from),
        (false, false) => (EAST, from),
    };
    let ttl = if is_alert { 60 } else { 255 };
    let header = Header {
        ttl,
        ..Header::default()
    };
    let message = Message {
        header,
        kind,
        objects,
    };
    let ip = Ipv4Header {
        source,
        destination,
        ttl,
        tos: 0,
        identification: 0,
        router_alert: is_alert,
    };
    let (mut payload, mut bytes) = (Vec::new(), Vec::new());
    Packet::Message(message).encode(&mut payload).unwrap();
    ip.encode(&payload, &mut bytes).unwrap();
    bytes
}

pub fn give(router: &mut Router, at_ns: i64, kind: MessageType, objects: Vec<Object>) {
    let is_upstream = objects.contains(&hop(BEFORE)) || kind == MessageType::ResvErr;
    let (port, from) = if is_upstream { (0, BEFORE) } else { (1, AFTER) };
    router.receive(at_ns, port, &packet(kind, objects, from));
}

/// What a router did: a message to a neighbour, or a change of its table.
#[derive(Debug, PartialEq)]
pub enum Did {
    Sent(config::Hop, Ipv4Header, Message),
    Programmed(u32, Option<Entry>),
}

pub fn did(router: &mut Router, now_ns: i64) -> Vec<Did> {
    router.advance(now_ns);
    let actions = router.take_actions().into_iter();
    actions
        .map(|action| match action {
            Action::Program { label, entry } => Did::Programmed(label, entry),
            Action::Send { hop, packet } => {
                let (ip, payload) = Ipv4Header::decode(&packet).unwrap();
                match Packet::decode(payload).unwrap() {
                    Packet::Message(message) => Did::Sent(hop, ip, message),
                    Packet::Bundle(_) => panic!("routers send no bundles"),
                }
            }
        })
        .collect()
}

/// The messages among them.
pub fn sent(router: &mut Router, now_ns: i64) -> Vec<(Ipv4Addr, Message)> {
    let all = did(router, now_ns).into_iter();
    all.filter_map(|one| match one {
        Did::Sent(hop, _, message) => Some((hop.address, message)),
        Did::Programmed(..) => None,
    })
    .collect()
}

/// Types of the messages.
pub fn kinds(router: &mut Router, now_ns: i64) -> Vec<MessageType> {
    let all = sent(router, now_ns).into_iter();
    all.map(|(_, message)| message.kind).collect()
}

/// An LSP that is up; its label.
pub fn established(router: &mut Router, at_ns: i64, lsp_id: u16) -> u32 {
    give(router, at_ns, MessageType::Path, path(lsp_id));
    let reservation = resv(lsp_id, 1000, Style::SHARED_EXPLICIT);
    give(router, at_ns, MessageType::Resv, reservation);
    let messages = sent(router, at_ns + MS);
    let reservation = messages.iter().map(|(_, message)| message).find(|message| {
        message.kind == MessageType::Resv && message.session() == Some(&session(lsp_id))
    });
    reservation
        .and_then(|message| message.label()?.mpls())
        .unwrap()
}

pub fn counter(router: &Router, name: &str) -> u64 {
    let mut counters = std::collections::BTreeMap::new();
    router.write_counters(&mut counters);
    counters[name]
}

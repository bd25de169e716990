//! Packets that routers of others sent (`captured/packets.txt`) decode, and become the same bytes again.

mod digits;

use digits::bytes;
use rackproof_rsvp::ip::Ipv4Header;
use rackproof_rsvp::{Label, Message, MessageType, Object, Packet};

const PACKETS: &str = include_str!("captured/packets.txt");

/// The message of the packet that begins with this line.
fn captured(name: &str) -> (Ipv4Header, Message) {
    let digits: Vec<&str> = PACKETS
        .lines()
        .skip_while(|line| *line != name)
        .skip(1)
        .take_while(|line| line.starts_with(' '))
        .collect();
    let packet = bytes(&digits.join(" "));
    let (header, payload) =
        Ipv4Header::decode(&packet).unwrap_or_else(|error| panic!("{name}: {error}"));
    let decoded = Packet::decode(payload).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut again = Vec::new();
    decoded.encode(&mut again).unwrap();
    assert_eq!(again, payload, "{name}");
    match decoded {
        Packet::Message(message) => (header, message),
        Packet::Bundle(_) => panic!("{name}: a bundle"),
    }
}

#[test]
fn all_come_back_and_lack_nothing() {
    let names: Vec<&str> = PACKETS.lines().filter(|line| line.contains(": ")).collect();
    assert_eq!(names.len(), 14);
    for name in names {
        let (header, message) = captured(name);
        assert_eq!(message.missing().count(), 0, "{name}");
        assert_eq!(message.header.ttl, header.ttl, "{name}");
        let unknown = message
            .objects
            .iter()
            .any(|object| matches!(object, Object::Unknown(_)));
        assert!(!unknown, "{name}: {:?}", message.objects);
    }
}

#[test]
fn one_router_alerts_all_and_the_other_none() {
    for (name, alert) in [
        ("freeRtr: PATH passed on", true),
        ("freeRtr: RESV in SE", true),
        (
            "KOM RSVP: PATH to the next hop, without Router Alert",
            false,
        ),
    ] {
        assert_eq!(captured(name).0.router_alert, alert, "{name}");
    }
}

/// RFC 3473, 8.1.1 and 2.3: RSVP_HOP of C-Type 3, LABEL of C-Type 2.
#[test]
fn one_router_speaks_as_generalized_mpls_does() {
    let (header, path) = captured("KOM RSVP: PATH to the next hop, without Router Alert");
    assert_eq!((path.kind, header.tos), (MessageType::Path, 0));
    let hop = path.hop().unwrap();
    assert_eq!((hop.address, hop.interface_handle), (header.source, 2));
    assert!(hop.interfaces.is_some());
    let (_, resv) = captured("KOM RSVP: RESV in FF");
    let descriptors = resv.flow_descriptors();
    assert_eq!(descriptors.len(), 1);
    assert_eq!(descriptors[0].label.and_then(Label::mpls), Some(16));
}

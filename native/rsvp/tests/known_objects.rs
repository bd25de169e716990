//! Objects laid out by hand after the figures of the RFCs, and what they say.

mod digits;
mod samples;

use digits::object;
use rackproof_rsvp::*;
use samples::{EGRESS, TRANSIT};

/// RFC 2961, 4.2, 4.3 and 5.1.
#[test]
fn message_identifiers() {
    let id = MessageId {
        flags: MessageId::ACK_DESIRED,
        epoch: 0x12_3456,
        identifier: 9,
    };
    assert_eq!(
        object("000c 17 01  01 123456 00000009"),
        Object::MessageId(id)
    );
    let id = MessageId { flags: 0, ..id };
    assert_eq!(
        object("000c 18 01  00 123456 00000009"),
        Object::MessageIdAck(Acknowledgement::Ack, id)
    );
    assert_eq!(
        object("000c 18 02  00 123456 00000009"),
        Object::MessageIdAck(Acknowledgement::Nack, id)
    );
    let list = MessageIdList {
        flags: 0,
        epoch: 0x12_3456,
        identifiers: vec![9, 10],
    };
    assert_eq!(
        object("0010 19 01  00 123456 00000009 0000000a"),
        Object::MessageIdList(list)
    );
}

/// RFC 3473, 9.1; RFC 5063; RFC 4090, 4.1 and 4.2.
#[test]
fn restart_and_protection() {
    let restart = RestartCapability {
        restart_ms: 60_000,
        recovery_ms: 120_000,
    };
    assert_eq!(
        object("000c 83 01  0000ea60 0001d4c0"),
        Object::RestartCapability(restart)
    );
    let flags = Capability::RECOVERY_PATH_TRANSMIT | Capability::RECOVERY_PATH_SREFRESH;
    assert_eq!(
        object("0008 86 01  00000005"),
        Object::Capability(Capability { flags })
    );
    let reroute = FastReroute {
        setup_priority: 7,
        holding_priority: 0,
        hop_limit: 16,
        flags: FastReroute::FACILITY,
        bandwidth: 1_250_000.0,
        include_any: 1,
        exclude_any: 2,
        include_all: 4,
    };
    let found = object("0018 cd 01  07 00 10 02  49989680 00000001 00000002 00000004");
    assert_eq!(found, Object::FastReroute(reroute));
    let pair = DetourPair {
        point_of_local_repair: TRANSIT,
        avoided_node: EGRESS,
    };
    assert_eq!(
        object("000c 3f 07  c0000202 c6336409"),
        Object::Detour(Detour { pairs: vec![pair] })
    );
}

/// RFC 2205, A.5 and A.14; RFC 3209, 4.4.1 and 4.7.2; RFC 3477, 5.
#[test]
fn other_objects() {
    let error = ErrorSpec {
        node: TRANSIT,
        flags: ErrorSpec::PATH_STATE_REMOVED,
        code: 24,
        value: 5,
        interfaces: None,
    };
    assert_eq!(
        object("000c 06 01  c0000202 04 18 0005"),
        Object::ErrorSpec(error.clone())
    );
    assert_eq!(error.meaning(), Some("routing problem"));
    let interfaces = Some(vec![InterfaceTlv::Ipv4(EGRESS)]);
    let error = ErrorSpec {
        interfaces,
        ..error
    };
    assert_eq!(
        object("0014 06 03  c0000202 04 18 0005  0001 0008 c6336409"),
        Object::ErrorSpec(error)
    );
    assert_eq!(object("0008 0f 01  c6336409"), Object::ResvConfirm(EGRESS));
    let route = vec![
        Subobject::Label {
            flags: 1,
            c_type: 1,
            label: 299_776,
        },
        Subobject::Unnumbered {
            flags: 1,
            reserved: 0,
            router: TRANSIT,
            interface: 513,
        },
        Subobject::Unknown {
            kind: 0x81,
            data: vec![0, 0],
        },
    ];
    assert_eq!(
        object("001c 15 01  03 08 01 01 00049300  04 0c 01 00 c0000202 00000201  81 04 0000"),
        Object::RecordRoute(route)
    );
    let Object::SessionAttribute(attribute) =
        object("0018 cf 01  00000001 00000002 00000004  07 05 02 01 61 000000")
    else {
        panic!("no SESSION_ATTRIBUTE")
    };
    assert_eq!(
        attribute.affinities,
        Some(Affinities {
            exclude_any: 1,
            include_any: 2,
            include_all: 4
        })
    );
    assert_eq!(
        (attribute.name.as_slice(), attribute.padding),
        (&b"a"[..], Padding::default())
    );
}

/// Odd content that routers may send stays: padding that is longer than needed or not zero, reserved bits, a C-Type that nobody knows.
#[test]
fn what_is_unusual_stays() {
    let long = object("0010 cf 07  07 07 00 02 6869 0000 00000000");
    let Object::SessionAttribute(attribute) = long else {
        panic!("no SESSION_ATTRIBUTE")
    };
    assert_eq!(attribute.name, b"hi");
    assert_ne!(attribute.padding, Padding::default());
    object("000c cf 07  07 07 00 02 6869 dead");
    object("0010 01 07  c6336409  beef 0007  c0000201");
    object("0008 08 01  ff ffffff");
    let unknown = object("000c 01 01  c6336409 2e000000");
    assert_eq!(
        unknown,
        Object::Unknown(Unknown {
            class: 1,
            c_type: 1,
            data: vec![0xc6, 0x33, 0x64, 9, 0x2e, 0, 0, 0]
        })
    );
}

/// RFC 2205, 3.10.
#[test]
fn rules_of_unknown_classes() {
    let rules = [
        (0x7f, ClassRule::Reject),
        (0x80, ClassRule::Ignore),
        (0xbf, ClassRule::Ignore),
        (0xc0, ClassRule::Forward),
    ];
    for (class, rule) in rules {
        let Object::Unknown(unknown) = object(&format!("0008 {class:02x} 09  01020304")) else {
            panic!("class {class} is known")
        };
        assert_eq!(unknown.rule(), rule);
        assert_eq!(
            (unknown.class, unknown.c_type, unknown.data),
            (class, 9, vec![1, 2, 3, 4])
        );
    }
}

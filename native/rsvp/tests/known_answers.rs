//! Messages laid out by hand after the figures of the RFCs, and what they say.

mod digits;
mod samples;

use digits::{bytes, decoded};
use rackproof_rsvp::*;
use samples::{EGRESS, INGRESS, TRANSIT};

const PATH: &str = "
    10 01 8d35 ff 00 00b8
    0010 01 07  c6336409  0000 0007  c0000201
    000c 03 01  c0000201  00000000
    0008 05 01  00007530
    0014 14 01  01 08 c0000202 20 00  81 08 c6336409 20 00
    0008 13 01  0000 0800
    0010 cf 07  07 07 04 06  6c73702d3131 0000
    000c 0b 07  c0000201  0000 000b
    0024 0c 02  0 000 0007  01 00 0006  7f 00 0005  49989680 44bb8000 7f800000 00000040 000005dc
    0030 0d 02  0 000 000a  01 00 0008  04 00 0001 00000001  06 00 0001 4cee6b28  08 00 0001 ffffffff
                0a 00 0001 000005dc  05 00 0000
";

/// RFC 2205, 3.1.3; RFC 3209, 4; RFC 2210, 3.1 and 3.3.
#[test]
fn path() {
    let message = decoded(PATH);
    assert_eq!(message.kind, MessageType::Path);
    assert_eq!(
        message.header,
        Header {
            flags: 0,
            checksum: Checksum::Sent,
            ttl: 255,
            reserved: 0
        }
    );
    let session = Session {
        endpoint: EGRESS,
        reserved: 0,
        tunnel_id: 7,
        extended_tunnel_id: u32::from(INGRESS),
    };
    assert_eq!(message.session(), Some(&session));
    assert_eq!(
        message.hop(),
        Some(&Hop {
            address: INGRESS,
            interface_handle: 0,
            interfaces: None
        })
    );
    assert_eq!(
        message.objects[2],
        Object::TimeValues(TimeValues { refresh_ms: 30_000 })
    );
    let step = |loose, address| ExplicitHop {
        loose,
        subobject: Subobject::Ipv4 {
            address,
            prefix_length: 32,
            flags: 0,
        },
    };
    assert_eq!(
        message.explicit_route(),
        Some(&[step(false, TRANSIT), step(true, EGRESS)][..])
    );
    assert_eq!(message.label_request(), Some(&LabelRequest::IPV4));
    let attribute = message.session_attribute().unwrap();
    assert_eq!(
        (
            attribute.setup_priority,
            attribute.holding_priority,
            attribute.flags
        ),
        (7, 7, SessionAttribute::SE_STYLE)
    );
    assert_eq!(attribute.name, b"lsp-11");
    assert_eq!(message.sender_template(), Some(&samples::lsp(11)));
    let tspec = Object::SenderTspec(IntServ::from_bucket(service::GENERAL, samples::bucket()));
    assert_eq!(message.objects[7], tspec);
    let Object::Adspec(adspec) = &message.objects[8] else {
        panic!("no ADSPEC")
    };
    let general: Vec<_> = adspec.services[0]
        .parameters
        .iter()
        .map(|parameter| parameter.value.clone())
        .collect();
    let expected = [
        ParameterValue::HopCount(1),
        ParameterValue::PathBandwidth(125_000_000.0),
        ParameterValue::MinimumLatency(u32::MAX),
        ParameterValue::PathMtu(1500),
    ];
    assert_eq!(general, expected);
    assert_eq!(
        adspec.services[1],
        Service {
            number: service::CONTROLLED_LOAD,
            flags: 0,
            parameters: vec![]
        }
    );
    assert_eq!(message.missing().count(), 0);
}

/// As one kind of router answers: RSVP_HOP with C-Type 3, LABEL with C-Type 2.
#[test]
fn resv_with_interface_and_generalized_label() {
    let message = decoded(
        "10 02 0000 40 00 0084
         0010 01 07  c6336409  0000 0007  c0000201
         0018 03 03  c0000202  00000000  0003 000c c0000202 00000201
         0008 05 01  00007530
         0008 08 01  00 000012
         0024 09 02  0 000 0007  05 00 0006  7f 00 0005  49989680 44bb8000 7f800000 00000040 000005dc
         000c 0a 07  c0000201  0000 000b
         0008 10 02  000003e9
         000c 15 01  01 08 c0000202 20 00 ",
    );
    let interface = InterfaceTlv::IfIndex {
        address: TRANSIT,
        interface: 0x201,
    };
    assert_eq!(
        message.hop(),
        Some(&Hop {
            address: TRANSIT,
            interface_handle: 0,
            interfaces: Some(vec![interface])
        })
    );
    assert_eq!(message.objects[3], Object::Style(Style::SHARED_EXPLICIT));
    let descriptors = message.flow_descriptors();
    assert_eq!(descriptors.len(), 1);
    assert_eq!(descriptors[0].filter.lsp_id, 11);
    assert_eq!(descriptors[0].label.and_then(Label::mpls), Some(1001));
    assert_eq!(
        descriptors[0].flowspec.and_then(IntServ::bucket),
        Some(&samples::bucket())
    );
    assert_eq!(descriptors[0].record_route.map(<[_]>::len), Some(1));
}

/// RFC 2205, 3.1.4: in FF a FLOWSPEC holds until the next one.
#[test]
fn flow_descriptors_of_fixed_filter() {
    let message = samples::resv_fixed_filter();
    let descriptors = message.flow_descriptors();
    let labels: Vec<_> = descriptors
        .iter()
        .map(|descriptor| descriptor.label.and_then(Label::mpls))
        .collect();
    assert_eq!(labels, [Some(299_776), Some(Label::IMPLICIT_NULL)]);
    assert_ne!(descriptors[0].flowspec, descriptors[1].flowspec);
    assert!(descriptors[0].record_route.is_some() && descriptors[1].record_route.is_none());
}

/// RFC 2961, 3.1: a bundle of an Ack and a Hello, with a checksum outside and none inside.
#[test]
fn bundle() {
    let digits = "11 0c 2289 01 00 0030   11 0d 0000 01 00 0014  000c 18 01  00 123456 00000009
                  11 14 0000 01 00 0014  000c 16 01  11223344 00000000";
    let bytes = bytes(digits);
    let Ok(Packet::Bundle(bundle)) = Packet::decode(&bytes) else {
        panic!("{:?}", Packet::decode(&bytes))
    };
    assert_eq!(bundle.header.flags, Header::REFRESH_REDUCTION);
    assert_eq!(
        bundle
            .messages
            .iter()
            .map(|message| message.kind)
            .collect::<Vec<_>>(),
        [MessageType::Ack, MessageType::Hello]
    );
    let hello = Hello {
        kind: HelloKind::Request,
        source_instance: 0x1122_3344,
        destination_instance: 0,
    };
    assert_eq!(bundle.messages[1].objects, [Object::Hello(hello)]);
    let mut again = Vec::new();
    Packet::Bundle(bundle).encode(&mut again).unwrap();
    assert_eq!(again, bytes);
}

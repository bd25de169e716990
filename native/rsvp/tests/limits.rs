//! What is refused, and what the error says.

mod samples;

use rackproof_rsvp::*;

fn refused(bytes: &[u8]) -> String {
    Packet::decode(bytes)
        .expect_err("it is refused")
        .to_string()
}

/// A message without a checksum around one object.
fn around(object: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x10, 1, 0, 0, 64, 0, 0, object.len() as u8 + 8];
    bytes.extend_from_slice(object);
    bytes
}

#[test]
fn headers() {
    assert_eq!(
        refused(&[]),
        "byte 0: length of message: expected at least 1, found 0"
    );
    assert_eq!(
        refused(&[0x20, 1, 0, 0, 64, 0, 0, 8]),
        "byte 0: version of message: expected 1, found 2"
    );
    assert_eq!(
        refused(&[0x10, 1, 0, 0, 64, 0, 0, 7]),
        "byte 6: length of message: expected at least 8, found 7"
    );
    assert_eq!(
        refused(&[0x10, 1, 0, 0, 64, 0, 0, 12]),
        "byte 6: length of message: expected at most 8, found 12"
    );
    assert_eq!(
        refused(&[0x10, 1, 0, 0, 64, 0, 0, 8, 0]),
        "byte 6: length of message: expected 9, found 8"
    );
    assert_eq!(
        refused(&[0x10, 1, 0x12, 0x34, 64, 0, 0, 8]),
        "byte 2: checksum of message: expected 45046, found 4660"
    );
    assert!(Packet::decode(&[0x10, 1, 0xaf, 0xf6, 64, 0, 0, 8]).is_ok());
}

/// The words of this message add up to 0xffff: its checksum would be zero, which says that there is none.
#[test]
fn a_checksum_is_never_zero() {
    let header = Header {
        ttl: 0xef,
        reserved: 0xf6,
        ..Header::default()
    };
    let message = Message {
        header,
        kind: MessageType::Path,
        objects: vec![],
    };
    let mut bytes = Vec::new();
    Packet::Message(message.clone()).encode(&mut bytes).unwrap();
    assert_eq!(bytes, [0x10, 1, 0xff, 0xff, 0xef, 0xf6, 0, 8]);
    assert_eq!(Packet::decode(&bytes), Ok(Packet::Message(message)));
}

#[test]
fn objects() {
    assert_eq!(
        refused(&around(&[0, 3, 5, 1])),
        "byte 8: length of object of message: expected at least 4, found 3"
    );
    assert_eq!(
        refused(&around(&[0, 6, 5, 1, 0, 0])),
        "byte 8: length of object of message: expected a multiple of 4, found 6"
    );
    assert_eq!(
        refused(&around(&[0, 12, 5, 1, 0, 0, 0, 0])),
        "byte 8: length of object of message: expected at most 8, found 12"
    );
    assert_eq!(
        refused(&around(&[0, 4, 5, 1])),
        "byte 12: length of TIME_VALUES: expected 4, found 0"
    );
    assert_eq!(
        refused(&around(&[0, 8, 20, 1, 1, 0, 0, 0])),
        "byte 13: length of subobject of EXPLICIT_ROUTE: expected at least 4, found 0"
    );
    assert_eq!(
        refused(&around(&[0, 8, 21, 1, 1, 8, 0, 0])),
        "byte 14: length of RECORD_ROUTE: expected at least 6, found 2"
    );
    assert_eq!(
        refused(&around(&[0, 8, 207, 7, 7, 7, 0, 1])),
        "byte 16: length of SESSION_ATTRIBUTE: expected at least 1, found 0"
    );
    assert_eq!(
        refused(&around(&[0, 8, 9, 2, 0, 0, 0, 9])),
        "byte 14: number of words of FLOWSPEC: expected 0, found 9"
    );
}

#[test]
fn a_bundle_in_a_bundle() {
    let inner = [0x10, 12, 0, 0, 64, 0, 0, 8];
    let mut outer = vec![0x10, 12, 0, 0, 64, 0, 0, 16];
    outer.extend_from_slice(&inner);
    assert_eq!(
        refused(&outer),
        "byte 9: type of message: expected anything but 12, found 12"
    );
    assert_eq!(
        refused(&inner),
        "byte 8: length after the header of message: expected at least 8, found 0"
    );
    let message = samples::message(MessageType::Other(12), vec![]);
    let error = Packet::Message(message)
        .encode(&mut Vec::new())
        .expect_err("it is refused");
    assert_eq!(
        error.to_string(),
        "type of message: expected anything but 12, got 12"
    );
}

#[test]
fn values_that_have_no_place() {
    let Object::SessionAttribute(attribute) = samples::attribute(None) else {
        unreachable!()
    };
    let long_name = SessionAttribute {
        name: vec![b'a'; 256],
        ..attribute
    };
    let long_epoch = MessageId {
        epoch: 1 << 24,
        ..samples::message_id(1)
    };
    let unknown = |length| {
        Object::Unknown(Unknown {
            class: 255,
            c_type: 1,
            data: vec![0; length],
        })
    };
    let cases = [
        (
            vec![Object::SessionAttribute(long_name)],
            "length of name of SESSION_ATTRIBUTE: expected at most 255, got 256",
        ),
        (
            vec![Object::MessageId(long_epoch)],
            "epoch of MESSAGE_ID: expected at most 16777215, got 16777216",
        ),
        (
            vec![unknown(3)],
            "length of unknown object: expected a multiple of 4, got 7",
        ),
        (
            vec![unknown(65_536)],
            "length of unknown object: expected at most 65535, got 65540",
        ),
        (
            vec![unknown(40_000), unknown(40_000)],
            "length of message: expected at most 65535, got 80016",
        ),
    ];
    for (objects, expected) in cases {
        let mut out = vec![1, 2, 3];
        let error = Packet::Message(samples::message(MessageType::Path, objects))
            .encode(&mut out)
            .expect_err(expected);
        assert_eq!(error.to_string(), expected);
        assert_eq!(out, [1, 2, 3]);
    }
}

#[test]
fn missing_objects() {
    let mut path = samples::path();
    path.objects
        .retain(|object| !matches!(object, Object::LabelRequest(_)));
    assert_eq!(
        path.missing().map(class_name).collect::<Vec<_>>(),
        ["LABEL_REQUEST"]
    );
    for (name, packet) in samples::packets() {
        for message in packet.messages() {
            assert_eq!(message.missing().count(), 0, "{name}");
        }
    }
}

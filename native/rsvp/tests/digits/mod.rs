//! Messages and objects from hexadecimal digits.

#![allow(dead_code)] // not every user takes all of it

use rackproof_rsvp::{Message, Object, Packet};

/// Bytes written as hexadecimal digits, with spaces and lines as the figures have them.
pub fn bytes(digits: &str) -> Vec<u8> {
    let digits: String = digits.split_whitespace().collect();
    (0..digits.len())
        .step_by(2)
        .map(|place| u8::from_str_radix(&digits[place..place + 2], 16).unwrap())
        .collect()
}

/// Decodes a message, and checks that it encodes to the same bytes.
pub fn decoded(digits: &str) -> Message {
    let bytes = bytes(digits);
    let packet = Packet::decode(&bytes).unwrap_or_else(|error| panic!("{error}"));
    let mut again = Vec::new();
    packet.encode(&mut again).unwrap();
    assert_eq!(again, bytes);
    match packet {
        Packet::Message(message) => message,
        Packet::Bundle(_) => panic!("a bundle"),
    }
}

/// The one object of a message that has no other.
pub fn object(digits: &str) -> Object {
    let length = bytes(digits).len() + 8;
    let mut message = decoded(&format!("10 01 0000 40 00 {length:04x} {digits}"));
    assert_eq!(message.objects.len(), 1);
    message.objects.remove(0)
}

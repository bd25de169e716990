//! Memory stays within the stated multiple of the input.

mod arbitrary;
mod counting;
mod samples;

use arbitrary::{Numbers, packet};
use counting::peak_of;
use rackproof_rsvp::{GROWTH, Packet};

/// A message without a checksum, of one object's bytes, as often as they fit.
fn filled_with(kind: u8, repeated: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x10, kind, 0, 0, 1, 0];
    let count = (65_535 - 8) / repeated.len();
    let length = (8 + count * repeated.len()) as u16;
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend(repeated.repeat(count));
    bytes
}

/// One object of the class, as long as it can be.
fn one_object(class: u8, c_type: u8, repeated: &[u8], start: &[u8]) -> Vec<u8> {
    let count = (65_520 - start.len()) / repeated.len();
    let mut object = vec![0, 0, class, c_type];
    object.extend_from_slice(start);
    object.extend(repeated.repeat(count));
    let length = object.len() as u16;
    object[..2].copy_from_slice(&length.to_be_bytes());
    let mut bytes = vec![0x10, 1, 0, 0, 1, 0];
    bytes.extend_from_slice(&(length + 8).to_be_bytes());
    bytes.extend(object);
    bytes
}

fn growth(bytes: &[u8]) -> f64 {
    let (packet, peak) = peak_of(|| Packet::decode(bytes));
    drop(packet);
    peak as f64 / bytes.len() as f64
}

#[test]
fn what_is_dearest_stays_within_the_bound() {
    let mut services = one_object(9, 2, &[5, 0, 0, 0], &[0, 0, 0, 0]);
    let words = ((services.len() - 16) / 4) as u16;
    services[14..16].copy_from_slice(&words.to_be_bytes());
    let cases = [
        ("empty unknown objects", filled_with(1, &[0, 4, 255, 1])),
        ("empty routes", filled_with(1, &[0, 4, 20, 1])),
        (
            "routes of one subobject",
            filled_with(1, &[0, 8, 21, 1, 32, 4, 0, 1]),
        ),
        (
            "hops of one TLV",
            filled_with(1, &[0, 16, 3, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 9, 0, 4]),
        ),
        (
            "flowspecs of one service",
            filled_with(1, &[0, 12, 9, 2, 0, 0, 0, 1, 5, 0, 0, 0]),
        ),
        (
            "flowspecs of one parameter",
            filled_with(1, &[0, 16, 9, 2, 0, 0, 0, 2, 5, 0, 0, 1, 9, 0, 0, 0]),
        ),
        (
            "one route of short subobjects",
            one_object(21, 1, &[99, 4, 0, 0], &[]),
        ),
        ("one flowspec of empty services", services),
        (
            "a bundle of empty messages",
            filled_with(12, &[0x10, 20, 0, 0, 1, 0, 0, 8]),
        ),
        (
            "identifiers",
            one_object(25, 1, &[0, 0, 0, 1], &[0, 0, 0, 0]),
        ),
    ];
    for (name, bytes) in &cases {
        assert!(
            Packet::decode(bytes).is_ok(),
            "{name}: {:?}",
            Packet::decode(bytes)
        );
        let growth = growth(bytes);
        println!("{name}: {growth:.1} bytes of memory for one byte");
        assert!(growth <= GROWTH as f64, "{name}: {growth}");
    }
}

#[test]
fn any_packet_stays_within_the_bound() {
    for seed in 0..2_000 {
        let mut bytes = Vec::new();
        packet(&mut Numbers(seed))
            .encode(&mut bytes)
            .expect("it encodes");
        assert!(growth(&bytes) <= GROWTH as f64, "seed {seed}");
    }
    for (name, packet) in samples::packets() {
        let mut bytes = Vec::new();
        packet.encode(&mut bytes).expect("it encodes");
        assert!(growth(&bytes) <= GROWTH as f64, "{name}");
    }
}

//! Values become bytes and the same values again; bytes that decode become the same bytes again.

mod arbitrary;
mod samples;

use arbitrary::{Numbers, packet};
use rackproof_rsvp::Packet;

fn encoded(packet: &Packet) -> Vec<u8> {
    let mut bytes = Vec::new();
    packet.encode(&mut bytes).expect("it encodes");
    bytes
}

#[test]
fn every_packet_that_the_types_allow_comes_back() {
    for seed in 0..5_000 {
        let packet = packet(&mut Numbers(seed));
        let bytes = encoded(&packet);
        assert_eq!(Packet::decode(&bytes), Ok(packet), "seed {seed}");
    }
}

#[test]
fn samples_come_back() {
    for (name, packet) in samples::packets() {
        assert_eq!(Packet::decode(&encoded(&packet)), Ok(packet), "{name}");
    }
}

/// Some bytes are changed, as if routers had sent odd content: what still decodes must encode to just these bytes.
#[test]
fn what_decodes_encodes_to_the_same_bytes_whatever_was_changed() {
    let (mut decoded, mut refused) = (0, 0);
    for seed in 0..20_000 {
        let mut numbers = Numbers(seed);
        let mut bytes = encoded(&packet(&mut numbers));
        bytes[2..4].fill(0);
        for _ in 0..=numbers.below(3) {
            let place = 4 + numbers.below(bytes.len() - 4);
            bytes[place] = numbers.u8();
        }
        match Packet::decode(&bytes) {
            Ok(packet) => {
                assert_eq!(encoded(&packet), bytes, "seed {seed}");
                decoded += 1;
            }
            Err(error) => {
                assert!(error.offset <= bytes.len(), "seed {seed}: {error}");
                refused += 1;
            }
        }
    }
    assert!(
        decoded > 5_000 && refused > 1_000,
        "{decoded} decoded, {refused} refused"
    );
}

#[test]
fn every_cut_is_refused() {
    for (name, packet) in samples::packets() {
        let bytes = encoded(&packet);
        for length in 0..bytes.len() {
            assert!(
                Packet::decode(&bytes[..length]).is_err(),
                "{name} cut to {length}"
            );
        }
    }
}

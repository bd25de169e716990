//! Any bytes, as an RSVP message and as an IP packet: no panic, no memory beyond the bound, and what decodes encodes back to the same bytes.
#![no_main]

#[path = "../../tests/counting/mod.rs"]
mod counting;

use libfuzzer_sys::fuzz_target;
use rackproof_rsvp::ip::Ipv4Header;
use rackproof_rsvp::{GROWTH, Packet};

/// A checksum that nothing sends leaves the rest of the message to be changed.
fn without_checksum(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if let Some(sum) = bytes.get_mut(2..4) {
        sum.fill(0);
    }
    bytes
}

fn check(bytes: &[u8]) {
    let (decoded, peak) = counting::peak_of(|| Packet::decode(bytes));
    assert!(peak <= GROWTH * bytes.len(), "{peak} bytes of memory for {}", bytes.len());
    match decoded {
        Ok(packet) => {
            let mut encoded = Vec::new();
            packet.encode(&mut encoded).expect("what was decoded encodes");
            assert_eq!(encoded, bytes);
            for message in packet.messages() {
                let _ = (message.flow_descriptors(), message.missing().count());
            }
        }
        Err(error) => {
            assert!(error.offset <= bytes.len());
            assert!(!error.to_string().is_empty());
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    check(&without_checksum(bytes));
    if let Ok((header, payload)) = Ipv4Header::decode(bytes) {
        check(payload);
        let mut packet = Vec::new();
        header.encode(payload, &mut packet).expect("a header that was decoded encodes");
        assert_eq!(Ipv4Header::decode(&packet), Ok((header, payload)));
    }
});

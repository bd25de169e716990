//! The IPv4 header around a message.

mod samples;

use rackproof_rsvp::ip::{Ipv4Header, NETWORK_CONTROL, ROUTER_ALERT};

const HEADER: Ipv4Header = Ipv4Header {
    source: samples::INGRESS,
    destination: samples::EGRESS,
    ttl: 255,
    tos: NETWORK_CONTROL,
    identification: 0x1234,
    router_alert: true,
};

/// The words of this header without its checksum add up to 0x3d87f, folded 0xd882, whose complement is 0x277d.
#[test]
fn ip_header() {
    let mut packet = Vec::new();
    HEADER.encode(&[1, 2, 3, 4], &mut packet).unwrap();
    let first = [
        0x46, 0xc0, 0x00, 0x1c, 0x12, 0x34, 0x00, 0x00, 0xff, 46, 0x27, 0x7d,
    ];
    assert_eq!(packet[..12], first);
    assert_eq!(packet[12..20], [192, 0, 2, 1, 198, 51, 100, 9]);
    assert_eq!(packet[20..24], ROUTER_ALERT);
    packet.extend_from_slice(&[0; 10]); // what Ethernet adds to short frames
    assert_eq!(Ipv4Header::decode(&packet), Ok((HEADER, &[1, 2, 3, 4][..])));
    let plain = Ipv4Header {
        router_alert: false,
        ..HEADER
    };
    let mut packet = Vec::new();
    plain.encode(&[], &mut packet).unwrap();
    assert_eq!(packet.len(), 20);
    assert_eq!(Ipv4Header::decode(&packet), Ok((plain, &[][..])));
}

#[test]
fn ip_headers_that_are_refused() {
    let mut packet = Vec::new();
    HEADER.encode(&[], &mut packet).unwrap();
    let changed = |place: usize, byte: u8| {
        let mut packet = packet.clone();
        packet[place] = byte;
        Ipv4Header::decode(&packet)
            .expect_err("it is refused")
            .to_string()
    };
    assert_eq!(
        changed(0, 0x66),
        "byte 0: version of IP header: expected 4, found 6"
    );
    assert_eq!(
        changed(0, 0x44),
        "byte 0: header length of IP header: expected at least 20, found 16"
    );
    assert_eq!(
        changed(3, 23),
        "byte 2: total length of IP header: expected at least 24, found 23"
    );
    assert_eq!(
        changed(3, 25),
        "byte 2: total length of IP header: expected at most 24, found 25"
    );
    assert_eq!(
        changed(6, 0x20),
        "byte 6: fragment of IP header: expected 0, found 8192"
    );
    assert_eq!(
        changed(9, 6),
        "byte 9: protocol of IP header: expected 46, found 6"
    );
    let sum = u16::from_be_bytes([packet[10], packet[11]]);
    let expected = format!(
        "byte 10: checksum of IP header: expected {sum}, found {}",
        sum ^ 1
    );
    assert_eq!(changed(11, packet[11] ^ 1), expected);
}

/// Router Alert after other options, after their end, and behind options that break off; the checksums were computed elsewhere.
#[test]
fn ip_options() {
    let cases: [([u8; 8], u16, bool); 5] = [
        ([1, 0x94, 4, 0, 0, 0, 0, 0], 0xb4ed, true),
        ([7, 3, 4, 0x94, 4, 0, 0, 0], 0xaaea, true),
        ([0, 0x94, 4, 0, 0, 0, 0, 0], 0xb5ed, false),
        ([131, 11, 4, 0x94, 4, 0, 0, 0], 0x2ee2, false),
        ([1, 1, 1, 1, 1, 1, 1, 0x94], 0xb5ea, false),
    ];
    for (options, sum, router_alert) in cases {
        let mut packet = vec![0x47, 0xc0, 0, 28, 0x12, 0x34, 0, 0, 255, 46];
        packet.extend_from_slice(&sum.to_be_bytes());
        packet.extend_from_slice(&[192, 0, 2, 1, 198, 51, 100, 9]);
        packet.extend_from_slice(&options);
        let header = Ipv4Header {
            router_alert,
            ..HEADER
        };
        assert_eq!(Ipv4Header::decode(&packet), Ok((header, &[][..])));
    }
}

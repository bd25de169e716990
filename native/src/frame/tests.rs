use super::*;

const SIGNATURE: Signature = Signature {
    stream: 7,
    sequence: 0xdead_beef,
    campaign: 42,
    trial: 3,
    tx_ns: 1_764_000_000_123_456_789,
};

fn frame(after_addresses: &[u8]) -> Vec<u8> {
    let mut bytes = vec![2; 12];
    bytes.extend_from_slice(after_addresses);
    bytes.extend_from_slice(&SIGNATURE.to_bytes());
    bytes.resize(bytes.len().max(60), 0);
    bytes
}

fn expect(data: &[u8], stripped: Option<StrippedTag>, pcp: u8, flags: u8) {
    let expected = Parsed {
        signature: SIGNATURE,
        pcp,
        flags,
    };
    assert_eq!(parse(data, stripped), Some(expected));
}

#[test]
fn signature_survives_the_wire() {
    assert_eq!(
        Signature::from_bytes(&SIGNATURE.to_bytes()),
        Some(SIGNATURE)
    );
    assert_eq!(&SIGNATURE.to_bytes()[..4], b"RKPF");
}

#[test]
fn untagged() {
    expect(&frame(&[0x88, 0xb5]), None, UNTAGGED, 0);
}

#[test]
fn vlan_in_the_frame_or_beside_it() {
    expect(&frame(&[0x81, 0, 0xa0, 5, 0x88, 0xb5]), None, 5, 0);
    let tag = StrippedTag {
        tci: 0x6005,
        tpid: 0x8100,
    };
    expect(&frame(&[0x88, 0xb5]), Some(tag), 3, 0);
}

#[test]
fn stacked_vlan_takes_the_outer_priority() {
    let stacked = [0x88, 0xa8, 0xe0, 1, 0x81, 0, 0x20, 2, 0x88, 0xb5];
    expect(&frame(&stacked), None, 7, FLAG_STACKED_VLAN);
    let tag = StrippedTag {
        tci: 0x4001,
        tpid: 0x88a8,
    };
    expect(
        &frame(&[0x81, 0, 0x20, 2, 0x88, 0xb5]),
        Some(tag),
        2,
        FLAG_STACKED_VLAN,
    );
}

#[test]
fn mpls_stack_to_its_bottom() {
    let labels = [0x88, 0x47, 0, 1, 0x60, 64, 0, 2, 0x61, 64];
    expect(&frame(&labels), None, UNTAGGED, FLAG_MPLS);
    let no_bottom = [0x88, 0x47, 0, 1, 0x60, 64];
    assert_eq!(parse(&frame(&no_bottom), None), None);
}

#[test]
fn backbone_bridging_with_customer_tag() {
    let mut header = vec![0x88, 0xa8, 0xc0, 9, 0x88, 0xe7, 0, 0, 0, 77];
    header.extend_from_slice(&[4; 12]);
    header.extend_from_slice(&[0x81, 0, 0x20, 2, 0x88, 0xb5]);
    expect(&frame(&header), None, 6, FLAG_PBB | FLAG_STACKED_VLAN);
}

#[test]
fn others_and_stumps_are_not_ours() {
    assert_eq!(parse(&[2; 60], None), None);
    assert_eq!(parse(&[0x81; 13], None), None);
    assert_eq!(parse(&frame(&[0x88, 0xb5])[..30], None), None);
}

#[test]
fn a_stripped_tag_goes_back_and_counts() {
    let tagged = frame(&[0x81, 0, 0xa0, 5, 0x88, 0xb5]);
    let mut stripped = tagged.clone();
    stripped.drain(12..16);
    let tag = StrippedTag {
        tci: 0xa005,
        tpid: 0x8100,
    };
    let mut out = vec![0; 200];
    let length = copy_with_tag(&stripped, Some(tag), &mut out);
    assert_eq!(&out[..length], &tagged[..]);
    assert_eq!(wire_bytes(stripped.len() as u32, Some(tag)), 64);
    assert_eq!(outer_pcp(&stripped, Some(tag)), 5);
    assert_eq!(outer_pcp(&tagged, None), 5);
    assert_eq!(outer_pcp(&frame(&[0x88, 0xb5]), None), UNTAGGED);
}

/// A header of IPv4 with this protocol behind it.
fn ipv4(options: usize, protocol: u8) -> Vec<u8> {
    let mut header = vec![0; 20 + options];
    header[0] = 0x45 + (options / 4) as u8;
    header[9] = protocol;
    header
}

#[test]
fn behind_ipv4_and_udp_with_and_without_labels() {
    let labels = [0x88, 0x47, 0, 1, 0x60, 64, 0, 2, 0x61, 64];
    let explicit_null = [0x88, 0x47, 0, 0, 0x01, 64];
    for options in [0, 4] {
        let udp = [ipv4(options, 17), vec![0; 8]].concat();
        let bare = ipv4(options, 253);
        for inside in [udp, bare] {
            let routed = [&[0x08, 0x00][..], &inside].concat();
            expect(&frame(&routed), None, UNTAGGED, 0);
            let tagged = [&[0x81, 0, 0xa0, 5, 0x08, 0x00][..], &inside].concat();
            expect(&frame(&tagged), None, 5, 0);
            for stack in [&labels[..], &explicit_null] {
                let labelled = [stack, &inside].concat();
                expect(&frame(&labelled), None, UNTAGGED, FLAG_MPLS);
            }
        }
    }
}

#[test]
fn an_ipv4_header_that_is_none_hides_nothing() {
    let mut short = [&[0x08, 0x00][..], &ipv4(0, 17)].concat();
    short[2] = 0x44;
    assert_eq!(parse(&frame(&short), None), None);
    let cut = frame(&[&[0x08, 0x00][..], &ipv4(0, 17), &[0; 8]].concat());
    for length in 0..cut.len() - 28 {
        assert_eq!(parse(&cut[..length], None), None);
    }
}

//! What our frames look like: the signature in them, and where it is behind tags and labels.

/// Bytes of the signature that follows a stream's header.
pub const SIGNATURE_BYTES: usize = 28;
/// Offset of the sequence number in the signature.
pub const SEQUENCE_OFFSET: usize = 8;
/// Offset of the transmit time in the signature.
pub const TX_TIME_OFFSET: usize = 20;
/// Bytes of the frame check sequence, which a veth doesn't carry but every length here counts.
pub const FCS_BYTES: u32 = 4;
/// The priority of a frame without a VLAN tag.
pub const UNTAGGED: u8 = 255;
/// Record flag: more than one VLAN tag.
pub const FLAG_STACKED_VLAN: u8 = 1;
/// Record flag: MPLS labels.
pub const FLAG_MPLS: u8 = 2;
/// Record flag: provider backbone bridging (I-TAG, 802.1ah).
pub const FLAG_PBB: u8 = 4;

const MAGIC: u32 = u32::from_be_bytes(*b"RKPF");
const ADDRESSES_BYTES: usize = 12;
const MAX_NESTING: usize = 16;

/// Who sent a frame, as what, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Number of the stream.
    pub stream: u16,
    /// Number of the frame in its stream, from 0.
    pub sequence: u32,
    /// Number of the campaign.
    pub campaign: u32,
    /// Number of the trial in its campaign.
    pub trial: u32,
    /// CLOCK_REALTIME at sending [ns].
    pub tx_ns: i64,
}

impl Signature {
    /// The signature as it goes onto the wire, big endian.
    pub fn to_bytes(&self) -> [u8; SIGNATURE_BYTES] {
        let mut bytes = [0; SIGNATURE_BYTES];
        bytes[0..4].copy_from_slice(&MAGIC.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.stream.to_be_bytes());
        bytes[8..12].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[12..16].copy_from_slice(&self.campaign.to_be_bytes());
        bytes[16..20].copy_from_slice(&self.trial.to_be_bytes());
        bytes[20..28].copy_from_slice(&self.tx_ns.to_be_bytes());
        bytes
    }

    /// The signature at the start of `bytes`; None where there is none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; SIGNATURE_BYTES] = bytes.get(..SIGNATURE_BYTES)?.try_into().ok()?;
        if read_u32(bytes, 0)? != MAGIC {
            return None;
        }
        Some(Self {
            stream: read_u16(bytes, 4)?,
            sequence: read_u32(bytes, 8)?,
            campaign: read_u32(bytes, 12)?,
            trial: read_u32(bytes, 16)?,
            tx_ns: i64::from_be_bytes(bytes[20..28].try_into().ok()?),
        })
    }
}

/// A VLAN tag that the kernel took out of the frame and keeps beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StrippedTag {
    /// Tag control information: priority, drop eligibility, VLAN.
    pub tci: u16,
    /// The tag's EtherType, 0x8100 or 0x88a8.
    pub tpid: u16,
}

/// The priority code point of a tag.
pub fn pcp_of(tci: u16) -> u8 {
    (tci >> 13) as u8
}

/// One of our frames, read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parsed {
    /// The signature.
    pub signature: Signature,
    /// Priority of the outermost VLAN tag, or `UNTAGGED`.
    pub pcp: u8,
    /// FLAG_* of what was stacked.
    pub flags: u8,
}

/// Reads a frame from its destination address on; None if it isn't one of ours.
///
/// VLAN tags (802.1Q, 802.1ad), I-TAGs and MPLS labels may be stacked in any order. Behind MPLS the
/// signature follows the bottom label; otherwise it follows the last EtherType.
pub fn parse(data: &[u8], stripped: Option<StrippedTag>) -> Option<Parsed> {
    let mut pcp = stripped.map_or(UNTAGGED, |tag| pcp_of(tag.tci));
    let mut vlan_tags = usize::from(stripped.is_some());
    let mut flags = 0;
    let mut offset = ADDRESSES_BYTES;
    for _ in 0..MAX_NESTING {
        let ethertype = read_u16(data, offset)?;
        offset += 2;
        match ethertype {
            0x8100 | 0x88a8 => {
                let tci = read_u16(data, offset)?;
                if vlan_tags == 0 {
                    pcp = pcp_of(tci);
                }
                vlan_tags += 1;
                offset += 2;
            }
            0x88e7 => {
                flags |= FLAG_PBB;
                offset += 4 + ADDRESSES_BYTES;
            }
            _ => {
                if matches!(ethertype, 0x8847 | 0x8848) {
                    flags |= FLAG_MPLS;
                    offset = bottom_of_stack(data, offset)?;
                }
                if vlan_tags > 1 {
                    flags |= FLAG_STACKED_VLAN;
                }
                let signature = Signature::from_bytes(data.get(offset..)?)?;
                return Some(Parsed {
                    signature,
                    pcp,
                    flags,
                });
            }
        }
    }
    None
}

/// Priority of the outermost VLAN tag of a frame, or `UNTAGGED`.
pub fn outer_pcp(data: &[u8], stripped: Option<StrippedTag>) -> u8 {
    if let Some(tag) = stripped {
        return pcp_of(tag.tci);
    }
    match read_u16(data, ADDRESSES_BYTES) {
        Some(0x8100 | 0x88a8) => read_u16(data, ADDRESSES_BYTES + 2).map_or(UNTAGGED, pcp_of),
        _ => UNTAGGED,
    }
}

/// Copies a frame into `out`, its stripped tag back in place; returns the length.
///
/// `out` must hold `data` and 4 bytes more.
pub fn copy_with_tag(data: &[u8], stripped: Option<StrippedTag>, out: &mut [u8]) -> usize {
    match stripped {
        Some(tag) if data.len() >= ADDRESSES_BYTES => {
            out[..ADDRESSES_BYTES].copy_from_slice(&data[..ADDRESSES_BYTES]);
            out[12..14].copy_from_slice(&tag.tpid.to_be_bytes());
            out[14..16].copy_from_slice(&tag.tci.to_be_bytes());
            out[16..data.len() + 4].copy_from_slice(&data[ADDRESSES_BYTES..]);
            data.len() + 4
        }
        _ => {
            out[..data.len()].copy_from_slice(data);
            data.len()
        }
    }
}

/// The length that the wire would see: with the tag that was stripped, and with the FCS.
pub fn wire_bytes(captured_length: u32, stripped: Option<StrippedTag>) -> u32 {
    captured_length + FCS_BYTES + if stripped.is_some() { 4 } else { 0 }
}

fn bottom_of_stack(data: &[u8], mut offset: usize) -> Option<usize> {
    for _ in 0..MAX_NESTING {
        let label = read_u32(data, offset)?;
        offset += 4;
        if label & 0x100 != 0 {
            return Some(offset);
        }
    }
    None
}

fn read_u16(data: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_be_bytes(
        data.get(offset..offset + 2)?.try_into().ok()?,
    ))
}

fn read_u32(data: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_be_bytes(
        data.get(offset..offset + 4)?.try_into().ok()?,
    ))
}

#[cfg(test)]
mod tests {
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
}

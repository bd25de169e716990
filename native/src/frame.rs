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
const IPV4_BYTES: usize = 20;
/// Where the protocol stands in a header of IPv4.
const IPV4_PROTOCOL: usize = 9;
const UDP: u8 = 17;
const UDP_BYTES: usize = 8;

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
/// VLAN tags (802.1Q, 802.1ad), I-TAGs and MPLS labels may be stacked in any order. The signature
/// follows the bottom label, or the last EtherType; between them may be a header of IPv4, with UDP
/// or without.
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
                if matches!(ethertype, 0x0800 | 0x8847) {
                    offset += ipv4_bytes(data.get(offset..)?)?;
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

/// Bytes of the header of IPv4 that `packet` begins with, and of the UDP header behind it; 0 where there is none.
fn ipv4_bytes(packet: &[u8]) -> Option<usize> {
    let first = *packet.first()?;
    if first >> 4 != 4 {
        return Some(0);
    }
    let header_bytes = usize::from(first & 0x0f) * 4;
    let is_udp = *packet.get(IPV4_PROTOCOL)? == UDP;
    let whole = header_bytes >= IPV4_BYTES;
    whole.then_some(header_bytes + if is_udp { UDP_BYTES } else { 0 })
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
mod tests;

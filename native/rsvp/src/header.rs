//! The common header: version, flags, checksum, TTL, length (RFC 2205, 3.1.1).

use crate::error::Expected;
use crate::wire::{Decoded, Encoded, Reader, at_most, checksum};

const VERSION: u8 = 1;
const HEADER_BYTES: usize = 8;
const CHECKSUM_OFFSET: usize = 2;

/// Whether a message has a checksum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checksum {
    /// Computed when encoded; was right when decoded.
    #[default]
    Sent,
    /// Zero: the sender has computed none (RFC 2205, 3.1.1).
    NotSent,
}

/// The common header without what follows from the message itself (RFC 2205, 3.1.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// Four bits: [`Self::REFRESH_REDUCTION`].
    pub flags: u8,
    /// Whether there is a checksum.
    pub checksum: Checksum,
    /// IP TTL that the message was sent with.
    pub ttl: u8,
    /// Zero when sent.
    pub reserved: u8,
}

impl Header {
    /// Flag: the sender understands refresh reduction (RFC 2961, 2).
    pub const REFRESH_REDUCTION: u8 = 0x01;
}

/// Reads one message: its header, the number of its type, and what follows.
pub(crate) fn read_header<'a>(reader: &mut Reader<'a>) -> Decoded<(Header, u8, Reader<'a>)> {
    let (whole, mut fields) = (reader.peek(), *reader);
    let (first, number, sum) = (fields.u8()?, fields.u8()?, fields.u16()?);
    let (ttl, reserved, length) = (fields.u8()?, fields.u8()?, usize::from(fields.u16()?));
    if first >> 4 != VERSION {
        return Err(fields.error(
            8,
            "version",
            Expected::Exactly(u32::from(VERSION)),
            usize::from(first >> 4),
        ));
    }
    if length < HEADER_BYTES {
        return Err(fields.error(2, "length", Expected::AtLeast(HEADER_BYTES as u32), length));
    }
    if length > whole.len() {
        return Err(fields.error(2, "length", Expected::AtMost(whole.len() as u32), length));
    }
    let mut message = reader.split(length, "message")?;
    if sum != 0 {
        let right = complement(sum, checksum(&whole[..length]));
        if right != sum {
            return Err(fields.error(
                6,
                "checksum",
                Expected::Exactly(u32::from(right)),
                usize::from(sum),
            ));
        }
    }
    message.take(HEADER_BYTES)?;
    let header = Header {
        flags: first & 0x0f,
        checksum: if sum == 0 {
            Checksum::NotSent
        } else {
            Checksum::Sent
        },
        ttl,
        reserved,
    };
    Ok((header, number, message))
}

/// The checksum that a message should have, from the one that it has and the sum over all of it; never zero, which says that there is none.
fn complement(found: u16, over_all: u16) -> u16 {
    let sum = u32::from(found) + u32::from(over_all);
    match (sum & 0xffff) as u16 + (sum >> 16) as u16 {
        0 => 0xffff,
        right => right,
    }
}

/// Writes one message: its header, and what `body` writes.
pub(crate) fn write_message(
    header: &Header,
    number: u8,
    out: &mut Vec<u8>,
    body: impl FnOnce(&mut Vec<u8>) -> Encoded,
) -> Encoded {
    at_most("message", "flags", usize::from(header.flags), 0x0f)?;
    let start = out.len();
    out.extend_from_slice(&[
        VERSION << 4 | header.flags,
        number,
        0,
        0,
        header.ttl,
        header.reserved,
        0,
        0,
    ]);
    body(out)?;
    let length = out.len() - start;
    at_most("message", "length", length, u32::from(u16::MAX))?;
    let message = &mut out[start..];
    message[6..8].copy_from_slice(&(length as u16).to_be_bytes());
    if header.checksum == Checksum::Sent {
        let sum = complement(0, checksum(message));
        message[CHECKSUM_OFFSET..CHECKSUM_OFFSET + 2].copy_from_slice(&sum.to_be_bytes());
    }
    Ok(())
}

//! Labels: LABEL, LABEL_REQUEST.

use crate::wire::{Decoded, Encoded, Reader, Write, whole_words};

/// LABEL: C-Type 1 (RFC 3209, 4.1), or generalized (C-Type 2, RFC 3473, 2.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Label {
    /// C-Type 1: a label in the lower 20 bits.
    Mpls(u32),
    /// C-Type 2: any label in whole 32-bit words; an MPLS label is one such word.
    Generalized(Vec<u8>),
}

impl Label {
    /// Explicit null for IPv4 (RFC 3032, 2.1).
    pub const EXPLICIT_NULL: u32 = 0;
    /// Implicit null (RFC 3032, 2.1).
    pub const IMPLICIT_NULL: u32 = 3;

    /// The label as a number of at most 20 bits; None where it is something else.
    pub fn mpls(&self) -> Option<u32> {
        let word = match self {
            Self::Mpls(word) => *word,
            Self::Generalized(bytes) => u32::from_be_bytes(bytes.as_slice().try_into().ok()?),
        };
        (word < 1 << 20).then_some(word)
    }

    pub(crate) fn read(mut body: Reader) -> Decoded<Self> {
        body.exactly(4)?;
        Ok(Self::Mpls(body.u32()?))
    }

    pub(crate) fn read_generalized(mut body: Reader) -> Self {
        Self::Generalized(body.rest())
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Encoded {
        match self {
            Self::Mpls(word) => out.u32(*word),
            Self::Generalized(bytes) => {
                whole_words("LABEL", bytes.len())?;
                out.extend_from_slice(bytes);
            }
        }
        Ok(())
    }
}

/// LABEL_REQUEST without label range (RFC 3209, 4.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelRequest {
    /// Zero when sent.
    pub reserved: u16,
    /// Ethertype of what the LSP carries.
    pub l3pid: u16,
}

impl LabelRequest {
    /// A label for IPv4 packets.
    pub const IPV4: Self = Self {
        reserved: 0,
        l3pid: 0x0800,
    };

    pub(crate) fn read(mut body: Reader) -> Decoded<Self> {
        body.exactly(4)?;
        Ok(Self {
            reserved: body.u16()?,
            l3pid: body.u16()?,
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.u16(self.reserved);
        out.u16(self.l3pid);
    }
}

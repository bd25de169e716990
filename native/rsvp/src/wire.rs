//! Reading and writing big-endian fields with bounds, and the Internet checksum.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::error::{DecodeError, EncodeError, Expected};

pub(crate) type Decoded<T> = Result<T, DecodeError>;
pub(crate) type Encoded = Result<(), EncodeError>;

/// Bytes of one part of a packet that are still to be read; it knows where in the packet it is.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    offset: usize,
    part: &'static str,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], part: &'static str) -> Self {
        Self {
            bytes,
            offset: 0,
            part,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes to come, which stay unread.
    pub(crate) fn peek(&self) -> &'a [u8] {
        self.bytes
    }

    /// An error about what was read `back` bytes ago.
    pub(crate) fn error(
        &self,
        back: usize,
        field: &'static str,
        expected: Expected,
        found: usize,
    ) -> DecodeError {
        DecodeError {
            offset: self.offset - back,
            part: self.part,
            field,
            expected,
            found: u32::try_from(found).unwrap_or(u32::MAX),
        }
    }

    /// Refuses a part whose remaining length is not `length`.
    pub(crate) fn exactly(&self, length: u32) -> Decoded<()> {
        if self.len() != length as usize {
            return Err(self.error(0, "length", Expected::Exactly(length), self.len()));
        }
        Ok(())
    }

    /// The next `length` bytes as a part of its own.
    pub(crate) fn split(&mut self, length: usize, part: &'static str) -> Decoded<Reader<'a>> {
        let offset = self.offset;
        Ok(Reader {
            bytes: self.take(length)?,
            offset,
            part,
        })
    }

    pub(crate) fn take(&mut self, length: usize) -> Decoded<&'a [u8]> {
        let Some((taken, rest)) = self.bytes.split_at_checked(length) else {
            let expected = Expected::AtLeast(u32::try_from(length).unwrap_or(u32::MAX));
            return Err(self.error(0, "length", expected, self.len()));
        };
        self.bytes = rest;
        self.offset += length;
        Ok(taken)
    }

    pub(crate) fn rest(&mut self) -> Vec<u8> {
        let rest = self.bytes.to_vec();
        self.offset += rest.len();
        self.bytes = &[];
        rest
    }

    fn array<const N: usize>(&mut self) -> Decoded<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(crate) fn u8(&mut self) -> Decoded<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u16(&mut self) -> Decoded<u16> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Decoded<u32> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    pub(crate) fn f32(&mut self) -> Decoded<f32> {
        Ok(f32::from_bits(self.u32()?))
    }

    pub(crate) fn ipv4(&mut self) -> Decoded<Ipv4Addr> {
        Ok(Ipv4Addr::from(self.array::<4>()?))
    }

    pub(crate) fn ipv6(&mut self) -> Decoded<Ipv6Addr> {
        Ok(Ipv6Addr::from(self.array::<16>()?))
    }
}

/// Appends big-endian fields.
pub(crate) trait Write {
    fn u8(&mut self, value: u8);
    fn u16(&mut self, value: u16);
    fn u32(&mut self, value: u32);
    fn f32(&mut self, value: f32);
    fn ipv4(&mut self, value: Ipv4Addr);
    fn ipv6(&mut self, value: Ipv6Addr);
}

impl Write for Vec<u8> {
    fn u8(&mut self, value: u8) {
        self.push(value);
    }

    fn u16(&mut self, value: u16) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_be_bytes());
    }

    fn f32(&mut self, value: f32) {
        self.u32(value.to_bits());
    }

    fn ipv4(&mut self, value: Ipv4Addr) {
        self.extend_from_slice(&value.octets());
    }

    fn ipv6(&mut self, value: Ipv6Addr) {
        self.extend_from_slice(&value.octets());
    }
}

/// Refuses a value above `most`.
pub(crate) fn at_most(part: &'static str, field: &'static str, found: usize, most: u32) -> Encoded {
    if found > most as usize {
        return Err(EncodeError {
            part,
            field,
            expected: Expected::AtMost(most),
            found,
        });
    }
    Ok(())
}

/// Refuses a length that is no multiple of four.
pub(crate) fn whole_words(part: &'static str, found: usize) -> Encoded {
    if !found.is_multiple_of(4) {
        return Err(EncodeError {
            part,
            field: "length",
            expected: Expected::MultipleOf(4),
            found,
        });
    }
    Ok(())
}

/// What follows a field to fill it up to whole 32-bit words: zeros, or what was received in their place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Padding(Option<Box<[u8]>>);

impl Padding {
    fn zeros(length: usize) -> usize {
        length.next_multiple_of(4) - length
    }

    /// Reads `found` as what follows a field of `length` bytes.
    pub(crate) fn read(length: usize, found: &[u8]) -> Self {
        let usual = found.len() == Self::zeros(length) && found.iter().all(|byte| *byte == 0);
        Self(if usual { None } else { Some(found.into()) })
    }

    /// Appends what follows a field of `length` bytes.
    pub(crate) fn write(&self, length: usize, out: &mut Vec<u8>) {
        match &self.0 {
            Some(bytes) => out.extend_from_slice(bytes),
            None => out.resize(out.len() + Self::zeros(length), 0),
        }
    }
}

/// The Internet checksum of `bytes` (RFC 1071); 0 where `bytes` contain their own right checksum.
pub(crate) fn checksum(bytes: &[u8]) -> u16 {
    let mut words = bytes.chunks_exact(4);
    let mut sum: u64 = words
        .by_ref()
        .map(|word| u64::from(u32::from_be_bytes([word[0], word[1], word[2], word[3]])))
        .sum();
    let odd = words.remainder();
    let mut last = [0; 4];
    last[..odd.len()].copy_from_slice(odd);
    sum += u64::from(u32::from_be_bytes(last));
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

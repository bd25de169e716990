//! The IPv4 header that carries RSVP, for raw sockets (RFC 791, RFC 2113).

use std::net::Ipv4Addr;

use crate::error::Expected;
use crate::wire::{Decoded, Encoded, Reader, Write, at_most, checksum};

/// IP protocol number of RSVP.
pub const PROTOCOL: u8 = 46;
/// The option Router Alert: routers on the way look at the packet (RFC 2113, 2.1).
pub const ROUTER_ALERT: [u8; 4] = [0x94, 0x04, 0x00, 0x00];
/// Type of service of network control (precedence 6).
pub const NETWORK_CONTROL: u8 = 0xc0;

const HEADER_BYTES: usize = 20;
const PART: &str = "IP header";
/// More fragments, and where this one belongs.
const FRAGMENT: u16 = 0x3fff;
const END_OF_OPTIONS: u8 = 0;
const NO_OPERATION: u8 = 1;
/// Type of the option Router Alert.
const ALERT: u8 = ROUTER_ALERT[0];

/// An IPv4 header with RSVP behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ipv4Header {
    /// Who sent it.
    pub source: Ipv4Addr,
    /// PATH, PATH_TEAR and RESV_CONF: the egress, or who asked; others: the next hop.
    pub destination: Ipv4Addr,
    /// Time to live; [`crate::Header::ttl`] says the same when the packet leaves.
    pub ttl: u8,
    /// Type of service, [`NETWORK_CONTROL`] as a rule.
    pub tos: u8,
    /// Identification.
    pub identification: u16,
    /// Option Router Alert: sent with PATH, PATH_TEAR and RESV_CONF.
    pub router_alert: bool,
}

impl Ipv4Header {
    /// Appends a whole IP packet with `payload` to `out`.
    pub fn encode(&self, payload: &[u8], out: &mut Vec<u8>) -> Encoded {
        let options: &[u8] = if self.router_alert {
            &ROUTER_ALERT
        } else {
            &[]
        };
        let header_bytes = HEADER_BYTES + options.len();
        let total = header_bytes + payload.len();
        at_most(PART, "total length", total, u32::from(u16::MAX))?;
        let start = out.len();
        out.extend_from_slice(&[0x40 | (header_bytes / 4) as u8, self.tos]);
        out.u16(total as u16);
        out.u16(self.identification);
        out.extend_from_slice(&[0, 0, self.ttl, PROTOCOL, 0, 0]);
        out.ipv4(self.source);
        out.ipv4(self.destination);
        out.extend_from_slice(options);
        let sum = checksum(&out[start..]);
        out[start + 10..start + 12].copy_from_slice(&sum.to_be_bytes());
        out.extend_from_slice(payload);
        Ok(())
    }

    /// Takes an IP packet as a raw socket gives it; returns its header and the payload. What follows the total length (Ethernet's padding) is left out.
    /// Other protocols, fragments and wrong checksums are errors; options other than Router Alert are passed over.
    pub fn decode(packet: &[u8]) -> Decoded<(Self, &[u8])> {
        let mut fields = Reader::new(packet, PART);
        let (first, tos, total) = (fields.u8()?, fields.u8()?, usize::from(fields.u16()?));
        if first >> 4 != 4 {
            return Err(fields.error(4, "version", Expected::Exactly(4), usize::from(first >> 4)));
        }
        let header_bytes = usize::from(first & 0x0f) * 4;
        if header_bytes < HEADER_BYTES {
            return Err(fields.error(
                4,
                "header length",
                Expected::AtLeast(HEADER_BYTES as u32),
                header_bytes,
            ));
        }
        if total < header_bytes {
            return Err(fields.error(
                2,
                "total length",
                Expected::AtLeast(header_bytes as u32),
                total,
            ));
        }
        if total > packet.len() {
            return Err(fields.error(
                2,
                "total length",
                Expected::AtMost(packet.len() as u32),
                total,
            ));
        }
        let (header, payload) = packet[..total].split_at(header_bytes);
        let (identification, fragment) = (fields.u16()?, fields.u16()? & FRAGMENT);
        if fragment != 0 {
            return Err(fields.error(2, "fragment", Expected::Exactly(0), usize::from(fragment)));
        }
        let (ttl, protocol, found) = (fields.u8()?, fields.u8()?, fields.u16()?);
        if protocol != PROTOCOL {
            return Err(fields.error(
                3,
                "protocol",
                Expected::Exactly(u32::from(PROTOCOL)),
                usize::from(protocol),
            ));
        }
        let over_all = checksum(header);
        if over_all != 0 {
            let sum = u32::from(found) + u32::from(over_all);
            let right = (sum & 0xffff) + (sum >> 16);
            return Err(fields.error(2, "checksum", Expected::Exactly(right), usize::from(found)));
        }
        let (source, destination) = (fields.ipv4()?, fields.ipv4()?);
        let router_alert = has_router_alert(&header[HEADER_BYTES..]);
        let header = Self {
            source,
            destination,
            ttl,
            tos,
            identification,
            router_alert,
        };
        Ok((header, payload))
    }
}

/// Whether Router Alert is among the options; options that break off end the search.
fn has_router_alert(mut options: &[u8]) -> bool {
    loop {
        options = match options {
            [END_OF_OPTIONS, ..] | [] | [_] => return false,
            [NO_OPERATION, rest @ ..] => rest,
            [ALERT, 4, ..] => return true,
            [_, length, ..] => match options.get(usize::from(*length).max(2)..) {
                Some(rest) => rest,
                None => return false,
            },
        };
    }
}

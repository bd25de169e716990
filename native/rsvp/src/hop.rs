//! Who sent a message: RSVP_HOP.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::error::Expected;
use crate::wire::{Decoded, Encoded, Padding, Reader, Write, at_most};

/// RSVP_HOP: IPv4 (C-Type 1, RFC 2205, A.2), or IPv4 IF_ID (C-Type 3, RFC 3473, 8.1.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hop {
    /// Address of the hop that sent the message.
    pub address: Ipv4Addr,
    /// Logical interface handle: a RESV gives back what its PATH had.
    pub interface_handle: u32,
    /// C-Type 3 where there is a list, even an empty one; C-Type 1 where there is none.
    pub interfaces: Option<Vec<InterfaceTlv>>,
}

impl Hop {
    pub(crate) fn read(mut body: Reader, with_interfaces: bool) -> Decoded<Self> {
        if !with_interfaces {
            body.exactly(8)?;
        }
        let (address, interface_handle) = (body.ipv4()?, body.u32()?);
        let interfaces = InterfaceTlv::read_list(body, with_interfaces)?;
        Ok(Self {
            address,
            interface_handle,
            interfaces,
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Encoded {
        out.ipv4(self.address);
        out.u32(self.interface_handle);
        InterfaceTlv::write_list(&self.interfaces, out)
    }
}

/// An interface in an IF_ID object (RFC 3471, 9.1.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterfaceTlv {
    /// Type 1: its address.
    Ipv4(Ipv4Addr),
    /// Type 2: its IPv6 address.
    Ipv6(Ipv6Addr),
    /// Type 3: the router's address and the interface's number there.
    IfIndex {
        /// Address of the router or of a link.
        address: Ipv4Addr,
        /// Interface ID.
        interface: u32,
    },
    /// Any other.
    Unknown {
        /// Type.
        kind: u16,
        /// Value without padding.
        value: Vec<u8>,
        /// What follows the value.
        padding: Padding,
    },
}

impl InterfaceTlv {
    /// The list that ends an object; objects of other C-Types have none.
    pub(crate) fn read_list(mut body: Reader, with_interfaces: bool) -> Decoded<Option<Vec<Self>>> {
        let mut interfaces = with_interfaces.then(Vec::new);
        if let Some(list) = &mut interfaces {
            while !body.is_empty() {
                list.push(Self::read(&mut body)?);
            }
        }
        Ok(interfaces)
    }

    pub(crate) fn write_list(interfaces: &Option<Vec<Self>>, out: &mut Vec<u8>) -> Encoded {
        interfaces
            .iter()
            .flatten()
            .try_for_each(|tlv| tlv.write(out))
    }

    fn read(body: &mut Reader) -> Decoded<Self> {
        let (kind, length) = (body.u16()?, usize::from(body.u16()?));
        if length < 4 {
            return Err(body.error(2, "length of TLV", Expected::AtLeast(4), length));
        }
        let mut value = body.split(length - 4, "IF_ID TLV")?;
        Ok(match (kind, value.len()) {
            (1, 4) => Self::Ipv4(value.ipv4()?),
            (2, 16) => Self::Ipv6(value.ipv6()?),
            (3, 8) => Self::IfIndex {
                address: value.ipv4()?,
                interface: value.u32()?,
            },
            _ => {
                let padding = body.take(length.next_multiple_of(4) - length)?;
                Self::Unknown {
                    kind,
                    padding: Padding::read(value.len(), padding),
                    value: value.rest(),
                }
            }
        })
    }

    fn write(&self, out: &mut Vec<u8>) -> Encoded {
        match self {
            Self::Ipv4(address) => {
                out.extend_from_slice(&[0, 1, 0, 8]);
                out.ipv4(*address);
            }
            Self::Ipv6(address) => {
                out.extend_from_slice(&[0, 2, 0, 20]);
                out.ipv6(*address);
            }
            Self::IfIndex { address, interface } => {
                out.extend_from_slice(&[0, 3, 0, 12]);
                out.ipv4(*address);
                out.u32(*interface);
            }
            Self::Unknown {
                kind,
                value,
                padding,
            } => {
                at_most("IF_ID TLV", "length", value.len() + 4, u32::from(u16::MAX))?;
                out.u16(*kind);
                out.u16(value.len() as u16 + 4);
                out.extend_from_slice(value);
                padding.write(value.len(), out);
            }
        }
        Ok(())
    }
}

//! The way of an LSP: subobjects of EXPLICIT_ROUTE and RECORD_ROUTE.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::error::Expected;
use crate::wire::{Decoded, Encoded, Reader, Write, at_most, whole_words};

/// One step of an EXPLICIT_ROUTE (RFC 3209, 4.3.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplicitHop {
    /// L bit: other nodes may lie between the step before and this one.
    pub loose: bool,
    /// Where to; of [`Subobject::Unknown`] only types up to 127 can be said here.
    pub subobject: Subobject,
}

impl ExplicitHop {
    /// The L bit, above the type.
    const LOOSE: u8 = 0x80;

    pub(crate) fn read_list(mut body: Reader) -> Decoded<Vec<Self>> {
        let mut hops = Vec::new();
        while !body.is_empty() {
            let first = body.u8()?;
            let subobject = Subobject::read(first & !Self::LOOSE, &mut body)?;
            hops.push(Self {
                loose: first & Self::LOOSE != 0,
                subobject,
            });
        }
        Ok(hops)
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Encoded {
        let kind = self.subobject.kind();
        at_most("EXPLICIT_ROUTE", "type", usize::from(kind), 127)?;
        out.u8(if self.loose { kind | Self::LOOSE } else { kind });
        self.subobject.write(out)
    }
}

/// What a route is made of; in a RECORD_ROUTE as it is, in an EXPLICIT_ROUTE behind the L bit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subobject {
    /// Type 1 (RFC 3209, 4.3.3.2 and 4.4.1.1).
    Ipv4 {
        /// Address of the node or link.
        address: Ipv4Addr,
        /// Bits of the address that count: 32 for one address.
        prefix_length: u8,
        /// Flags in a RECORD_ROUTE, [`Subobject::PROTECTION_AVAILABLE`] and others; zero in an EXPLICIT_ROUTE.
        flags: u8,
    },
    /// Type 2 (RFC 3209, 4.3.3.3 and 4.4.1.2).
    Ipv6 {
        /// Address of the node or link.
        address: Ipv6Addr,
        /// Bits of the address that count: 128 for one address.
        prefix_length: u8,
        /// Flags in a RECORD_ROUTE; zero in an EXPLICIT_ROUTE.
        flags: u8,
    },
    /// Type 3, with a label of one word (RFC 3209, 4.4.1.3; RFC 3473, 5.1).
    Label {
        /// 0x01: global label; 0x80: upstream label.
        flags: u8,
        /// C-Type of the LABEL object that it comes from.
        c_type: u8,
        /// Content of that object.
        label: u32,
    },
    /// Type 4, unnumbered interface (RFC 3477, 4 and 5).
    Unnumbered {
        /// Flags in a RECORD_ROUTE; zero in an EXPLICIT_ROUTE.
        flags: u8,
        /// Zero when sent.
        reserved: u8,
        /// Router ID.
        router: Ipv4Addr,
        /// Interface ID.
        interface: u32,
    },
    /// Type 32 (RFC 3209, 4.3.3.4).
    AutonomousSystem(u16),
    /// Any other.
    Unknown {
        /// Type.
        kind: u8,
        /// What follows type and length.
        data: Vec<u8>,
    },
}

impl Subobject {
    /// Flag in a RECORD_ROUTE: local protection available.
    pub const PROTECTION_AVAILABLE: u8 = 0x01;
    /// Flag in a RECORD_ROUTE: local protection in use.
    pub const PROTECTION_IN_USE: u8 = 0x02;
    /// Flag in a RECORD_ROUTE: bandwidth protection (RFC 4090, 4.4).
    pub const BANDWIDTH_PROTECTION: u8 = 0x04;
    /// Flag in a RECORD_ROUTE: node protection (RFC 4090, 4.4).
    pub const NODE_PROTECTION: u8 = 0x08;

    /// Its type.
    pub fn kind(&self) -> u8 {
        match self {
            Self::Ipv4 { .. } => 1,
            Self::Ipv6 { .. } => 2,
            Self::Label { .. } => 3,
            Self::Unnumbered { .. } => 4,
            Self::AutonomousSystem(_) => 32,
            Self::Unknown { kind, .. } => *kind,
        }
    }

    pub(crate) fn read_list(mut body: Reader) -> Decoded<Vec<Self>> {
        let mut list = Vec::new();
        while !body.is_empty() {
            let kind = body.u8()?;
            list.push(Self::read(kind, &mut body)?);
        }
        Ok(list)
    }

    /// Reads what follows the type.
    fn read(kind: u8, body: &mut Reader) -> Decoded<Self> {
        let length = usize::from(body.u8()?);
        if length < 4 {
            return Err(body.error(1, "length of subobject", Expected::AtLeast(4), length));
        }
        if !length.is_multiple_of(4) {
            return Err(body.error(1, "length of subobject", Expected::MultipleOf(4), length));
        }
        let mut content = body.split(length - 2, "subobject")?;
        Ok(match kind {
            1 => {
                content.exactly(6)?;
                Self::Ipv4 {
                    address: content.ipv4()?,
                    prefix_length: content.u8()?,
                    flags: content.u8()?,
                }
            }
            2 => {
                content.exactly(18)?;
                Self::Ipv6 {
                    address: content.ipv6()?,
                    prefix_length: content.u8()?,
                    flags: content.u8()?,
                }
            }
            3 if length == 8 => Self::Label {
                flags: content.u8()?,
                c_type: content.u8()?,
                label: content.u32()?,
            },
            4 => {
                content.exactly(10)?;
                Self::Unnumbered {
                    flags: content.u8()?,
                    reserved: content.u8()?,
                    router: content.ipv4()?,
                    interface: content.u32()?,
                }
            }
            32 => {
                content.exactly(2)?;
                Self::AutonomousSystem(content.u16()?)
            }
            _ => Self::Unknown {
                kind,
                data: content.rest(),
            },
        })
    }

    pub(crate) fn write_list(list: &[Self], out: &mut Vec<u8>) -> Encoded {
        list.iter().try_for_each(|subobject| {
            out.u8(subobject.kind());
            subobject.write(out)
        })
    }

    /// Writes what follows the type.
    fn write(&self, out: &mut Vec<u8>) -> Encoded {
        match self {
            Self::Ipv4 {
                address,
                prefix_length,
                flags,
            } => {
                out.u8(8);
                out.ipv4(*address);
                out.extend_from_slice(&[*prefix_length, *flags]);
            }
            Self::Ipv6 {
                address,
                prefix_length,
                flags,
            } => {
                out.u8(20);
                out.ipv6(*address);
                out.extend_from_slice(&[*prefix_length, *flags]);
            }
            Self::Label {
                flags,
                c_type,
                label,
            } => {
                out.extend_from_slice(&[8, *flags, *c_type]);
                out.u32(*label);
            }
            Self::Unnumbered {
                flags,
                reserved,
                router,
                interface,
            } => {
                out.extend_from_slice(&[12, *flags, *reserved]);
                out.ipv4(*router);
                out.u32(*interface);
            }
            Self::AutonomousSystem(number) => {
                out.u8(4);
                out.u16(*number);
            }
            Self::Unknown { data, .. } => {
                let length = data.len() + 2;
                at_most("subobject", "length", length, 255)?;
                whole_words("subobject", length)?;
                out.u8(length as u8);
                out.extend_from_slice(data);
            }
        }
        Ok(())
    }
}

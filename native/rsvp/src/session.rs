//! Which LSP: SESSION, SENDER_TEMPLATE, FILTER_SPEC, SESSION_ATTRIBUTE.

use std::net::Ipv4Addr;

use crate::wire::{Decoded, Encoded, Padding, Reader, Write, at_most};

/// SESSION, LSP_TUNNEL_IPv4 (RFC 3209, 4.6.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Session {
    /// Address of the egress.
    pub endpoint: Ipv4Addr,
    /// Zero when sent.
    pub reserved: u16,
    /// Tunnel ID.
    pub tunnel_id: u16,
    /// Extended tunnel ID: zero, or an address of the ingress.
    pub extended_tunnel_id: u32,
}

impl Session {
    pub(crate) fn read(mut body: Reader) -> Decoded<Self> {
        body.exactly(12)?;
        Ok(Self {
            endpoint: body.ipv4()?,
            reserved: body.u16()?,
            tunnel_id: body.u16()?,
            extended_tunnel_id: body.u32()?,
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.ipv4(self.endpoint);
        out.u16(self.reserved);
        out.u16(self.tunnel_id);
        out.u32(self.extended_tunnel_id);
    }
}

/// SENDER_TEMPLATE and FILTER_SPEC, LSP_TUNNEL_IPv4 (RFC 3209, 4.6.2.1 and 4.6.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lsp {
    /// Address of the ingress.
    pub sender: Ipv4Addr,
    /// Zero when sent.
    pub reserved: u16,
    /// LSP ID.
    pub lsp_id: u16,
}

impl Lsp {
    pub(crate) fn read(mut body: Reader) -> Decoded<Self> {
        body.exactly(8)?;
        Ok(Self {
            sender: body.ipv4()?,
            reserved: body.u16()?,
            lsp_id: body.u16()?,
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.ipv4(self.sender);
        out.u16(self.reserved);
        out.u16(self.lsp_id);
    }
}

/// Resource affinities: which administrative groups a link may, must and must not have (RFC 3209, 4.7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Affinities {
    /// A link with any of these is refused.
    pub exclude_any: u32,
    /// A link needs one of these; zero: none.
    pub include_any: u32,
    /// A link needs all of these.
    pub include_all: u32,
}

impl Affinities {
    fn read(body: &mut Reader) -> Decoded<Self> {
        Ok(Self {
            exclude_any: body.u32()?,
            include_any: body.u32()?,
            include_all: body.u32()?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.u32(self.exclude_any);
        out.u32(self.include_any);
        out.u32(self.include_all);
    }
}

/// SESSION_ATTRIBUTE (RFC 3209, 4.7): LSP_TUNNEL (C-Type 7), or LSP_TUNNEL_RA (C-Type 1) with affinities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionAttribute {
    /// C-Type 1 where there are some, C-Type 7 where not.
    pub affinities: Option<Affinities>,
    /// Setup priority: 0 (highest) to 7.
    pub setup_priority: u8,
    /// Holding priority: 0 (highest) to 7.
    pub holding_priority: u8,
    /// [`Self::LOCAL_PROTECTION`], [`Self::LABEL_RECORDING`], [`Self::SE_STYLE`], ...
    pub flags: u8,
    /// Session name, at most 255 bytes.
    pub name: Vec<u8>,
    /// What follows the name.
    pub padding: Padding,
}

impl SessionAttribute {
    /// Flag: local protection desired.
    pub const LOCAL_PROTECTION: u8 = 0x01;
    /// Flag: label recording desired.
    pub const LABEL_RECORDING: u8 = 0x02;
    /// Flag: SE style desired.
    pub const SE_STYLE: u8 = 0x04;
    /// Flag: bandwidth protection desired (RFC 4090, 4.3).
    pub const BANDWIDTH_PROTECTION: u8 = 0x08;
    /// Flag: node protection desired (RFC 4090, 4.3).
    pub const NODE_PROTECTION: u8 = 0x10;

    pub(crate) fn read(mut body: Reader, with_affinities: bool) -> Decoded<Self> {
        let affinities = if with_affinities {
            Some(Affinities::read(&mut body)?)
        } else {
            None
        };
        let (setup_priority, holding_priority, flags) = (body.u8()?, body.u8()?, body.u8()?);
        let length = usize::from(body.u8()?);
        let name = body.take(length)?.to_vec();
        let padding = Padding::read(length, body.peek());
        Ok(Self {
            affinities,
            setup_priority,
            holding_priority,
            flags,
            name,
            padding,
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Encoded {
        at_most("SESSION_ATTRIBUTE", "length of name", self.name.len(), 255)?;
        if let Some(affinities) = &self.affinities {
            affinities.write(out);
        }
        out.extend_from_slice(&[
            self.setup_priority,
            self.holding_priority,
            self.flags,
            self.name.len() as u8,
        ]);
        out.extend_from_slice(&self.name);
        self.padding.write(self.name.len(), out);
        Ok(())
    }
}

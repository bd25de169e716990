//! Protection: FAST_REROUTE, DETOUR (RFC 4090).

use std::net::Ipv4Addr;

use crate::error::Expected;
use crate::wire::{Decoded, Reader, Write};

/// FAST_REROUTE, C-Type 1 (RFC 4090, 4.1).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FastReroute {
    /// Setup priority of the backup: 0 (highest) to 7.
    pub setup_priority: u8,
    /// Holding priority of the backup: 0 (highest) to 7.
    pub holding_priority: u8,
    /// Hops that the backup may have more.
    pub hop_limit: u8,
    /// [`Self::ONE_TO_ONE`], [`Self::FACILITY`].
    pub flags: u8,
    /// Bandwidth of the backup in bytes/s.
    pub bandwidth: f32,
    /// A link needs one of these administrative groups; zero: none.
    pub include_any: u32,
    /// A link with any of these is refused.
    pub exclude_any: u32,
    /// A link needs all of these.
    pub include_all: u32,
}

impl FastReroute {
    /// Flag: one-to-one backup desired.
    pub const ONE_TO_ONE: u8 = 0x01;
    /// Flag: facility backup desired.
    pub const FACILITY: u8 = 0x02;

    pub(crate) fn read(mut body: Reader) -> Decoded<Self> {
        body.exactly(20)?;
        Ok(Self {
            setup_priority: body.u8()?,
            holding_priority: body.u8()?,
            hop_limit: body.u8()?,
            flags: body.u8()?,
            bandwidth: body.f32()?,
            include_any: body.u32()?,
            exclude_any: body.u32()?,
            include_all: body.u32()?,
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[
            self.setup_priority,
            self.holding_priority,
            self.hop_limit,
            self.flags,
        ]);
        out.f32(self.bandwidth);
        out.u32(self.include_any);
        out.u32(self.exclude_any);
        out.u32(self.include_all);
    }
}

/// DETOUR, IPv4, C-Type 7 (RFC 4090, 4.2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detour {
    /// At least one.
    pub pairs: Vec<DetourPair>,
}

/// Where a detour begins, and what it goes round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DetourPair {
    /// PLR_ID: an address of the point of local repair.
    pub point_of_local_repair: Ipv4Addr,
    /// Avoid_Node_ID: an address of the node that is avoided.
    pub avoided_node: Ipv4Addr,
}

impl Detour {
    pub(crate) fn read(mut body: Reader) -> Decoded<Self> {
        if !body.len().is_multiple_of(8) {
            return Err(body.error(0, "length", Expected::MultipleOf(8), body.len()));
        }
        let mut pairs = Vec::with_capacity(body.len() / 8);
        while !body.is_empty() {
            pairs.push(DetourPair {
                point_of_local_repair: body.ipv4()?,
                avoided_node: body.ipv4()?,
            });
        }
        Ok(Self { pairs })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        for pair in &self.pairs {
            out.ipv4(pair.point_of_local_repair);
            out.ipv4(pair.avoided_node);
        }
    }
}

//! How often and what went wrong: TIME_VALUES, ERROR_SPEC.

use std::net::Ipv4Addr;

use crate::hop::InterfaceTlv;
use crate::wire::{Decoded, Encoded, Reader, Write};

/// TIME_VALUES (RFC 2205, A.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeValues {
    /// Refresh period R in ms.
    pub refresh_ms: u32,
}

impl TimeValues {
    pub(crate) fn read(mut body: Reader) -> Decoded<Self> {
        body.exactly(4)?;
        Ok(Self {
            refresh_ms: body.u32()?,
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.u32(self.refresh_ms);
    }
}

/// ERROR_SPEC: IPv4 (C-Type 1, RFC 2205, A.5), or IPv4 IF_ID (C-Type 3, RFC 3473, 8.2.1). A RESV_CONF has one with code 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorSpec {
    /// Address of the node that found the error.
    pub node: Ipv4Addr,
    /// [`Self::IN_PLACE`], [`Self::NOT_GUILTY`], [`Self::PATH_STATE_REMOVED`].
    pub flags: u8,
    /// Error code.
    pub code: u8,
    /// Error value; what it says depends on the code.
    pub value: u16,
    /// C-Type 3 where there is a list, even an empty one; C-Type 1 where there is none.
    pub interfaces: Option<Vec<InterfaceTlv>>,
}

impl ErrorSpec {
    /// Flag: a reservation is still in place at the failing node.
    pub const IN_PLACE: u8 = 0x01;
    /// Flag: the FLOWSPEC of this node's reservation was not the cause.
    pub const NOT_GUILTY: u8 = 0x02;
    /// Flag: the node that found the error has removed its path state (RFC 3473, 4.4).
    pub const PATH_STATE_REMOVED: u8 = 0x04;

    /// What the error code says (RFC 2205, appendix B; RFC 3209, 7.3); None where it is none of theirs.
    pub fn meaning(&self) -> Option<&'static str> {
        Some(match self.code {
            0 => "confirmation",
            1 => "admission control failure",
            2 => "policy control failure",
            3 => "no path information for this RESV",
            4 => "no sender information for this RESV",
            5 => "conflicting reservation style",
            6 => "unknown reservation style",
            7 => "conflicting destination ports",
            8 => "conflicting sender ports",
            12 => "service preempted",
            13 => "unknown object class",
            14 => "unknown object C-Type",
            20 => "reserved for the API",
            21 => "traffic control error",
            22 => "traffic control system error",
            23 => "RSVP system error",
            24 => "routing problem",
            25 => "notify",
            _ => return None,
        })
    }

    pub(crate) fn read(mut body: Reader, with_interfaces: bool) -> Decoded<Self> {
        if !with_interfaces {
            body.exactly(8)?;
        }
        Ok(Self {
            node: body.ipv4()?,
            flags: body.u8()?,
            code: body.u8()?,
            value: body.u16()?,
            interfaces: InterfaceTlv::read_list(body, with_interfaces)?,
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Encoded {
        out.ipv4(self.node);
        out.extend_from_slice(&[self.flags, self.code]);
        out.u16(self.value);
        InterfaceTlv::write_list(&self.interfaces, out)
    }
}

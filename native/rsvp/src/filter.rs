//! Who shares a reservation: STYLE, and the flow descriptors of a RESV.

use crate::intserv::IntServ;
use crate::label::Label;
use crate::object::Object;
use crate::route::Subobject;
use crate::session::Lsp;
use crate::wire::{Decoded, Encoded, Reader, Write, at_most};

/// STYLE (RFC 2205, A.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Zero when sent.
    pub flags: u8,
    /// Option vector, 24 bits: [`Self::FIXED_FILTER`] and others have these.
    pub options: u32,
}

impl Style {
    const MAX_OPTIONS: u32 = 0xff_ffff;
    /// FF: each sender has a reservation of its own.
    pub const FIXED_FILTER: Self = Self {
        flags: 0,
        options: 0x0a,
    };
    /// SE: the listed senders share one.
    pub const SHARED_EXPLICIT: Self = Self {
        flags: 0,
        options: 0x12,
    };
    /// WF: all senders share one; not for LSPs (RFC 3209, 2.4).
    pub const WILDCARD_FILTER: Self = Self {
        flags: 0,
        options: 0x11,
    };

    pub(crate) fn read(mut body: Reader) -> Decoded<Self> {
        body.exactly(4)?;
        let word = body.u32()?;
        Ok(Self {
            flags: (word >> 24) as u8,
            options: word & Self::MAX_OPTIONS,
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Encoded {
        at_most("STYLE", "options", self.options as usize, Self::MAX_OPTIONS)?;
        out.u32(u32::from(self.flags) << 24 | self.options);
        Ok(())
    }
}

/// One LSP of a RESV (RFC 3209, 3.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowDescriptor<'a> {
    /// The last FLOWSPEC before the filter: its own in FF (RFC 2205, 3.1.4 allows it to be left out after the first), the common one in SE.
    pub flowspec: Option<&'a IntServ>,
    /// Which LSP.
    pub filter: &'a Lsp,
    /// Label to be used towards the sender of the RESV.
    pub label: Option<&'a Label>,
    /// Where the RESV has been.
    pub record_route: Option<&'a [Subobject]>,
}

impl<'a> FlowDescriptor<'a> {
    /// The LSPs of a RESV, RESV_TEAR, RESV_ERR or RESV_CONF, in their order.
    pub(crate) fn list(objects: &'a [Object]) -> Vec<Self> {
        let mut descriptors: Vec<Self> = Vec::new();
        let mut flowspec = None;
        for object in objects {
            match object {
                Object::Flowspec(found) => flowspec = Some(found),
                Object::FilterSpec(filter) => descriptors.push(Self {
                    flowspec,
                    filter,
                    label: None,
                    record_route: None,
                }),
                Object::Label(label) => {
                    if let Some(last) = descriptors.last_mut() {
                        last.label = Some(label);
                    }
                }
                Object::RecordRoute(route) => {
                    if let Some(last) = descriptors.last_mut() {
                        last.record_route = Some(route);
                    }
                }
                _ => {}
            }
        }
        descriptors
    }
}

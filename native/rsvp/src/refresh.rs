//! What keeps neighbours and states: HELLO, CAPABILITY, RESTART_CAP, MESSAGE_ID and what acknowledges it.

use crate::wire::{Decoded, Encoded, Reader, Write, at_most};

/// An epoch has 24 bits.
const MAX_EPOCH: u32 = 0xff_ffff;

fn read_flags_epoch(body: &mut Reader) -> Decoded<(u8, u32)> {
    let word = body.u32()?;
    Ok(((word >> 24) as u8, word & MAX_EPOCH))
}

fn write_flags_epoch(part: &'static str, flags: u8, epoch: u32, out: &mut Vec<u8>) -> Encoded {
    at_most(part, "epoch", epoch as usize, MAX_EPOCH)?;
    out.u32(u32::from(flags) << 24 | epoch);
    Ok(())
}

/// MESSAGE_ID (RFC 2961, 4.2), MESSAGE_ID_ACK and MESSAGE_ID_NACK (4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MessageId {
    /// [`Self::ACK_DESIRED`]; zero in acknowledgements.
    pub flags: u8,
    /// Epoch of the sender, 24 bits: another one after each start.
    pub epoch: u32,
    /// Identifier within the epoch.
    pub identifier: u32,
}

impl MessageId {
    /// Flag: an acknowledgement is asked for.
    pub const ACK_DESIRED: u8 = 0x01;

    pub(crate) fn read(mut body: Reader) -> Decoded<Self> {
        body.exactly(8)?;
        let (flags, epoch) = read_flags_epoch(&mut body)?;
        Ok(Self {
            flags,
            epoch,
            identifier: body.u32()?,
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Encoded {
        write_flags_epoch("MESSAGE_ID", self.flags, self.epoch, out)?;
        out.u32(self.identifier);
        Ok(())
    }
}

/// What an object of the class MESSAGE_ID_ACK says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Acknowledgement {
    /// MESSAGE_ID_ACK: the message has arrived.
    Ack,
    /// MESSAGE_ID_NACK: there is no state for what an Srefresh has named.
    Nack,
}

/// MESSAGE_ID LIST (RFC 2961, 5.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageIdList {
    /// Zero when sent.
    pub flags: u8,
    /// Epoch of the sender, 24 bits.
    pub epoch: u32,
    /// Identifiers of the states that are refreshed.
    pub identifiers: Vec<u32>,
}

impl MessageIdList {
    pub(crate) fn read(mut body: Reader) -> Decoded<Self> {
        let (flags, epoch) = read_flags_epoch(&mut body)?;
        let mut identifiers = Vec::with_capacity(body.len() / 4);
        while !body.is_empty() {
            identifiers.push(body.u32()?);
        }
        Ok(Self {
            flags,
            epoch,
            identifiers,
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Encoded {
        write_flags_epoch("MESSAGE_ID_LIST", self.flags, self.epoch, out)?;
        self.identifiers
            .iter()
            .for_each(|identifier| out.u32(*identifier));
        Ok(())
    }
}

/// Question or answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HelloKind {
    /// HELLO REQUEST, C-Type 1.
    Request,
    /// HELLO ACK, C-Type 2.
    Ack,
}

/// HELLO (RFC 3209, 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Question or answer.
    pub kind: HelloKind,
    /// Instance of the sender, never zero: another one after each restart.
    pub source_instance: u32,
    /// Instance last seen of the receiver; zero: none yet.
    pub destination_instance: u32,
}

impl Hello {
    pub(crate) fn read(mut body: Reader, kind: HelloKind) -> Decoded<Self> {
        body.exactly(8)?;
        Ok(Self {
            kind,
            source_instance: body.u32()?,
            destination_instance: body.u32()?,
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.u32(self.source_instance);
        out.u32(self.destination_instance);
    }
}

/// RESTART_CAP (RFC 3473, 9.1), which goes with Hellos.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartCapability {
    /// How long the sender takes to speak Hello again in ms; all ones: not known.
    pub restart_ms: u32,
    /// How long the sender keeps states to be recovered in ms; zero: none were kept.
    pub recovery_ms: u32,
}

impl RestartCapability {
    pub(crate) fn read(mut body: Reader) -> Decoded<Self> {
        body.exactly(8)?;
        Ok(Self {
            restart_ms: body.u32()?,
            recovery_ms: body.u32()?,
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.u32(self.restart_ms);
        out.u32(self.recovery_ms);
    }
}

/// CAPABILITY (RFC 5063), which goes with Hellos.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capability {
    /// [`Self::RECOVERY_PATH_SREFRESH`], [`Self::RECOVERY_PATH_TRANSMIT`], [`Self::RECOVERY_PATH_DESIRED`], and what others define.
    pub flags: u32,
}

impl Capability {
    /// S bit: RecoveryPath by Srefresh is understood.
    pub const RECOVERY_PATH_SREFRESH: u32 = 0x1;
    /// R bit: RecoveryPath messages are wanted.
    pub const RECOVERY_PATH_DESIRED: u32 = 0x2;
    /// T bit: RecoveryPath messages can be sent.
    pub const RECOVERY_PATH_TRANSMIT: u32 = 0x4;

    pub(crate) fn read(mut body: Reader) -> Decoded<Self> {
        body.exactly(4)?;
        Ok(Self { flags: body.u32()? })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.u32(self.flags);
    }
}

//! What is written down: events and probes, as rackproof.model.lsp says, and counts.

use crate::error::SetupError;
use crate::records::{Record, Records};

/// Port of a probe's record.
pub const PROBE: u16 = 2000;
/// Port of the first kind of event.
const FIRST_EVENT: u16 = 2001;
/// The LSP number of what concerns none.
pub const NO_LSP: u16 = u16::MAX;

/// What happened; in the order of rackproof.model.lsp.EventKind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // see there
pub enum Event {
    PathSent,
    PathReceived,
    ResvSent,
    ResvReceived,
    TearSent,
    TearReceived,
    PathErr,
    ResvErr,
    ResvTear,
    ResvConf,
    Phantom,
    GaveUp,
    Expired,
    StaleRefresh,
    FlapBegin,
    FlapEnd,
}

/// Whose event it is.
#[derive(Clone, Copy, Debug)]
pub struct Whose {
    /// LSP number.
    pub lsp: u16,
    /// LSP ID of the instance.
    pub id: u16,
}

/// Nobody's.
pub const NOBODY: Whose = Whose { lsp: NO_LSP, id: 0 };

/// Records in the order of their writing, numbered through from the start however often they are taken.
pub struct Log {
    records: Records,
    capacity: usize,
    first: u64,
    overflow: u64,
}

impl Log {
    /// Room for `capacity` records at a time.
    pub fn new(capacity: usize) -> Result<Self, SetupError> {
        Ok(Self {
            records: Records::new(capacity)?,
            capacity,
            first: 0,
            overflow: 0,
        })
    }

    /// Writes an event; `repeats` is how often it had been sent or seen before.
    pub fn event(&mut self, event: Event, now: i64, whose: Whose, value: u32, repeats: u8) {
        self.push(Record {
            tx_ns: now,
            sequence: value,
            stream: whose.lsp,
            frame_bytes: whose.id,
            port: FIRST_EVENT + event as u16,
            pcp: repeats,
            ..Record::default()
        });
    }

    /// Writes a probe that has yet to come; its number.
    pub fn probe(&mut self, now: i64, whose: Whose, state: u8) -> u64 {
        let number = self.first + self.records.len() as u64;
        self.push(Record {
            tx_ns: now,
            stream: whose.lsp,
            frame_bytes: whose.id,
            port: PROBE,
            pcp: state,
            ..Record::default()
        });
        number
    }

    /// The record of a probe by its number; None if it was taken, or is none.
    pub fn probe_mut(&mut self, number: u64) -> Option<&mut Record> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let record = self.records.get_mut(index)?;
        (record.port == PROBE).then_some(record)
    }

    /// Hands over what was written since the last time, and for how much there was no room; goes on in new memory.
    pub fn take(&mut self) -> Result<(Records, u64), SetupError> {
        let fresh = Records::new(self.capacity)?;
        self.first += self.records.len() as u64;
        let overflow = std::mem::take(&mut self.overflow);
        Ok((std::mem::replace(&mut self.records, fresh), overflow))
    }

    /// For how much there was no room since the last taking.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }

    fn push(&mut self, record: Record) {
        if !self.records.push(record) {
            self.overflow += 1;
        }
    }
}

/// Counts that no record tells, or not all of.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)] // see LerReport.counters in the stub
pub struct Counts {
    /// Messages sent, by the number of their type.
    pub tx: Vec<u64>,
    /// Messages received.
    pub rx: Vec<u64>,
    pub acks_tx: u64,
    pub nacks_tx: u64,
    pub acks_rx: u64,
    pub nacks_rx: u64,
    pub lsp_flaps: u64,
    pub gave_up_paths: u64,
    pub gave_up_tears: u64,
    pub expired: u64,
    pub stale_refreshes: u64,
    pub retries: u64,
    pub retransmissions: u64,
    pub probes_tx: u64,
    pub probes_rx: u64,
    pub probes_duplicate: u64,
    pub probes_late: u64,
    pub left_tears_tx: u64,
    pub left_tears_rx: u64,
    pub foreign: u64,
    pub malformed: u64,
    pub hello_losses: u64,
    pub neighbour_restarts: u64,
}

//! Probes: labelled frames through the LSPs, in turn and in a row after each RESV.

use super::engine::{Engine, Timer};
use super::log::Whose;
use super::spec::Spec;
use super::state::Head;
use super::{EGRESS, INGRESS};
use crate::frame::FCS_BYTES;

/// What a probe begins with behind UDP.
pub const MAGIC: u32 = u32::from_be_bytes(*b"RKLP");
const LABELLED: [u8; 2] = [0x88, 0x47];
const UNLABELLED: [u8; 2] = [0x08, 0x00];
const IMPLICIT_NULL: u32 = 3;
const TTL: u8 = 64;
const CLASSES: u16 = 8;
const BOTTOM: u32 = 0x100;
/// Most labels that a probe comes with.
const STACK_MAX: usize = 8;
const IP_BYTES: usize = 20;
const UDP_BYTES: usize = 8;
/// The same as that of the labelled streams (RFC 862).
const UDP_PORT: u16 = 7;
/// How much is caught up after a pause of the thread [ns].
const CATCH_UP_NS: i64 = 10_000_000;
/// What all rows of probes together leave between two of theirs [ns]: many LSPs that do not forward are no flood.
const FRESH_NS: i64 = 50_000;
/// Most often that a stable LSP is probed [1/s].
const STABLE_PER_S: f64 = 1.0;

/// What the signaller knew when it sent a probe; rackproof.model.lsp.ProbeState.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // see there
pub enum ProbeState {
    Up,
    Torn,
    Fresh,
}

/// LSPs that are probed in turn.
#[derive(Debug)]
pub struct Turns {
    first: u16,
    count: u16,
    cursor: u16,
    gap_ns: i64,
    next_ns: i64,
}

impl Turns {
    fn new(first: u16, count: u16, fps: f64) -> Self {
        let sends = count > 0 && fps > 0.0;
        Self {
            first,
            count,
            cursor: 0,
            gap_ns: if sends {
                ((1e9 / fps).round() as i64).max(1)
            } else {
                0
            },
            next_ns: i64::MAX,
        }
    }

    /// Stable ones and flapped ones: all get the same, but stable ones at most one a second.
    pub fn of(spec: &Spec) -> [Self; 2] {
        let fps = spec.probes.map_or(0.0, |probes| probes.fps);
        let (stable, all) = (f64::from(spec.stable), f64::from(spec.lsps.max(1)));
        let for_stable = (fps * stable / all).min(stable * STABLE_PER_S);
        [
            Self::new(0, spec.stable, for_stable),
            Self::new(spec.stable, spec.lsps - spec.stable, fps - for_stable),
        ]
    }

    /// Begins now.
    pub fn begin(&mut self, now: i64) {
        if self.gap_ns > 0 {
            self.next_ns = now;
        }
    }

    /// Ends.
    pub fn end(&mut self) {
        self.next_ns = i64::MAX;
    }

    /// When the next is due [ns].
    pub fn next_ns(&self) -> i64 {
        self.next_ns
    }

    /// The next LSP and when it was due, if one is.
    fn take(&mut self, now: i64) -> Option<(u16, i64)> {
        if self.next_ns > now {
            return None;
        }
        let due_ns = self.next_ns;
        self.next_ns = (due_ns + self.gap_ns).max(now - CATCH_UP_NS);
        let lsp = self.first + self.cursor;
        self.cursor = (self.cursor + 1) % self.count;
        Some((lsp, due_ns))
    }
}

impl Engine {
    /// Sends the next probe that is due in turn; whether there was one.
    pub(super) fn probe_in_turn(&mut self, now: i64) -> bool {
        for turn in 0..self.turns.len() {
            if let Some((lsp, due_ns)) = self.turns[turn].take(now) {
                self.lateness.record(now - due_ns);
                self.probe(now, lsp);
                return true;
            }
        }
        false
    }

    /// One probe of a row after a RESV, as long as none has come.
    pub(super) fn probe_fresh(&mut self, now: i64, number: u32) {
        let (Some(probes), instance) = (self.spec.probes, &self.instances[number as usize]) else {
            return;
        };
        let is_over = now - instance.resv_ns > probes.span_ns;
        let is_waited_for = !instance.is_proven && instance.phantom.is_none();
        if instance.head == Head::Up && is_waited_for && !is_over {
            self.probe(now, instance.lsp);
            self.fresh_ns = self.fresh_ns.max(now) + FRESH_NS;
            let next_ns = self.fresh_ns.max(now + probes.gap_ns);
            self.timer(next_ns, Timer::Probe(number));
        }
    }

    /// Sends a probe with what is known of the LSP; nothing where it never had a label.
    fn probe(&mut self, now: i64, lsp: u16) {
        let (Some(probes), Some(route)) = (self.spec.probes, self.lsps[usize::from(lsp)].route)
        else {
            return;
        };
        let Some(peer) = self.links[INGRESS].peer() else {
            return;
        };
        let instance = &self.instances[route.instance as usize];
        let state = if instance.head != Head::Up {
            ProbeState::Torn
        } else if now - instance.resv_ns < probes.span_ns {
            ProbeState::Fresh
        } else {
            ProbeState::Up
        };
        let whose = Whose {
            lsp,
            id: instance.id,
        };
        let number = self.log.probe(now, whose, state as u8);
        self.counts.probes_tx += 1;
        let (mac, spec) = (self.links[INGRESS].mac, &self.spec);
        self.out.push(INGRESS, |bytes| {
            let start = bytes.len();
            bytes.extend_from_slice(&peer);
            bytes.extend_from_slice(&mac);
            write_probe(
                spec,
                lsp,
                route.label,
                number,
                probes.frame_bytes,
                start,
                bytes,
            );
        });
    }

    /// A frame that may be a probe of this trial.
    pub(super) fn take_probe(&mut self, now: i64, end: usize, frame: &[u8]) {
        let Some((top, said)) = read_probe(frame) else {
            return;
        };
        if end != EGRESS || said[..2] != [self.spec.campaign, self.spec.trial] {
            return;
        }
        let number = u64::from(said[2]) << 32 | u64::from(said[3]);
        let Some(record) = self.log.probe_mut(number) else {
            self.counts.probes_late += 1;
            return;
        };
        if record.rx_ns != 0 {
            self.counts.probes_duplicate += 1;
            return;
        }
        record.rx_ns = now;
        record.sequence = top;
        let (id, sent_ns) = (record.frame_bytes, record.tx_ns);
        self.counts.probes_rx += 1;
        if let Some(number) = self.ids.instance(id) {
            let instance = &mut self.instances[number as usize];
            instance.is_proven |= sent_ns >= instance.resv_ns;
        }
    }
}

/// Everything behind the addresses.
fn write_probe(
    spec: &Spec,
    lsp: u16,
    label: u32,
    number: u64,
    frame_bytes: usize,
    start: usize,
    out: &mut Vec<u8>,
) {
    let mut stack_bytes = 0;
    if label == IMPLICIT_NULL {
        out.extend_from_slice(&UNLABELLED);
    } else {
        let class = u32::from(lsp % CLASSES);
        let entry = label << 12 | class << 9 | BOTTOM | u32::from(TTL);
        out.extend_from_slice(&LABELLED);
        out.extend_from_slice(&entry.to_be_bytes());
        stack_bytes = 4;
    }
    let ip_bytes = frame_bytes - FCS_BYTES as usize - 14 - stack_bytes;
    let ip = out.len();
    out.extend_from_slice(&[0x45, 0]);
    out.extend_from_slice(&(ip_bytes as u16).to_be_bytes());
    out.extend_from_slice(&[0, 0, 0, 0, TTL, 17, 0, 0]);
    out.extend_from_slice(&spec.ingress.router_id.octets());
    out.extend_from_slice(&spec.egress.router_id.octets());
    let sum = checksum(&out[ip..]);
    out[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
    for word in [UDP_PORT, UDP_PORT, (ip_bytes - IP_BYTES) as u16, 0] {
        out.extend_from_slice(&word.to_be_bytes());
    }
    for word in [MAGIC, spec.campaign, spec.trial] {
        out.extend_from_slice(&word.to_be_bytes());
    }
    out.extend_from_slice(&number.to_be_bytes());
    out.resize(start + frame_bytes - FCS_BYTES as usize, 0);
}

/// The uppermost label stack entry of a probe (0: none), and its campaign, trial and number in two halves.
fn read_probe(frame: &[u8]) -> Option<(u32, [u32; 4])> {
    let word = |at: usize| Some(u32::from_be_bytes(frame.get(at..at + 4)?.try_into().ok()?));
    let (mut top, mut at) = (0, 14);
    if frame.get(12..14)? == LABELLED {
        top = word(at)?;
        let entries = (0..STACK_MAX).map(|depth| word(at + depth * 4));
        let depth = entries.take_while(|entry| entry.is_some_and(|entry| entry & BOTTOM == 0));
        at += (depth.count() + 1) * 4;
    }
    let header_bytes = usize::from(frame.get(at)? & 0x0f) * 4;
    let said = at + header_bytes + UDP_BYTES;
    if word(said)? != MAGIC {
        return None;
    }
    Some((
        top,
        [
            word(said + 4)?,
            word(said + 8)?,
            word(said + 12)?,
            word(said + 16)?,
        ],
    ))
}

/// The Internet checksum (RFC 1071).
fn checksum(header: &[u8]) -> u16 {
    let words = header
        .chunks_exact(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

//! What a stream's next frame says, and what was sent so far.

use std::ops::Range;

use super::{Mark, SenderSpec, StreamSpec};
use crate::arrivals::{Sizes, Timeline};
use crate::frame::{SEQUENCE_OFFSET, Signature, TX_TIME_OFFSET};

/// A stream at work.
pub struct Stream {
    /// Header and signature, formatted; only sequence and time change.
    pub head: Vec<u8>,
    /// Where the signature begins.
    pub signature_at: usize,
    /// Index of its port.
    pub port: usize,
    /// Number of the next frame.
    pub sequence: u32,
    /// None if it sends flat out.
    pub timeline: Option<Timeline>,
    /// Lengths of its frames.
    pub sizes: Sizes,
    /// Frames sent.
    pub frames: u64,
    /// Bytes sent.
    pub octets: u64,
    /// Frames that were due.
    pub intended: u64,
    /// What was sent before each mark.
    pub marks_sent: Vec<Mark>,
    /// Frames that were due before each mark.
    pub marks_due: Vec<u64>,
}

impl Stream {
    /// A stream of `sender` that has sent nothing yet.
    pub fn new(spec: &StreamSpec, sender: &SenderSpec) -> Self {
        let seed = sender.seed.wrapping_add(u64::from(spec.stream));
        let signature = Signature {
            stream: spec.stream,
            sequence: 0,
            campaign: sender.campaign,
            trial: sender.trial,
            tx_ns: 0,
        };
        let mut head = spec.header.clone();
        head.extend_from_slice(&signature.to_bytes());
        Self {
            head,
            signature_at: spec.header.len(),
            port: spec.port,
            sequence: 0,
            timeline: Timeline::new(spec.arrivals, spec.rate_fps, seed),
            sizes: Sizes::new(&spec.frame_sizes, seed),
            frames: 0,
            octets: 0,
            intended: 0,
            marks_sent: Vec::with_capacity(sender.marks.len()),
            marks_due: Vec::with_capacity(sender.marks.len()),
        }
    }

    /// Writes the number of the next frame.
    #[inline]
    pub fn write_sequence(&mut self) {
        let at = self.signature_at + SEQUENCE_OFFSET;
        self.head[at..at + 4].copy_from_slice(&self.sequence.to_be_bytes());
    }

    /// Writes the time; which bytes of the head change from frame to frame.
    #[inline]
    pub fn write_time(&mut self, tx_ns: i64) -> Range<usize> {
        let at = self.time_at();
        self.head[at..at + 8].copy_from_slice(&tx_ns.to_be_bytes());
        self.signature_at + SEQUENCE_OFFSET..at + 8
    }

    /// Where the time is in the head.
    #[inline]
    pub fn time_at(&self) -> usize {
        self.signature_at + TX_TIME_OFFSET
    }

    /// Counts a frame that the kernel took; what has no schedule was intended when it was sent.
    #[inline]
    pub fn count(&mut self, frame_bytes: u32) {
        self.frames += 1;
        self.octets += u64::from(frame_bytes);
        if self.timeline.is_none() {
            self.intended += 1;
        }
    }
}

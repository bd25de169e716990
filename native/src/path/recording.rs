//! What is written down of the frames on links.

use super::frames::{Arrived, Reading};
use crate::records::Records;

/// `rx_ns` of a frame that was dropped.
pub const DROPPED: i64 = 0;
/// `rx_ns` of a frame that was in the path when recording ended.
pub const IN_FLIGHT: i64 = -1;
/// `flags` of a packet that left, or may still leave.
pub const PASSED: u8 = 0;
/// `flags` of a packet for which the buffer had no room.
pub const NO_ROOM: u8 = 1;
/// `flags` of a packet that was lost at random.
pub const LOST: u8 = 2;

/// Recording under way.
pub struct Recording {
    records: Records,
    reading: Reading,
    next: [u32; 2],
    trial: Option<(u32, u32)>,
    overflow: u64,
    foreign: u64,
}

/// A recording that has ended.
pub struct Recorded {
    /// One record a frame, in the order of arrival.
    pub records: Records,
    /// Frames for which there was no room.
    pub overflow: u64,
    /// Frames of ours from another campaign or trial.
    pub foreign: u64,
    /// CLOCK_REALTIME of the end [ns].
    pub end_ns: i64,
}

impl Recording {
    /// Begins to fill `records`.
    pub fn new(records: Records, reading: Reading) -> Self {
        Self {
            records,
            reading,
            next: [0; 2],
            trial: None,
            overflow: 0,
            foreign: 0,
        }
    }

    /// Whose signed frames are written down from now on; until then, nobody's.
    pub fn select(&mut self, trial: (u32, u32)) {
        self.trial = Some(trial);
    }

    /// Writes down a frame and what became of it; where that is, for one that has yet to leave.
    #[inline]
    pub fn note(&mut self, frame: &Arrived, rx_ns: i64, fate: u8) -> Option<usize> {
        let mut record = frame.record?;
        record.rx_ns = rx_ns;
        match self.reading {
            Reading::Packets => {
                let next = &mut self.next[usize::from(record.port)];
                record.sequence = *next;
                record.flags = fate;
                *next = next.wrapping_add(1);
            }
            Reading::Frames if frame.trial != self.trial => {
                self.foreign += 1;
                return None;
            }
            Reading::Frames => {}
        }
        if self.records.push(record) {
            Some(self.records.len() - 1)
        } else {
            self.overflow += 1;
            None
        }
    }

    /// Writes down when the frame at `row` left.
    #[inline]
    pub fn left(&mut self, row: usize, rx_ns: i64) {
        self.records.set_rx_ns(row, rx_ns);
    }

    /// Ends it.
    pub fn end(self, end_ns: i64) -> Recorded {
        Recorded {
            records: self.records,
            overflow: self.overflow,
            foreign: self.foreign,
            end_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::Record;
    use std::io::{Read, Seek};

    fn frame(port: u16, tx_ns: i64) -> Arrived {
        let record = Record {
            tx_ns,
            port,
            stream: 3,
            ..Record::default()
        };
        Arrived {
            time_ns: tx_ns,
            bytes: 1500,
            line: usize::from(port),
            to_ifindex: 0,
            handle: 0,
            queues: true,
            record: Some(record),
            trial: None,
        }
    }

    fn bytes_of(records: Records) -> Vec<u8> {
        let mut file = std::fs::File::from(records.into_fd().unwrap());
        file.rewind().unwrap();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn every_packet_has_a_row_until_the_memory_is_full() {
        let mut recording = Recording::new(Records::new(3).unwrap(), Reading::Packets);
        let first = recording.note(&frame(0, 10), IN_FLIGHT, PASSED);
        assert_eq!(recording.note(&frame(1, 20), DROPPED, LOST), Some(1));
        assert_eq!(recording.note(&frame(0, 30), IN_FLIGHT, PASSED), Some(2));
        assert_eq!(recording.note(&frame(0, 40), IN_FLIGHT, PASSED), None);
        recording.left(first.unwrap(), 15);
        let done = recording.end(50);
        assert_eq!((done.overflow, done.end_ns), (1, 50));

        let bytes = bytes_of(done.records);
        let field = |row: usize, at: usize| &bytes[row * 32 + at..];
        let rx = |row| i64::from_le_bytes(field(row, 8)[..8].try_into().unwrap());
        assert_eq!([rx(0), rx(1), rx(2)], [15, DROPPED, IN_FLIGHT]);
        // Numbers run in each direction of their own.
        assert_eq!(
            [field(0, 16)[0], field(1, 16)[0], field(2, 16)[0]],
            [0, 0, 1]
        );
        assert_eq!(field(1, 27)[0], LOST);
    }

    #[test]
    fn signed_frames_of_the_trial_alone_are_written_down() {
        let mut recording = Recording::new(Records::new(3).unwrap(), Reading::Frames);
        let signed = |trial| Arrived {
            trial: Some((7, trial)),
            ..frame(1000, 10)
        };
        let unsigned = Arrived {
            record: None,
            ..frame(1000, 10)
        };
        assert_eq!(recording.note(&signed(1), IN_FLIGHT, PASSED), None);
        recording.select((7, 2));
        assert_eq!(recording.note(&signed(1), IN_FLIGHT, PASSED), None);
        assert_eq!(recording.note(&signed(2), IN_FLIGHT, PASSED), Some(0));
        assert_eq!(recording.note(&unsigned, IN_FLIGHT, PASSED), None);
        let done = recording.end(50);
        assert_eq!((done.foreign, bytes_of(done.records).len()), (2, 32));
    }
}

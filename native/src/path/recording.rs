//! What is written down of the packets on a path.

use crate::frame::UNTAGGED;
use crate::records::{Record, Records};

/// `rx_ns` of a packet that was dropped.
pub const DROPPED: i64 = 0;
/// `rx_ns` of a packet that was in the path when recording ended.
pub const IN_FLIGHT: i64 = -1;
/// `flags` of a packet that left, or may still leave.
pub const PASSED: u8 = 0;
/// `flags` of a packet for which the buffer had no room.
pub const NO_ROOM: u8 = 1;
/// `flags` of a packet that was lost at random.
pub const LOST: u8 = 2;

/// A packet that came in.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// CLOCK_REALTIME of its arrival [ns].
    pub ingress_ns: i64,
    /// Its length without the Ethernet header.
    pub bytes: u32,
    /// The pair of ports it travels between, from 1.
    pub flow: u16,
    /// 0 from a to b, 1 from b to a.
    pub direction: u16,
}

/// Recording under way.
pub struct Recording {
    records: Records,
    next: [u32; 2],
    overflow: u64,
}

/// A recording that has ended.
pub struct Recorded {
    /// One record a packet, in the order of arrival.
    pub records: Records,
    /// Packets for which there was no room.
    pub overflow: u64,
    /// CLOCK_REALTIME of the end [ns].
    pub end_ns: i64,
}

impl Recording {
    /// Begins to fill `records`.
    pub fn new(records: Records) -> Self {
        Self {
            records,
            next: [0; 2],
            overflow: 0,
        }
    }

    /// Writes down a packet and what became of it; where that is, for one that has yet to leave.
    #[inline]
    pub fn note(&mut self, packet: &Packet, rx_ns: i64, flags: u8) -> Option<usize> {
        let next = &mut self.next[usize::from(packet.direction)];
        let record = Record {
            tx_ns: packet.ingress_ns,
            rx_ns,
            sequence: *next,
            stream: packet.flow,
            frame_bytes: u16::try_from(packet.bytes).unwrap_or(u16::MAX),
            port: packet.direction,
            pcp: UNTAGGED,
            flags,
            padding: 0,
        };
        *next = next.wrapping_add(1);
        if self.records.push(record) {
            Some(self.records.len() - 1)
        } else {
            self.overflow += 1;
            None
        }
    }

    /// Writes down when the packet at `row` left.
    #[inline]
    pub fn left(&mut self, row: usize, rx_ns: i64) {
        self.records.set_rx_ns(row, rx_ns);
    }

    /// Ends it.
    pub fn end(self, end_ns: i64) -> Recorded {
        Recorded {
            records: self.records,
            overflow: self.overflow,
            end_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek};

    fn packet(direction: u16, ingress_ns: i64) -> Packet {
        Packet {
            ingress_ns,
            bytes: 1500,
            flow: 3,
            direction,
        }
    }

    #[test]
    fn every_packet_has_a_row_until_the_memory_is_full() {
        let mut recording = Recording::new(Records::new(3).unwrap());
        let first = recording.note(&packet(0, 10), IN_FLIGHT, PASSED);
        assert_eq!(recording.note(&packet(1, 20), DROPPED, LOST), Some(1));
        assert_eq!(recording.note(&packet(0, 30), IN_FLIGHT, PASSED), Some(2));
        assert_eq!(recording.note(&packet(0, 40), IN_FLIGHT, PASSED), None);
        recording.left(first.unwrap(), 15);
        let done = recording.end(50);
        assert_eq!((done.overflow, done.end_ns), (1, 50));

        let mut file = std::fs::File::from(done.records.into_fd().unwrap());
        file.rewind().unwrap();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).unwrap();
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
}

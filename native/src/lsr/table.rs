//! What is done with a labelled frame: the label table of the data plane, frame by frame (RFC 3032).

use std::collections::HashMap;

use super::config::Hop;
use crate::arp::Mac;

/// Labels have 20 bits.
pub const MAX_LABEL: u32 = (1 << 20) - 1;
/// EtherType of labelled frames.
pub const MPLS: u16 = 0x8847;

const ETHERNET_BYTES: usize = 14;
const STACK_ENTRY_BYTES: usize = 4;
const IP_BYTES: usize = 20;
const BOTTOM: u32 = 0x100;

/// Where the frames of a label go. `out` None: without the label. `push`: one more label on top of `out`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub hop: Hop,
    pub out: Option<u32>,
    pub push: Option<u32>,
}

/// The same with hardware addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adjacency {
    /// Number of the port.
    pub port: usize,
    pub source: Mac,
    pub destination: Mac,
    pub out: Option<u32>,
    pub push: Option<u32>,
}

/// Why a frame is not forwarded; the order is that of the XDP program's counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    Malformed,
    OtherAddress,
    NoLabel,
    Ttl,
    Payload,
    TooLong,
}

/// Names of what the data plane counts: forwarded frames, then those that it drops, by reason, then those that carry no label.
pub const COUNTED: [&str; 8] = [
    "forwarded",
    "drop.malformed",
    "drop.other_address",
    "drop.no_label",
    "drop.ttl",
    "drop.payload",
    "drop.too_long",
    "drop.not_mpls",
];

/// Labels and where their frames go.
pub struct Table {
    pub entries: HashMap<u32, Adjacency>,
    longest: usize,
}

impl Table {
    /// A table without labels. `mtu`: that of the ports [bytes].
    pub fn new(mtu: usize) -> Self {
        Self {
            entries: HashMap::new(),
            longest: ETHERNET_BYTES + mtu,
        }
    }

    /// Changes a frame to what leaves; its port. `station`: address of the port that it came in at.
    pub fn forward(&self, frame: &mut Vec<u8>, station: Mac) -> Result<usize, Reason> {
        if frame.len() < ETHERNET_BYTES + STACK_ENTRY_BYTES {
            return Err(Reason::Malformed);
        }
        if frame[..6] != station {
            return Err(Reason::OtherAddress);
        }
        let word = read_word(frame, ETHERNET_BYTES);
        let found = self.entries.get(&(word >> 12)).ok_or(Reason::NoLabel)?;
        let (kept, ttl) = (word & 0xf00, (word & 0xff) as u8);
        let ttl = ttl
            .checked_sub(1)
            .filter(|ttl| *ttl > 0)
            .ok_or(Reason::Ttl)?;
        match found.out {
            Some(label) => {
                let kept = kept | u32::from(ttl);
                write_word(frame, ETHERNET_BYTES, label << 12 | kept);
                if let Some(label) = found.push {
                    self.push(frame, label << 12 | (kept & !BOTTOM))?;
                }
            }
            None => pop(frame, kept & BOTTOM != 0, ttl)?,
        }
        frame[..6].copy_from_slice(&found.destination);
        frame[6..12].copy_from_slice(&found.source);
        Ok(found.port)
    }

    /// Puts one more label on top.
    fn push(&self, frame: &mut Vec<u8>, word: u32) -> Result<(), Reason> {
        if frame.len() + STACK_ENTRY_BYTES > self.longest {
            return Err(Reason::TooLong);
        }
        frame.splice(ETHERNET_BYTES..ETHERNET_BYTES, word.to_be_bytes());
        Ok(())
    }
}

/// Takes the label off: TTL goes to what is below it (RFC 3032, 2.4), EtherType comes from it.
fn pop(frame: &mut Vec<u8>, is_bottom: bool, ttl: u8) -> Result<(), Reason> {
    let at = ETHERNET_BYTES + STACK_ENTRY_BYTES;
    let ethertype = if is_bottom {
        match frame.get(at).map(|first| first >> 4) {
            Some(4) if frame.len() >= at + IP_BYTES => {
                set_ttl(frame, at, ttl);
                0x0800
            }
            Some(6) if frame.len() > at + 7 => {
                frame[at + 7] = ttl;
                0x86dd_u16
            }
            _ => return Err(Reason::Payload),
        }
    } else {
        *frame.get_mut(at + 3).ok_or(Reason::Malformed)? = ttl;
        MPLS
    };
    frame.drain(ETHERNET_BYTES..at);
    frame[12..14].copy_from_slice(&ethertype.to_be_bytes());
    Ok(())
}

/// TTL of an IPv4 header, and its checksum by what changes (RFC 1624, equation 3).
fn set_ttl(frame: &mut [u8], at: usize, ttl: u8) {
    let word = |frame: &[u8], at: usize| u16::from_be_bytes([frame[at], frame[at + 1]]);
    let before = word(frame, at + 8);
    frame[at + 8] = ttl;
    let after = word(frame, at + 8);
    let sum = u32::from(!word(frame, at + 10)) + u32::from(!before) + u32::from(after);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    frame[at + 10..at + 12].copy_from_slice(&sum.to_be_bytes());
}

fn read_word(frame: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]])
}

fn write_word(frame: &mut [u8], at: usize, word: u32) {
    frame[at..at + 4].copy_from_slice(&word.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use rackproof_rsvp::ip::Ipv4Header;

    use super::*;

    const HERE: Mac = [2, 0, 0, 0, 0, 1];
    const NEXT: Mac = [2, 0, 0, 0, 0, 2];

    fn table(out: Option<u32>) -> Table {
        pushing(out, None)
    }

    fn pushing(out: Option<u32>, push: Option<u32>) -> Table {
        let adjacency = Adjacency {
            port: 1,
            source: [2, 0, 0, 0, 0, 9],
            destination: NEXT,
            out,
            push,
        };
        let mut table = Table::new(13);
        table.entries.insert(17, adjacency);
        table
    }

    fn frame(stack: &[u32], payload: &[u8]) -> Vec<u8> {
        let mut frame = [&HERE[..], &NEXT, &MPLS.to_be_bytes()].concat();
        stack
            .iter()
            .for_each(|word| frame.extend(word.to_be_bytes()));
        frame.extend_from_slice(payload);
        frame
    }

    fn packet(ttl: u8) -> Vec<u8> {
        let header = Ipv4Header {
            source: [10, 0, 0, 1].into(),
            destination: [10, 0, 0, 2].into(),
            ttl,
            tos: 0,
            identification: 7,
            router_alert: false,
        };
        let mut packet = Vec::new();
        header.encode(&[1, 2, 3, 4], &mut packet).unwrap();
        packet
    }

    #[test]
    fn swap_keeps_class_and_bottom_and_counts_ttl_down() {
        let mut swapped = frame(&[17 << 12 | 5 << 9 | 0x100 | 64], &[1, 2, 3]);
        assert_eq!(table(Some(99)).forward(&mut swapped, HERE), Ok(1));
        assert_eq!(swapped[..6], NEXT);
        assert_eq!(read_word(&swapped, 14), 99 << 12 | 5 << 9 | 0x100 | 63);
        assert_eq!(swapped[18..], [1, 2, 3]);
    }

    #[test]
    fn push_goes_on_top_with_class_and_ttl_as_far_as_the_mtu_lets_it() {
        let table = pushing(Some(99), Some(300));
        for (bottom, below) in [(0x100, vec![]), (0, vec![88 << 12 | 0x109])] {
            let labelled = |above: &[u32]| frame(&[above, &below[..]].concat(), &[7]);
            let mut pushed = labelled(&[17 << 12 | 5 << 9 | bottom | 64]);
            assert_eq!(table.forward(&mut pushed, HERE), Ok(1));
            let kept = 5 << 9 | 63;
            let expected = labelled(&[300 << 12 | kept, 99 << 12 | bottom | kept]);
            assert_eq!(pushed[..6], NEXT);
            assert_eq!(pushed[12..], expected[12..]);
        }
        let long = |bytes| {
            let mut frame = frame(&[17 << 12 | 0x140], &vec![0; bytes]);
            table.forward(&mut frame, HERE)
        };
        assert_eq!((long(5), long(6)), (Ok(1), Err(Reason::TooLong)));
    }

    #[test]
    fn pop_gives_ttl_and_ethertype_to_what_is_below() {
        let mut popped = frame(&[17 << 12 | 0x100 | 64], &packet(200));
        table(None).forward(&mut popped, HERE).unwrap();
        assert_eq!(popped[12..14], [8, 0]);
        let (header, payload) = Ipv4Header::decode(&popped[14..]).unwrap();
        assert_eq!((header.ttl, payload), (63, &[1, 2, 3, 4][..]));
        let mut stacked = frame(&[17 << 12 | 9, 88 << 12 | 0x100 | 200], &[1, 2, 3]);
        table(None).forward(&mut stacked, HERE).unwrap();
        assert_eq!(stacked[12..14], MPLS.to_be_bytes());
        assert_eq!(
            stacked[14..],
            [
                &(88_u32 << 12 | 0x100 | 8).to_be_bytes()[..],
                &[1, 2, 3][..]
            ]
            .concat()
        );
    }

    #[test]
    fn what_cannot_go_on_is_dropped() {
        let drop = |mut frame: Vec<u8>| table(None).forward(&mut frame, HERE).unwrap_err();
        assert_eq!(drop(frame(&[17 << 12 | 0x100 | 1], &[])), Reason::Ttl);
        assert_eq!(drop(frame(&[17 << 12 | 0x100], &[])), Reason::Ttl);
        assert_eq!(drop(frame(&[18 << 12 | 0x140], &[])), Reason::NoLabel);
        assert_eq!(drop(frame(&[17 << 12 | 0x140], &[0])), Reason::Payload);
        assert_eq!(drop(frame(&[17 << 12 | 64], &[1])), Reason::Malformed);
        assert_eq!(drop(frame(&[], &[1])), Reason::Malformed);
        let mut other = frame(&[17 << 12 | 64], &[]);
        assert_eq!(
            table(None).forward(&mut other, NEXT),
            Err(Reason::OtherAddress)
        );
    }
}

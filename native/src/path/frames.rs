//! What the engine handles: ports, frames that came in, frames that will leave.

use super::{Pair, PathSpec};
use crate::error::SetupError;
use crate::frame::{self, UNTAGGED};
use crate::netns;
use crate::pool::Pool;
use crate::records::Record;
use crate::ring::FrameView;
use crate::socket::interface_index;

const ETHERTYPE: std::ops::Range<usize> = 12..14;
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
/// Bytes of a frame before its packet.
const ETHERNET_BYTES: u32 = 14;
/// An IP packet is at least this long.
const SHORTEST_PACKET_BYTES: u32 = 20;
/// A frame is at least this long, with its FCS; shorter ones are padded.
const SHORTEST_FRAME_BYTES: u32 = 64;
/// Preamble, start of frame and gap: what a wire carries beside a frame.
const WIRE_OVERHEAD_BYTES: u32 = 20;

/// What a link counts, and what is written down of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// IP packets. They are numbered in each direction; other frames pass by the queue.
    Packets,
    /// All of a frame and what a wire adds to it. Our frames are written down by their signature on
    /// their way from end a to end b.
    Frames,
}

impl Reading {
    /// The least that a link counts [bytes].
    pub fn shortest_bytes(self) -> u32 {
        match self {
            Self::Packets => SHORTEST_PACKET_BYTES,
            Self::Frames => SHORTEST_FRAME_BYTES + WIRE_OVERHEAD_BYTES,
        }
    }
}

/// Where frames of an interface go.
#[derive(Clone, Copy)]
pub struct Port {
    pub ifindex: i32,
    peer_ifindex: i32,
    /// The direction that they pass, of all.
    line: usize,
    /// 0 from a to b, 1 from b to a.
    direction: u16,
    /// The pair's.
    number: u16,
}

/// A frame that was read.
pub struct Arrived {
    /// CLOCK_REALTIME of its arrival [ns].
    pub time_ns: i64,
    /// What the link counts.
    pub bytes: u32,
    pub line: usize,
    pub to_ifindex: i32,
    pub handle: u32,
    /// Whether it waits for the link.
    pub queues: bool,
    /// What is to be written down of it.
    pub record: Option<Record>,
    /// Campaign and trial that it belongs to, where it says so.
    pub trial: Option<(u32, u32)>,
}

/// A frame that will leave.
pub struct Leaving {
    pub due_ns: i64,
    pub to_ifindex: i32,
    pub handle: u32,
    pub line: usize,
    pub queues: bool,
    pub row: Option<usize>,
}

impl Arrived {
    /// When it came [ns].
    pub fn time_ns(&self) -> i64 {
        self.time_ns
    }
}

impl Leaving {
    /// A frame that leaves at `due_ns`; `row` is where it is written down.
    pub fn new(frame: &Arrived, due_ns: i64, row: Option<usize>) -> Self {
        Self {
            due_ns,
            to_ifindex: frame.to_ifindex,
            handle: frame.handle,
            line: frame.line,
            queues: frame.queues,
            row,
        }
    }
}

/// The ports of all pairs.
pub fn ports_of(spec: &PathSpec) -> Result<Vec<Port>, SetupError> {
    netns::run_in(spec.netns_fd, || {
        let mut ports = Vec::new();
        for (index, Pair { a, b, number }) in spec.pairs.iter().enumerate() {
            let (a, b) = (interface_index(a)?, interface_index(b)?);
            // Either every pair has two directions of its own, or all share two.
            let first = 2 * index % spec.directions.len();
            for (direction, ifindex, peer_ifindex) in [(0, a, b), (1, b, a)] {
                ports.push(Port {
                    ifindex,
                    peer_ifindex,
                    line: first + usize::from(direction),
                    direction,
                    number: *number,
                });
            }
        }
        Ok(ports)
    })
}

/// Copies a frame that came in at `port`.
#[inline]
pub fn keep(view: &FrameView<'_>, port: &Port, reading: Reading, pool: &mut Pool) -> Arrived {
    let arrived = Arrived {
        time_ns: view.time_ns,
        bytes: 0,
        line: port.line,
        to_ifindex: port.peer_ifindex,
        handle: pool.take(|out| frame::copy_with_tag(view.data, view.tag, out)),
        queues: true,
        record: None,
        trial: None,
    };
    match reading {
        Reading::Packets => as_packet(arrived, view, port),
        Reading::Frames => as_frame(arrived, view, port),
    }
}

fn as_packet(arrived: Arrived, view: &FrameView<'_>, port: &Port) -> Arrived {
    let bytes = view.length.saturating_sub(ETHERNET_BYTES);
    let queues = view.tag.is_none() && carries_ip(view.data);
    Arrived {
        bytes,
        queues,
        record: queues.then(|| Record {
            tx_ns: view.time_ns,
            stream: port.number,
            frame_bytes: u16::try_from(bytes).unwrap_or(u16::MAX),
            port: port.direction,
            pcp: UNTAGGED,
            ..Record::default()
        }),
        ..arrived
    }
}

fn as_frame(arrived: Arrived, view: &FrameView<'_>, port: &Port) -> Arrived {
    let bytes = frame::wire_bytes(view.length, view.tag).max(SHORTEST_FRAME_BYTES);
    let forward = port.direction == 0;
    let parsed = forward.then(|| frame::parse(view.data, view.tag)).flatten();
    Arrived {
        bytes: bytes + WIRE_OVERHEAD_BYTES,
        record: parsed.map(|found| Record {
            tx_ns: view.time_ns,
            sequence: found.signature.sequence,
            stream: found.signature.stream,
            frame_bytes: u16::try_from(bytes).unwrap_or(u16::MAX),
            port: port.number,
            pcp: found.pcp,
            flags: found.flags,
            ..Record::default()
        }),
        trial: parsed.map(|found| (found.signature.campaign, found.signature.trial)),
        ..arrived
    }
}

fn carries_ip(data: &[u8]) -> bool {
    data.get(ETHERTYPE)
        .is_some_and(|kind| kind == IPV4 || kind == IPV6)
}

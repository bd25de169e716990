//! What the engine handles: ports, frames that came in, frames that will leave.

use super::recording::Packet;
use crate::error::SetupError;
use crate::frame;
use crate::pool::Pool;
use crate::ring::FrameView;
use crate::socket::interface_index;

const ETHERTYPE: std::ops::Range<usize> = 12..14;
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];
/// Bytes of a frame before its packet.
const ETHERNET_BYTES: u32 = 14;

/// Where frames of an interface go.
#[derive(Clone, Copy)]
pub struct Port {
    pub ifindex: i32,
    pub peer_ifindex: i32,
    pub flow: u16,
    pub direction: u16,
}

/// A frame that was read.
pub struct Arrived {
    pub packet: Packet,
    pub to_ifindex: i32,
    pub handle: u32,
    pub is_ip: bool,
}

/// A frame that will leave.
pub struct Leaving {
    pub due_ns: i64,
    pub to_ifindex: i32,
    pub handle: u32,
    pub direction: usize,
    pub is_ip: bool,
    pub row: Option<usize>,
}

impl Arrived {
    /// When it came [ns].
    pub fn time_ns(&self) -> i64 {
        self.packet.ingress_ns
    }

    /// 0 from a to b, 1 from b to a.
    pub fn direction(&self) -> usize {
        usize::from(self.packet.direction)
    }
}

impl Leaving {
    /// A frame that leaves at `due_ns`; `row` is where it is written down.
    pub fn new(frame: &Arrived, due_ns: i64, row: Option<usize>) -> Self {
        Self {
            due_ns,
            to_ifindex: frame.to_ifindex,
            handle: frame.handle,
            direction: frame.direction(),
            is_ip: frame.is_ip,
            row,
        }
    }
}

/// The ports of all pairs; in the namespace of these.
pub fn ports_of(pairs: &[(String, String)]) -> Result<Vec<Port>, SetupError> {
    let mut ports = Vec::new();
    for ((a, b), flow) in pairs.iter().zip(1_u16..) {
        let (a, b) = (interface_index(a)?, interface_index(b)?);
        for (direction, ifindex, peer_ifindex) in [(0, a, b), (1, b, a)] {
            ports.push(Port {
                ifindex,
                peer_ifindex,
                flow,
                direction,
            });
        }
    }
    Ok(ports)
}

/// Copies a frame that came in at `port`.
pub fn keep(view: &FrameView<'_>, port: &Port, pool: &mut Pool) -> Arrived {
    Arrived {
        packet: Packet {
            ingress_ns: view.time_ns,
            bytes: view.length.saturating_sub(ETHERNET_BYTES),
            flow: port.flow,
            direction: port.direction,
        },
        to_ifindex: port.peer_ifindex,
        handle: pool.take(|out| frame::copy_with_tag(view.data, view.tag, out)),
        is_ip: view.tag.is_none() && carries_ip(view.data),
    }
}

fn carries_ip(data: &[u8]) -> bool {
    data.get(ETHERTYPE)
        .is_some_and(|kind| kind == IPV4 || kind == IPV6)
}

//! The label table in user space: frames from one ring for all ports, sent on when their time has come.

use std::collections::VecDeque;
use std::os::fd::RawFd;

use super::plane::Port;
use super::spec::Options;
use super::table::{COUNTED, Reason, Table};
use crate::batch::is_full;
use crate::clock::realtime_ns;
use crate::egress::{Egress, LEAVING_FRAMES};
use crate::error::SetupError;
use crate::forwarding::{FRAMING_BYTES, RING_SLOTS};
use crate::ring::RingV2;
use crate::socket::{PacketSocket, PortSpec};

/// Frames that are read before others are sent.
const READ_FRAMES: usize = 64;
/// Frames that wait because each takes so long, before others are dropped; memory that grows has no such end.
const WAITING_MAX: usize = 4096;
/// How long frames that the kernel has no room for are tried again [ns].
const PATIENCE_NS: i64 = 100_000_000;

/// How long control has the processor for itself when it begins with a message, where it takes it from forwarding: a time slice [ns].
const SLICE_NS: i64 = 1_000_000;

struct Leaving {
    due_ns: i64,
    ifindex: i32,
    frame: Box<[u8]>,
}

/// Sockets, table and waiting frames.
pub struct Native {
    pub table: Table,
    pub counted: [u64; COUNTED.len()],
    pub ring_drops: u64,
    pub errors: u64,
    /// Frames that found too many waiting.
    pub overflows: u64,
    ring: RingV2,
    ingress: PacketSocket,
    egress: Egress,
    ports: Vec<Port>,
    steal_ns: i64,
    frame_ns: i64,
    free_ns: i64,
    leaving: VecDeque<Leaving>,
    frame: Vec<u8>,
    /// Most frames that ever waited.
    pub high_water: usize,
    blocked_ns: Option<i64>,
}

impl Native {
    pub fn open(spec: &PortSpec, ports: &[Port], options: &Options) -> Result<Self, SetupError> {
        let egress = Egress::open(spec)?;
        let ingress = PacketSocket::open(spec)?;
        ingress.tune_for_receiving()?;
        super::filter::labelled(&ingress)?;
        let frame_bytes = (ingress.mtu() + FRAMING_BYTES) as usize;
        let ring = RingV2::new(&ingress, frame_bytes, RING_SLOTS)?;
        ingress.bind_for_receiving_all()?;
        let frame_ns = if options.memory_fps > 0.0 {
            (1e9 / options.memory_fps) as i64
        } else {
            0
        };
        Ok(Self {
            table: Table::new(ingress.mtu() as usize),
            counted: [0; COUNTED.len()],
            ring_drops: 0,
            errors: 0,
            overflows: 0,
            ring,
            ingress,
            egress,
            ports: ports.to_vec(),
            steal_ns: (options.steal_us * 1e3) as i64,
            frame_ns,
            free_ns: i64::MIN,
            leaving: VecDeque::new(),
            frame: Vec::with_capacity(frame_bytes),
            high_water: 0,
            blocked_ns: None,
        })
    }

    /// Takes frames in and sends those on whose time has come; whether there was something to do. `works_since`: when control began with what
    /// it was at work on at a time.
    pub fn turn(&mut self, works_since: impl Fn(i64) -> Option<i64>) -> bool {
        let mut taken = 0;
        while taken < READ_FRAMES && self.take(&works_since) {
            taken += 1;
        }
        self.send() || taken > 0
    }

    /// When the next frame leaves.
    pub fn next_ns(&self) -> Option<i64> {
        self.leaving.front().map(|frame| frame.due_ns)
    }

    pub fn raw_fd(&self) -> RawFd {
        self.ingress.raw_fd()
    }

    /// Counts what the ring had no room for.
    pub fn count_ring_drops(&mut self) {
        // The kernel's count begins anew with every reading.
        self.ring_drops += self.ingress.take_ring_drops(false);
    }

    pub fn into_sockets(self) -> [PacketSocket; 2] {
        [self.ingress, self.egress.into_socket()]
    }

    fn take(&mut self, works_since: &impl Fn(i64) -> Option<i64>) -> bool {
        let Self {
            ring,
            table,
            counted,
            ports,
            frame,
            ..
        } = self;
        let mut passed = None;
        let has_taken = ring.take(|view| {
            let Some(port) = ports.iter().find(|port| port.ifindex == view.ifindex) else {
                return;
            };
            frame.clear();
            frame.extend_from_slice(view.data);
            let forwarded = if frame.len() == view.length as usize {
                table.forward(frame, port.mac)
            } else {
                // The ring has no room for all of it.
                Err(Reason::TooLong)
            };
            match forwarded {
                Ok(to) => passed = Some((ports[to].ifindex, view.time_ns)),
                Err(reason) => counted[1 + reason as usize] += 1,
            }
        });
        if let Some((ifindex, at_ns)) = passed {
            let working = Some(at_ns).filter(|_| self.steal_ns > 0);
            match working.and_then(works_since) {
                Some(since_ns) => {
                    let from_ns = at_ns.max(since_ns + SLICE_NS);
                    self.pass(ifindex, from_ns, self.steal_ns + self.frame_ns);
                }
                None => self.pass(ifindex, at_ns, self.frame_ns),
            }
        }
        has_taken
    }

    /// `from_ns`: when there is a processor for it.
    fn pass(&mut self, ifindex: i32, from_ns: i64, takes_ns: i64) {
        let has_end = self.frame_ns == 0;
        if has_end && self.leaving.len() >= WAITING_MAX {
            self.overflows += 1;
            return;
        }
        self.counted[0] += 1;
        self.free_ns = from_ns.max(self.free_ns) + takes_ns;
        self.leaving.push_back(Leaving {
            due_ns: self.free_ns,
            ifindex,
            frame: self.frame.as_slice().into(),
        });
        self.high_water = self.high_water.max(self.leaving.len());
    }

    fn send(&mut self) -> bool {
        let mut has_sent = false;
        loop {
            let now_ns = realtime_ns();
            let due = self
                .leaving
                .iter()
                .take_while(|frame| frame.due_ns <= now_ns);
            let frames = due
                .take(LEAVING_FRAMES)
                .map(|leaving| (leaving.ifindex, &*leaving.frame));
            let count = frames.clone().count();
            if count == 0 {
                return has_sent;
            }
            let gone = match self.egress.send(frames) {
                Ok((_, gone)) => gone,
                Err(error) if is_full(&error) && self.is_patient(now_ns) => return true,
                Err(_) => {
                    self.errors += 1;
                    1
                }
            };
            self.blocked_ns = None;
            self.leaving.drain(..gone);
            has_sent = true;
        }
    }

    #[cold]
    fn is_patient(&mut self, now_ns: i64) -> bool {
        now_ns - *self.blocked_ns.get_or_insert(now_ns) < PATIENCE_NS
    }
}

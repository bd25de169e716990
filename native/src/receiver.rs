//! How received frames become records: one sleeping thread, big blocks, kernel timestamps.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::error::SetupError;
use crate::frame;
use crate::records::{Record, Records};
use crate::ring::{FrameView, RingV3};
use crate::socket::{PacketSocket, PortSpec, Together, open_all};
use crate::wake::WakeUp;
use crate::worker::{Placement, Worker, lock};

const BLOCK_BYTES: usize = 1 << 20;
/// Memory of all rings together [bytes]: 0.3 s of 1 Mpps.
const RINGS_BYTES: usize = 64 << 20;
const RETIRE_MS: u32 = 10;
/// Enough for the deepest header and the signature; longer frames are not copied whole.
const KEPT_BYTES: u32 = 128;
/// How long stop() waits for the kernel to hand over the last blocks.
const DRAIN_LIMIT: Duration = Duration::from_secs(5);
/// Longest sleep. Blocks and the request to stop end it earlier.
const POLL_MS: libc::c_int = 1000;
/// A frame that passed the filter before it refused everything is in the ring by then.
const IN_FLIGHT: Duration = Duration::from_millis(1);

/// What a receiver is made of.
#[derive(Clone, Debug)]
pub struct ReceiverSpec {
    /// Where frames come in.
    pub ports: Vec<PortSpec>,
    /// Only frames of this campaign ...
    pub campaign: u32,
    /// ... and this trial are recorded.
    pub trial: u32,
    /// Most records.
    pub capacity: usize,
    /// Where its thread runs.
    pub placement: Placement,
}

/// What one port saw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortCounts {
    /// Frames recorded.
    pub records: u64,
    /// Frames of ours from another campaign or trial.
    pub foreign: u64,
    /// Frames that aren't ours.
    pub other: u64,
    /// Frames that the ring had no room for.
    pub ring_drops: u64,
    /// Frames of this trial beyond the capacity, not recorded.
    pub overflow: u64,
}

struct ReceivingPort {
    ring: RingV3,
    socket: PacketSocket,
}

struct Done {
    counts: Vec<PortCounts>,
    records: Mutex<Option<Records>>,
}

/// Records frames from start to stop.
pub struct Receiver {
    spec: ReceiverSpec,
    ready: Mutex<Option<(Vec<ReceivingPort>, Records)>>,
    live: Arc<AtomicU64>,
    wake: Arc<WakeUp>,
    worker: Worker<Arc<Done>>,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.worker.request_stop();
        self.wake.signal();
    }
}

impl Receiver {
    /// Opens sockets and rings; nothing is received yet.
    pub fn new(spec: ReceiverSpec) -> Result<Self, SetupError> {
        let blocks = (RINGS_BYTES / BLOCK_BYTES / spec.ports.len().max(1)).clamp(4, 32);
        let ports = open_all(&spec.ports, |socket| {
            socket.tune_for_receiving()?;
            socket.truncate_to(KEPT_BYTES)?;
            let ring = RingV3::new(&socket, BLOCK_BYTES, blocks, RETIRE_MS)?;
            Ok(ReceivingPort { ring, socket })
        })?;
        let records = Records::new(spec.capacity)?;
        Ok(Self {
            spec,
            ready: Mutex::new(Some((ports, records))),
            live: Arc::new(AtomicU64::new(0)),
            wake: Arc::new(WakeUp::new()?),
            worker: Worker::default(),
        })
    }

    /// Arms every ring, then starts the thread; None if it was started before.
    pub fn start(&self) -> Option<Result<(), SetupError>> {
        let (ports, records) = lock(&self.ready).take()?;
        for port in &ports {
            if let Err(error) = port.socket.bind_for_receiving() {
                return Some(Err(error));
            }
        }
        let mut recording = Recording {
            campaign: self.spec.campaign,
            trial: self.spec.trial,
            counts: vec![PortCounts::default(); ports.len()],
            records,
            live: Arc::clone(&self.live),
            wake: Arc::clone(&self.wake),
        };
        let started = self
            .worker
            .start("rp-receiver", self.spec.placement, move |stop| {
                let mut ports = Together(ports);
                recording.run(&mut ports.0, stop);
                let done = Done {
                    counts: recording.counts,
                    records: Mutex::new(Some(recording.records)),
                };
                (Arc::new(done), ports)
            });
        Some(started.map_err(|e| SetupError::from_io(e, "start receiver thread", "")))
    }

    /// Refuses further frames, reads those that are in the rings, ends the thread.
    pub fn stop(&self) -> bool {
        self.worker.request_stop();
        self.wake.signal();
        self.worker.wait(DRAIN_LIMIT + Duration::from_secs(15))
    }

    /// Records so far; while running, those of the blocks handed over.
    pub fn received(&self) -> u64 {
        self.live.load(Ordering::Relaxed)
    }

    /// What each port saw; None before the end.
    pub fn counts(&self) -> Option<Vec<PortCounts>> {
        self.worker.outcome().map(|done| done.counts.clone())
    }

    /// The records' memory; None before the end or if taken already.
    pub fn take_records(&self) -> Option<std::io::Result<OwnedFd>> {
        let done = self.worker.outcome()?;
        let records = lock(&done.records).take()?;
        Some(records.into_fd())
    }
}

struct Recording {
    campaign: u32,
    trial: u32,
    counts: Vec<PortCounts>,
    records: Records,
    live: Arc<AtomicU64>,
    wake: Arc<WakeUp>,
}

impl Recording {
    fn run(&mut self, ports: &mut [ReceivingPort], stop: &AtomicBool) {
        while !stop.load(Ordering::Relaxed) {
            if !self.read_all(ports) {
                wait_for_any(ports, Some(&self.wake), POLL_MS);
            }
        }
        for port in ports.iter() {
            // Refusing everything makes "empty" final. If it fails, the wait is merely longer.
            let _ = port.socket.truncate_to(0);
        }
        std::thread::sleep(IN_FLIGHT);
        let deadline = Instant::now() + DRAIN_LIMIT;
        loop {
            // Looked at before reading: a thread that stood still reads what has come meanwhile.
            let over = Instant::now() >= deadline;
            let read = self.read_all(ports);
            if over || !read && ports.iter().all(|p| p.ring.frames_in_open_block() == 0) {
                break;
            }
            if !read {
                wait_for_any(ports, None, RETIRE_MS as libc::c_int);
            }
        }
        for (port, counts) in ports.iter().zip(&mut self.counts) {
            counts.ring_drops += port.socket.take_ring_drops(true);
        }
    }

    fn read_all(&mut self, ports: &mut [ReceivingPort]) -> bool {
        let mut any = false;
        for (index, port) in ports.iter_mut().enumerate() {
            while port.ring.take_block(|view| self.take(index, view)) {
                any = true;
                self.live
                    .store(self.records.len() as u64, Ordering::Relaxed);
            }
        }
        any
    }

    fn take(&mut self, port: usize, view: FrameView<'_>) {
        let counts = &mut self.counts[port];
        let Some(parsed) = frame::parse(view.data, view.tag) else {
            counts.other += 1;
            return;
        };
        let signature = parsed.signature;
        if signature.campaign != self.campaign || signature.trial != self.trial {
            counts.foreign += 1;
            return;
        }
        let frame_bytes = frame::wire_bytes(view.length, view.tag);
        let record = Record {
            tx_ns: signature.tx_ns,
            rx_ns: view.time_ns,
            sequence: signature.sequence,
            stream: signature.stream,
            frame_bytes: u16::try_from(frame_bytes).unwrap_or(u16::MAX),
            port: port as u16,
            pcp: parsed.pcp,
            flags: parsed.flags,
            padding: 0,
        };
        if self.records.push(record) {
            counts.records += 1;
        } else {
            counts.overflow += 1;
        }
    }
}

fn wait_for_any(ports: &[ReceivingPort], wake: Option<&WakeUp>, timeout_ms: libc::c_int) {
    let descriptors = ports.iter().map(|port| port.socket.raw_fd());
    let mut waiting: Vec<libc::pollfd> = descriptors
        .chain(wake.map(WakeUp::raw_fd))
        .map(|fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    let count = waiting.len() as libc::nfds_t;
    // SAFETY: the array is live and its true length is given.
    unsafe { libc::poll(waiting.as_mut_ptr(), count, timeout_ms) };
}

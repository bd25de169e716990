//! The reference switch: exact scheduling in virtual time between real ports.

pub mod config;
pub mod defects;
mod device;
pub mod discipline;
pub mod queue;
pub mod scheduler;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::error::SetupError;
use crate::socket::{PacketSocket, PortSpec, Together};
use crate::worker::{Placement, Worker, lock};

use config::Config;

/// How long the thread may take to end, where others take its processor as well.
const END: Duration = Duration::from_secs(20);

/// A switch and where it stands.
#[derive(Clone, Debug)]
pub struct SwitchSpec {
    /// Open descriptor of its network namespace; None for the caller's.
    pub netns_fd: Option<i32>,
    /// Interfaces that frames come in at; the first is ingress port 0.
    pub ingress: Vec<String>,
    /// The interface behind the link.
    pub egress: String,
    /// Queues, link and discipline.
    pub config: Config,
    /// Where its thread runs.
    pub placement: Placement,
}

/// What a switch did. Lists are per queue.
#[derive(Clone, Debug, Default)]
pub struct SwitchReport {
    /// Frames that arrived for the queue.
    pub received: Vec<u64>,
    /// Frames delivered.
    pub sent: Vec<u64>,
    /// Frames dropped: queue full, or unfairly.
    pub dropped: Vec<u64>,
    /// Frames on interfaces that are no ingress port.
    pub other: u64,
    /// Frames that the egress interface refused.
    pub errors: u64,
    /// Frames that the receive ring had no room for.
    pub ring_drops: u64,
    /// Actual delivery after virtual departure: median [ns].
    pub lateness_ns_p50: i64,
    /// The same, 99th percentile [ns].
    pub lateness_ns_p99: i64,
    /// The same, maximum [ns].
    pub lateness_ns_max: i64,
    /// How far CLOCK_REALTIME moved against CLOCK_MONOTONIC meanwhile [ns].
    pub clock_step_ns: i64,
    /// How long its thread was kept from running, in pauses of more than 0.2 ms [ns].
    pub stalled_ns: i64,
    /// Start (CLOCK_REALTIME) and length of those pauses, the first 10000 [ns].
    pub stalls: Vec<(i64, i64)>,
}

/// Forwards from its ingress ports to its egress port.
pub struct Switch {
    spec: SwitchSpec,
    ready: Mutex<Option<device::Device>>,
    worker: Worker<SwitchReport>,
    live: Arc<Mutex<SwitchReport>>,
}

impl Switch {
    /// Opens sockets and ring; nothing is received yet. The configuration must have no problem.
    pub fn new(spec: SwitchSpec) -> Result<Self, SetupError> {
        let device = device::Device::open(&spec)?;
        let queues = spec.config.queue_frames.len();
        let nothing = SwitchReport {
            received: vec![0; queues],
            sent: vec![0; queues],
            dropped: vec![0; queues],
            ..SwitchReport::default()
        };
        Ok(Self {
            live: Arc::new(Mutex::new(nothing)),
            spec,
            ready: Mutex::new(Some(device)),
            worker: Worker::default(),
        })
    }

    /// Arms the ring, then starts the thread; None if it was started before.
    pub fn start(&self) -> Option<Result<(), SetupError>> {
        let mut device = lock(&self.ready).take()?;
        if let Err(error) = device.arm() {
            return Some(Err(error));
        }
        let live = Arc::clone(&self.live);
        let started = self
            .worker
            .start("rp-switch", self.spec.placement, move |stop| {
                let report = device.run(stop, &live);
                (report, Together(device.into_sockets()))
            });
        Some(started.map_err(|e| SetupError::from_io(e, "start switch thread", "")))
    }

    /// Ends the thread. Frames that still wait are discarded.
    pub fn stop(&self) -> bool {
        self.worker.request_stop();
        self.worker.wait(END)
    }

    /// What it did; before the end, what it had done when it last had nothing to forward.
    pub fn report(&self) -> SwitchReport {
        let outcome = self.worker.outcome();
        outcome.unwrap_or_else(|| lock(&self.live).clone())
    }

    /// Whether it was ever started.
    pub fn started(&self) -> bool {
        self.worker.started()
    }
}

fn open_port(spec: &SwitchSpec, interface: &str) -> Result<PacketSocket, SetupError> {
    PacketSocket::open(&PortSpec {
        interface: interface.to_owned(),
        netns_fd: spec.netns_fd,
    })
}

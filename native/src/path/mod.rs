//! Emulated links between pairs of real ports, exact in virtual time; a path is two directions that all pairs share.

pub mod direction;
mod engine;
pub mod frames;
mod line;
pub mod link;
pub mod recording;

use std::os::fd::OwnedFd;
use std::sync::Mutex;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use crate::error::SetupError;
use crate::records::Records;
use crate::socket::Together;
use crate::worker::{Placement, Worker, lock};

use direction::DirectionSpec;
use engine::Engine;
use frames::Reading;
use recording::Recorded;

/// How long the thread may take to answer, where others take its processor as well.
const ANSWER: Duration = Duration::from_secs(20);

/// Two interfaces that talk to each other.
#[derive(Clone, Debug)]
pub struct Pair {
    /// End a.
    pub a: String,
    /// End b.
    pub b: String,
    /// What it is called in records.
    pub number: u16,
}

/// Links and where they run.
#[derive(Clone, Debug)]
pub struct PathSpec {
    /// Open descriptor of its network namespace; None for the caller's.
    pub netns_fd: Option<i32>,
    /// At least one.
    pub pairs: Vec<Pair>,
    /// From end a to end b, and back: two that all pairs share, or two for every pair.
    pub directions: Vec<DirectionSpec>,
    /// What is counted and written down.
    pub reading: Reading,
    /// Whether others may have its processor whenever it has no frame: who forwards there has the
    /// next one. It is no better then than these others let it be.
    pub yields: bool,
    /// What random losses follow from.
    pub seed: u64,
    /// Where its thread runs.
    pub placement: Placement,
}

/// What happened to the packets of a direction since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// IP packets that arrived.
    pub received: u64,
    /// IP packets that left.
    pub sent: u64,
    /// IP packets for which the buffer had no room.
    pub dropped_buffer: u64,
    /// IP packets that were lost at random.
    pub dropped_loss: u64,
    /// IP packets that are in the path now.
    pub in_flight: u64,
    /// Frames that carry no IP packet: forwarded with the delay alone.
    pub other: u64,
    /// Frames that the interface refused.
    pub errors: u64,
}

/// What a path did. Counts are since its start; lateness and stalls since recording last began.
#[derive(Clone, Debug, Default)]
pub struct PathReport {
    /// In the order of the directions asked for.
    pub directions: Vec<Counts>,
    /// Frames that ring or memory had no room for.
    pub ring_drops: u64,
    /// Frames on other interfaces, and those that were longer than the ports' MTU.
    pub strays: u64,
    /// Actual sending after virtual departure: median [ns].
    pub lateness_ns_p50: i64,
    /// The same, 99th percentile [ns].
    pub lateness_ns_p99: i64,
    /// The same, maximum [ns].
    pub lateness_ns_max: i64,
    /// The median of each direction [ns].
    pub direction_lateness_ns_p50: Vec<i64>,
    /// How far CLOCK_REALTIME moved against CLOCK_MONOTONIC since the start [ns].
    pub clock_step_ns: i64,
    /// How long its thread was kept from running, in pauses of more than 0.2 ms [ns].
    pub stalled_ns: i64,
    /// Start (CLOCK_REALTIME) and length of those pauses, the first 10000 [ns].
    pub stalls: Vec<(i64, i64)>,
}

/// What the thread is asked between two packets.
enum Request {
    Report(Sender<PathReport>),
    Record(Records, Sender<Result<i64, Records>>),
    Select((u32, u32), Sender<bool>),
    EndRecord(Sender<Option<Recorded>>),
}

/// Forwards between its pairs of ports.
pub struct Path {
    placement: Placement,
    ready: Mutex<Option<(Engine, Receiver<Request>)>>,
    requests: Sender<Request>,
    worker: Worker<PathReport>,
    recorded: Mutex<Option<Recorded>>,
}

impl Path {
    /// Opens sockets and ring; nothing is received yet. Directions must have no problem.
    pub fn new(spec: &PathSpec) -> Result<Self, SetupError> {
        let engine = Engine::open(spec)?;
        let (requests, asked) = mpsc::channel();
        Ok(Self {
            placement: spec.placement,
            ready: Mutex::new(Some((engine, asked))),
            requests,
            worker: Worker::default(),
            recorded: Mutex::new(None),
        })
    }

    /// Arms the ring, then starts the thread; None if it was started before.
    pub fn start(&self) -> Option<Result<(), SetupError>> {
        let (mut engine, asked) = lock(&self.ready).take()?;
        if let Err(error) = engine.arm() {
            return Some(Err(error));
        }
        let started = self.worker.start("rp-path", self.placement, move |stop| {
            let report = engine.run(stop, &asked);
            (report, Together(engine.into_sockets()))
        });
        Some(started.map_err(|e| SetupError::from_io(e, "start path thread", "")))
    }

    /// Ends recording and the thread; whether it has ended. Packets in the path are discarded.
    pub fn stop(&self) -> bool {
        self.stop_recording();
        self.worker.request_stop();
        self.worker.wait(ANSWER)
    }

    /// What it did; None before the start, or if its thread failed.
    pub fn report(&self) -> Option<PathReport> {
        self.ask(Request::Report).or_else(|| self.worker.outcome())
    }

    /// Writes down every packet from now on, at most `capacity`, and lets traces begin anew; the
    /// moment of that [ns]. None if it records already, or if the thread does not run.
    pub fn start_recording(&self, capacity: usize) -> Result<Option<i64>, SetupError> {
        let records = Records::new(capacity)?;
        let begun = self.ask(|answer| Request::Record(records, answer));
        Ok(begun.and_then(Result::ok))
    }

    /// Writes down signed frames of that campaign and trial from now on; false if nothing is recorded.
    pub fn select(&self, campaign: u32, trial: u32) -> bool {
        self.ask(|answer| Request::Select((campaign, trial), answer))
            .unwrap_or(false)
    }

    /// Ends recording; the moment of that [ns], None if nothing was recorded.
    pub fn stop_recording(&self) -> Option<i64> {
        let recorded = self.ask(Request::EndRecord)??;
        let end_ns = recorded.end_ns;
        *lock(&self.recorded) = Some(recorded);
        Some(end_ns)
    }

    /// The last recording, once: its memory, how many packets there was no room for, and how many
    /// signed frames were of another trial.
    pub fn take_records(&self) -> Option<std::io::Result<(OwnedFd, u64, u64)>> {
        let Recorded {
            records,
            overflow,
            foreign,
            ..
        } = lock(&self.recorded).take()?;
        Some(records.into_fd().map(|fd| (fd, overflow, foreign)))
    }

    fn ask<T>(&self, request: impl FnOnce(Sender<T>) -> Request) -> Option<T> {
        if !self.worker.started() {
            return None;
        }
        let (answer, answered) = mpsc::channel();
        self.requests.send(request(answer)).ok()?;
        answered.recv_timeout(ANSWER).ok()
    }
}

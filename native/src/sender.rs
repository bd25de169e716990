//! What a sender is made of, and what it says when it has ended.

mod marks;
mod port;
mod run;
mod stream;

use std::sync::Mutex;
use std::time::Duration;

use crate::arrivals::Arrivals;
use crate::error::SetupError;
use crate::frame::{FCS_BYTES, SIGNATURE_BYTES};
use crate::socket::{PacketSocket, PortSpec, Together, open_all};
use crate::worker::{Placement, Worker, lock};

/// Longest header before the signature, so that both fit the part of a frame that is written anew.
pub const MAX_HEADER_BYTES: usize = 200;
/// Longest frame [bytes, FCS included].
pub const MAX_FRAME_BYTES: u32 = 65_535;

/// A stream: what its frames look like and when they leave.
#[derive(Clone, Debug)]
pub struct StreamSpec {
    /// Its number, in every frame.
    pub stream: u16,
    /// Index of its port in the sender.
    pub port: usize,
    /// All bytes from the destination address to the last EtherType or label.
    pub header: Vec<u8>,
    /// Lengths [bytes, FCS included] and their weights.
    pub frame_sizes: Vec<(u32, f64)>,
    /// Mean rate; ignored when flat out.
    pub rate_fps: f64,
    /// How frames follow each other.
    pub arrivals: Arrivals,
}

impl StreamSpec {
    /// What is wrong with it, if anything.
    pub fn problem(&self) -> Option<String> {
        let name = format!("stream {}", self.stream);
        if !(14..=MAX_HEADER_BYTES).contains(&self.header.len()) {
            let got = self.header.len();
            return Some(format!(
                "{name}: header must be 14 to {MAX_HEADER_BYTES} bytes, got {got}"
            ));
        }
        if self.frame_sizes.is_empty() {
            return Some(format!("{name}: needs at least one frame size"));
        }
        let least = (self.header.len() + SIGNATURE_BYTES) as u32 + FCS_BYTES;
        for (bytes, weight) in &self.frame_sizes {
            if !(least..=MAX_FRAME_BYTES).contains(bytes) {
                return Some(format!(
                    "{name}: frames must be {least} to {MAX_FRAME_BYTES} bytes (header, signature and FCS \
                     included), got {bytes}"
                ));
            }
            if !(weight.is_finite() && *weight > 0.0) {
                return Some(format!("{name}: weights must be above 0, got {weight}"));
            }
        }
        if self.arrivals == Arrivals::FlatOut {
            return None;
        }
        if !(self.rate_fps.is_finite() && self.rate_fps > 0.0 && self.rate_fps <= 1e9) {
            let got = self.rate_fps;
            return Some(format!(
                "{name}: rate must be above 0 and at most 1e9 fps, got {got}"
            ));
        }
        match self.arrivals {
            Arrivals::Constant { phase: Some(phase) } if !(0.0..=1.0).contains(&phase) => {
                Some(format!("{name}: phase must be 0 to 1, got {phase}"))
            }
            _ => None,
        }
    }
}

/// What a sender is made of.
#[derive(Clone, Debug)]
pub struct SenderSpec {
    /// Where frames go out.
    pub ports: Vec<PortSpec>,
    /// What goes out.
    pub streams: Vec<StreamSpec>,
    /// Number of the campaign, in every frame.
    pub campaign: u32,
    /// Number of the trial, in every frame.
    pub trial: u32,
    /// What all random draws follow from.
    pub seed: u64,
    /// How long it sends.
    pub duration: Duration,
    /// When, after the start, counts are noted; ascending.
    pub marks: Vec<Duration>,
    /// Where its thread runs.
    pub placement: Placement,
}

impl SenderSpec {
    /// What is wrong with it, if anything.
    pub fn problem(&self) -> Option<String> {
        if !self.marks.is_sorted() {
            return Some("marks must ascend".to_owned());
        }
        for stream in &self.streams {
            if stream.port >= self.ports.len() {
                return Some(format!(
                    "stream {}: port {} of {}",
                    stream.stream,
                    stream.port,
                    self.ports.len()
                ));
            }
            if let Some(problem) = stream.problem() {
                return Some(problem);
            }
        }
        None
    }
}

/// What a stream had sent at an instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Frames that the kernel had taken: the next sequence number where none was refused.
    pub frames: u64,
    /// Their lengths summed, FCS included [bytes].
    pub octets: u64,
}

/// What a sender did. Lists are in the order of its streams.
#[derive(Clone, Debug, Default)]
pub struct SenderReport {
    /// CLOCK_REALTIME of the schedule's origin [ns].
    pub started_ns: i64,
    /// CLOCK_REALTIME at the end [ns].
    pub ended_ns: i64,
    /// How far CLOCK_REALTIME moved against CLOCK_MONOTONIC meanwhile [ns].
    pub clock_step_ns: i64,
    /// Frames that the kernel took.
    pub frames: Vec<u64>,
    /// Their lengths summed, FCS included [bytes].
    pub octets: Vec<u64>,
    /// Frames that the schedule held; flat out: those sent.
    pub intended_frames: Vec<u64>,
    /// CLOCK_REALTIME of each mark [ns].
    pub mark_ns: Vec<i64>,
    /// For each stream, what had been sent when each mark came.
    pub marks_sent: Vec<Vec<Mark>>,
    /// For each stream, frames that were due before each mark.
    pub marks_due: Vec<Vec<u64>>,
    /// Frames that the kernel refused for good, or that were still waiting at the end.
    pub errors: u64,
    /// How often the kernel had no room and was asked again.
    pub blocked: u64,
    /// Time from scheduled to actual sending: median [ns].
    pub lateness_ns_p50: i64,
    /// The same, 99th percentile [ns].
    pub lateness_ns_p99: i64,
    /// The same, maximum [ns].
    pub lateness_ns_max: i64,
    /// How long its thread was kept from running, in pauses of more than 0.2 ms [ns].
    pub stalled_ns: i64,
    /// Start (CLOCK_REALTIME) and length of those pauses, the first 10000 [ns].
    pub stalls: Vec<(i64, i64)>,
}

/// Sends streams on a schedule, spinning on one core.
pub struct Sender {
    spec: SenderSpec,
    ready: Mutex<Option<Vec<PacketSocket>>>,
    worker: Worker<SenderReport>,
}

impl Sender {
    /// Opens the sockets. The specification must have no problem.
    pub fn new(spec: SenderSpec) -> Result<Self, SetupError> {
        let sockets = open_all(&spec.ports, |socket| {
            socket.tune_for_sending()?;
            socket.bind_for_sending()?;
            Ok(socket)
        })?;
        Ok(Self {
            spec,
            ready: Mutex::new(Some(sockets)),
            worker: Worker::default(),
        })
    }

    /// Starts the thread; None if it was started before.
    pub fn start(&self) -> Option<Result<(), SetupError>> {
        let sockets = lock(&self.ready).take()?;
        let spec = self.spec.clone();
        let started = self
            .worker
            .start("rp-sender", self.spec.placement, move |stop| {
                let sockets = Together(sockets);
                let report = run::Run::new(&spec, &sockets.0).run(stop);
                (report, sockets)
            });
        Some(started.map_err(|e| SetupError::from_io(e, "start sender thread", "")))
    }

    /// The thread.
    pub fn worker(&self) -> &Worker<SenderReport> {
        &self.worker
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream() -> StreamSpec {
        StreamSpec {
            stream: 1,
            port: 0,
            header: vec![0; 18],
            frame_sizes: vec![(64, 1.0)],
            rate_fps: 1e3,
            arrivals: Arrivals::Poisson,
        }
    }

    #[test]
    fn tagged_minimum_frames_fit() {
        assert_eq!(stream().problem(), None);
    }

    #[test]
    fn refusals_name_the_stream() {
        let wrong = [
            StreamSpec {
                header: vec![0; 13],
                ..stream()
            },
            StreamSpec {
                frame_sizes: vec![(49, 1.0)],
                ..stream()
            },
            StreamSpec {
                frame_sizes: vec![(64, 0.0)],
                ..stream()
            },
            StreamSpec {
                frame_sizes: vec![],
                ..stream()
            },
            StreamSpec {
                rate_fps: 0.0,
                ..stream()
            },
            StreamSpec {
                rate_fps: f64::NAN,
                ..stream()
            },
            StreamSpec {
                arrivals: Arrivals::Constant { phase: Some(1.5) },
                ..stream()
            },
        ];
        for spec in wrong {
            assert!(
                spec.problem()
                    .is_some_and(|text| text.starts_with("stream 1: "))
            );
        }
    }
}

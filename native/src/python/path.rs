//! The emulated path in Python.

use std::os::fd::{IntoRawFd, RawFd};

use pyo3::prelude::*;

use super::{os_error, placement, runtime_error, started_once, value_error};
use crate::error::SetupError;
use crate::path::direction::{DirectionSpec, Drain};
use crate::path::frames::Reading;
use crate::path::{self as engine, Counts, Pair, PathSpec};

/// One direction of a path. See the stub for the arguments.
#[pyclass(frozen, skip_from_py_object, module = "rackproof_native")]
#[derive(Clone)]
pub struct PathDirection {
    spec: DirectionSpec,
}

#[pymethods]
impl PathDirection {
    #[new]
    #[pyo3(signature = (*, rate_bps=None, trace_ms=vec![], delay_ms=0.0, buffer_bytes=None,
        buffer_packets=None, loss=0.0))]
    fn new(
        rate_bps: Option<f64>,
        trace_ms: Vec<u32>,
        delay_ms: f64,
        buffer_bytes: Option<u64>,
        buffer_packets: Option<usize>,
        loss: f64,
    ) -> PyResult<Self> {
        let drain = match rate_bps {
            Some(_) if !trace_ms.is_empty() => {
                return Err(value_error("rate_bps or trace_ms, not both".to_owned()));
            }
            Some(rate) => Drain::RateBps(rate.round() as u64),
            None => Drain::TraceMs(trace_ms),
        };
        if !delay_ms.is_finite() {
            return Err(value_error(format!(
                "delay_ms must be 0 to 60000, got {delay_ms}"
            )));
        }
        let spec = DirectionSpec {
            drain,
            delay_ns: (delay_ms * 1e6).round() as i64,
            buffer_bytes,
            buffer_packets,
            loss,
        };
        match spec.problem() {
            Some(problem) => Err(value_error(problem)),
            None => Ok(Self { spec }),
        }
    }
}

/// What happened to the packets of one direction.
#[pyclass(frozen, get_all, skip_from_py_object, module = "rackproof_native")]
#[derive(Clone)]
pub struct PathCounts {
    received: u64,
    sent: u64,
    dropped_buffer: u64,
    dropped_loss: u64,
    in_flight: u64,
    other: u64,
    errors: u64,
}

impl From<Counts> for PathCounts {
    fn from(counts: Counts) -> Self {
        Self {
            received: counts.received,
            sent: counts.sent,
            dropped_buffer: counts.dropped_buffer,
            dropped_loss: counts.dropped_loss,
            in_flight: counts.in_flight,
            other: counts.other,
            errors: counts.errors,
        }
    }
}

/// What a path did.
#[pyclass(frozen, get_all, skip_from_py_object, module = "rackproof_native")]
#[derive(Clone)]
pub struct PathReport {
    forward: PathCounts,
    backward: PathCounts,
    ring_drops: u64,
    strays: u64,
    lateness_ns_p50: i64,
    lateness_ns_p99: i64,
    lateness_ns_max: i64,
    clock_step_ns: i64,
    stalled_ns: i64,
    stalls: Vec<(i64, i64)>,
}

/// The `path` device: an emulated path in virtual time. See the stub for the arguments.
#[pyclass(frozen, module = "rackproof_native")]
pub struct Path {
    engine: engine::Path,
}

#[pymethods]
impl Path {
    #[new]
    #[pyo3(signature = (*, netns_fd, pairs, forward, backward, seed=0, cpu=None, nice=None))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn new(
        py: Python<'_>,
        netns_fd: Option<RawFd>,
        pairs: Vec<(String, String)>,
        forward: PyRef<'_, PathDirection>,
        backward: PyRef<'_, PathDirection>,
        seed: u64,
        cpu: Option<usize>,
        nice: Option<i32>,
    ) -> PyResult<Self> {
        let mut names: Vec<&String> = pairs.iter().flat_map(|(a, b)| [a, b]).collect();
        names.sort_unstable();
        if names.is_empty() || names.windows(2).any(|two| two[0] == two[1]) {
            return Err(value_error(format!(
                "pairs: at least one, and every interface once, got {pairs:?}"
            )));
        }
        let spec = PathSpec {
            netns_fd,
            pairs: (1_u16..)
                .zip(pairs)
                .map(|(number, (a, b))| Pair { a, b, number })
                .collect(),
            directions: vec![forward.spec.clone(), backward.spec.clone()],
            reading: Reading::Packets,
            yields: false,
            seed,
            placement: placement(cpu, nice),
        };
        let engine = py.detach(|| engine::Path::new(&spec)).map_err(os_error)?;
        Ok(Self { engine })
    }

    /// Begins to forward; frames are seen from the moment it returns.
    fn start(&self, py: Python<'_>) -> PyResult<()> {
        started_once(py.detach(|| self.engine.start()))
    }

    /// Stops recording and forwarding. Packets in the path are discarded.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        if py.detach(|| self.engine.stop()) {
            Ok(())
        } else {
            Err(runtime_error("the path's thread did not end in time"))
        }
    }

    /// Writes down every IP packet from now on, and lets traces begin anew; that moment [ns].
    #[pyo3(signature = (capacity=50_000_000))]
    fn start_recording(&self, py: Python<'_>, capacity: usize) -> PyResult<i64> {
        py.detach(|| self.engine.start_recording(capacity))
            .map_err(os_error)?
            .ok_or_else(|| runtime_error("the path records already, or is not running"))
    }

    /// Ends recording; that moment [ns].
    fn stop_recording(&self, py: Python<'_>) -> PyResult<i64> {
        py.detach(|| self.engine.stop_recording())
            .ok_or_else(|| runtime_error("the path is not recording"))
    }

    /// A memfd that holds the records, which the caller owns, and the packets without a record.
    fn take_records_fd(&self) -> PyResult<(RawFd, u64)> {
        match self.engine.take_records() {
            None => Err(runtime_error("no records: not stopped, or taken already")),
            Some(Err(error)) => Err(os_error(SetupError::from_io(error, "cut records", ""))),
            Some(Ok((fd, overflow, _))) => Ok((fd.into_raw_fd(), overflow)),
        }
    }

    /// What it did, up to now. Raises RuntimeError before the start.
    fn report(&self, py: Python<'_>) -> PyResult<PathReport> {
        let report = py
            .detach(|| self.engine.report())
            .ok_or_else(|| runtime_error("no report before the path was started"))?;
        let [forward, backward] = [0, 1].map(|way| report.directions[way]);
        Ok(PathReport {
            forward: forward.into(),
            backward: backward.into(),
            ring_drops: report.ring_drops,
            strays: report.strays,
            lateness_ns_p50: report.lateness_ns_p50,
            lateness_ns_p99: report.lateness_ns_p99,
            lateness_ns_max: report.lateness_ns_max,
            clock_step_ns: report.clock_step_ns,
            stalled_ns: report.stalled_ns,
            stalls: report.stalls,
        })
    }
}

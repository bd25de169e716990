//! Emulated wires in Python.

use std::os::fd::{IntoRawFd, RawFd};

use pyo3::prelude::*;

use super::path::PathCounts;
use super::{os_error, placement, runtime_error, started_once, value_error};
use crate::error::SetupError;
use crate::path::Path;
use crate::wires::{WireSpec, links};

/// One wire. See the stub for the arguments.
#[pyclass(frozen, skip_from_py_object, module = "rackproof_native")]
#[derive(Clone)]
pub struct Wire {
    spec: WireSpec,
}

#[pymethods]
impl Wire {
    #[new]
    #[pyo3(signature = (a, b, *, rate_bps, queue_frames=1000, delay_us=0.0))]
    fn new(
        a: String,
        b: String,
        rate_bps: f64,
        queue_frames: usize,
        delay_us: f64,
    ) -> PyResult<Self> {
        if !delay_us.is_finite() {
            return Err(value_error(format!(
                "delay_us must be 0 to 6e7, got {delay_us}"
            )));
        }
        let spec = WireSpec {
            a,
            b,
            rate_bps: rate_bps.round() as u64,
            queue_frames,
            delay_ns: (delay_us * 1e3).round() as i64,
        };
        match spec.problem() {
            Some(problem) => Err(value_error(problem)),
            None => Ok(Self { spec }),
        }
    }
}

/// What wires did.
#[pyclass(frozen, get_all, skip_from_py_object, module = "rackproof_native")]
#[derive(Clone)]
pub struct WiresReport {
    forward: Vec<PathCounts>,
    backward: Vec<PathCounts>,
    ring_drops: u64,
    strays: u64,
    lateness_ns_p50: i64,
    lateness_ns_p99: i64,
    lateness_ns_max: i64,
    forward_lateness_ns_p50: Vec<i64>,
    clock_step_ns: i64,
    stalled_ns: i64,
    stalls: Vec<(i64, i64)>,
}

/// Emulated wires in virtual time. See the stub for the arguments.
#[pyclass(frozen, module = "rackproof_native")]
pub struct Wires {
    engine: Path,
}

#[pymethods]
impl Wires {
    #[new]
    #[pyo3(signature = (*, netns_fd, wires, first_port=0, yields=false, cpu=None, nice=None))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn new(
        py: Python<'_>,
        netns_fd: Option<RawFd>,
        wires: Vec<PyRef<'_, Wire>>,
        first_port: u16,
        yields: bool,
        cpu: Option<usize>,
        nice: Option<i32>,
    ) -> PyResult<Self> {
        let wires: Vec<WireSpec> = wires.iter().map(|wire| wire.spec.clone()).collect();
        let mut names: Vec<&String> = wires.iter().flat_map(|w| [&w.a, &w.b]).collect();
        names.sort_unstable();
        if names.is_empty() || names.windows(2).any(|two| two[0] == two[1]) {
            return Err(value_error(format!(
                "wires: at least one, and every interface once, got {names:?}"
            )));
        }
        let spec = links(netns_fd, &wires, first_port, yields, placement(cpu, nice));
        let engine = py.detach(|| Path::new(&spec)).map_err(os_error)?;
        Ok(Self { engine })
    }

    /// Begins to forward; frames are seen from the moment it returns.
    fn start(&self, py: Python<'_>) -> PyResult<()> {
        started_once(py.detach(|| self.engine.start()))
    }

    /// Stops recording and forwarding. Frames under way are discarded.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        if py.detach(|| self.engine.stop()) {
            Ok(())
        } else {
            Err(runtime_error("the wires' thread did not end in time"))
        }
    }

    /// Gets ready to write down signed frames; that moment [ns].
    #[pyo3(signature = (capacity=50_000_000))]
    fn start_recording(&self, py: Python<'_>, capacity: usize) -> PyResult<i64> {
        py.detach(|| self.engine.start_recording(capacity))
            .map_err(os_error)?
            .ok_or_else(|| runtime_error("the wires record already, or are not running"))
    }

    /// Writes down frames of this campaign and trial from now on, and no others.
    fn select(&self, py: Python<'_>, campaign: u32, trial: u32) -> PyResult<()> {
        if py.detach(|| self.engine.select(campaign, trial)) {
            Ok(())
        } else {
            Err(runtime_error("the wires are not recording"))
        }
    }

    /// Ends recording; that moment [ns].
    fn stop_recording(&self, py: Python<'_>) -> PyResult<i64> {
        py.detach(|| self.engine.stop_recording())
            .ok_or_else(|| runtime_error("the wires are not recording"))
    }

    /// A memfd that holds the records, which the caller owns, the frames without a record for want
    /// of room, and those of other trials.
    fn take_records_fd(&self) -> PyResult<(RawFd, u64, u64)> {
        match self.engine.take_records() {
            None => Err(runtime_error("no records: not stopped, or taken already")),
            Some(Err(error)) => Err(os_error(SetupError::from_io(error, "cut records", ""))),
            Some(Ok((fd, overflow, foreign))) => Ok((fd.into_raw_fd(), overflow, foreign)),
        }
    }

    /// What they did, up to now. Raises RuntimeError before the start.
    fn report(&self, py: Python<'_>) -> PyResult<WiresReport> {
        let report = py
            .detach(|| self.engine.report())
            .ok_or_else(|| runtime_error("no report before the wires were started"))?;
        let way = |first: usize| report.directions.iter().skip(first).step_by(2).copied();
        let medians = report.direction_lateness_ns_p50.iter().step_by(2);
        Ok(WiresReport {
            forward: way(0).map(Into::into).collect(),
            backward: way(1).map(Into::into).collect(),
            ring_drops: report.ring_drops,
            strays: report.strays,
            lateness_ns_p50: report.lateness_ns_p50,
            lateness_ns_p99: report.lateness_ns_p99,
            lateness_ns_max: report.lateness_ns_max,
            forward_lateness_ns_p50: medians.copied().collect(),
            clock_step_ns: report.clock_step_ns,
            stalled_ns: report.stalled_ns,
            stalls: report.stalls,
        })
    }
}

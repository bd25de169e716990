//! Streams and senders in Python.

use std::time::{Duration, Instant};

use pyo3::prelude::*;

use super::{
    Port, SIGNALS, os_error, placement, port_specs, runtime_error, started_once, value_error,
};
use crate::arrivals::Arrivals;
use crate::sender::{self as engine, SenderSpec, StreamSpec};

/// A stream of frames: what they look like and when they leave. See the stub for the arguments.
#[pyclass(frozen, skip_from_py_object, module = "rackproof_native")]
#[derive(Clone)]
pub struct Stream {
    spec: StreamSpec,
}

#[pymethods]
impl Stream {
    #[new]
    #[pyo3(signature = (*, stream, port, header, frame_sizes, rate_fps, arrivals, phase=None))]
    fn new(
        stream: u16,
        port: usize,
        header: Vec<u8>,
        frame_sizes: Vec<(u32, f64)>,
        rate_fps: f64,
        arrivals: &str,
        phase: Option<f64>,
    ) -> PyResult<Self> {
        let arrivals = match arrivals {
            "constant" => Arrivals::Constant { phase },
            "poisson" => Arrivals::Poisson,
            "flat_out" => Arrivals::FlatOut,
            other => {
                return Err(value_error(format!(
                    "stream {stream}: arrivals must be constant, poisson or flat_out, got {other:?}"
                )));
            }
        };
        let spec = StreamSpec {
            stream,
            port,
            header,
            frame_sizes,
            rate_fps,
            arrivals,
        };
        match spec.problem() {
            Some(problem) => Err(value_error(problem)),
            None => Ok(Self { spec }),
        }
    }

    #[getter]
    fn stream(&self) -> u16 {
        self.spec.stream
    }

    #[getter]
    fn port(&self) -> usize {
        self.spec.port
    }
}

/// What a sender did. Lists are in the order of its streams.
#[pyclass(frozen, get_all, skip_from_py_object, module = "rackproof_native")]
#[derive(Clone)]
pub struct SenderReport {
    started_ns: i64,
    ended_ns: i64,
    clock_step_ns: i64,
    frames: Vec<u64>,
    octets: Vec<u64>,
    intended_frames: Vec<u64>,
    mark_ns: Vec<i64>,
    mark_frames: Vec<Vec<u64>>,
    mark_octets: Vec<Vec<u64>>,
    mark_scheduled: Vec<Vec<u64>>,
    errors: u64,
    blocked: u64,
    lateness_ns_p50: i64,
    lateness_ns_p99: i64,
    lateness_ns_max: i64,
    stalled_ns: i64,
    stalls: Vec<(i64, i64)>,
}

/// Sends streams on a schedule from a thread that spins on one core.
#[pyclass(frozen, module = "rackproof_native")]
pub struct Sender {
    engine: engine::Sender,
}

#[pymethods]
impl Sender {
    #[new]
    #[pyo3(signature = (*, ports, streams, campaign, trial, seed, duration_s, marks_s=Vec::new(), cpu=None, nice=None))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn new(
        py: Python<'_>,
        ports: Vec<PyRef<'_, Port>>,
        streams: Vec<PyRef<'_, Stream>>,
        campaign: u32,
        trial: u32,
        seed: u64,
        duration_s: f64,
        marks_s: Vec<f64>,
        cpu: Option<usize>,
        nice: Option<i32>,
    ) -> PyResult<Self> {
        let duration = Duration::try_from_secs_f64(duration_s)
            .map_err(|_| value_error(format!("duration_s must be 0 or more, got {duration_s}")))?;
        let marks = marks_s
            .iter()
            .map(|mark| {
                Duration::try_from_secs_f64(*mark)
                    .map_err(|_| value_error(format!("marks_s must be 0 or more, got {mark}")))
            })
            .collect::<PyResult<Vec<_>>>()?;
        let spec = SenderSpec {
            ports: port_specs(&ports),
            streams: streams.iter().map(|stream| stream.spec.clone()).collect(),
            campaign,
            trial,
            seed,
            duration,
            marks,
            placement: placement(cpu, nice),
        };
        if let Some(problem) = spec.problem() {
            return Err(value_error(problem));
        }
        let engine = py.detach(|| engine::Sender::new(spec)).map_err(os_error)?;
        Ok(Self { engine })
    }

    /// Starts sending. Raises RuntimeError if it was started before.
    fn start(&self, py: Python<'_>) -> PyResult<()> {
        started_once(py.detach(|| self.engine.start()))
    }

    /// Asks it to stop sending early; returns at once.
    fn stop(&self) {
        self.engine.worker().request_stop();
    }

    /// Waits until it has ended, at most `timeout_s` (None: however long); whether it has.
    #[pyo3(signature = (timeout_s=None))]
    fn join(&self, py: Python<'_>, timeout_s: Option<f64>) -> PyResult<bool> {
        let deadline = match timeout_s.map(Duration::try_from_secs_f64) {
            None => None,
            Some(Ok(timeout)) => Instant::now().checked_add(timeout),
            Some(Err(_)) => return Err(value_error("timeout_s must be 0 or more".to_owned())),
        };
        loop {
            let left = deadline.map_or(SIGNALS, |d| d.saturating_duration_since(Instant::now()));
            if py.detach(|| self.engine.worker().wait(left.min(SIGNALS))) {
                return Ok(true);
            }
            if left.is_zero() {
                return Ok(false);
            }
            py.check_signals()?;
        }
    }

    /// What it did. Raises RuntimeError before the end.
    fn report(&self) -> PyResult<SenderReport> {
        let worker = self.engine.worker();
        let Some(report) = worker.outcome() else {
            return Err(runtime_error(if worker.finished() {
                "the sender's thread failed"
            } else {
                "no report before the sender has ended; join it first"
            }));
        };
        let per_mark = |get: fn(&engine::Mark) -> u64| {
            let streams = report.marks_sent.iter();
            streams
                .map(|marks| marks.iter().map(get).collect())
                .collect()
        };
        Ok(SenderReport {
            mark_frames: per_mark(|mark| mark.frames),
            mark_octets: per_mark(|mark| mark.octets),
            mark_ns: report.mark_ns,
            mark_scheduled: report.marks_due,
            started_ns: report.started_ns,
            ended_ns: report.ended_ns,
            clock_step_ns: report.clock_step_ns,
            frames: report.frames,
            octets: report.octets,
            intended_frames: report.intended_frames,
            errors: report.errors,
            blocked: report.blocked,
            lateness_ns_p50: report.lateness_ns_p50,
            lateness_ns_p99: report.lateness_ns_p99,
            lateness_ns_max: report.lateness_ns_max,
            stalled_ns: report.stalled_ns,
            stalls: report.stalls,
        })
    }
}

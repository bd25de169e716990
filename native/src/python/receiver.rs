//! Receivers in Python.

use std::os::fd::{IntoRawFd, RawFd};

use pyo3::prelude::*;

use super::{Port, os_error, placement, port_specs, runtime_error, started_once, value_error};
use crate::error::SetupError;
use crate::receiver::{self as engine, PortCounts, ReceiverSpec};

/// What a receiver saw. Lists are in the order of its ports.
#[pyclass(frozen, get_all, skip_from_py_object, module = "rackproof_native")]
#[derive(Clone)]
pub struct ReceiverReport {
    records: Vec<u64>,
    foreign: Vec<u64>,
    other: Vec<u64>,
    ring_drops: Vec<u64>,
    overflow: Vec<u64>,
}

/// Records the frames of one trial, with the kernel's timestamps, in a thread that mostly sleeps.
#[pyclass(frozen, module = "rackproof_native")]
pub struct Receiver {
    engine: engine::Receiver,
}

#[pymethods]
impl Receiver {
    #[new]
    #[pyo3(signature = (*, ports, campaign, trial, capacity, cpu=None, nice=None))]
    fn new(
        py: Python<'_>,
        ports: Vec<PyRef<'_, Port>>,
        campaign: u32,
        trial: u32,
        capacity: usize,
        cpu: Option<usize>,
        nice: Option<i32>,
    ) -> PyResult<Self> {
        if ports.is_empty() {
            return Err(value_error("a receiver needs at least one port".to_owned()));
        }
        let spec = ReceiverSpec {
            ports: port_specs(&ports),
            campaign,
            trial,
            capacity,
            placement: placement(cpu, nice),
        };
        let engine = py
            .detach(|| engine::Receiver::new(spec))
            .map_err(os_error)?;
        Ok(Self { engine })
    }

    /// Arms every ring; frames are received from the moment it returns.
    fn start(&self, py: Python<'_>) -> PyResult<()> {
        started_once(py.detach(|| self.engine.start()))
    }

    /// Refuses further frames, records those in the rings, ends the thread.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        if py.detach(|| self.engine.stop()) {
            Ok(())
        } else {
            Err(runtime_error("the receiver's thread did not end in time"))
        }
    }

    /// Records so far; while running, those of the blocks that the kernel has handed over.
    fn received(&self) -> u64 {
        self.engine.received()
    }

    /// A memfd that holds the records; the caller owns it. Raises RuntimeError before stop and
    /// when called twice.
    fn take_records_fd(&self) -> PyResult<RawFd> {
        match self.engine.take_records() {
            None => Err(runtime_error("no records: not stopped, or taken already")),
            Some(Err(error)) => Err(os_error(SetupError::from_io(error, "cut records", ""))),
            Some(Ok(fd)) => Ok(fd.into_raw_fd()),
        }
    }

    /// What it saw. Raises RuntimeError before stop.
    fn report(&self) -> PyResult<ReceiverReport> {
        let Some(counts) = self.engine.counts() else {
            return Err(runtime_error("no report before the receiver was stopped"));
        };
        let collect = |get: fn(&PortCounts) -> u64| counts.iter().map(get).collect();
        Ok(ReceiverReport {
            records: collect(|port| port.records),
            foreign: collect(|port| port.foreign),
            other: collect(|port| port.other),
            ring_drops: collect(|port| port.ring_drops),
            overflow: collect(|port| port.overflow),
        })
    }
}

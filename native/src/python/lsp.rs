//! A pair of LERs in Python.

use std::collections::BTreeMap;
use std::os::fd::{IntoRawFd, RawFd};

use pyo3::prelude::*;

use super::{os_error, placement, runtime_error, started_once, value_error};
use crate::arp::Mac;
use crate::lsp::messages::Name;
use crate::lsp::pair::{self as engine, PairSpec};
use crate::lsp::spec::{Flaps, Signalling, Spec};

/// How LSPs stand.
#[pyclass(frozen, get_all, skip_from_py_object, module = "rackproof_native")]
#[derive(Clone)]
pub struct LerState {
    wanted: usize,
    up: usize,
    phantoms: usize,
    labels: BTreeMap<u16, u32>,
    refused: BTreeMap<String, usize>,
    tearing: usize,
    source_mac: String,
    destination_mac: Option<String>,
    egress_neighbour_mac: Option<String>,
}

/// What a pair of LERs did.
#[pyclass(frozen, get_all, skip_from_py_object, module = "rackproof_native")]
#[derive(Clone)]
pub struct LerReport {
    counters: BTreeMap<String, u64>,
    ring_drops: u64,
    send_errors: u64,
    overflow: u64,
    lateness_ns_p50: i64,
    lateness_ns_p99: i64,
    lateness_ns_max: i64,
    clock_step_ns: i64,
    stalled_ns: i64,
    stalls: Vec<(i64, i64)>,
}

/// Two LERs. See the stub for the arguments.
#[pyclass(frozen, module = "rackproof_native")]
pub struct LerPair {
    engine: engine::LerPair,
}

#[pymethods]
impl LerPair {
    #[new]
    #[pyo3(signature = (*, netns_fd, signalling, ingress, egress, cpu=None, nice=None,
        capacity=20_000_000))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn new(
        py: Python<'_>,
        netns_fd: Option<RawFd>,
        signalling: Signalling,
        ingress: String,
        egress: String,
        cpu: Option<usize>,
        nice: Option<i32>,
        capacity: usize,
    ) -> PyResult<Self> {
        let spec = PairSpec {
            netns_fd,
            interfaces: [ingress, egress],
            spec: Spec::new(&signalling).map_err(value_error)?,
            capacity,
            placement: placement(cpu, nice),
        };
        let engine = py.detach(|| engine::LerPair::new(spec)).map_err(os_error)?;
        Ok(Self { engine })
    }

    /// LSPs of an earlier pair that are to be torn down.
    fn tear_left(&self, py: Python<'_>, lsps: Vec<(u16, u16)>) -> PyResult<()> {
        let names = lsps
            .into_iter()
            .map(|(tunnel_id, lsp_id)| Name { tunnel_id, lsp_id });
        if py.detach(|| self.engine.tear_left(names.collect())) {
            Ok(())
        } else {
            Err(runtime_error("the LERs do not answer"))
        }
    }

    /// Asks for the neighbours, then sets all LSPs up.
    fn start(&self, py: Python<'_>) -> PyResult<()> {
        started_once(py.detach(|| self.engine.start()))
    }

    /// How the LSPs stand now.
    fn state(&self, py: Python<'_>) -> PyResult<LerState> {
        let state = py.detach(|| self.engine.state()).ok_or_else(not_running)?;
        Ok(LerState {
            wanted: state.wanted,
            up: state.up,
            phantoms: state.phantoms,
            labels: state.labels,
            refused: state.refused,
            tearing: state.tearing,
            source_mac: text(state.source_mac),
            destination_mac: state.destination_mac.map(text),
            egress_neighbour_mac: state.egress_neighbour_mac.map(text),
        })
    }

    /// Begins phases now.
    fn flap(&self, py: Python<'_>, flaps: Flaps) -> PyResult<()> {
        match py.detach(|| self.engine.flap(flaps)) {
            None => Err(not_running()),
            Some(Err(problem)) => Err(value_error(problem)),
            Some(Ok(false)) => Err(runtime_error("phases are under way already")),
            Some(Ok(true)) => Ok(()),
        }
    }

    /// Ends phases at once.
    fn halt(&self, py: Python<'_>) {
        py.detach(|| self.engine.halt());
    }

    /// Whether phases are under way.
    #[getter]
    fn flapping(&self, py: Python<'_>) -> bool {
        py.detach(|| self.engine.is_flapping())
    }

    /// Tears all LSPs down that stand.
    fn tear(&self, py: Python<'_>) {
        py.detach(|| self.engine.tear());
    }

    /// How many LSPs devices may still have.
    #[getter]
    fn standing(&self, py: Python<'_>) -> usize {
        py.detach(|| self.engine.standing()).len()
    }

    /// Tunnel and LSP IDs of those.
    fn standing_lsps(&self, py: Python<'_>) -> Vec<(u16, u16)> {
        let standing = py.detach(|| self.engine.standing());
        standing
            .iter()
            .map(|name| (name.tunnel_id, name.lsp_id))
            .collect()
    }

    /// A memfd that holds what was written, which the caller owns, and for how much there was no room.
    fn take_records_fd(&self, py: Python<'_>) -> PyResult<(RawFd, u64)> {
        match py.detach(|| self.engine.take_records()) {
            None => Err(runtime_error("no records: not started, or taken already")),
            Some(Err(error)) => Err(os_error(error)),
            Some(Ok((fd, overflow))) => Ok((fd.into_raw_fd(), overflow)),
        }
    }

    /// What it did, up to now.
    fn report(&self, py: Python<'_>) -> PyResult<LerReport> {
        let report = py.detach(|| self.engine.report()).ok_or_else(not_running)?;
        let [p50, p99, max] = report.lateness_ns;
        Ok(LerReport {
            counters: report.counters,
            ring_drops: report.ring_drops,
            send_errors: report.send_errors,
            overflow: report.overflow,
            lateness_ns_p50: p50,
            lateness_ns_p99: p99,
            lateness_ns_max: max,
            clock_step_ns: report.clock_step_ns,
            stalled_ns: report.stalled_ns,
            stalls: report.stalls,
        })
    }

    /// Ends the thread.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        if py.detach(|| self.engine.stop()) {
            Ok(())
        } else {
            Err(runtime_error("the LERs' thread did not end in time"))
        }
    }
}

fn text(mac: Mac) -> String {
    mac.map(|octet| format!("{octet:02x}")).join(":")
}

fn not_running() -> PyErr {
    runtime_error("the LERs are not running")
}

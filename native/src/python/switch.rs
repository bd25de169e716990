//! The reference switch in Python.

use std::os::fd::RawFd;

use pyo3::prelude::*;

use super::{os_error, placement, runtime_error, started_once, value_error};
use crate::switch::config::Config;
use crate::switch::defects::DefectSpec;
use crate::switch::discipline::Kind;
use crate::switch::{self as engine, SwitchSpec};

/// What a switch did. Lists are per queue, the lowest priority first.
#[pyclass(frozen, get_all, skip_from_py_object, module = "rackproof_native")]
#[derive(Clone)]
pub struct SwitchReport {
    received: Vec<u64>,
    sent: Vec<u64>,
    dropped: Vec<u64>,
    other: u64,
    errors: u64,
    ring_drops: u64,
    lateness_ns_p50: i64,
    lateness_ns_p99: i64,
    lateness_ns_max: i64,
    clock_step_ns: i64,
    stalled_ns: i64,
    stalls: Vec<(i64, i64)>,
}

/// The `reference` device: exact scheduling in virtual time. See the stub for the arguments.
#[pyclass(frozen, module = "rackproof_native")]
pub struct Switch {
    engine: engine::Switch,
}

#[pymethods]
impl Switch {
    #[new]
    #[pyo3(signature = (*, netns_fd, ingress, egress, link_rate_bps, scheduler, weights, queue_frames,
        pcp_to_queue, quantum_bytes=1518, leak=0.0, waste=0.0, unfair=0.0, weights_per_packet=false,
        l1_overhead_bytes=20, seed=0, cpu=None, nice=None))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn new(
        py: Python<'_>,
        netns_fd: Option<RawFd>,
        ingress: Vec<String>,
        egress: String,
        link_rate_bps: u64,
        scheduler: &str,
        weights: Vec<f64>,
        queue_frames: Vec<usize>,
        pcp_to_queue: Vec<usize>,
        quantum_bytes: u32,
        leak: f64,
        waste: f64,
        unfair: f64,
        weights_per_packet: bool,
        l1_overhead_bytes: u32,
        seed: u64,
        cpu: Option<usize>,
        nice: Option<i32>,
    ) -> PyResult<Self> {
        let scheduler = match scheduler {
            "strict_priority" => Kind::StrictPriority,
            "wrr_packets" => Kind::WrrPackets,
            "wrr_bytes" => Kind::WrrBytes,
            other => {
                return Err(value_error(format!(
                    "scheduler must be strict_priority, wrr_packets or wrr_bytes, got {other:?}"
                )));
            }
        };
        let pcp_to_queue = pcp_to_queue.try_into().map_err(|wrong: Vec<usize>| {
            value_error(format!(
                "pcp_to_queue must have 8 entries, got {}",
                wrong.len()
            ))
        })?;
        let config = Config {
            link_rate_bps,
            l1_overhead_bytes,
            scheduler,
            weights,
            queue_frames,
            pcp_to_queue,
            quantum_bytes,
            defects: DefectSpec {
                leak,
                waste,
                unfair,
                weights_per_packet,
            },
            seed,
        };
        if let Some(problem) = config.problem() {
            return Err(value_error(problem));
        }
        let spec = SwitchSpec {
            netns_fd,
            ingress,
            egress,
            config,
            placement: placement(cpu, nice),
        };
        let engine = py.detach(|| engine::Switch::new(spec)).map_err(os_error)?;
        Ok(Self { engine })
    }

    /// Begins to forward; frames are seen from the moment it returns.
    fn start(&self, py: Python<'_>) -> PyResult<()> {
        started_once(py.detach(|| self.engine.start()))
    }

    /// Stops forwarding. Frames that still wait are discarded.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        if py.detach(|| self.engine.stop()) {
            Ok(())
        } else {
            Err(runtime_error("the switch's thread did not end in time"))
        }
    }

    /// What it did; before stop, what it had done when it last had nothing to forward for 2 ms.
    fn report(&self) -> SwitchReport {
        let report = self.engine.report();
        SwitchReport {
            received: report.received,
            sent: report.sent,
            dropped: report.dropped,
            other: report.other,
            errors: report.errors,
            ring_drops: report.ring_drops,
            lateness_ns_p50: report.lateness_ns_p50,
            lateness_ns_p99: report.lateness_ns_p99,
            lateness_ns_max: report.lateness_ns_max,
            clock_step_ns: report.clock_step_ns,
            stalled_ns: report.stalled_ns,
            stalls: report.stalls,
        }
    }
}

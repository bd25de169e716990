//! Label switching routers in Python.

use std::collections::BTreeMap;
use std::os::fd::RawFd;
use std::sync::Arc;

use pyo3::prelude::*;

use super::{os_error, placement, runtime_error, value_error};
use crate::arp::Mac;
use crate::lsr::spec::{Mpls, Options};
use crate::lsr::{self as engine, Forwarding, RouterSpec};

/// What a router did.
#[pyclass(frozen, get_all, skip_from_py_object, module = "rackproof_native")]
#[derive(Clone)]
pub struct LsrReport {
    counters: BTreeMap<String, u64>,
    differences: Vec<u32>,
    labels: usize,
}

/// The thread of routers. See the stub for the arguments.
#[pyclass(frozen, module = "rackproof_native")]
pub struct Routers {
    engine: Arc<engine::Routers>,
}

#[pymethods]
impl Routers {
    #[new]
    #[pyo3(signature = (*, cpu=None, nice=None))]
    fn new(cpu: Option<usize>, nice: Option<i32>) -> PyResult<Self> {
        let engine = engine::Routers::start(placement(cpu, nice)).map_err(os_error)?;
        Ok(Self {
            engine: Arc::new(engine),
        })
    }
}

/// A label switching router between real ports. See the stub for the arguments.
#[pyclass(frozen, module = "rackproof_native")]
pub struct Lsr {
    engine: engine::Lsr,
}

#[pymethods]
impl Lsr {
    #[new]
    #[pyo3(signature = (routers, *, netns_fd, ports, mpls, options, xdp))]
    fn new(
        py: Python<'_>,
        routers: PyRef<'_, Routers>,
        netns_fd: RawFd,
        ports: Vec<(String, String)>,
        mpls: Mpls,
        options: Options,
        xdp: Option<Vec<u8>>,
    ) -> PyResult<Self> {
        let ports = ports
            .into_iter()
            .map(|(name, address)| Ok((name, mac(&address)?)))
            .collect::<PyResult<_>>()?;
        let spec = RouterSpec {
            netns_fd,
            ports,
            mpls,
            options,
            forwarding: xdp.map_or(Forwarding::Native, Forwarding::Xdp),
        };
        let routers = Arc::clone(&routers.engine);
        let started = py.detach(|| engine::Lsr::start(routers, spec));
        match started.map_err(os_error)? {
            Some(engine) => Ok(Self { engine }),
            None => Err(ended()),
        }
    }

    /// Another configuration; what does not differ stays.
    fn change(&self, py: Python<'_>, mpls: Mpls) -> PyResult<()> {
        let changed = py.detach(|| self.engine.change(mpls));
        changed.ok_or_else(ended)?.map_err(os_error)
    }

    /// Ends it.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.engine.stop());
    }

    /// What it did since its start.
    fn report(&self, py: Python<'_>) -> PyResult<LsrReport> {
        let report = py.detach(|| self.engine.report()).ok_or_else(ended)?;
        let report = report.map_err(os_error)?;
        Ok(LsrReport {
            counters: report.counters,
            differences: report.differences,
            labels: report.labels,
        })
    }
}

/// "02:00:00:00:00:01".
fn mac(text: &str) -> PyResult<Mac> {
    let octets = text.split(':').map(|octet| u8::from_str_radix(octet, 16));
    let octets: Result<Vec<u8>, _> = octets.collect();
    let mac = octets.ok().and_then(|octets| octets.try_into().ok());
    mac.ok_or_else(|| value_error(format!("{text}: expected a hardware address")))
}

fn ended() -> PyErr {
    runtime_error("the router does not run any more")
}

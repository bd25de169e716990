//! The forwarding element in Python.

use std::collections::BTreeMap;
use std::os::fd::RawFd;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::{os_error, placement, runtime_error, value_error};
use crate::element::pipeline::Pipeline;
use crate::element::spec::Tables;
use crate::element::{self as engine, ElementSpec};

/// The pipeline of a forwarding element without ports. See the stub for the arguments.
#[pyclass(module = "rackproof_native")]
pub struct ElementPipeline {
    pipeline: Pipeline,
}

#[pymethods]
impl ElementPipeline {
    #[new]
    fn new(tables: Tables) -> PyResult<Self> {
        let pipeline = Pipeline::new(&tables).map_err(value_error)?;
        Ok(Self { pipeline })
    }

    /// Takes one frame through the tables; the ports that it leaves at, and what leaves there.
    fn forward<'py>(
        &mut self,
        py: Python<'py>,
        port: &str,
        frame: &[u8],
        time_ns: u64,
    ) -> Vec<(String, Bound<'py, PyBytes>)> {
        let ingress = self.pipeline.ports().position(|name| name == port);
        let mut outputs = Vec::new();
        self.pipeline.forward(ingress, frame, time_ns, &mut outputs);
        let names: Vec<&str> = self.pipeline.ports().collect();
        outputs
            .iter()
            .map(|output| {
                let bytes = PyBytes::new(py, &output.bytes(frame));
                (names[output.port].to_owned(), bytes)
            })
            .collect()
    }

    /// Other tables from the next frame on; entries that stay go on counting.
    fn change(&mut self, tables: Tables) -> PyResult<()> {
        let pipeline = Pipeline::new(&tables).map_err(value_error)?;
        self.pipeline.change(pipeline);
        Ok(())
    }

    /// What its tables counted, by name.
    fn counters(&self) -> BTreeMap<String, u64> {
        self.pipeline.counters()
    }
}

/// What an element did.
#[pyclass(frozen, get_all, skip_from_py_object, module = "rackproof_native")]
#[derive(Clone)]
pub struct ElementReport {
    counters: BTreeMap<String, u64>,
    ring_drops: u64,
    errors: u64,
}

/// The thread of elements. See the stub for the arguments.
#[pyclass(frozen, module = "rackproof_native")]
pub struct Forwarder {
    engine: Arc<engine::Forwarder>,
}

#[pymethods]
impl Forwarder {
    #[new]
    #[pyo3(signature = (*, cpu=None, nice=None))]
    fn new(cpu: Option<usize>, nice: Option<i32>) -> PyResult<Self> {
        let engine = engine::Forwarder::start(placement(cpu, nice)).map_err(os_error)?;
        Ok(Self {
            engine: Arc::new(engine),
        })
    }
}

/// A forwarding element between real ports. See the stub for the arguments.
#[pyclass(frozen, module = "rackproof_native")]
pub struct Element {
    engine: engine::Element,
}

#[pymethods]
impl Element {
    #[new]
    #[pyo3(signature = (forwarder, *, netns_fd, ports, tables))]
    fn new(
        py: Python<'_>,
        forwarder: PyRef<'_, Forwarder>,
        netns_fd: Option<RawFd>,
        ports: Vec<String>,
        tables: Tables,
    ) -> PyResult<Self> {
        let spec = ElementSpec {
            netns_fd,
            ports,
            pipeline: Pipeline::new(&tables).map_err(value_error)?,
        };
        let forwarder = Arc::clone(&forwarder.engine);
        let started = py.detach(|| engine::Element::start(forwarder, spec));
        match started.map_err(os_error)? {
            Some(engine) => Ok(Self { engine }),
            None => Err(ended()),
        }
    }

    /// Other tables from the next frame on; entries that stay go on counting.
    fn change(&self, py: Python<'_>, tables: Tables) -> PyResult<()> {
        let pipeline = Pipeline::new(&tables).map_err(value_error)?;
        if py.detach(|| self.engine.change(pipeline)) {
            Ok(())
        } else {
            Err(ended())
        }
    }

    /// Stops forwarding.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.engine.stop());
    }

    /// What it did since its start.
    fn report(&self, py: Python<'_>) -> PyResult<ElementReport> {
        let report = py.detach(|| self.engine.report()).ok_or_else(ended)?;
        Ok(ElementReport {
            counters: report.counters,
            ring_drops: report.ring_drops,
            errors: report.errors,
        })
    }
}

fn ended() -> PyErr {
    runtime_error("the element does not forward any more")
}

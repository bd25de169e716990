//! XDP programs and their maps in Python.

use std::os::fd::RawFd;
use std::sync::{Mutex, MutexGuard};

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::os_error;
use crate::xdp::{Kind, Loaded};

/// A loaded object with its programs and maps. See the stub for the arguments.
#[pyclass(frozen, module = "rackproof_native")]
pub struct Xdp {
    loaded: Mutex<Loaded>,
}

impl Xdp {
    fn loaded(&self) -> MutexGuard<'_, Loaded> {
        self.loaded
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[pymethods]
impl Xdp {
    #[new]
    #[pyo3(signature = (elf, *, netns_fd))]
    fn new(py: Python<'_>, elf: &[u8], netns_fd: RawFd) -> PyResult<Self> {
        let loaded = py.detach(|| Loaded::new(elf, netns_fd)).map_err(os_error)?;
        Ok(Self {
            loaded: Mutex::new(loaded),
        })
    }

    /// Attaches a program to an interface.
    fn attach(&self, py: Python<'_>, program: &str, interface: &str) -> PyResult<()> {
        py.detach(|| self.loaded().attach(program, interface))
            .map_err(os_error)
    }

    /// The descriptor of a program.
    fn program_fd(&self, program: &str) -> PyResult<RawFd> {
        self.loaded().program_fd(program).map_err(os_error)
    }

    /// Makes maps within a map of maps.
    #[pyo3(signature = (outer, indices, *, map_type, key_bytes, value_bytes, entries, flags=0))]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments in Python")]
    fn add_maps(
        &self,
        py: Python<'_>,
        outer: &str,
        indices: Vec<u32>,
        map_type: u32,
        key_bytes: u32,
        value_bytes: u32,
        entries: u32,
        flags: u32,
    ) -> PyResult<()> {
        let kind = Kind {
            map_type,
            key_bytes,
            value_bytes,
            entries,
            flags,
        };
        py.detach(|| self.loaded().add_tables(outer, &indices, kind))
            .map_err(os_error)
    }

    /// Writes entries.
    fn update(&self, py: Python<'_>, name: &str, entries: Vec<(Vec<u8>, Vec<u8>)>) -> PyResult<()> {
        py.detach(|| self.loaded().update(name, &entries))
            .map_err(os_error)
    }

    /// The values of keys.
    fn lookup<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        keys: Vec<Vec<u8>>,
    ) -> PyResult<Vec<Option<Bound<'py, PyBytes>>>> {
        let values = py
            .detach(|| self.loaded().lookup(name, &keys))
            .map_err(os_error)?;
        Ok(values
            .into_iter()
            .map(|value| value.map(|value| PyBytes::new(py, &value)))
            .collect())
    }

    /// Deletes entries.
    fn delete(&self, py: Python<'_>, name: &str, keys: Vec<Vec<u8>>) -> PyResult<()> {
        py.detach(|| self.loaded().delete(name, &keys))
            .map_err(os_error)
    }

    /// The keys of a map.
    fn keys<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Vec<Bound<'py, PyBytes>>> {
        let keys = py.detach(|| self.loaded().keys(name)).map_err(os_error)?;
        Ok(keys.iter().map(|key| PyBytes::new(py, key)).collect())
    }
}

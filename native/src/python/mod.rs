//! The engine as Python sees it. Types and documentation for readers are in `rackproof_native.pyi`.

mod element;
mod lsp;
mod lsr;
mod path;
mod receiver;
mod sender;
mod switch;
mod wires;
mod xdp;

use std::os::fd::RawFd;
use std::time::Duration;

use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::error::SetupError;
use crate::frame;
use crate::records;
use crate::socket::PortSpec;
use crate::worker::Placement;

/// How often a waiting thread lets Python handle signals.
const SIGNALS: Duration = Duration::from_millis(50);

/// Rackproof's measurement engine: packet sender, receiver, reference switch and emulated path.
#[pymodule]
fn rackproof_native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("SIGNATURE_BYTES", frame::SIGNATURE_BYTES)?;
    module.add("RECORD_DTYPE_DESCR", records::RECORD_FIELDS.to_vec())?;
    module.add("UNTAGGED_PCP", frame::UNTAGGED)?;
    module.add("FLAG_STACKED_VLAN", frame::FLAG_STACKED_VLAN)?;
    module.add("FLAG_MPLS", frame::FLAG_MPLS)?;
    module.add("FLAG_PBB", frame::FLAG_PBB)?;
    module.add_class::<Port>()?;
    module.add_class::<sender::Stream>()?;
    module.add_class::<sender::Sender>()?;
    module.add_class::<sender::SenderReport>()?;
    module.add_class::<receiver::Receiver>()?;
    module.add_class::<receiver::ReceiverReport>()?;
    module.add_class::<switch::Switch>()?;
    module.add_class::<switch::SwitchReport>()?;
    module.add_class::<element::ElementPipeline>()?;
    module.add_class::<element::Forwarder>()?;
    module.add_class::<element::Element>()?;
    module.add_class::<element::ElementReport>()?;
    module.add_class::<lsr::Routers>()?;
    module.add_class::<lsr::Lsr>()?;
    module.add_class::<lsr::LsrReport>()?;
    module.add_class::<lsp::LerState>()?;
    module.add_class::<lsp::LerReport>()?;
    module.add_class::<lsp::LerPair>()?;
    module.add_class::<path::PathDirection>()?;
    module.add_class::<path::PathCounts>()?;
    module.add_class::<path::Path>()?;
    module.add_class::<path::PathReport>()?;
    module.add_class::<wires::Wire>()?;
    module.add_class::<wires::Wires>()?;
    module.add_class::<wires::WiresReport>()?;
    module.add_class::<xdp::Xdp>()?;
    Ok(())
}

/// An interface in a network namespace.
///
/// `netns_fd` is an open descriptor of the namespace (None: the caller's). It is used while a
/// Sender or Receiver is constructed and may be closed afterwards.
#[pyclass(frozen, skip_from_py_object, module = "rackproof_native")]
#[derive(Clone)]
pub struct Port {
    #[pyo3(get)]
    interface: String,
    #[pyo3(get)]
    netns_fd: Option<RawFd>,
}

#[pymethods]
impl Port {
    #[new]
    #[pyo3(signature = (interface, netns_fd=None))]
    fn new(interface: String, netns_fd: Option<RawFd>) -> Self {
        Self {
            interface,
            netns_fd,
        }
    }

    fn __repr__(&self) -> String {
        let fd = self.netns_fd.map_or("None".to_owned(), |fd| fd.to_string());
        format!("Port({:?}, netns_fd={fd})", self.interface)
    }
}

fn port_specs(ports: &[PyRef<'_, Port>]) -> Vec<PortSpec> {
    ports
        .iter()
        .map(|port| PortSpec {
            interface: port.interface.clone(),
            netns_fd: port.netns_fd,
        })
        .collect()
}

fn placement(cpu: Option<usize>, nice: Option<i32>) -> Placement {
    Placement { cpu, nice }
}

/// The interface becomes the OSError's filename.
fn os_error(error: SetupError) -> PyErr {
    let errno = error.source.raw_os_error().unwrap_or(libc::EIO);
    let reason = error.source.to_string();
    let reason = reason.split(" (os error").next().unwrap_or_default();
    let message = format!("{}: {reason}", error.operation);
    if error.interface.is_empty() {
        PyOSError::new_err((errno, message))
    } else {
        PyOSError::new_err((errno, message, error.interface))
    }
}

fn value_error(message: String) -> PyErr {
    PyValueError::new_err(message)
}

fn runtime_error(message: &str) -> PyErr {
    PyRuntimeError::new_err(message.to_owned())
}

fn started_once(started: Option<Result<(), SetupError>>) -> PyResult<()> {
    match started {
        None => Err(runtime_error(
            "already started; make a new one for every trial",
        )),
        Some(result) => result.map_err(os_error),
    }
}

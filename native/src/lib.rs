//! What measures: a paced packet sender, a recording receiver, a reference switch, emulated links and paths, a forwarding element.
//!
//! Everything here is plain Rust on Linux packet sockets; `python` wraps it for Python.

#[cfg(not(target_os = "linux"))]
compile_error!("packet sockets, network namespaces and memfd are Linux's");

pub mod arp;
pub mod arrivals;
pub mod batch;
pub mod clock;
pub mod egress;
pub mod element;
pub mod error;
pub mod forwarding;
pub mod frame;
pub mod lateness;
pub mod lsp;
pub mod lsr;
pub mod netns;
pub mod path;
pub mod pool;
pub mod receiver;
pub mod records;
pub mod ring;
pub mod sender;
pub mod socket;
pub mod stalls;
pub mod switch;
pub mod wake;
pub mod wires;
pub mod worker;
pub mod xdp;

#[cfg(feature = "python")]
mod python;

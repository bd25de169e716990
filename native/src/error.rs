//! What went wrong while preparing sockets and threads, and on which interface.

use std::fmt;
use std::io;

/// A system call that failed: which, on what, and the kernel's reason.
#[derive(Debug)]
pub struct SetupError {
    /// What was attempted, such as "bind packet socket".
    pub operation: String,
    /// The interface it was attempted on; empty where none was involved.
    pub interface: String,
    /// The kernel's reason.
    pub source: io::Error,
}

impl SetupError {
    /// The last operating system error, with what it interrupted.
    pub fn last(operation: &str, interface: &str) -> Self {
        Self::from_io(io::Error::last_os_error(), operation, interface)
    }

    /// `source`, with what it interrupted.
    pub fn from_io(source: io::Error, operation: &str, interface: &str) -> Self {
        Self {
            operation: operation.to_owned(),
            interface: interface.to_owned(),
            source,
        }
    }
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.operation, self.source)
    }
}

impl std::error::Error for SetupError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

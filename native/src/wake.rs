//! How a thread that sleeps is woken.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::error::SetupError;

/// A descriptor that becomes readable when somebody wants the thread.
pub struct WakeUp(OwnedFd);

impl WakeUp {
    /// Not signalled.
    pub fn new() -> Result<Self, SetupError> {
        // SAFETY: takes integers only; the result is checked before use.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(SetupError::last("create event descriptor", ""));
        }
        // SAFETY: `fd` was just returned by eventfd and belongs to nobody else.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Ends the sleep, or the next one.
    pub fn signal(&self) {
        let one: u64 = 1;
        // SAFETY: eight live bytes, as an event descriptor wants. It can only refuse when it is
        // signalled already.
        unsafe { libc::write(self.0.as_raw_fd(), std::ptr::from_ref(&one).cast(), 8) };
    }

    /// Lets the thread sleep again.
    pub fn clear(&self) {
        let mut count: u64 = 0;
        // SAFETY: eight live bytes; where nothing was signalled it refuses.
        unsafe { libc::read(self.0.as_raw_fd(), std::ptr::from_mut(&mut count).cast(), 8) };
    }

    /// The descriptor, to be polled.
    pub fn raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

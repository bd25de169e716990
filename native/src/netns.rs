//! How a socket is opened in another network namespace without moving the caller there.

use std::os::fd::RawFd;

use crate::error::SetupError;

/// Runs `work` inside the network namespace behind the open descriptor `netns_fd`, or here for None.
///
/// A namespace belongs to a thread: a helper thread enters it and ends, so the caller stays where
/// it is. Sockets keep the namespace in which they were made.
pub fn run_in<T, F>(netns_fd: Option<RawFd>, work: F) -> Result<T, SetupError>
where
    T: Send,
    F: FnOnce() -> Result<T, SetupError> + Send,
{
    let Some(fd) = netns_fd else { return work() };
    std::thread::scope(|scope| {
        let helper = scope.spawn(move || {
            // SAFETY: setns reads no memory of ours; a descriptor that is no network namespace
            // is refused with an error. Only this short-lived thread is moved.
            if unsafe { libc::setns(fd, libc::CLONE_NEWNET) } != 0 {
                return Err(SetupError::last("enter network namespace", ""));
            }
            work()
        });
        helper
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

//! How a measuring thread is started, asked to stop, waited for and never left behind.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Where a thread runs and how much it is preferred.
#[derive(Clone, Copy, Debug, Default)]
pub struct Placement {
    /// The only CPU it may use.
    pub cpu: Option<usize>,
    /// Its niceness, -20 to 19; ignored where the system forbids it.
    pub nice: Option<i32>,
}

impl Placement {
    /// Applies to the calling thread. What the system forbids is left as it was: measurements
    /// without privilege are worse, not impossible.
    fn apply(self) {
        if let Some(cpu) = self.cpu {
            // SAFETY: cpu_set_t is plain bits, for which zero is valid.
            let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
            if cpu < 8 * size_of::<libc::cpu_set_t>() {
                // SAFETY: `cpu` was checked to lie inside the set.
                unsafe { libc::CPU_SET(cpu, &mut set) };
                // SAFETY: the set is initialised and its true size is given; 0 is this thread.
                unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set) };
            }
        }
        if let Some(nice) = self.nice {
            // SAFETY: takes integers only; on Linux 0 means the calling thread.
            unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
        }
    }
}

struct State<T> {
    started: bool,
    done: bool,
    outcome: Option<T>,
}

struct Shared<T> {
    stop: AtomicBool,
    state: Mutex<State<T>>,
    changed: Condvar,
}

/// One thread that ends by itself or when asked, and leaves an outcome.
pub struct Worker<T> {
    shared: Arc<Shared<T>>,
    handle: Mutex<Option<JoinHandle<()>>>,
}

impl<T: Clone + Send + 'static> Default for Worker<T> {
    fn default() -> Self {
        Self {
            shared: Arc::new(Shared {
                stop: AtomicBool::new(false),
                state: Mutex::new(State {
                    started: false,
                    done: false,
                    outcome: None,
                }),
                changed: Condvar::new(),
            }),
            handle: Mutex::new(None),
        }
    }
}

impl<T: Clone + Send + 'static> Worker<T> {
    /// Starts the thread. `work` must look at its argument often and return once it is true: its
    /// outcome, and what to drop when that is known (closing packet sockets takes tens of
    /// milliseconds, for which nobody needs to wait).
    pub fn start<F, R>(&self, name: &str, placement: Placement, work: F) -> std::io::Result<()>
    where
        F: FnOnce(&AtomicBool) -> (T, R) + Send + 'static,
    {
        let shared = Arc::clone(&self.shared);
        let handle = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                placement.apply();
                let (outcome, rest) = catch_unwind(AssertUnwindSafe(|| work(&shared.stop)))
                    .ok()
                    .unzip();
                let mut state = lock(&shared.state);
                state.outcome = outcome;
                state.done = true;
                drop(state);
                shared.changed.notify_all();
                drop(rest);
            })?;
        lock(&self.shared.state).started = true;
        *lock(&self.handle) = Some(handle);
        Ok(())
    }

    /// Whether the thread was ever started.
    pub fn started(&self) -> bool {
        lock(&self.shared.state).started
    }

    /// Asks the thread to end.
    pub fn request_stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// Waits until the thread has ended, at most `timeout`; whether it has. True if never started.
    pub fn wait(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let mut state = lock(&self.shared.state);
        while state.started && !state.done {
            let now = Instant::now();
            if now >= deadline {
                return false;
            }
            state = self
                .shared
                .changed
                .wait_timeout(state, deadline - now)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        true
    }

    /// What the thread left; None while it runs, if it never ran, or if it failed.
    pub fn outcome(&self) -> Option<T> {
        lock(&self.shared.state).outcome.clone()
    }

    /// Whether the thread has ended.
    pub fn finished(&self) -> bool {
        lock(&self.shared.state).done
    }
}

impl<T> Drop for Worker<T> {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(handle) = lock(&self.handle).take() {
            // The thread's panic, if any, was caught inside it.
            let _ = handle.join();
        }
    }
}

/// Locks, whatever became of the last holder: the state is a few flags, valid at any moment.
pub fn lock<S>(mutex: &Mutex<S>) -> MutexGuard<'_, S> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until_stopped(stop: &AtomicBool) -> (u32, ()) {
        while !stop.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        (7, ())
    }

    #[test]
    fn ends_when_asked_and_leaves_its_outcome() {
        let worker = Worker::default();
        let nowhere = Placement::default();
        worker.start("test", nowhere, until_stopped).unwrap();
        assert!(!worker.wait(Duration::ZERO));
        assert_eq!(worker.outcome(), None);
        worker.request_stop();
        assert!(worker.wait(Duration::from_secs(10)));
        assert_eq!(worker.outcome(), Some(7));
    }

    #[test]
    fn dropping_ends_the_thread() {
        let worker = Worker::default();
        let nowhere = Placement::default();
        worker.start("test", nowhere, until_stopped).unwrap();
        drop(worker);
    }

    #[test]
    fn a_panic_ends_the_wait_without_an_outcome() {
        let worker: Worker<u32> = Worker::default();
        let nowhere = Placement::default();
        worker
            .start("test", nowhere, |_| -> (u32, ()) { panic!("on purpose") })
            .unwrap();
        assert!(worker.wait(Duration::from_secs(10)));
        assert_eq!(worker.outcome(), None);
        assert!(worker.finished());
    }
}

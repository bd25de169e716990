//! How one thread serves all routers: messages and frames by turns, requests in between, and sleep until something is due.

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};

use super::Report;
use super::device::Device;
use super::spec::Mpls;
use crate::clock::{monotonic_ns, realtime_ns};
use crate::error::SetupError;

/// Idle time before the thread sleeps where it forwards frames itself [ns]: waking costs tens of microseconds.
const SPIN_NS: i64 = 200_000;
/// Longest sleep, so that an end is seen [ns].
const SLEEP_NS: i64 = 100_000_000;
/// How exactly the kernel ends a sleep [ns].
const SLACK_NS: libc::c_ulong = 1_000;

/// What the thread is asked; routers go by numbers.
pub enum Request {
    Add(Box<Device>, Sender<usize>),
    Change(usize, Box<Mpls>, Sender<Option<Result<(), SetupError>>>),
    Report(usize, Sender<Option<Result<Report, SetupError>>>),
    Remove(usize, Sender<Option<Box<Device>>>),
}

/// Wakes the thread.
pub struct Bell(OwnedFd);

impl Bell {
    pub fn new() -> Result<Self, SetupError> {
        // SAFETY: takes integers only; the result is checked before use.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(SetupError::last("make event descriptor", ""));
        }
        // SAFETY: just made, and nobody else's.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    pub fn ring(&self) {
        let one = 1_u64.to_ne_bytes();
        // SAFETY: eight live bytes. Should the write fail, the thread wakes a little later.
        unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }

    fn silence(&self) {
        let mut count = [0_u8; 8];
        // SAFETY: eight live bytes; the descriptor never blocks.
        unsafe { libc::read(self.0.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
    }
}

/// Routers by number, and the number of the next one.
#[derive(Default)]
struct Routers {
    devices: BTreeMap<usize, Box<Device>>,
    next: usize,
}

/// Serves until `stop` is true; the routers that are left.
pub fn run(stop: &AtomicBool, asked: &Receiver<Request>, bell: &Bell) -> Vec<Device> {
    // SAFETY: takes integers only, and concerns this thread alone.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, SLACK_NS) };
    let mut routers = Routers::default();
    let mut busy_ns = monotonic_ns();
    while !stop.load(Ordering::Relaxed) {
        let mut is_busy = false;
        for device in routers.devices.values_mut() {
            is_busy |= device.turn();
        }
        while let Ok(request) = asked.try_recv() {
            routers.answer(request);
            is_busy = true;
        }
        let now = monotonic_ns();
        if is_busy {
            busy_ns = now;
        } else if routers.must_spin() && now - busy_ns < SPIN_NS {
            std::thread::yield_now();
        } else {
            routers.sleep(bell);
        }
    }
    routers
        .devices
        .into_values()
        .map(|device| *device)
        .collect()
}

impl Routers {
    fn must_spin(&self) -> bool {
        self.devices.values().any(|device| device.forwards_itself())
    }

    fn sleep(&self, bell: &Bell) {
        let due_ns = self
            .devices
            .values()
            .filter_map(|device| device.next_ns())
            .min();
        let left_ns = due_ns.map_or(SLEEP_NS, |due_ns| due_ns - realtime_ns());
        let fds = self.devices.values().flat_map(|device| device.wakes_on());
        wait(
            std::iter::once(bell.0.as_raw_fd()).chain(fds),
            left_ns.clamp(0, SLEEP_NS),
        );
        bell.silence();
    }

    /// An asker who has gone is told nothing.
    #[cold]
    fn answer(&mut self, request: Request) {
        match request {
            Request::Add(device, answer) => {
                self.devices.insert(self.next, device);
                let _ = answer.send(self.next);
                self.next += 1;
            }
            Request::Change(number, mpls, answer) => {
                let device = self.devices.get_mut(&number);
                let _ = answer.send(device.map(|device| device.change(&mpls)));
            }
            Request::Report(number, answer) => {
                let device = self.devices.get_mut(&number);
                let _ = answer.send(device.map(|device| report(device)));
            }
            Request::Remove(number, answer) => {
                let _ = answer.send(self.devices.remove(&number));
            }
        }
    }
}

fn report(device: &mut Device) -> Result<Report, SetupError> {
    Ok(Report {
        counters: device.counters()?,
        differences: device.differences()?,
        labels: device.labels()?,
    })
}

/// Sleeps until one can be read, or the time is over.
fn wait(fds: impl Iterator<Item = RawFd>, nanoseconds: i64) {
    let mut waiting: Vec<libc::pollfd> = fds
        .map(|fd| libc::pollfd {
            fd,
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    let time = libc::timespec {
        tv_sec: nanoseconds / 1_000_000_000,
        tv_nsec: nanoseconds % 1_000_000_000,
    };
    // SAFETY: live pollfds, as many as said, and a live timespec; no signal mask.
    unsafe {
        libc::ppoll(
            waiting.as_mut_ptr(),
            waiting.len() as libc::nfds_t,
            &time,
            std::ptr::null(),
        )
    };
}

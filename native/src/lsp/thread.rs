//! The thread of a pair of LERs: it gives the engine frames and time, and sleeps in between.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::Duration;

use super::engine::Engine;
use super::sockets::Port;
use crate::clock::{Moment, monotonic_ns, realtime_ns};
use crate::stalls::Stalls;
use crate::wake::WakeUp;

/// Most frames read from one port before what is due is looked at.
const READ_FRAMES: usize = 64;
/// Shorter waits are not slept [ns]: falling asleep and waking takes as long.
const SHORTEST_NS: i64 = 5_000;
const LONGEST_NS: i64 = 1_000_000_000;
/// How exactly the kernel wakes the thread [ns].
const SLACK_NS: libc::c_ulong = 1_000;
/// The last tears take no longer than this [ns].
const LAST_TEARS_NS: i64 = 1_000_000_000;

/// What others may look at and change, between two turns of the thread and after its end.
pub struct Core {
    /// The machine of states.
    pub engine: Engine,
    /// Frames that a ring had no room for.
    pub ring_drops: u64,
    /// Frames that the kernel refused.
    pub send_errors: u64,
    /// When it could not run though it had work.
    pub stalls: Stalls,
    /// The start.
    pub start: Moment,
}

/// What is done in the thread for others.
pub type Request = Box<dyn FnOnce(&mut Core) + Send>;

impl Core {
    /// Serves until `stop` is true; what still stands is torn down once.
    pub fn run(
        &mut self,
        ports: &mut [Port],
        stop: &AtomicBool,
        asked: &Receiver<Request>,
        wake: &WakeUp,
    ) {
        // SAFETY: takes integers only, and changes this thread alone.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, SLACK_NS) };
        self.start = Moment::now();
        self.engine.start(self.start.realtime_ns);
        let mut looked_ns = 0;
        while !stop.load(Ordering::Relaxed) {
            let mut is_busy = self.read(ports);
            let now = realtime_ns();
            self.engine.advance(now);
            is_busy |= self.flush(ports);
            while let Ok(request) = asked.try_recv() {
                request(self);
                is_busy = true;
            }
            self.stalls.turn(monotonic_ns());
            if now - looked_ns > LONGEST_NS {
                looked_ns = now;
                self.count_drops(ports);
            }
            if !is_busy {
                self.sleep(ports, wake);
            }
        }
        self.tear_last(ports);
        self.count_drops(ports);
    }

    fn read(&mut self, ports: &mut [Port]) -> bool {
        let mut any = false;
        for (end, port) in ports.iter_mut().enumerate() {
            let engine = &mut self.engine;
            let mut each = || port.take(|view| engine.receive(view.time_ns, end, view.data));
            any |= (0..READ_FRAMES).take_while(|_| each()).count() > 0;
        }
        any
    }

    fn flush(&mut self, ports: &[Port]) -> bool {
        let out = self.engine.out();
        if out.is_empty() {
            return false;
        }
        let refused = ports
            .iter()
            .enumerate()
            .map(|(end, port)| port.send(end, out));
        self.send_errors += refused.sum::<u64>();
        out.clear();
        true
    }

    fn count_drops(&mut self, ports: &[Port]) {
        let drops = ports.iter().map(|port| port.socket.take_ring_drops(false));
        self.ring_drops += drops.sum::<u64>();
    }

    /// Until a frame comes, somebody asks, or something is due.
    fn sleep(&mut self, ports: &[Port], wake: &WakeUp) {
        let wait_ns = (self.engine.next_ns().saturating_sub(realtime_ns())).min(LONGEST_NS);
        if wait_ns < SHORTEST_NS {
            return;
        }
        let descriptors = ports.iter().map(|port| port.socket.raw_fd());
        let mut waiting: Vec<libc::pollfd> = descriptors
            .chain([wake.raw_fd()])
            .map(|fd| libc::pollfd {
                fd,
                events: libc::POLLIN,
                revents: 0,
            })
            .collect();
        let timeout = libc::timespec {
            tv_sec: wait_ns / 1_000_000_000,
            tv_nsec: wait_ns % 1_000_000_000,
        };
        // SAFETY: live pollfds, as many as said, a live timeout, and no signal mask.
        unsafe {
            libc::ppoll(
                waiting.as_mut_ptr(),
                waiting.len() as libc::nfds_t,
                &timeout,
                std::ptr::null(),
            )
        };
        wake.clear();
        self.stalls.pause();
    }

    fn tear_last(&mut self, ports: &[Port]) {
        let standing = self.engine.standing();
        let gap_ns = self
            .engine
            .teardown_gap_ns()
            .min(LAST_TEARS_NS / standing.len().max(1) as i64);
        let mut next_ns = monotonic_ns();
        for name in standing {
            let early_ns = (next_ns - monotonic_ns()).max(0);
            std::thread::sleep(Duration::from_nanos(early_ns as u64));
            next_ns += gap_ns;
            self.engine.send_last_tear(name);
            self.flush(ports);
        }
    }
}

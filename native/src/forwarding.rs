//! What everything shares that forwards real frames in virtual time: how it reads its ring, and how it rests.

use std::collections::VecDeque;

use crate::pool::Pool;
use crate::ring::{FrameView, RingV2};
use crate::socket::PacketSocket;

/// Frames that the ring holds.
pub const RING_SLOTS: usize = 8192;
/// Ethernet header, two VLAN tags and one more: beyond the MTU.
pub const FRAMING_BYTES: u32 = 14 + 12;
/// A frame stamped on another core may still be on its way into the ring for this long [ns].
pub const SETTLING_NS: i64 = 20_000;
/// Idle time before the thread sleeps [ns]: waking costs tens of microseconds.
pub const SPIN_NS: i64 = 2_000_000;
/// Most frames read before departures are looked at.
const READ_FRAMES: usize = 64;
/// Longest sleep, so that a request is seen [ms].
const SLEEP_MS: libc::c_int = 5;

/// Reads frames from the ring; the time up to which all arrivals are known then. `now` was read before.
#[inline]
pub fn read(ring: &mut RingV2, now: i64, mut each: impl FnMut(&FrameView<'_>)) -> i64 {
    let mut last_ns = now;
    for _ in 0..READ_FRAMES {
        let taken = ring.take(|view| {
            last_ns = view.time_ns;
            each(&view);
        });
        if !taken {
            return now;
        }
    }
    last_ns
}

/// Whether all of a frame is there, and a buffer holds it with a tag.
#[inline]
pub fn fits(view: &FrameView<'_>, pool: &Pool) -> bool {
    view.data.len() == view.length as usize && view.data.len() + 4 <= pool.slot_bytes()
}

/// Frames of different cores may enter the ring a little out of order.
#[inline]
pub fn insert_by_time<T>(arrived: &mut VecDeque<T>, frame: T, time_ns: impl Fn(&T) -> i64) {
    let later = arrived
        .iter()
        .rev()
        .take_while(|other| time_ns(other) > time_ns(&frame));
    let at = arrived.len() - later.count();
    arrived.insert(at, frame);
}

/// Sleeps until a frame comes, at most a few milliseconds.
pub fn sleep(socket: &PacketSocket) {
    sleep_for_any(std::iter::once(socket));
}

/// Sleeps until a frame comes at one of these, at most a few milliseconds.
pub fn sleep_for_any<'a>(sockets: impl Iterator<Item = &'a PacketSocket>) {
    let mut waiting: Vec<libc::pollfd> = sockets
        .map(|socket| libc::pollfd {
            fd: socket.raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    // SAFETY: live pollfds, as many as said.
    unsafe {
        libc::poll(
            waiting.as_mut_ptr(),
            waiting.len() as libc::nfds_t,
            SLEEP_MS,
        )
    };
}

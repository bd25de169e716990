//! What happens by itself: refreshes, ends of lifetimes, forwarding that follows late; and how long control takes for what.

use std::cmp::Reverse;

use rackproof_rsvp::MessageType;
use rand::Rng;

use super::router::Router;
use super::state::Key;
use super::work::Work;

/// What something costs that changes no state, as a share of what new state costs.
const REFRESH_SHARE: f64 = 0.02;

/// What is due at a time; numbers say of which state (its own number, or its label), as keys come again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    PathEnds(Key, u64),
    ResvEnds(Key, u32),
    RefreshPath(Key, u64),
    RefreshResv(Key, u32),
    Forward(Key, u64),
}

// Timers are ordered by time and by the number that they were set with, which no two share.
impl PartialOrd for Timer {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timer {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl Router {
    pub(super) fn at(&mut self, due_ns: i64, timer: Timer) {
        self.next_number += 1;
        self.timers.push(Reverse((due_ns, self.next_number, timer)));
    }

    /// Sets a refresh at 0.5 to 1.5 R (RFC 2205, 3.7).
    pub(super) fn refresh_later(&mut self, now_ns: i64, refresh_ms: u32, timer: Timer) {
        let jitter = self.random.random_range(0.5..1.5);
        self.at(
            now_ns + (f64::from(refresh_ms) * 1e6 * jitter) as i64,
            timer,
        );
    }

    /// Begins with the next message, where there is one and none is being served.
    pub(super) fn begin(&mut self) {
        if let Some((at_ns, work)) = self.server.next() {
            let cost_ns = self.cost_ns(&work);
            self.server.start(at_ns, work, cost_ns);
        }
    }

    fn cost_ns(&mut self, work: &Work) -> i64 {
        let (cost_us, is_known) = match work.message.kind {
            MessageType::Path => (self.options.path_us, self.is_known_path(work)),
            MessageType::Resv => (self.options.resv_us, self.is_known_resv(work)),
            MessageType::PathTear => {
                let known = Key::of_sender(&work.message);
                let known = known.is_some_and(|key| self.states.contains_key(&key));
                (self.options.tear_us, !known)
            }
            MessageType::ResvTear => (self.options.tear_us, false),
            _ => (self.options.path_us, true),
        };
        let share = if is_known { REFRESH_SHARE } else { 1.0 };
        let jitter = 1.0 + self.options.jitter * self.random.random_range(-1.0..1.0);
        (cost_us * 1e3 * share * jitter) as i64
    }

    /// Does what the first timer says.
    pub(super) fn expire(&mut self) {
        let Some(Reverse((now_ns, _, timer))) = self.timers.pop() else {
            return;
        };
        match timer {
            Timer::PathEnds(key, number) => self.path_ends(now_ns, key, number),
            Timer::ResvEnds(key, label) => self.resv_ends(now_ns, key, label),
            Timer::RefreshPath(key, number) => {
                let state = self.states.get(&key).filter(|state| state.number == number);
                if let Some(refresh_ms) = state.map(|state| state.life.refresh_ms) {
                    self.send_path(key);
                    self.refresh_later(now_ns, refresh_ms, timer);
                }
            }
            Timer::RefreshResv(key, label) => {
                if let Some((_, refresh_ms)) = self.reservation_life(key, label) {
                    self.send_resv(key);
                    self.refresh_later(now_ns, refresh_ms, timer);
                }
            }
            Timer::Forward(key, number) => {
                let state = self.states.get(&key);
                if state.is_some_and(|state| state.number == number) {
                    self.forward(&key);
                }
            }
        }
    }

    fn path_ends(&mut self, now_ns: i64, key: Key, number: u64) {
        let state = self.states.get(&key).filter(|state| state.number == number);
        match state.map(|state| state.life.until_ns()) {
            None => {}
            Some(until_ns) if until_ns > now_ns => self.at(until_ns, Timer::PathEnds(key, number)),
            Some(_) => {
                self.counts.expired += 1;
                if let Some(state) = self.states.remove(&key) {
                    self.give_up(&state);
                    self.send_path_tear(&state);
                }
            }
        }
    }

    fn resv_ends(&mut self, now_ns: i64, key: Key, label: u32) {
        match self.reservation_life(key, label) {
            None => {}
            Some((until_ns, _)) if until_ns > now_ns => {
                self.at(until_ns, Timer::ResvEnds(key, label));
            }
            Some(_) => {
                self.counts.expired += 1;
                self.end_reservation(key);
            }
        }
    }

    fn reservation_life(&self, key: Key, label: u32) -> Option<(i64, u32)> {
        let reservation = self.states.get(&key)?.reservation.as_ref();
        let reservation = reservation.filter(|reservation| reservation.label == label)?;
        Some((reservation.life.until_ns(), reservation.life.refresh_ms))
    }
}

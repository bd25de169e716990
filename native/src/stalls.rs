//! When was a spinning thread kept from running: by other tasks, interrupts or the hypervisor.

use crate::clock::{monotonic_ns, realtime_ns};

/// Shorter pauses are the loop's own work [ns].
pub const STALL_NS: i64 = 200_000;
/// Most stalls that are listed; all are summed.
const LISTED: usize = 10_000;

/// A thread's stalls, seen as jumps of the clock between two turns of its loop.
#[derive(Clone, Debug, Default)]
pub struct Stalls {
    last_ns: Option<i64>,
    /// Start (CLOCK_REALTIME) and length of each, in order [ns].
    pub listed: Vec<(i64, i64)>,
    /// Lengths of all, summed [ns].
    pub total_ns: i64,
}

impl Stalls {
    /// Notes a turn of the loop at `now` (CLOCK_MONOTONIC) [ns].
    #[inline]
    pub fn turn(&mut self, now: i64) {
        if let Some(last) = self.last_ns
            && now - last > STALL_NS
        {
            let start = last + (realtime_ns() - monotonic_ns());
            self.note(start, now - last);
        }
        self.last_ns = Some(now);
    }

    /// Forgets the last turn: what follows is a wanted sleep.
    pub fn pause(&mut self) {
        self.last_ns = None;
    }

    #[cold]
    fn note(&mut self, start_ns: i64, length_ns: i64) {
        self.total_ns += length_ns;
        if self.listed.len() < LISTED {
            self.listed.push((start_ns, length_ns));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_jumps_count_and_sleeps_do_not() {
        let mut stalls = Stalls::default();
        for now in [0, 1_000, 150_000, 1_150_000] {
            stalls.turn(now);
        }
        stalls.pause();
        stalls.turn(9_000_000);
        assert_eq!(stalls.total_ns, 1_000_000);
        assert_eq!(stalls.listed.len(), 1);
        assert_eq!(stalls.listed[0].1, 1_000_000);
    }
}

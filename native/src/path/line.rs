//! One direction of real packets: who gets through, who waits for its time, and what was counted.

use std::collections::VecDeque;

use super::direction::{Direction, Fate};
use super::frames::{Arrived, Leaving};
use super::recording::{DROPPED, IN_FLIGHT, LOST, NO_ROOM, PASSED, Recording};
use super::{Counts, PathSpec};
use crate::lateness::Histogram;

/// A direction, and the frames in it in the order of their departures.
pub struct Line {
    direction: Direction,
    counts: Counts,
    leaving: VecDeque<Leaving>,
    lateness: Histogram,
}

impl Line {
    /// Direction `number` of a path.
    pub fn new(spec: &PathSpec, number: usize) -> Self {
        Self {
            direction: Direction::new(&spec.directions[number], spec.seed, number as u64),
            counts: Counts::default(),
            leaving: VecDeque::new(),
            lateness: Histogram::default(),
        }
    }

    /// Takes a frame; gives back the buffer of one that is dropped.
    #[inline]
    pub fn take(&mut self, frame: Arrived, recording: Option<&mut Recording>) -> Option<u32> {
        if !frame.queues {
            let due_ns = frame.time_ns + self.direction.delay_ns();
            self.depart(Leaving::new(&frame, due_ns, None));
            return None;
        }
        self.counts.received += 1;
        let fate = self.direction.arrive(frame.time_ns, frame.bytes);
        let note = |rx_ns, flags| recording.and_then(|r| r.note(&frame, rx_ns, flags));
        match fate {
            Fate::Leaves(due_ns) => {
                self.counts.in_flight += 1;
                let row = note(IN_FLIGHT, PASSED);
                self.depart(Leaving::new(&frame, due_ns, row));
                return None;
            }
            Fate::NoRoom => {
                note(DROPPED, NO_ROOM);
                self.counts.dropped_buffer += 1;
            }
            Fate::Lost => {
                note(DROPPED, LOST);
                self.counts.dropped_loss += 1;
            }
        }
        Some(frame.handle)
    }

    /// When the next frame is due [ns].
    #[inline]
    pub fn next_ns(&self) -> i64 {
        self.leaving.front().map_or(i64::MAX, |next| next.due_ns)
    }

    /// The next frame.
    #[inline]
    pub fn pop(&mut self) -> Option<Leaving> {
        self.leaving.pop_front()
    }

    /// Counts a frame that left then, or that its interface refused.
    #[inline]
    pub fn finish(&mut self, frame: &Leaving, left_ns: Option<i64>) {
        let queued = u64::from(frame.queues);
        self.counts.in_flight -= queued;
        match left_ns {
            Some(left_ns) => {
                self.counts.sent += queued;
                self.counts.other += 1 - queued;
                self.lateness.record(left_ns - frame.due_ns);
            }
            None => self.counts.errors += 1,
        }
    }

    /// How late frames left since recording last began.
    pub fn lateness(&self) -> &Histogram {
        &self.lateness
    }

    /// What was counted.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether no frame is in it.
    pub fn is_empty(&self) -> bool {
        self.leaving.is_empty()
    }

    /// Begins the link's trace and the count of lateness anew.
    pub fn restart(&mut self, now: i64) {
        self.lateness = Histogram::default();
        self.direction.restart(now);
    }

    /// Forgets where frames in it were written down.
    pub fn forget_rows(&mut self) {
        self.leaving.iter_mut().for_each(|frame| frame.row = None);
    }

    /// Packets come in the order of departure; only what bypasses the queue leaves before some that
    /// came earlier.
    #[inline]
    fn depart(&mut self, frame: Leaving) {
        let later = self.leaving.iter().rev();
        let later = later.take_while(|other| other.due_ns > frame.due_ns);
        let at = self.leaving.len() - later.count();
        self.leaving.insert(at, frame);
    }
}

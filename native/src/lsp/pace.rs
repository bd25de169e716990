//! Messages of one kind that leave one by one, and again when nothing is answered any more.

use std::collections::VecDeque;

/// How much is caught up at once after a pause of the thread [ns].
const CATCH_UP_NS: i64 = 5_000_000;

/// What waits to be sent, and what waits for an answer. Entries are numbers that the owner knows.
#[derive(Debug, Default)]
pub struct Work {
    gap_ns: i64,
    retry_ns: i64,
    next_ns: i64,
    waiting: VecDeque<u32>,
    unanswered: VecDeque<(u32, i64)>,
    answered_ns: i64,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Send it for the first time.
    Send(u32),
    /// It was sent and not answered: send it again, or give it up.
    Again(u32),
}

impl Work {
    /// One message each `gap_ns`, repeated after `retry_ns` without any answer.
    pub fn new(gap_ns: i64, retry_ns: i64) -> Self {
        Self {
            gap_ns,
            retry_ns,
            ..Self::default()
        }
    }

    /// Lets `entry` wait to be sent.
    pub fn push(&mut self, entry: u32, now: i64) {
        if self.waiting.is_empty() {
            self.next_ns = self.next_ns.max(now);
        }
        self.waiting.push_back(entry);
    }

    /// Notes that `entry` left and wants an answer.
    pub fn sent(&mut self, entry: u32, now: i64) {
        self.unanswered.push_back((entry, now));
    }

    /// Notes a sign that the devices are at work, whatever it is.
    pub fn answered(&mut self, now: i64) {
        self.answered_ns = self.answered_ns.max(now);
    }

    /// Forgets all that waits to be sent, and all that waits for an answer.
    pub fn clear(&mut self) {
        self.waiting.clear();
        self.unanswered.clear();
    }

    /// Entries that wait to be sent.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// The next step and when it was due, if it is; `is_open` says of an entry whether it still wants an answer.
    pub fn take(&mut self, now: i64, is_open: impl Fn(u32) -> bool) -> Option<(Step, i64)> {
        while self
            .unanswered
            .front()
            .is_some_and(|(entry, _)| !is_open(*entry))
        {
            self.unanswered.pop_front();
        }
        let retry_ns = self.retry_at_ns();
        let step = if retry_ns <= now {
            self.next_ns = self.next_ns.max(retry_ns);
            (self.next_ns <= now)
                .then(|| self.unanswered.pop_front())??
                .0
        } else {
            (self.next_ns <= now).then(|| self.waiting.pop_front())??
        };
        let due_ns = self.next_ns;
        self.next_ns = (due_ns + self.gap_ns).max(now - CATCH_UP_NS);
        Some(if retry_ns <= now {
            (Step::Again(step), due_ns)
        } else {
            (Step::Send(step), due_ns)
        })
    }

    /// When there will be a step, answers aside [ns].
    pub fn next_ns(&self) -> i64 {
        let first = if self.waiting.is_empty() {
            i64::MAX
        } else {
            self.next_ns
        };
        first.min(self.retry_at_ns().max(self.next_ns))
    }

    fn retry_at_ns(&self) -> i64 {
        self.unanswered.front().map_or(i64::MAX, |(_, sent_ns)| {
            (*sent_ns).max(self.answered_ns) + self.retry_ns
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_by_one() {
        let mut work = Work::new(10, 1000);
        (0..3).for_each(|entry| work.push(entry, 100));
        let all = |_| true;
        assert_eq!(work.take(100, all), Some((Step::Send(0), 100)));
        assert_eq!(work.take(105, all), None);
        assert_eq!(work.next_ns(), 110);
        assert_eq!(work.take(125, all), Some((Step::Send(1), 110)));
        assert_eq!(work.take(125, all), Some((Step::Send(2), 120)));
        assert_eq!((work.take(500, all), work.next_ns()), (None, i64::MAX));
    }

    #[test]
    fn a_pause_is_not_made_good_by_a_burst() {
        let mut work = Work::new(1_000_000, 1000);
        (0..100).for_each(|entry| work.push(entry, 0));
        let burst = (0..).take_while(|_| work.take(1_000_000_000, |_| true).is_some());
        assert_eq!(burst.count() as i64, 1 + CATCH_UP_NS / 1_000_000 + 1);
    }

    #[test]
    fn again_when_nothing_is_answered_for_a_while() {
        let mut work = Work::new(1, 1000);
        work.sent(7, 0);
        work.sent(8, 10);
        work.answered(600);
        assert_eq!(work.take(1500, |_| true), None);
        assert_eq!(work.next_ns(), 1600);
        assert_eq!(
            work.take(1600, |entry| entry != 7),
            Some((Step::Again(8), 1600))
        );
        assert_eq!(work.take(9999, |_| true), None);
    }
}

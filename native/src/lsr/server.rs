//! How long control takes: one server with a bounded queue, in virtual time, so that a busy host does not make it slower.

use std::collections::VecDeque;

struct Job<T> {
    start_ns: i64,
    end_ns: i64,
    work: T,
}

/// Serves in the order of arrival, what is urgent first, one at a time.
pub struct Server<T> {
    /// Served before the others that wait.
    urgent: VecDeque<(i64, T)>,
    waiting: VecDeque<(i64, T)>,
    busy: Option<Job<T>>,
    /// When it was last free, or began to be busy without a pause.
    busy_since_ns: i64,
    free_ns: i64,
    limit: usize,
    drops_head: bool,
    high_water: usize,
    dropped: u64,
}

impl<T> Server<T> {
    /// `limit`: most that wait.
    pub fn new(limit: usize, drops_head: bool) -> Self {
        Self {
            urgent: VecDeque::new(),
            waiting: VecDeque::new(),
            busy: None,
            busy_since_ns: i64::MIN,
            free_ns: i64::MIN,
            limit,
            drops_head,
            high_water: 0,
            dropped: 0,
        }
    }

    /// Takes what arrived at `at_ns`; whether there was room for it.
    pub fn offer(&mut self, at_ns: i64, work: T, is_urgent: bool) -> bool {
        if self.busy.is_some() && self.length() >= self.limit {
            self.dropped += 1;
            let has_room = self.drops_head
                && (self.waiting.pop_front().is_some() || self.urgent.pop_front().is_some());
            if !has_room {
                return false;
            }
        }
        let queue = if is_urgent {
            &mut self.urgent
        } else {
            &mut self.waiting
        };
        queue.push_back((at_ns, work));
        if self.busy.is_some() {
            self.high_water = self.high_water.max(self.length());
        }
        true
    }

    /// Forgets what waits and is not wanted any more.
    pub fn retain(&mut self, mut is_wanted: impl FnMut(&T) -> bool) {
        self.waiting.retain(|(_, work)| is_wanted(work));
    }

    /// The next one and when it arrived, if the server is free. start() must follow.
    pub fn next(&mut self) -> Option<(i64, T)> {
        if self.busy.is_some() {
            return None;
        }
        self.urgent.pop_front().or_else(|| self.waiting.pop_front())
    }

    /// Begins with what next() gave, which takes `cost_ns`.
    pub fn start(&mut self, at_ns: i64, work: T, cost_ns: i64) {
        if at_ns > self.free_ns {
            self.busy_since_ns = at_ns;
        }
        let start_ns = at_ns.max(self.free_ns);
        let end_ns = start_ns + cost_ns;
        self.busy = Some(Job {
            start_ns,
            end_ns,
            work,
        });
    }

    /// What is done by `now_ns`, and when it was.
    pub fn finish(&mut self, now_ns: i64) -> Option<(i64, T)> {
        let job = self.busy.take_if(|job| job.end_ns <= now_ns)?;
        self.free_ns = job.end_ns;
        Some((job.end_ns, job.work))
    }

    /// When the one that is being served is done.
    pub fn next_ns(&self) -> Option<i64> {
        self.busy.as_ref().map(|job| job.end_ns)
    }

    /// When it began with what it was at work on at a time not long ago; None where it was idle.
    pub fn works_since(&self, at_ns: i64) -> Option<i64> {
        let until_ns = self.next_ns().unwrap_or(self.free_ns);
        let is_busy = (self.busy_since_ns..until_ns).contains(&at_ns);
        is_busy.then(|| {
            let job = self.busy.as_ref().filter(|job| job.start_ns <= at_ns);
            job.map_or(self.busy_since_ns, |job| job.start_ns)
        })
    }

    fn length(&self) -> usize {
        self.urgent.len() + self.waiting.len()
    }

    /// Most that ever waited.
    pub fn high_water(&self) -> usize {
        self.high_water
    }

    /// How many found no room, or lost it to others.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(server: &mut Server<char>) {
        if let Some((at_ns, work)) = server.next() {
            server.start(at_ns, work, 10);
        }
    }

    fn run(server: &mut Server<char>, until_ns: i64) -> Vec<(i64, char)> {
        let mut done = Vec::new();
        loop {
            begin(server);
            match server.finish(until_ns) {
                Some(one) => done.push(one),
                None => return done,
            }
        }
    }

    fn offered(drops_head: bool) -> Server<char> {
        let mut server = Server::new(2, drops_head);
        for (at_ns, work) in [(0, 'a'), (1, 'b'), (2, 'c'), (3, 'd')] {
            server.offer(at_ns, work, false);
            begin(&mut server);
        }
        server
    }

    #[test]
    fn one_after_the_other_and_the_newest_is_dropped() {
        let mut server = offered(false);
        assert_eq!(
            (server.works_since(-1), server.works_since(9)),
            (None, Some(0))
        );
        assert_eq!(
            run(&mut server, 1000),
            vec![(10, 'a'), (20, 'b'), (30, 'c')]
        );
        assert_eq!((server.dropped(), server.high_water()), (1, 2));
        assert_eq!(
            (server.works_since(29), server.works_since(31)),
            (Some(0), None)
        );
    }

    #[test]
    fn or_the_oldest_that_waits() {
        let mut server = offered(true);
        assert_eq!(run(&mut server, 20), vec![(10, 'a'), (20, 'c')]);
        assert_eq!(run(&mut server, 30), vec![(30, 'd')]);
        assert_eq!(server.dropped(), 1);
    }

    #[test]
    fn a_late_turn_changes_no_time() {
        let mut server = Server::new(9, false);
        server.offer(100, 'a', false);
        server.offer(101, 'b', false);
        assert_eq!(run(&mut server, 5000), vec![(110, 'a'), (120, 'b')]);
        server.offer(600, 'c', false);
        assert_eq!(run(&mut server, 5000), vec![(610, 'c')]);
    }

    #[test]
    fn what_is_urgent_comes_first_and_what_is_not_wanted_does_not_come() {
        let mut server = Server::new(9, false);
        for (work, is_urgent) in [('a', false), ('b', false), ('c', false), ('d', true)] {
            server.offer(0, work, is_urgent);
            begin(&mut server);
        }
        server.retain(|work| *work != 'b');
        assert_eq!(
            run(&mut server, 1000),
            vec![(10, 'a'), (20, 'd'), (30, 'c')]
        );
    }
}

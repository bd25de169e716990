//! When does a link let a packet go: at a rate, or as a list of opportunities allows.

/// What one opportunity of a trace carries [bytes].
pub const OPPORTUNITY_BYTES: u32 = 1500;
const NS_PER_MS: i64 = 1_000_000;
const NS_PER_S: u64 = 1_000_000_000;

/// How a link serves one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Service {
    /// Until when it counts as waiting [ns].
    pub waits_until_ns: i64,
    /// When its last byte has passed [ns].
    pub end_ns: i64,
}

/// A link and how far it is taken already.
#[derive(Debug)]
pub enum Link {
    /// Drains at a constant rate.
    Rate(Rate),
    /// Drains at the moments of a trace.
    Trace(Trace),
}

impl Link {
    /// Serves a packet that arrives at `time_ns`, behind all that came before. Packets must come in
    /// the order of time.
    #[inline]
    pub fn serve(&mut self, time_ns: i64, bytes: u32) -> Service {
        match self {
            Self::Rate(rate) => rate.serve(time_ns, bytes),
            Self::Trace(trace) => trace.serve(time_ns, bytes),
        }
    }

    /// Begins a trace anew at `time_ns`; what it has promised already stays.
    pub fn restart(&mut self, time_ns: i64) {
        if let Self::Trace(trace) = self {
            trace.restart(time_ns);
        }
    }
}

/// A constant rate. A packet waits until its last byte has passed.
#[derive(Debug)]
pub struct Rate {
    rate_bps: u64,
    free_ns: i64,
    /// What rounding to nanoseconds left over, in bits times 1e9.
    remainder: u64,
}

impl Rate {
    /// A link of `rate_bps`, above 0.
    pub fn new(rate_bps: u64) -> Self {
        Self {
            rate_bps,
            free_ns: i64::MIN,
            remainder: 0,
        }
    }

    fn serve(&mut self, time_ns: i64, bytes: u32) -> Service {
        if self.free_ns < time_ns {
            self.free_ns = time_ns;
            self.remainder = 0;
        }
        let exact = u64::from(bytes) * 8 * NS_PER_S + self.remainder;
        self.remainder = exact % self.rate_bps;
        self.free_ns += (exact / self.rate_bps) as i64;
        Service {
            waits_until_ns: self.free_ns,
            end_ns: self.free_ns,
        }
    }
}

/// Opportunities of `OPPORTUNITY_BYTES` each, as in mahimahi's traces: an opportunity carries several
/// small packets or a part of a large one, and is lost where nothing waits. A packet waits until an
/// opportunity takes its first byte. The list begins anew at its last entry.
#[derive(Debug)]
pub struct Trace {
    times_ns: Vec<i64>,
    base_ns: i64,
    round: i64,
    index: usize,
    /// What the opportunity at `index` can still take.
    left: u32,
    /// When the last packet has passed.
    end_ns: i64,
}

impl Trace {
    /// A trace that begins at time 0; `times_ms` ascend, and the last is above 0.
    pub fn new(times_ms: &[u32]) -> Self {
        Self {
            times_ns: times_ms
                .iter()
                .map(|time| i64::from(*time) * NS_PER_MS)
                .collect(),
            base_ns: 0,
            round: 0,
            index: 0,
            left: OPPORTUNITY_BYTES,
            end_ns: i64::MIN,
        }
    }

    fn period_ns(&self) -> i64 {
        self.times_ns[self.times_ns.len() - 1]
    }

    fn now_ns(&self) -> i64 {
        self.base_ns + self.round * self.period_ns() + self.times_ns[self.index]
    }

    fn serve(&mut self, time_ns: i64, bytes: u32) -> Service {
        // One that comes at the very moment of an opportunity is too late for it.
        if self.now_ns() <= time_ns {
            self.skip_past(time_ns);
        }
        if self.left == 0 {
            self.step();
        }
        let waits_until_ns = self.now_ns();
        let mut missing = bytes;
        loop {
            let part = missing.min(self.left);
            self.left -= part;
            missing -= part;
            if missing == 0 {
                break;
            }
            self.step();
        }
        self.end_ns = self.now_ns();
        Service {
            waits_until_ns,
            end_ns: self.end_ns,
        }
    }

    fn restart(&mut self, time_ns: i64) {
        self.base_ns = time_ns;
        // An opportunity at the very beginning is not lost.
        self.skip_past(self.end_ns.max(time_ns - 1));
    }

    fn step(&mut self) {
        self.index += 1;
        if self.index == self.times_ns.len() {
            self.index = 0;
            self.round += 1;
        }
        self.left = OPPORTUNITY_BYTES;
    }

    /// Goes to the first opportunity after `time_ns`.
    fn skip_past(&mut self, time_ns: i64) {
        let since = time_ns - self.base_ns;
        self.left = OPPORTUNITY_BYTES;
        (self.round, self.index) = if since < 0 {
            (0, 0)
        } else {
            let within = since % self.period_ns();
            let index = self.times_ns.partition_point(|time| *time <= within);
            (since / self.period_ns(), index)
        };
        // The last opportunity of a round is at the period, so there always is one after `within`.
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = NS_PER_MS;

    fn ends(trace: &mut Trace, arrivals: &[(i64, u32)]) -> Vec<i64> {
        let serve = |&(time_ms, bytes): &(i64, u32)| trace.serve(time_ms * MS, bytes).end_ns / MS;
        arrivals.iter().map(serve).collect()
    }

    #[test]
    fn a_rate_serves_one_after_the_other() {
        let mut rate = Rate::new(12_000_000);
        let mut end = |time, bytes| rate.serve(time, bytes).end_ns;
        assert_eq!(end(0, 1500), MS);
        assert_eq!(end(0, 1500), 2 * MS);
        assert_eq!(end(5 * MS, 750), 5 * MS + MS / 2);
    }

    #[test]
    fn rounding_never_adds_up() {
        let mut rate = Rate::new(99_999_999);
        let last = (0..100_000).map(|_| rate.serve(0, 40).end_ns).last();
        let exact = 100_000.0 * 40.0 * 8.0 * 1e9 / 99_999_999.0;
        assert!((last.unwrap() as f64 - exact).abs() < 2.0);
    }

    #[test]
    fn an_opportunity_carries_several_small_packets() {
        let mut trace = Trace::new(&[10, 20]);
        let arrivals = [(0, 500), (1, 500), (9, 500), (9, 500)];
        assert_eq!(ends(&mut trace, &arrivals), [10, 10, 10, 20]);
    }

    #[test]
    fn an_opportunity_carries_part_of_a_large_packet() {
        let mut trace = Trace::new(&[10, 20, 30]);
        assert_eq!(ends(&mut trace, &[(0, 1000), (0, 1500)]), [10, 20]);
        let last = trace.serve(0, 1500);
        // The second round's first opportunity is 10 ms after the end of the first.
        assert_eq!((last.waits_until_ns, last.end_ns), (20 * MS, 30 * MS));
        assert_eq!(ends(&mut trace, &[(0, 1500)]), [40]);
    }

    #[test]
    fn what_nobody_uses_is_lost() {
        let mut trace = Trace::new(&[10, 20]);
        // The rest of the opportunity at 10 is gone at 10, and so is all of that at 20.
        assert_eq!(ends(&mut trace, &[(0, 100), (20, 100)]), [10, 30]);
        assert_eq!(ends(&mut trace, &[(1_000_005, 100)]), [1_000_010]);
    }

    #[test]
    fn opportunities_at_one_moment_add_up() {
        let mut trace = Trace::new(&[0, 7, 7, 7]);
        let arrivals = [(0, 1500), (0, 1500), (0, 1500), (0, 1500), (0, 1500)];
        // At 7 the next round begins with its entry 0.
        assert_eq!(ends(&mut trace, &arrivals), [7, 7, 7, 7, 14]);
    }

    #[test]
    fn a_trace_begins_anew_without_breaking_promises() {
        let mut trace = Trace::new(&[0, 10, 20]);
        trace.restart(100 * MS);
        assert_eq!(trace.serve(99 * MS, 1500).end_ns, 100 * MS);
        assert_eq!(ends(&mut trace, &[(101, 1500), (101, 1500)]), [110, 120]);
        trace.restart(105 * MS);
        assert_eq!(ends(&mut trace, &[(105, 1500)]), [125]);
    }

    #[test]
    fn a_dense_trace_is_a_rate() {
        // 10 opportunities a millisecond: 120 Mbit/s.
        let times: Vec<u32> = (0..1000).map(|n| n / 10 + 1).collect();
        let mut trace = Trace::new(&times);
        let last = (0..100_000).map(|_| trace.serve(0, 1500).end_ns).last();
        assert_eq!(last, Some(10_000 * MS));
    }
}

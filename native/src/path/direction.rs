//! What one direction of a path does to packets, in virtual time: loss, a drop-tail queue, a link, a delay.

use std::collections::VecDeque;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::link::{Link, Rate, Trace};

/// What drains the queue.
#[derive(Clone, Debug)]
pub enum Drain {
    /// Bits of IP packets per second.
    RateBps(u64),
    /// Moments of opportunities [ms].
    TraceMs(Vec<u32>),
}

/// One direction as asked for.
#[derive(Clone, Debug)]
pub struct DirectionSpec {
    /// What drains the queue.
    pub drain: Drain,
    /// How long a packet travels after that [ns].
    pub delay_ns: i64,
    /// Most bytes of packets that wait; None for no bound.
    pub buffer_bytes: Option<u64>,
    /// Most packets that wait; None for no bound.
    pub buffer_packets: Option<usize>,
    /// Probability that a packet is dropped when it arrives.
    pub loss: f64,
}

impl DirectionSpec {
    /// What is wrong with it, if anything.
    pub fn problem(&self) -> Option<String> {
        match &self.drain {
            Drain::RateBps(rate) if !(1_000..=1_000_000_000_000).contains(rate) => {
                return Some(format!("rate_bps must be 1e3 to 1e12, got {rate}"));
            }
            Drain::TraceMs(times) if times.last().is_none_or(|last| *last == 0) => {
                return Some("trace_ms must end above 0: its last entry is its period".to_owned());
            }
            Drain::TraceMs(times) if !times.is_sorted() => {
                return Some("trace_ms must ascend".to_owned());
            }
            _ => {}
        }
        if !(0..=60_000_000_000).contains(&self.delay_ns) {
            let delay_ms = self.delay_ns as f64 / 1e6;
            return Some(format!("delay_ms must be 0 to 60000, got {delay_ms}"));
        }
        if self.buffer_bytes == Some(0) || self.buffer_packets == Some(0) {
            return Some("buffer_bytes and buffer_packets must be above 0, or None".to_owned());
        }
        if !(0.0..=1.0).contains(&self.loss) {
            return Some(format!("loss must be 0 to 1, got {}", self.loss));
        }
        None
    }

    /// The least time that a packet of `bytes` spends in it [ns].
    pub fn least_ns(&self, bytes: u32) -> i64 {
        match &self.drain {
            Drain::RateBps(rate) => {
                self.delay_ns + (u64::from(bytes) * 8_000_000_000 / rate) as i64
            }
            Drain::TraceMs(_) => self.delay_ns,
        }
    }
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It leaves the path then [ns].
    Leaves(i64),
    /// The queue has no room for it.
    NoRoom,
    /// It is lost at random.
    Lost,
}

/// One direction at work.
#[derive(Debug)]
pub struct Direction {
    link: Link,
    queue: DropTail,
    delay_ns: i64,
    loss: f64,
    random: ChaCha8Rng,
    now_ns: i64,
}

impl Direction {
    /// A direction without packets. Directions of other `number` draw other losses of one `seed`.
    pub fn new(spec: &DirectionSpec, seed: u64, number: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(number);
        Self {
            link: match &spec.drain {
                Drain::RateBps(rate) => Link::Rate(Rate::new(*rate)),
                Drain::TraceMs(times) => Link::Trace(Trace::new(times)),
            },
            queue: DropTail::new(spec.buffer_bytes, spec.buffer_packets),
            delay_ns: spec.delay_ns,
            loss: spec.loss,
            random,
            now_ns: i64::MIN,
        }
    }

    /// Takes a packet that arrived at `time_ns`; an earlier time than the last counts as that.
    #[inline]
    pub fn arrive(&mut self, time_ns: i64, bytes: u32) -> Fate {
        let time_ns = time_ns.max(self.now_ns);
        self.now_ns = time_ns;
        if self.loss > 0.0 && self.random.random::<f64>() < self.loss {
            return Fate::Lost;
        }
        if !self.queue.has_room(time_ns, bytes) {
            return Fate::NoRoom;
        }
        let service = self.link.serve(time_ns, bytes);
        self.queue.push(service.waits_until_ns, bytes);
        Fate::Leaves(service.end_ns + self.delay_ns)
    }

    /// How long a packet travels that does not pass the queue [ns].
    pub fn delay_ns(&self) -> i64 {
        self.delay_ns
    }

    /// Begins the link's trace anew, if it has one, and the draws of random loss: whoever comes next meets the same.
    pub fn restart(&mut self, time_ns: i64) {
        self.link.restart(time_ns);
        self.random.set_word_pos(0);
    }
}

/// Who waits, and until when; whoever comes beyond the bounds is dropped.
#[derive(Debug)]
struct DropTail {
    limit_bytes: u64,
    limit_packets: usize,
    bytes: u64,
    waiting: VecDeque<(i64, u32)>,
}

impl DropTail {
    fn new(limit_bytes: Option<u64>, limit_packets: Option<usize>) -> Self {
        Self {
            limit_bytes: limit_bytes.unwrap_or(u64::MAX),
            limit_packets: limit_packets.unwrap_or(usize::MAX),
            bytes: 0,
            waiting: VecDeque::new(),
        }
    }

    fn has_room(&mut self, time_ns: i64, bytes: u32) -> bool {
        while let Some(&(until_ns, gone)) = self.waiting.front() {
            if until_ns > time_ns {
                break;
            }
            self.waiting.pop_front();
            self.bytes -= u64::from(gone);
        }
        self.bytes + u64::from(bytes) <= self.limit_bytes && self.waiting.len() < self.limit_packets
    }

    fn push(&mut self, until_ns: i64, bytes: u32) {
        self.waiting.push_back((until_ns, bytes));
        self.bytes += u64::from(bytes);
    }
}

#[cfg(test)]
#[path = "direction_tests.rs"]
mod tests;

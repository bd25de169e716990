//! Which frame leaves when: the switch's queues and link in virtual time, without any I/O.

use super::config::Config;
use super::defects::Defects;
use super::discipline::{Discipline, Kind};
use super::queue::{Frame, Queue};

const UNTAGGED_PCP: usize = 0;

/// A frame that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// End of its serialisation [ns].
    pub time_ns: i64,
    /// The frame.
    pub frame: Frame,
    /// The queue it waited in.
    pub queue: usize,
}

/// What became of an arriving frame, in which queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It waits, or is about to leave.
    Queued(usize),
    /// There was no room, or a defect dropped it.
    Dropped(usize),
}

/// Queues in front of one link.
///
/// Time only goes forward: an arrival earlier than the last time told counts as of that time.
#[derive(Debug)]
pub struct Scheduler {
    queues: Vec<Queue>,
    pcp_to_queue: [usize; 8],
    discipline: Discipline,
    defects: Defects,
    strict: bool,
    link_rate_bps: u64,
    l1_overhead_bytes: u64,
    waiting: usize,
    /// Told so far: everything before is decided.
    now_ns: i64,
    /// The link is free from here on.
    free_ns: i64,
    /// What the last serialisation time was rounded down by [ns times the rate].
    remainder: u64,
}

impl Scheduler {
    /// An idle link with empty queues.
    pub fn new(config: &Config) -> Self {
        Self {
            queues: config.queue_frames.iter().map(|l| Queue::new(*l)).collect(),
            pcp_to_queue: config.pcp_to_queue,
            discipline: Discipline::new(
                config.scheduler,
                &config.weights,
                config.quantum_bytes,
                config.defects.weights_per_packet,
            ),
            defects: Defects::new(config.defects, config.seed),
            strict: config.scheduler == Kind::StrictPriority,
            link_rate_bps: config.link_rate_bps,
            l1_overhead_bytes: u64::from(config.l1_overhead_bytes),
            waiting: 0,
            now_ns: i64::MIN,
            free_ns: i64::MIN,
            remainder: 0,
        }
    }

    /// Takes a frame that arrived at `time_ns`. Decisions before that are taken first and appended
    /// to `departures`; one at the very same time is left, so that it sees this frame too.
    pub fn arrive(
        &mut self,
        time_ns: i64,
        frame: Frame,
        departures: &mut Vec<Departure>,
    ) -> Arrival {
        let time_ns = time_ns.max(self.now_ns);
        while self.waiting > 0 && self.free_ns < time_ns {
            departures.push(self.serve());
        }
        self.now_ns = time_ns;
        let index = self.queue_of(frame.pcp);
        let queue = &mut self.queues[index];
        let unfair = self
            .defects
            .drops(frame.ingress, queue.more_than_half_full());
        if unfair || !queue.push(frame) {
            return Arrival::Dropped(index);
        }
        if self.waiting == 0 && self.free_ns < time_ns {
            self.free_ns = time_ns;
            self.remainder = 0;
        }
        self.waiting += 1;
        Arrival::Queued(index)
    }

    /// Says that no frame will arrive before or at `until_ns`: takes all decisions up to then.
    pub fn advance(&mut self, until_ns: i64, departures: &mut Vec<Departure>) {
        while self.waiting > 0 && self.free_ns <= until_ns {
            departures.push(self.serve());
        }
        self.now_ns = self.now_ns.max(until_ns);
    }

    /// How many frames wait in all queues.
    pub fn waiting(&self) -> usize {
        self.waiting
    }

    /// The queue of a priority.
    pub fn queue_of(&self, pcp: u8) -> usize {
        let pcp = usize::from(pcp);
        self.pcp_to_queue[if pcp < 8 { pcp } else { UNTAGGED_PCP }]
    }

    /// Takes the decision at `free_ns`. A frame must wait.
    fn serve(&mut self) -> Departure {
        let chosen = if self.strict && self.defects.leaks() {
            self.queues.iter().position(|q| !q.is_empty()).unwrap_or(0)
        } else {
            self.discipline.choose(&self.queues)
        };
        let Some(frame) = self.queues[chosen].pop() else {
            unreachable!("a discipline chooses a queue that holds a frame");
        };
        self.waiting -= 1;
        let busy_ns = self.serialisation_ns(frame.frame_bytes);
        let time_ns = self.free_ns + busy_ns;
        self.free_ns = time_ns + self.defects.idle_after(busy_ns);
        Departure {
            time_ns,
            frame,
            queue: chosen,
        }
    }

    fn serialisation_ns(&mut self, frame_bytes: u32) -> i64 {
        let bits = (u64::from(frame_bytes) + self.l1_overhead_bytes) * 8;
        let exact = bits * 1_000_000_000 + self.remainder;
        self.remainder = exact % self.link_rate_bps;
        (exact / self.link_rate_bps) as i64
    }
}

#[cfg(test)]
#[path = "scheduler_tests.rs"]
mod tests;

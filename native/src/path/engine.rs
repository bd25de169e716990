//! How real packets travel: read with the kernel's timestamps, sent on when virtual time says.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

use super::egress::{Egress, open_socket};
use super::frames::{Arrived, Leaving, Port, keep, ports_of};
use super::line::Line;
use super::recording::{DROPPED, Recording};
use super::{PathReport, PathSpec, Request};
use crate::batch::{BATCH_FRAMES, is_full};
use crate::clock::{Moment, monotonic_ns, realtime_ns};
use crate::error::SetupError;
use crate::forwarding::{
    self, FRAMING_BYTES, RING_SLOTS, SETTLING_NS, SPIN_NS, fits, insert_by_time,
};
use crate::lateness::Histogram;
use crate::netns;
use crate::pool::Pool;
use crate::ring::RingV2;
use crate::socket::PacketSocket;
use crate::stalls::Stalls;

/// An IP packet is at least this long.
const SHORTEST_BYTES: u32 = 20;
/// Buffers at the start; more are made when needed ...
const POOL_SLOTS: usize = 4096;
/// ... up to these: half a gigabyte.
const POOL_SLOTS_MAX: usize = 1 << 18;
/// How long frames that the kernel has no room for are tried again [ns].
const PATIENCE_NS: i64 = 100_000_000;

/// Sockets, buffers and virtual time of a path.
pub struct Engine {
    ring: RingV2,
    ingress: PacketSocket,
    egress: Egress,
    ports: Vec<Port>,
    pool: Pool,
    lines: [Line; 2],
    settling_ns: i64,
    arrived: VecDeque<Arrived>,
    due: VecDeque<Leaving>,
    blocked_ns: Option<i64>,
    recording: Option<Recording>,
    lateness: Histogram,
    stalls: Stalls,
    report: PathReport,
    start: Moment,
}

impl Engine {
    /// Opens everything.
    pub fn open(spec: &PathSpec) -> Result<Self, SetupError> {
        let egress = Egress::open(spec)?;
        let ingress = open_socket(spec)?;
        ingress.tune_for_receiving()?;
        let frame_bytes = (ingress.mtu() + FRAMING_BYTES) as usize;
        let ring = RingV2::new(&ingress, frame_bytes, RING_SLOTS)?;
        let least_ns = spec.directions.iter().map(|d| d.least_ns(SHORTEST_BYTES));
        Ok(Self {
            ring,
            ingress,
            egress,
            ports: netns::run_in(spec.netns_fd, || ports_of(&spec.pairs))?,
            pool: Pool::new(POOL_SLOTS, frame_bytes.max(2048) + 8),
            lines: [0, 1].map(|number| Line::new(spec, number)),
            // A decision may wait this long and still be in time for its departure.
            settling_ns: least_ns.fold(SETTLING_NS, i64::min),
            arrived: VecDeque::new(),
            due: VecDeque::with_capacity(BATCH_FRAMES),
            blocked_ns: None,
            recording: None,
            lateness: Histogram::default(),
            stalls: Stalls::default(),
            report: PathReport::default(),
            start: Moment::now(),
        })
    }

    /// Lets frames in.
    pub fn arm(&mut self) -> Result<(), SetupError> {
        self.ingress.bind_for_receiving_all()
    }

    /// Forwards, and answers what it is asked, until `stop` is true.
    pub fn run(&mut self, stop: &AtomicBool, asked: &Receiver<Request>) -> PathReport {
        self.start = Moment::now();
        let mut busy_ns = self.start.realtime_ns;
        self.restart(busy_ns);
        while !stop.load(Ordering::Relaxed) {
            // The clock is read before the ring: if that is then empty, all up to `now` is known.
            let now = realtime_ns();
            self.stalls.turn(monotonic_ns());
            let known_ns = self.read(now);
            self.decide(known_ns.min(now) - self.settling_ns);
            self.send();
            while let Ok(request) = asked.try_recv() {
                self.answer(request);
            }
            if self.is_busy() {
                busy_ns = now;
            } else if now - busy_ns > SPIN_NS {
                forwarding::sleep(&self.ingress);
                self.stalls.pause();
            }
        }
        self.tell()
    }

    /// The sockets, to be closed.
    pub fn into_sockets(self) -> Vec<PacketSocket> {
        vec![self.ingress, self.egress.into_socket()]
    }

    /// An asker who has gone is told nothing.
    #[cold]
    fn answer(&mut self, request: Request) {
        match request {
            Request::Report(answer) => drop(answer.send(self.tell())),
            Request::Record(records, answer) => drop(answer.send(if self.recording.is_some() {
                Err(records)
            } else {
                let now = realtime_ns();
                self.restart(now);
                self.lateness = Histogram::default();
                self.stalls = Stalls::default();
                self.recording = Some(Recording::new(records));
                Ok(now)
            })),
            Request::EndRecord(answer) => {
                self.lines.iter_mut().for_each(Line::forget_rows);
                self.due.iter_mut().for_each(|frame| frame.row = None);
                let recording = self.recording.take();
                drop(answer.send(recording.map(|recording| recording.end(realtime_ns()))));
            }
        }
    }

    fn restart(&mut self, now: i64) {
        for line in &mut self.lines {
            line.restart(now);
        }
    }

    fn tell(&mut self) -> PathReport {
        // The kernel's count begins anew with every reading.
        self.report.ring_drops += self.ingress.take_ring_drops(false);
        PathReport {
            directions: [self.lines[0].counts(), self.lines[1].counts()],
            lateness_ns_p50: self.lateness.quantile_ns(0.5),
            lateness_ns_p99: self.lateness.quantile_ns(0.99),
            lateness_ns_max: self.lateness.max_ns(),
            stalled_ns: self.stalls.total_ns,
            stalls: self.stalls.listed.clone(),
            clock_step_ns: Moment::now().step_since(&self.start),
            ..self.report.clone()
        }
    }

    /// Reads from the ring; the time up to which all arrivals are known then.
    #[inline]
    fn read(&mut self, now: i64) -> i64 {
        let Self {
            ring,
            ports,
            pool,
            arrived,
            report,
            ..
        } = self;
        forwarding::read(ring, now, |view| {
            match ports.iter().find(|port| port.ifindex == view.ifindex) {
                Some(port) if fits(view, pool) => {
                    if pool.in_use() < POOL_SLOTS_MAX {
                        insert_by_time(arrived, keep(view, port, pool), Arrived::time_ns);
                    } else {
                        report.ring_drops += 1;
                    }
                }
                _ => report.strays += 1,
            }
        })
    }

    /// Decides on all frames that arrived until then.
    #[inline]
    fn decide(&mut self, until_ns: i64) {
        while self
            .arrived
            .front()
            .is_some_and(|a| a.time_ns() <= until_ns)
        {
            let Some(arrived) = self.arrived.pop_front() else {
                return;
            };
            let line = &mut self.lines[arrived.direction()];
            if let Some(handle) = line.take(arrived, self.recording.as_mut()) {
                self.pool.give_back(handle);
            }
        }
    }

    /// Sends what is due.
    #[inline]
    fn send(&mut self) {
        let before = realtime_ns();
        self.collect_due(before);
        if self.due.is_empty() {
            return;
        }
        let pool = &self.pool;
        let frames = self.due.iter().map(|f| (f.to_ifindex, pool.get(f.handle)));
        match self.egress.send(frames) {
            Ok(gone) => {
                self.blocked_ns = None;
                // The kernel takes one after the other.
                let each_ns = (realtime_ns() - before) / gone.max(1) as i64;
                for position in 0..gone as i64 {
                    self.finish(before + position * each_ns, true);
                }
            }
            // The frames stay due, and their lateness grows.
            Err(error)
                if is_full(&error)
                    && before - *self.blocked_ns.get_or_insert(before) < PATIENCE_NS => {}
            Err(_) => self.finish(before, false),
        }
    }

    /// Moves frames that are due, in the order of their times.
    #[inline]
    fn collect_due(&mut self, now: i64) {
        while self.due.len() < BATCH_FRAMES {
            let [forward, backward] = &mut self.lines;
            let line = if forward.next_ns() <= backward.next_ns() {
                forward
            } else {
                backward
            };
            if line.next_ns() > now {
                break;
            }
            self.due.extend(line.pop());
        }
    }

    /// The first frame that is due has left, or is refused for good.
    #[inline]
    fn finish(&mut self, left_ns: i64, sent: bool) {
        let Some(frame) = self.due.pop_front() else {
            return;
        };
        self.pool.give_back(frame.handle);
        if let (Some(recording), Some(row)) = (&mut self.recording, frame.row) {
            recording.left(row, if sent { left_ns } else { DROPPED });
        }
        self.lines[frame.direction].count_end(frame.is_ip, sent);
        if sent {
            self.lateness.record(left_ns - frame.due_ns);
        }
    }

    fn is_busy(&self) -> bool {
        let waiting = self.lines.iter().any(|line| !line.is_empty());
        waiting || !self.arrived.is_empty() || !self.due.is_empty()
    }
}

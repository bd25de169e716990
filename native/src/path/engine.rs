//! How real packets travel: read with the kernel's timestamps, sent on when virtual time says.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;

use super::frames::{Arrived, Leaving, Port, Reading, keep, ports_of};
use super::line::Line;
use super::recording::{DROPPED, Recording};
use super::{PathReport, PathSpec, Request};
use crate::batch::is_full;
use crate::clock::{Moment, monotonic_ns, realtime_ns};
use crate::egress::{Egress, LEAVING_FRAMES};
use crate::error::SetupError;
use crate::forwarding::{
    self, FRAMING_BYTES, RING_SLOTS, SETTLING_NS, SPIN_NS, fits, insert_by_time,
};
use crate::lateness::Histogram;
use crate::pool::Pool;
use crate::ring::RingV2;
use crate::socket::{PacketSocket, PortSpec};
use crate::stalls::Stalls;

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
    lines: Vec<Line>,
    reading: Reading,
    yields: bool,
    settling_ns: i64,
    arrived: VecDeque<Arrived>,
    due: VecDeque<Leaving>,
    blocked_ns: Option<i64>,
    recording: Option<Recording>,
    stalls: Stalls,
    report: PathReport,
    start: Moment,
}

impl Engine {
    /// Opens everything.
    pub fn open(spec: &PathSpec) -> Result<Self, SetupError> {
        let first = PortSpec {
            interface: spec.pairs[0].a.clone(),
            netns_fd: spec.netns_fd,
        };
        let egress = Egress::open(&first)?;
        let ingress = PacketSocket::open(&first)?;
        ingress.tune_for_receiving()?;
        let frame_bytes = (ingress.mtu() + FRAMING_BYTES) as usize;
        let ring = RingV2::new(&ingress, frame_bytes, RING_SLOTS)?;
        let shortest_bytes = spec.reading.shortest_bytes();
        let least_ns = spec.directions.iter().map(|d| d.least_ns(shortest_bytes));
        Ok(Self {
            ring,
            ingress,
            egress,
            ports: ports_of(spec)?,
            pool: Pool::new(POOL_SLOTS, frame_bytes.max(2048) + 8),
            lines: (0..spec.directions.len())
                .map(|number| Line::new(spec, number))
                .collect(),
            reading: spec.reading,
            yields: spec.yields,
            // A decision may wait this long and still be in time for its departure.
            settling_ns: least_ns.fold(SETTLING_NS, i64::min),
            arrived: VecDeque::new(),
            due: VecDeque::with_capacity(LEAVING_FRAMES),
            blocked_ns: None,
            recording: None,
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
            if self.has_frames() {
                busy_ns = now;
                continue;
            }
            if self.yields {
                std::thread::yield_now();
            }
            if self.is_watched() {
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
                self.stalls = Stalls::default();
                self.recording = Some(Recording::new(records, self.reading));
                Ok(now)
            })),
            Request::Select(trial, answer) => drop(answer.send(match &mut self.recording {
                Some(recording) => {
                    recording.select(trial);
                    true
                }
                None => false,
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
        let mut lateness = Histogram::default();
        for line in &self.lines {
            lateness.add(line.lateness());
        }
        let medians = self.lines.iter().map(|l| l.lateness().quantile_ns(0.5));
        PathReport {
            directions: self.lines.iter().map(Line::counts).collect(),
            lateness_ns_p50: lateness.quantile_ns(0.5),
            lateness_ns_p99: lateness.quantile_ns(0.99),
            lateness_ns_max: lateness.max_ns(),
            direction_lateness_ns_p50: medians.collect(),
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
            reading,
            report,
            ..
        } = self;
        forwarding::read(ring, now, |view| {
            match ports.iter().find(|port| port.ifindex == view.ifindex) {
                Some(port) if fits(view, pool) => {
                    if pool.in_use() < POOL_SLOTS_MAX {
                        let frame = keep(view, port, *reading, pool);
                        insert_by_time(arrived, frame, Arrived::time_ns);
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
            let line = &mut self.lines[arrived.line];
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
            Ok((handed_ns, gone)) => {
                self.blocked_ns = None;
                // The kernel takes one after the other.
                let each_ns = match gone {
                    0 | 1 => 0,
                    _ => (realtime_ns() - handed_ns) / gone as i64,
                };
                for position in 0..gone as i64 {
                    self.finish(Some(handed_ns + position * each_ns));
                }
            }
            // The frames stay due, and their lateness grows.
            Err(error)
                if is_full(&error)
                    && before - *self.blocked_ns.get_or_insert(before) < PATIENCE_NS => {}
            Err(_) => self.finish(None),
        }
    }

    /// Moves frames that are due, in the order of their times.
    #[inline]
    fn collect_due(&mut self, now: i64) {
        while self.due.len() < LEAVING_FRAMES {
            let next = self.lines.iter_mut().min_by_key(|line| line.next_ns());
            match next {
                Some(line) if line.next_ns() <= now => self.due.extend(line.pop()),
                _ => break,
            }
        }
    }

    /// The first frame that is due has left, or is refused for good.
    #[inline]
    fn finish(&mut self, left_ns: Option<i64>) {
        let Some(frame) = self.due.pop_front() else {
            return;
        };
        self.pool.give_back(frame.handle);
        if let (Some(recording), Some(row)) = (&mut self.recording, frame.row) {
            recording.left(row, left_ns.unwrap_or(DROPPED));
        }
        self.lines[frame.line].finish(&frame, left_ns);
    }

    fn has_frames(&self) -> bool {
        let waiting = self.lines.iter().any(|line| !line.is_empty());
        waiting || !self.arrived.is_empty() || !self.due.is_empty()
    }

    /// Whether it must not sleep: a wire that is being watched wakes for nobody.
    fn is_watched(&self) -> bool {
        self.reading == Reading::Frames && self.recording.is_some()
    }
}

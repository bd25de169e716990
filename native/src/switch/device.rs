//! How real frames get through virtual time: read with the kernel's timestamps, delivered when due.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::queue::Frame;
use super::scheduler::{Arrival, Departure, Scheduler};
use super::{SwitchReport, SwitchSpec, open_port};
use crate::batch::{BATCH_FRAMES, is_full, send_slices};
use crate::clock::{Moment, monotonic_ns, realtime_ns};
use crate::error::SetupError;
use crate::forwarding::{
    self, FRAMING_BYTES, RING_SLOTS, SETTLING_NS, SPIN_NS, fits, insert_by_time,
};
use crate::frame;
use crate::lateness::Histogram;
use crate::netns;
use crate::pool::Pool;
use crate::ring::{FrameView, RingV2};
use crate::socket::{PacketSocket, interface_index};
use crate::stalls::Stalls;
use crate::worker::lock;

/// Sockets, buffers and virtual time of a switch.
pub struct Device {
    ring: RingV2,
    ingress: PacketSocket,
    egress: PacketSocket,
    ports: Vec<(i32, u16)>,
    pool: Pool,
    scheduler: Scheduler,
    settling_ns: i64,
    arrived: VecDeque<(i64, Frame)>,
    departures: Vec<Departure>,
    leaving: VecDeque<Departure>,
    lateness: Histogram,
    stalls: Stalls,
    report: SwitchReport,
}

impl Device {
    /// Opens everything.
    pub fn open(spec: &SwitchSpec) -> Result<Self, SetupError> {
        let egress = open_port(spec, &spec.egress)?;
        egress.tune_for_sending()?;
        egress.bind_for_sending()?;
        let ingress = open_port(spec, &spec.egress)?;
        ingress.tune_for_receiving()?;
        let frame_bytes = (egress.mtu() + FRAMING_BYTES) as usize;
        let ring = RingV2::new(&ingress, frame_bytes, RING_SLOTS)?;
        let ports = netns::run_in(spec.netns_fd, || {
            let numbered = spec.ingress.iter().zip(0_u16..);
            numbered
                .map(|(name, number)| Ok((interface_index(name)?, number)))
                .collect::<Result<Vec<_>, SetupError>>()
        })?;
        let config = &spec.config;
        let queues = config.queue_frames.len();
        let shortest_bits = (64 + u64::from(config.l1_overhead_bytes)) * 8;
        let shortest_ns = shortest_bits * 1_000_000_000 / config.link_rate_bps;
        let waiting: usize = config.queue_frames.iter().sum();
        Ok(Self {
            ring,
            ingress,
            egress,
            ports,
            pool: Pool::new((waiting + 256).min(RING_SLOTS), frame_bytes.max(2048) + 8),
            scheduler: Scheduler::new(config),
            // A decision may wait this long and still be in time for its delivery.
            settling_ns: (shortest_ns as i64).min(SETTLING_NS),
            arrived: VecDeque::new(),
            departures: Vec::new(),
            leaving: VecDeque::new(),
            lateness: Histogram::default(),
            stalls: Stalls::default(),
            report: SwitchReport {
                received: vec![0; queues],
                sent: vec![0; queues],
                dropped: vec![0; queues],
                ..SwitchReport::default()
            },
        })
    }

    /// Lets frames in.
    pub fn arm(&mut self) -> Result<(), SetupError> {
        self.ingress.bind_for_receiving_all()
    }

    /// Forwards until `stop` is true.
    ///
    /// Whenever nothing is left to forward, `live` gets what was done so far.
    pub fn run(&mut self, stop: &AtomicBool, live: &Mutex<SwitchReport>) -> SwitchReport {
        let start = Moment::now();
        let mut busy_ns = start.realtime_ns;
        let mut told = false;
        while !stop.load(Ordering::Relaxed) {
            // The clock is read before the ring: if that is then empty, all up to `now` is known.
            let now = realtime_ns();
            self.stalls.turn(monotonic_ns());
            let known_ns = self.read(now);
            self.decide(known_ns.min(now) - self.settling_ns);
            self.deliver();
            if self.is_busy() {
                busy_ns = now;
                told = false;
            } else if now - busy_ns > SPIN_NS {
                if !told {
                    *lock(live) = self.report(&start);
                    told = true;
                }
                forwarding::sleep(&self.ingress);
                self.stalls.pause();
            }
        }
        self.report(&start)
    }

    fn report(&mut self, start: &Moment) -> SwitchReport {
        // The kernel's count begins anew with every reading.
        self.report.ring_drops += self.ingress.take_ring_drops(false);
        SwitchReport {
            lateness_ns_p50: self.lateness.quantile_ns(0.5),
            lateness_ns_p99: self.lateness.quantile_ns(0.99),
            lateness_ns_max: self.lateness.max_ns(),
            stalled_ns: self.stalls.total_ns,
            stalls: self.stalls.listed.clone(),
            clock_step_ns: Moment::now().step_since(start),
            ..self.report.clone()
        }
    }

    /// The sockets, to be closed.
    pub fn into_sockets(self) -> Vec<PacketSocket> {
        vec![self.ingress, self.egress]
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
            match ports.iter().find(|(ifindex, _)| *ifindex == view.ifindex) {
                Some((_, number)) if fits(view, pool) => {
                    let frame = keep(view, *number, pool);
                    insert_by_time(arrived, (view.time_ns, frame), |(time_ns, _)| *time_ns);
                }
                _ => report.other += 1,
            }
        })
    }

    #[inline]
    fn decide(&mut self, until_ns: i64) {
        while let Some((time_ns, frame)) = self.arrived.front().copied() {
            if time_ns > until_ns {
                break;
            }
            self.arrived.pop_front();
            match self.scheduler.arrive(time_ns, frame, &mut self.departures) {
                Arrival::Queued(queue) => self.report.received[queue] += 1,
                Arrival::Dropped(queue) => {
                    self.report.received[queue] += 1;
                    self.report.dropped[queue] += 1;
                    self.pool.give_back(frame.handle);
                }
            }
        }
        self.scheduler.advance(until_ns, &mut self.departures);
        self.leaving.extend(self.departures.drain(..));
    }

    #[inline]
    fn deliver(&mut self) {
        let Some(first) = self.leaving.front() else {
            return;
        };
        let now = realtime_ns();
        if first.time_ns > now {
            return;
        }
        let mut frames: [&[u8]; BATCH_FRAMES] = [&[]; BATCH_FRAMES];
        let mut count = 0;
        let due = self.leaving.iter().take_while(|next| next.time_ns <= now);
        for (slot, departure) in frames.iter_mut().zip(due) {
            *slot = self.pool.get(departure.frame.handle);
            count += 1;
        }
        let gone = match send_slices(self.egress.raw_fd(), &frames[..count]) {
            Ok(sent) => sent,
            // The frames stay due, and their lateness grows.
            Err(error) if is_full(&error) => 0,
            Err(_) => {
                self.report.errors += 1;
                if let Some(lost) = self.leaving.pop_front() {
                    self.pool.give_back(lost.frame.handle);
                }
                0
            }
        };
        for departure in self.leaving.drain(..gone) {
            self.report.sent[departure.queue] += 1;
            self.lateness.record(now - departure.time_ns);
            self.pool.give_back(departure.frame.handle);
        }
    }

    fn is_busy(&self) -> bool {
        !self.arrived.is_empty() || !self.leaving.is_empty() || self.scheduler.waiting() > 0
    }
}

fn keep(view: &FrameView<'_>, ingress: u16, pool: &mut Pool) -> Frame {
    Frame {
        handle: pool.take(|out| frame::copy_with_tag(view.data, view.tag, out)),
        frame_bytes: frame::wire_bytes(view.length, view.tag),
        pcp: frame::outer_pcp(view.data, view.tag),
        ingress,
    }
}

//! How the sending thread keeps its schedule.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::marks::Marks;
use super::port::{Port, Queued};
use super::stream::Stream;
use super::{SenderReport, SenderSpec};
use crate::batch::{BATCH_FRAMES, is_full};
use crate::clock::{Moment, monotonic_ns, realtime_ns};
use crate::frame::FCS_BYTES;
use crate::lateness::Histogram;
use crate::socket::PacketSocket;
use crate::stalls::Stalls;

/// Most scheduled frames of a port in one call. All of a call carry one transmit time, so this
/// bounds its error when catching up; flat out, `BATCH_FRAMES` do.
const CATCH_UP_FRAMES: usize = 16;
/// From the thread's start to the schedule's origin [ns]: time for memory and caches.
const LEAD_NS: i64 = 200_000;

/// The state of the sending thread.
pub struct Run {
    streams: Vec<Stream>,
    ports: Vec<Port>,
    duration_ns: i64,
    origin_ns: i64,
    end_ns: i64,
    lateness: Histogram,
    stalls: Stalls,
    marks: Marks,
    errors: u64,
    blocked: u64,
}

impl Run {
    /// Formats every frame in advance, as far as it doesn't change.
    pub fn new(spec: &SenderSpec, sockets: &[PacketSocket]) -> Self {
        let streams: Vec<_> = spec.streams.iter().map(|s| Stream::new(s, spec)).collect();
        let ports: Vec<_> = sockets
            .iter()
            .enumerate()
            .map(|(index, socket)| Port::new(index, socket, &spec.streams))
            .collect();
        Self {
            streams,
            ports,
            duration_ns: nanoseconds(spec.duration),
            origin_ns: 0,
            end_ns: 0,
            lateness: Histogram::default(),
            stalls: Stalls::default(),
            marks: Marks::new(spec.marks.iter().copied().map(nanoseconds).collect()),
            errors: 0,
            blocked: 0,
        }
    }

    /// Sends until the duration is over or `stop` is true.
    pub fn run(mut self, stop: &AtomicBool) -> SenderReport {
        let start = Moment::now();
        self.origin_ns = start.monotonic_ns + LEAD_NS;
        self.end_ns = self.origin_ns.saturating_add(self.duration_ns);
        let mut schedule = BinaryHeap::with_capacity(self.streams.len());
        for (index, stream) in self.streams.iter_mut().enumerate() {
            if let Some(timeline) = &mut stream.timeline {
                schedule.push(Reverse((self.origin_ns + timeline.next_ns(), index)));
            }
        }
        let flat_out: Vec<usize> = (0..self.ports.len())
            .filter(|port| !self.ports[*port].flat_out.is_empty())
            .collect();
        let mut turn = 0;
        while monotonic_ns() < self.origin_ns && !stop.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
        loop {
            let now = monotonic_ns();
            self.stalls.turn(now);
            if now >= self.end_ns || stop.load(Ordering::Relaxed) {
                break;
            }
            self.marks
                .before_sending(now - self.origin_ns, &mut self.streams);
            if self.queue_due(&mut schedule, now) {
                for port in 0..self.ports.len() {
                    self.flush(port, stop);
                }
            } else if !flat_out.is_empty() {
                let port = flat_out[turn % flat_out.len()];
                turn = turn.wrapping_add(1);
                if self.ports[port].ring.is_some() {
                    self.flush_ring(port, stop);
                } else {
                    self.fill_flat_out(port, now);
                    self.flush(port, stop);
                }
            }
        }
        let cut_ns = monotonic_ns().min(self.end_ns);
        self.count_unsent(schedule, cut_ns);
        self.marks.end(&mut self.streams);
        self.report(&start)
    }

    /// Queues what is due by `now`, as far as the batches hold; whether anything was.
    #[inline]
    fn queue_due(&mut self, schedule: &mut BinaryHeap<Reverse<(i64, usize)>>, now: i64) -> bool {
        let mut any = false;
        while let Some(mut next) = schedule.peek_mut() {
            let Reverse((due_ns, index)) = *next;
            if due_ns > now || due_ns >= self.end_ns {
                break;
            }
            let port = &mut self.ports[self.streams[index].port];
            if port.batch.len() >= CATCH_UP_FRAMES {
                break;
            }
            self.marks
                .before_due(due_ns - self.origin_ns, &mut self.streams);
            let stream = &mut self.streams[index];
            stream.intended += 1;
            port.queue(stream, index, due_ns);
            any = true;
            if let Some(timeline) = &mut stream.timeline {
                *next = Reverse((self.origin_ns + timeline.next_ns(), index));
            }
        }
        any
    }

    fn fill_flat_out(&mut self, port: usize, now: i64) {
        let port = &mut self.ports[port];
        while port.batch.len() < BATCH_FRAMES {
            let index = port.flat_out[port.next_flat_out];
            port.next_flat_out = (port.next_flat_out + 1) % port.flat_out.len();
            port.queue(&mut self.streams[index], index, now);
        }
    }

    /// Sends as many frames as a batch holds through the port's ring.
    fn flush_ring(&mut self, port: usize, stop: &AtomicBool) {
        let port = &mut self.ports[port];
        let Some(ring) = &mut port.ring else { return };
        let mut waiting_bytes = 0;
        let tx_ns = realtime_ns();
        for _ in 0..BATCH_FRAMES {
            let index = port.flat_out[port.next_flat_out];
            let stream = &mut self.streams[index];
            let frame_bytes = stream.sizes.next_bytes();
            stream.write_sequence();
            let changing = stream.write_time(tx_ns);
            let bytes = (frame_bytes - FCS_BYTES) as usize;
            if !ring.push(index, &stream.head, changing, bytes) {
                self.blocked += 1;
                break;
            }
            waiting_bytes += bytes;
            stream.sequence = stream.sequence.wrapping_add(1);
            port.next_flat_out = (port.next_flat_out + 1) % port.flat_out.len();
            port.queued.push(Queued {
                stream: index,
                frame_bytes,
                due_ns: tx_ns,
            });
        }
        let mut done = 0;
        while done < port.queued.len() {
            let before = done;
            let answer = ring.send(port.fd);
            if done == 0 && answer.as_ref().is_ok_and(|sent| *sent == waiting_bytes) {
                ring.take_all();
                for queued in &port.queued {
                    self.streams[queued.stream].count(queued.frame_bytes);
                }
                break;
            }
            while let Some(taken) = ring.take_result() {
                if taken {
                    self.streams[port.queued[done].stream].count(port.queued[done].frame_bytes);
                } else {
                    self.errors += 1;
                }
                done += 1;
            }
            let full = answer.as_ref().is_err_and(is_full);
            let over = stop.load(Ordering::Relaxed) || monotonic_ns() >= self.end_ns;
            self.blocked += u64::from(full);
            if done == before && (over || answer.is_err() && !full) {
                self.errors += ring.withdraw() as u64;
                break;
            }
        }
        port.queued.clear();
    }

    /// Sends what is queued at a port, all with one transmit time.
    #[inline]
    fn flush(&mut self, port: usize, stop: &AtomicBool) {
        let port = &mut self.ports[port];
        let count = port.batch.len();
        let mut done = 0;
        let mut stamped = false;
        let mut now = 0;
        while done < count {
            if !stamped {
                port.stamp(&self.streams, done);
                now = monotonic_ns();
                stamped = true;
            }
            match port.batch.send(port.fd, done) {
                Ok(sent) => {
                    for queued in &port.queued[done..done + sent] {
                        let stream = &mut self.streams[queued.stream];
                        stream.count(queued.frame_bytes);
                        if stream.timeline.is_some() {
                            self.lateness.record(now - queued.due_ns);
                        }
                    }
                    done += sent;
                }
                Err(error) if is_full(&error) => {
                    self.blocked += 1;
                    stamped = false;
                    if stop.load(Ordering::Relaxed) || monotonic_ns() >= self.end_ns {
                        self.errors += (count - done) as u64;
                        break;
                    }
                }
                Err(_) => {
                    self.errors += 1;
                    done += 1;
                }
            }
        }
        port.batch.clear();
        port.queued.clear();
    }

    /// A sender that fell behind must not look as if less had been asked of it.
    fn count_unsent(&mut self, schedule: BinaryHeap<Reverse<(i64, usize)>>, cut_ns: i64) {
        for Reverse((mut due_ns, index)) in schedule {
            let stream = &mut self.streams[index];
            let Some(mut timeline) = stream.timeline.take() else {
                continue;
            };
            while due_ns < cut_ns {
                self.marks.before_due_of(due_ns - self.origin_ns, stream);
                stream.intended += 1;
                due_ns = self.origin_ns + timeline.next_ns();
            }
            stream.timeline = Some(timeline);
        }
    }

    fn report(self, start: &Moment) -> SenderReport {
        let end = Moment::now();
        let streams = self.streams;
        let collect = |get: fn(&Stream) -> u64| streams.iter().map(get).collect();
        SenderReport {
            started_ns: start.realtime_ns + LEAD_NS,
            ended_ns: end.realtime_ns,
            clock_step_ns: end.step_since(start),
            frames: collect(|stream| stream.frames),
            octets: collect(|stream| stream.octets),
            intended_frames: collect(|stream| stream.intended),
            mark_ns: self
                .marks
                .after_ns()
                .iter()
                .map(|mark| start.realtime_ns + LEAD_NS + mark)
                .collect(),
            marks_sent: streams.iter().map(|s| s.marks_sent.clone()).collect(),
            marks_due: streams.iter().map(|s| s.marks_due.clone()).collect(),
            errors: self.errors,
            blocked: self.blocked,
            lateness_ns_p50: self.lateness.quantile_ns(0.5),
            lateness_ns_p99: self.lateness.quantile_ns(0.99),
            lateness_ns_max: self.lateness.max_ns(),
            stalled_ns: self.stalls.total_ns,
            stalls: self.stalls.listed,
        }
    }
}

fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX / 4)
}

//! Both LERs as one machine of states: what came, and what time it is, give frames to send and records. It has no sockets, threads or clock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rackproof_rsvp::Message;
use rackproof_rsvp::ip::PROTOCOL;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::flaps::Phases;
use super::link::{Link, Outbox, payload};
use super::log::{Counts, Log, Whose};
use super::messages::Name;
use super::pace::Work;
use super::probing::Turns;
use super::spec::Spec;
use super::state::{Ids, Instance, Lsp, TEAR};
use super::{EGRESS, INGRESS};
use crate::arp::{self, Mac};
use crate::error::SetupError;
use crate::lateness::Histogram;

/// Frames after which they should leave before more is done.
const FULL: usize = 64;
/// How often an address is asked for [ns].
const ARP_NS: i64 = 200_000_000;
/// How often ends of lifetimes are looked for [ns], unless they are shorter.
const SWEEP_NS: i64 = 500_000_000;
/// Types of messages that are counted.
const TYPES: usize = 32;
const IPV4: u16 = 0x0800;
const MPLS: u16 = 0x8847;
/// Where a header of IPv4 names its protocol.
const IPV4_PROTOCOL: usize = 9;

/// What is done at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// PATH of an instance is due again.
    RefreshPath(u32),
    /// RESV of an instance is due again.
    RefreshResv(u32),
    /// A message of an end, by its identifier, was not acknowledged.
    Retransmit(usize, u32),
    /// The next of a row of probes.
    Probe(u32),
    /// An end says hello.
    Hello(usize),
    /// An end asks where its neighbour is.
    Arp(usize),
    /// Look for ends of lifetimes.
    Sweep,
}

/// See the module. Times are CLOCK_REALTIME [ns].
pub struct Engine {
    pub(super) spec: Spec,
    pub(super) links: [Link; 2],
    pub(super) lsps: Vec<Lsp>,
    pub(super) instances: Vec<Instance>,
    pub(super) ids: Ids,
    /// LSPs that wait to be set up; instances whose PATH was not answered.
    pub(super) setups: Work,
    /// Instances.
    pub(super) tears: Work,
    /// Places in `left_names`.
    pub(super) left: Work,
    pub(super) left_names: Vec<Name>,
    pub(super) turns: [Turns; 2],
    /// When rows of probes may go on [ns].
    pub(super) fresh_ns: i64,
    pub(super) phases: Option<Phases>,
    pub(super) log: Log,
    pub(super) counts: Counts,
    pub(super) lateness: Histogram,
    pub(super) out: Outbox,
    timers: BinaryHeap<Reverse<(i64, Timer)>>,
    random: ChaCha8Rng,
    is_ready: bool,
    pub(super) is_ending: bool,
}

impl Engine {
    /// LERs at interfaces with these hardware addresses, ingress first; `start` tells this run from the last one for the neighbours.
    pub fn new(
        spec: Spec,
        macs: [Mac; 2],
        start: u32,
        capacity: usize,
    ) -> Result<Self, SetupError> {
        let link = |end: usize| Link::new(spec.addresses(end), macs[end], start);
        let work = |gap_ns| Work::new(gap_ns, spec.retry_ns);
        Ok(Self {
            links: [link(INGRESS), link(EGRESS)],
            lsps: vec![Lsp::default(); usize::from(spec.lsps)],
            instances: Vec::new(),
            ids: Ids::new(spec.campaign, spec.trial),
            setups: work(spec.setup_gap_ns),
            tears: work(spec.teardown_gap_ns),
            left: work(spec.teardown_gap_ns),
            left_names: Vec::new(),
            turns: Turns::of(&spec),
            fresh_ns: 0,
            phases: None,
            log: Log::new(capacity)?,
            counts: Counts {
                tx: vec![0; TYPES],
                rx: vec![0; TYPES],
                ..Counts::default()
            },
            lateness: Histogram::default(),
            out: Outbox::default(),
            timers: BinaryHeap::new(),
            random: ChaCha8Rng::seed_from_u64(spec.seed),
            is_ready: false,
            is_ending: false,
            spec,
        })
    }

    /// Begins: neighbours are asked for, and LSPs set up as soon as both are found.
    pub fn start(&mut self, now: i64) {
        for end in [INGRESS, EGRESS] {
            self.timer(now, Timer::Arp(end));
            if self.spec.hello_ns > 0 {
                self.timer(now + ARP_NS, Timer::Hello(end));
            }
        }
        self.timer(now, Timer::Sweep);
    }

    /// LSPs of an earlier run that are to be torn down before any is set up; their LSP IDs are not used.
    pub fn tear_left(&mut self, names: &[Name], now: i64) {
        for name in names {
            self.ids.skip(name.lsp_id);
            self.left.push(self.left_names.len() as u32, now);
            self.left_names.push(*name);
        }
    }

    /// Takes a frame that came at an end, from its destination address on.
    pub fn receive(&mut self, now: i64, end: usize, frame: &[u8]) {
        match payload(frame) {
            Some((arp::ETHERTYPE, _)) => {
                if let Some(reply) = self.links[end].arp.receive(frame) {
                    self.out.push(end, |bytes| bytes.extend_from_slice(&reply));
                }
                self.look_whether_ready(now);
            }
            Some((IPV4, packet)) if packet.get(IPV4_PROTOCOL) == Some(&PROTOCOL) => {
                self.take_packet(now, end, packet);
            }
            Some((IPV4 | MPLS, _)) => self.take_probe(now, end, frame),
            _ => {}
        }
    }

    /// Does what is due until `now`, a part of it where that is much: `next_ns` is in the past then.
    pub fn advance(&mut self, now: i64) {
        while self.out.len() < FULL
            && let Some(Reverse((due_ns, timer))) = self.timers.peek().copied()
            && due_ns <= now
        {
            self.timers.pop();
            self.fire(now, timer);
        }
        self.change_phase(now);
        while self.out.len() < FULL {
            let signalled = self.is_ready && (self.tear_one(now) | self.set_one_up(now));
            if !signalled & !self.probe_in_turn(now) {
                break;
            }
        }
        for end in [INGRESS, EGRESS] {
            self.acknowledge(end);
            self.summarise(now, end);
        }
    }

    /// When there is something to do again [ns].
    pub fn next_ns(&self) -> i64 {
        let timer = self
            .timers
            .peek()
            .map_or(i64::MAX, |Reverse((due_ns, _))| *due_ns);
        let phase = self.phases.as_ref().map_or(i64::MAX, Phases::next_ns);
        let probes = self.turns.iter().map(Turns::next_ns).min();
        let srefresh = self.links.iter().map(|link| link.srefresh_ns).min();
        let mut next = timer.min(phase);
        next = next
            .min(probes.unwrap_or(i64::MAX))
            .min(srefresh.unwrap_or(i64::MAX));
        if self.is_ready {
            next = next.min(self.tears.next_ns()).min(self.left.next_ns());
            if self.left.len() == 0 {
                next = next.min(self.setups.next_ns());
            }
        }
        next
    }

    /// Frames that are to leave; whoever sends them clears it.
    pub fn out(&mut self) -> &mut Outbox {
        &mut self.out
    }

    /// What is written down.
    pub fn log(&mut self) -> &mut Log {
        &mut self.log
    }

    pub(super) fn timer(&mut self, at_ns: i64, timer: Timer) {
        self.timers.push(Reverse((at_ns, timer)));
    }

    /// A refresh period with jitter (RFC 2205, 3.7).
    pub(super) fn jittered(&mut self) -> i64 {
        (self.spec.refresh_ns as f64 * self.random.random_range(0.5..1.5)) as i64
    }

    pub(super) fn whose(&self, number: u32) -> Whose {
        let instance = &self.instances[number as usize];
        Whose {
            lsp: instance.lsp,
            id: instance.id,
        }
    }

    /// The instance that a message is about; None where it is not one of this run.
    pub(super) fn instance_of(&self, name: Name) -> Option<u32> {
        let number = self.ids.instance(name.lsp_id)?;
        (self.instances[number as usize].name() == name).then_some(number)
    }

    /// Sends a message from an end and counts it.
    pub(super) fn send(&mut self, end: usize, to: std::net::Ipv4Addr, message: Message) {
        let number = usize::from(message.kind.number());
        if self.links[end].send(message, to, end, &mut self.out) {
            self.counts.tx[number] += 1;
        }
    }

    fn fire(&mut self, now: i64, timer: Timer) {
        match timer {
            Timer::RefreshPath(number) => self.refresh_path(now, number),
            Timer::RefreshResv(number) => self.refresh_resv(now, number),
            Timer::Retransmit(end, identifier) => self.retransmit(now, end, identifier),
            Timer::Probe(number) => self.probe_fresh(now, number),
            Timer::Hello(end) => self.say_hello(now, end),
            Timer::Arp(end) => {
                if self.links[end].peer().is_none() {
                    let link = &self.links[end];
                    let question = link.arp.request(link.addresses.neighbour);
                    self.out
                        .push(end, |bytes| bytes.extend_from_slice(&question));
                    self.timer(now + ARP_NS, Timer::Arp(end));
                }
            }
            Timer::Sweep => {
                self.expire(now);
                self.timer(now + SWEEP_NS.min(self.spec.refresh_ns / 4), Timer::Sweep);
            }
        }
    }

    fn look_whether_ready(&mut self, now: i64) {
        if self.is_ready || self.links.iter().any(|link| link.peer().is_none()) {
            return;
        }
        self.is_ready = true;
        if self.is_ending {
            return;
        }
        (0..u32::from(self.spec.lsps)).for_each(|lsp| self.setups.push(lsp, now));
    }

    /// Tears that wait to leave or to be seen at the egress.
    pub fn tearing(&self) -> usize {
        let open = self
            .instances
            .iter()
            .filter(|i| i.sent[TEAR] > 0 && !i.is_answered[TEAR]);
        self.tears.len() + self.left.len() + open.count()
    }
}

//! A router's control plane without sockets: packets in at a time, packets and changes of the label table out.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::net::Ipv4Addr;

use rackproof_rsvp::ip::{Ipv4Header, NETWORK_CONTROL};
use rackproof_rsvp::{Header, Message, MessageType, Object, Packet};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::config::{Config, Hop};
use super::counts::Counts;
use super::labels::Labels;
use super::refresh::Timer;
use super::server::Server;
use super::spec::Options;
use super::state::{Key, State};
use super::table::Entry;
use super::work::Work;

/// TTL of messages to a neighbour.
const HOP_TTL: u8 = 255;

/// What is to be done, in this order.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// An IP packet leaves for a neighbour.
    Send { hop: Hop, packet: Vec<u8> },
    /// Frames with this label are forwarded so, or not any more.
    Program { label: u32, entry: Option<Entry> },
}

/// All that control knows.
pub struct Router {
    pub(super) config: Config,
    pub(super) options: Options,
    pub(super) states: HashMap<Key, State>,
    pub(super) labels: Labels,
    pub(super) server: Server<Work>,
    pub(super) timers: BinaryHeap<Reverse<(i64, u64, Timer)>>,
    pub(super) counts: Counts,
    pub(super) random: ChaCha8Rng,
    /// States that neighbours name by MESSAGE_ID: who, epoch, identifier.
    pub(super) named: HashMap<(Ipv4Addr, u32, u32), (Key, MessageType)>,
    /// Says to neighbours that Hello comes from one start of this router.
    pub(super) instance: u32,
    pub(super) out: Vec<Action>,
    pub(super) next_number: u64,
    identification: u16,
}

impl Router {
    /// `instance`: another one for each start, not zero.
    pub fn new(config: Config, options: Options, instance: u32) -> Self {
        let mut router = Self {
            states: HashMap::new(),
            labels: Labels::new(config.router_id),
            server: Server::new(options.queue, options.drop_head),
            timers: BinaryHeap::new(),
            counts: Counts::default(),
            random: ChaCha8Rng::seed_from_u64(options.seed),
            named: HashMap::new(),
            instance: instance.max(1),
            out: Vec::new(),
            next_number: 0,
            identification: 0,
            config: Config {
                labels: Vec::new(),
                ..config.clone()
            },
            options,
        };
        router.configure(config);
        router
    }

    /// Takes another configuration; of static labels only those that differ are changed.
    pub fn configure(&mut self, config: Config) {
        let before = std::mem::take(&mut self.config.labels);
        for (label, _) in &before {
            if !config.labels.iter().any(|(kept, _)| kept == label) {
                self.program(*label, None);
            }
        }
        for (label, entry) in &config.labels {
            if !before.contains(&(*label, *entry)) {
                self.program(*label, Some(*entry));
            }
        }
        self.config = config;
    }

    /// Takes an IP packet with RSVP that came at `at_ns`; packets must come in the order of their times, as far as they are known.
    pub fn receive(&mut self, at_ns: i64, port: usize, packet: &[u8]) {
        self.advance(at_ns);
        let Ok((ip, payload)) = Ipv4Header::decode(packet) else {
            self.counts.malformed += 1;
            return;
        };
        let is_own = self.config.is_own(ip.destination);
        if !is_own && (!ip.router_alert || self.options.ignore_router_alert) {
            self.pass_packet(&ip, payload);
            return;
        }
        if !self.config.interface(port).is_some_and(|known| known.rsvp) {
            self.counts.no_rsvp += 1;
            return;
        }
        match Packet::decode(payload) {
            Ok(Packet::Message(message)) => self.admit(at_ns, Work { port, ip, message }),
            Ok(Packet::Bundle(bundle)) => {
                self.counts.bundles += 1;
                for message in bundle.messages {
                    self.admit(at_ns, Work { port, ip, message });
                }
            }
            Err(_) => self.counts.malformed += 1,
        }
    }

    /// Does what is due by `now_ns`.
    pub fn advance(&mut self, now_ns: i64) {
        loop {
            self.begin();
            let timer_ns = self.timers.peek().map(|Reverse((due_ns, ..))| *due_ns);
            let timer_ns = timer_ns.filter(|due_ns| *due_ns <= now_ns);
            match (self.server.finish(timer_ns.unwrap_or(now_ns)), timer_ns) {
                (Some((end_ns, work)), _) => self.process(end_ns, work),
                (None, Some(_)) => self.expire(),
                (None, None) => return,
            }
        }
    }

    /// When something is due next.
    pub fn next_ns(&self) -> Option<i64> {
        let timer_ns = self.timers.peek().map(|Reverse((due_ns, ..))| *due_ns);
        [timer_ns, self.server.next_ns()]
            .into_iter()
            .flatten()
            .min()
    }

    /// When control began with the message that it was at work on at a time not long ago.
    pub fn works_since(&self, at_ns: i64) -> Option<i64> {
        self.server.works_since(at_ns)
    }

    /// What was counted, by name.
    pub fn write_counters(&self, to: &mut BTreeMap<String, u64>) {
        self.counts.write(to);
        for (name, value) in [
            ("lsps", self.states.len() as u64),
            ("rsvp.labels", self.labels.in_use() as u64),
            ("rsvp.queue.high_water", self.server.high_water() as u64),
            ("rsvp.drop.queue", self.server.dropped()),
        ] {
            to.insert(name.to_owned(), value);
        }
    }

    /// What is to be done since the last call.
    pub fn take_actions(&mut self) -> Vec<Action> {
        std::mem::take(&mut self.out)
    }

    fn admit(&mut self, at_ns: i64, work: Work) {
        self.counts.received(work.message.kind);
        if self.answer_at_once(&work) {
            return;
        }
        let asked = work.asks_for_acknowledgement();
        let (port, hop) = (work.port, work.message.hop().map(|hop| hop.address));
        let neighbour = hop.unwrap_or(work.ip.source);
        let torn =
            Key::of_sender(&work.message).filter(|_| work.message.kind == MessageType::PathTear);
        if let Some(key) = torn {
            self.server.retain(|waiting| !waiting.is_about(&key));
        }
        if self.server.offer(at_ns, work, torn.is_some())
            && let Some(id) = asked
        {
            self.acknowledge(port, neighbour, id);
        }
        self.begin();
    }

    fn process(&mut self, now_ns: i64, work: Work) {
        match work.message.kind {
            MessageType::Path => self.path(now_ns, &work),
            MessageType::Resv => self.resv(now_ns, &work),
            MessageType::PathTear => self.path_tear(&work),
            MessageType::ResvTear => self.resv_tear(&work),
            MessageType::PathErr => self.pass_path_error(&work),
            MessageType::ResvErr => self.pass_resv_error(&work),
            MessageType::ResvConf => self.pass_confirmation(&work),
            MessageType::Srefresh => self.summary_refresh(now_ns, &work),
            _ => self.counts.unknown_type += 1,
        }
    }

    pub(super) fn program(&mut self, label: u32, entry: Option<Entry>) {
        self.out.push(Action::Program { label, entry });
    }

    /// A message to a neighbour.
    pub(super) fn send(&mut self, hop: Hop, kind: MessageType, objects: Vec<Object>) {
        let header = self.header(hop, HOP_TTL);
        self.send_as(hop, header, kind, objects);
    }

    /// A message to a neighbour, for somebody else or with another TTL than is usual.
    pub(super) fn send_as(
        &mut self,
        hop: Hop,
        ip: Ipv4Header,
        kind: MessageType,
        objects: Vec<Object>,
    ) {
        let header = Header {
            flags: Header::REFRESH_REDUCTION,
            ttl: ip.ttl,
            ..Header::default()
        };
        let message = Message {
            header,
            kind,
            objects,
        };
        let (mut payload, mut packet) = (Vec::new(), Vec::new());
        let encoded = Packet::Message(message).encode(&mut payload);
        if encoded
            .and_then(|()| ip.encode(&payload, &mut packet))
            .is_err()
        {
            self.counts.malformed += 1;
            return;
        }
        self.counts.sent(kind);
        self.out.push(Action::Send { hop, packet });
    }

    /// An IP header from this router to a neighbour.
    pub(super) fn header(&mut self, hop: Hop, ttl: u8) -> Ipv4Header {
        self.identification = self.identification.wrapping_add(1);
        Ipv4Header {
            source: self.config.address(hop.port),
            destination: hop.address,
            ttl,
            tos: NETWORK_CONTROL,
            identification: self.identification,
            router_alert: false,
        }
    }

    /// RSVP that is not for this router goes on as any IP packet, by connected networks and static routes.
    fn pass_packet(&mut self, ip: &Ipv4Header, payload: &[u8]) {
        let Some(hop) = self.config.next_hop(ip.destination).filter(|_| ip.ttl > 1) else {
            self.counts.no_route += 1;
            return;
        };
        let onward = Ipv4Header {
            ttl: ip.ttl - 1,
            ..*ip
        };
        let mut packet = Vec::new();
        if onward.encode(payload, &mut packet).is_ok() {
            self.counts.passed += 1;
            self.out.push(Action::Send { hop, packet });
        }
    }
}

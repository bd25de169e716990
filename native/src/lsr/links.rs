//! How a router's packets come and go: one packet socket for all ports, ARP for each, and packets that wait for an address.

use std::collections::HashMap;
use std::collections::HashSet;
use std::os::fd::RawFd;

use super::config::{Config, Hop};
use super::plane::Port;
use crate::arp::{Arp, ETHERTYPE, Mac};
use crate::egress::Egress;
use crate::error::SetupError;
use crate::socket::{PacketSocket, PortSpec};

const ETHERNET_BYTES: usize = 14;
const IPV4: u16 = 0x0800;
/// Room for messages that come while control does something else [bytes].
const RECEIVE_BUFFER_BYTES: libc::c_int = 16 << 20;
/// How often a neighbour is asked for its address [ns].
const ASK_NS: i64 = 200_000_000;
/// How long packets wait for it [ns].
const PATIENCE_NS: i64 = 3_000_000_000;
/// Most packets that wait for one neighbour.
const WAITING_MAX: usize = 4096;
const FRAME_BYTES_MAX: usize = 65_536;

/// Packets that wait for the address of a neighbour.
#[derive(Default)]
struct Waiting {
    packets: Vec<Vec<u8>>,
    since_ns: i64,
    asked_ns: i64,
}

/// A frame that came.
pub struct Came<'a> {
    pub port: usize,
    pub time_ns: i64,
    pub packet: &'a [u8],
}

/// Sockets, ports and neighbours of a router.
pub struct Links {
    ingress: PacketSocket,
    egress: Egress,
    ports: Vec<Port>,
    arps: HashMap<usize, Arp>,
    waiting: HashMap<Hop, Waiting>,
    /// Neighbours that are asked for until they answer.
    wanted: HashSet<Hop>,
    buffer: Vec<u8>,
    /// Packets whose neighbour never answered.
    pub unresolved: u64,
    /// Packets that an interface refused.
    pub errors: u64,
}

impl Links {
    pub fn open(spec: &PortSpec, ports: &[Port]) -> Result<Self, SetupError> {
        let egress = Egress::open(spec)?;
        let ingress = PacketSocket::open(spec)?;
        ingress.tune_for_receiving()?;
        super::filter::control(&ingress)?;
        let (size, what) = (RECEIVE_BUFFER_BYTES, "set receive buffer");
        let forced = ingress.set(libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &size, what);
        forced.or_else(|_| ingress.set(libc::SOL_SOCKET, libc::SO_RCVBUF, &size, what))?;
        ingress.bind_for_receiving_all()?;
        Ok(Self {
            ingress,
            egress,
            ports: ports.to_vec(),
            arps: HashMap::new(),
            waiting: HashMap::new(),
            wanted: HashSet::new(),
            buffer: vec![0; FRAME_BYTES_MAX],
            unresolved: 0,
            errors: 0,
        })
    }

    /// Answers for the addresses of a configuration; neighbours of addresses that stay are kept.
    pub fn configure(&mut self, before: Option<&Config>, config: &Config) {
        let kept = |port: usize| {
            before.is_some_and(|before| before.interface(port) == config.interface(port))
        };
        self.arps.retain(|port, _| kept(*port));
        for interface in &config.interfaces {
            let mac = self.ports[interface.port].mac;
            self.arps
                .entry(interface.port)
                .or_insert_with(|| Arp::new(interface.network.address, mac));
        }
    }

    pub fn raw_fd(&self) -> RawFd {
        self.ingress.raw_fd()
    }

    pub fn mac_of(&self, hop: Hop) -> Option<Mac> {
        self.arps.get(&hop.port)?.mac_of(hop.address)
    }

    /// Asks for a neighbour until it answers.
    pub fn want(&mut self, hop: Hop, now_ns: i64) {
        if self.wanted.insert(hop) && !self.waiting.contains_key(&hop) {
            self.wait(hop, now_ns);
        }
    }

    /// Sends a packet, as soon as the neighbour's address is known.
    pub fn send(&mut self, hop: Hop, packet: Vec<u8>, now_ns: i64) {
        if let Some(mac) = self.mac_of(hop) {
            self.send_frame(hop.port, &self.framed(hop, mac, &packet));
            return;
        }
        if !self.waiting.contains_key(&hop) {
            self.wait(hop, now_ns);
        }
        if let Some(waiting) = self.waiting.get_mut(&hop) {
            if waiting.packets.len() < WAITING_MAX {
                waiting.packets.push(packet);
            } else {
                self.unresolved += 1;
            }
        }
    }

    /// The next packet with RSVP, with `take`; None when there is no more. ARP is answered on the way.
    pub fn receive(&mut self, take: impl FnOnce(Came<'_>)) -> Option<()> {
        loop {
            let mut buffer = std::mem::take(&mut self.buffer);
            let came = super::receive::receive(&self.ingress, &mut buffer);
            let Some(came) = came else {
                self.buffer = buffer;
                return None;
            };
            let port = self
                .ports
                .iter()
                .position(|port| port.ifindex == came.ifindex);
            let frame = &buffer[..came.length];
            let ethertype = frame.get(12..ETHERNET_BYTES).map(|two| [two[0], two[1]]);
            match (port, ethertype.map(u16::from_be_bytes)) {
                (Some(port), Some(ETHERTYPE)) => self.answer_arp(port, frame),
                (Some(port), Some(IPV4)) if came.is_for_us => {
                    take(Came {
                        port,
                        time_ns: came.time_ns,
                        packet: &frame[ETHERNET_BYTES..],
                    });
                    self.buffer = buffer;
                    return Some(());
                }
                _ => {}
            }
            self.buffer = buffer;
        }
    }

    /// Sends what need not wait any longer, and asks again where nobody answered.
    pub fn advance(&mut self, now_ns: i64) {
        let hops: Vec<Hop> = self.waiting.keys().copied().collect();
        for hop in hops {
            if let Some(mac) = self.mac_of(hop) {
                self.wanted.remove(&hop);
                for packet in self.waiting.remove(&hop).unwrap_or_default().packets {
                    self.send_frame(hop.port, &self.framed(hop, mac, &packet));
                }
                continue;
            }
            let is_wanted = self.wanted.contains(&hop);
            let Some(waiting) = self.waiting.get_mut(&hop) else {
                continue;
            };
            if now_ns - waiting.since_ns > PATIENCE_NS {
                self.unresolved += waiting.packets.len() as u64;
                waiting.packets.clear();
                if !is_wanted {
                    self.waiting.remove(&hop);
                    continue;
                }
            }
            if now_ns - waiting.asked_ns >= ASK_NS {
                waiting.asked_ns = now_ns;
                self.ask(hop);
            }
        }
    }

    /// When a neighbour is asked again.
    pub fn next_ns(&self) -> Option<i64> {
        let asked = self.waiting.values().map(|waiting| waiting.asked_ns);
        asked.min().map(|asked_ns| asked_ns + ASK_NS)
    }

    pub fn into_sockets(self) -> [PacketSocket; 2] {
        [self.ingress, self.egress.into_socket()]
    }

    fn wait(&mut self, hop: Hop, now_ns: i64) {
        let waiting = Waiting {
            packets: Vec::new(),
            since_ns: now_ns,
            asked_ns: now_ns,
        };
        self.waiting.insert(hop, waiting);
        self.ask(hop);
    }

    fn ask(&mut self, hop: Hop) {
        if let Some(question) = self.arps.get(&hop.port).map(|arp| arp.request(hop.address)) {
            self.send_frame(hop.port, &question);
        }
    }

    fn answer_arp(&mut self, port: usize, frame: &[u8]) {
        let answer = self.arps.get_mut(&port).and_then(|arp| arp.receive(frame));
        if let Some(answer) = answer {
            self.send_frame(port, &answer);
        }
    }

    fn framed(&self, hop: Hop, mac: Mac, packet: &[u8]) -> Vec<u8> {
        let source = self.ports[hop.port].mac;
        [&mac[..], &source, &IPV4.to_be_bytes(), packet].concat()
    }

    fn send_frame(&mut self, port: usize, frame: &[u8]) {
        let ifindex = self.ports[port].ifindex;
        if self.egress.send(std::iter::once((ifindex, frame))).is_err() {
            self.errors += 1;
        }
    }
}

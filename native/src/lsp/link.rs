//! One end of the LSPs on its link: whom it speaks to, how frames leave, and what is agreed with the neighbour (HELLO, RFC 2961).

use std::collections::HashMap;
use std::ops::Range;

use rackproof_rsvp::ip::{Ipv4Header, NETWORK_CONTROL};
use rackproof_rsvp::{Acknowledgement, Message, MessageId, MessageType, Packet};

use super::spec::Addresses;
use crate::arp::{Arp, Mac};

const ETHERNET_BYTES: usize = 14;
const IPV4: [u8; 2] = [0x08, 0x00];

/// Frames that are to leave, in one piece of memory.
#[derive(Debug, Default)]
pub struct Outbox {
    bytes: Vec<u8>,
    frames: Vec<(usize, Range<usize>)>,
}

impl Outbox {
    /// Adds a frame for one end: `write` appends its bytes.
    pub fn push(&mut self, end: usize, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        write(&mut self.bytes);
        self.frames.push((end, start..self.bytes.len()));
    }

    /// Frames with the ends that they leave from, in their order.
    pub fn frames(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let bytes = &self.bytes;
        self.frames
            .iter()
            .map(|(end, range)| (*end, &bytes[range.clone()]))
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.frames.clear();
    }
}

/// What a MESSAGE_ID of ours stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// PATH of this instance.
    Path(u32),
    /// RESV of this instance.
    Resv(u32),
    /// PATH_TEAR of this instance.
    Tear(u32),
}

/// HELLO with the neighbour.
#[derive(Debug, Default)]
pub struct Neighbourhood {
    /// Our instance.
    pub instance: u32,
    /// The neighbour's, 0: never heard.
    pub peer: u32,
    /// When it was last heard [ns].
    pub heard_ns: i64,
    /// Whether it is missed.
    pub is_lost: bool,
}

/// One end.
#[derive(Debug)]
pub struct Link {
    /// Its addresses.
    pub addresses: Addresses,
    /// Hardware address of the interface.
    pub mac: Mac,
    /// Who is where.
    pub arp: Arp,
    /// Whether the neighbour has refresh reduction.
    pub has_reduction: bool,
    /// Whether it acknowledges; None while that is not known. KOM RSVP never does.
    pub acknowledges: Option<bool>,
    /// HELLO.
    pub hello: Neighbourhood,
    /// Our epoch.
    pub epoch: u32,
    next_identifier: u32,
    /// Messages that wait for MESSAGE_ID_ACK, with how often they were sent.
    pub pending: HashMap<u32, (What, u8)>,
    /// States of ours by identifier.
    pub ours: HashMap<u32, What>,
    /// Instances by identifiers of the neighbour, in this epoch of its.
    pub theirs: HashMap<u32, Vec<u32>>,
    /// The neighbour's epoch.
    pub their_epoch: Option<u32>,
    /// What is to be acknowledged.
    pub acks: Vec<(Acknowledgement, MessageId)>,
    /// Identifiers for the next Srefresh.
    pub refreshed: Vec<u32>,
    /// When that leaves at the latest [ns].
    pub srefresh_ns: i64,
    identification: u16,
}

impl Link {
    /// An end at an interface; `start` tells this run from the last one.
    pub fn new(addresses: Addresses, mac: Mac, start: u32) -> Self {
        Self {
            addresses,
            mac,
            arp: Arp::new(addresses.own, mac),
            has_reduction: false,
            acknowledges: None,
            hello: Neighbourhood {
                instance: start.max(1),
                ..Neighbourhood::default()
            },
            epoch: start & 0xff_ffff,
            next_identifier: 1,
            pending: HashMap::new(),
            ours: HashMap::new(),
            theirs: HashMap::new(),
            their_epoch: None,
            acks: Vec::new(),
            refreshed: Vec::new(),
            srefresh_ns: i64::MAX,
            identification: 0,
        }
    }

    /// The neighbour's hardware address, once it is known.
    pub fn peer(&self) -> Option<Mac> {
        self.arp.mac_of(self.addresses.neighbour)
    }

    /// A new identifier of ours.
    pub fn identify(&mut self, what: What) -> u32 {
        let identifier = self.next_identifier;
        self.next_identifier += 1;
        self.ours.insert(identifier, what);
        identifier
    }

    /// Puts `message` for `to` into a frame for the neighbour. Where nobody is known to be there, nothing leaves.
    pub fn send(
        &mut self,
        message: Message,
        to: std::net::Ipv4Addr,
        end: usize,
        out: &mut Outbox,
    ) -> bool {
        let Some(peer) = self.peer() else {
            return false;
        };
        let is_end_to_end = matches!(
            message.kind,
            MessageType::Path | MessageType::PathTear | MessageType::ResvConf
        );
        self.identification = self.identification.wrapping_add(1);
        let header = Ipv4Header {
            source: if is_end_to_end {
                self.addresses.router_id
            } else {
                self.addresses.own
            },
            destination: to,
            ttl: message.header.ttl,
            tos: NETWORK_CONTROL,
            identification: self.identification,
            router_alert: is_end_to_end,
        };
        let mut payload = Vec::with_capacity(256);
        let encoded = Packet::Message(message).encode(&mut payload);
        let mac = self.mac;
        out.push(end, |bytes| {
            bytes.extend_from_slice(&peer);
            bytes.extend_from_slice(&mac);
            bytes.extend_from_slice(&IPV4);
            let fits = encoded.and_then(|()| header.encode(&payload, bytes));
            fits.expect("every value of our own messages has its place");
        });
        true
    }
}

/// What IP carries in an Ethernet frame without tags, and the EtherType.
pub fn payload(frame: &[u8]) -> Option<(u16, &[u8])> {
    let ethertype = frame.get(12..ETHERNET_BYTES)?;
    Some((
        u16::from_be_bytes([ethertype[0], ethertype[1]]),
        &frame[ETHERNET_BYTES..],
    ))
}

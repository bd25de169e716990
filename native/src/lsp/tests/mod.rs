//! The engine between two neighbours of a test's making, frame by frame.

mod errors;
mod flapping;
mod hardiness;
mod keeping;
mod reduction;
mod setting_up;

use std::net::Ipv4Addr;

use rackproof_rsvp::ip::Ipv4Header;
use rackproof_rsvp::{Label, Message, MessageType, Object, Packet};

use super::engine::Engine;
use super::spec::{Ler, Pace, Signalling, Spec};
use super::{EGRESS, INGRESS};
use crate::arp::Arp;
use crate::records::Record;

const MS: i64 = 1_000_000;
const S: i64 = 1000 * MS;
const WEST: Ipv4Addr = Ipv4Addr::new(10, 83, 0, 1);
const EAST: Ipv4Addr = Ipv4Addr::new(10, 83, 250, 1);
const EGRESS_ID: Ipv4Addr = Ipv4Addr::new(10, 83, 254, 2);

fn signalling(stable: u32, flapped: u32) -> Signalling {
    let ler = |net: u8, id: u8| Ler {
        address: format!("10.83.{net}.2"),
        neighbour: format!("10.83.{net}.1"),
        router_id: format!("10.83.254.{id}"),
    };
    Signalling {
        ingress: ler(0, 1),
        egress: ler(250, 2),
        stable,
        flapped,
        campaign: 7,
        trial: 3,
        seed: 1,
        routes: vec![],
        style: "SE".to_owned(),
        labels: "next-free".to_owned(),
        bandwidth_bps: 0.0,
        refresh_s: 30.0,
        hello_s: 0.0,
        refresh_reduction: true,
        pace: Pace {
            setups_per_s: 2000.0,
            teardowns_per_s: 2000.0,
            retry_s: 1.0,
            retries: 3,
        },
        probing: None,
    }
}

/// A message as it left.
#[derive(Clone, Debug)]
struct Sent {
    at_ns: i64,
    end: usize,
    ip: Ipv4Header,
    message: Message,
}

/// One router between both ends, or whatever a test makes of it.
struct Bench {
    engine: Engine,
    now: i64,
    /// Everything that left, in order.
    sent: Vec<Sent>,
    /// Frames that were no messages: probes.
    probes: Vec<Vec<u8>>,
    /// Flags of the neighbours' messages.
    flags: u8,
}

impl Bench {
    fn new(asked: &Signalling) -> Self {
        let spec = Spec::new(asked).unwrap();
        let macs = [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]];
        let mut engine = Engine::new(spec, macs, 77, 10_000).unwrap();
        engine.start(0);
        let mut bench = Self {
            engine,
            now: 0,
            sent: vec![],
            probes: vec![],
            flags: 0,
        };
        for (end, address) in [(INGRESS, WEST), (EGRESS, EAST)] {
            let device = Arp::new(address, [4, 0, 0, 0, 0, end as u8]);
            let own = bench.engine.links[end].addresses.own;
            let answer = device.request(own);
            bench.engine.receive(0, end, &answer);
        }
        bench.engine.out().clear();
        bench
    }

    /// Lets time pass until `until_ns`, without anybody saying anything; what left.
    fn run(&mut self, until_ns: i64) -> Vec<Sent> {
        self.run_with(until_ns, |_, _| {})
    }

    /// The same, with somebody who hears each message.
    fn run_with(&mut self, until_ns: i64, mut hears: impl FnMut(&mut Self, &Sent)) -> Vec<Sent> {
        let first = self.sent.len();
        loop {
            self.engine.advance(self.now);
            let new = self.collect();
            if new.is_empty() {
                let next = self.engine.next_ns().max(self.now + 1);
                if next > until_ns {
                    break;
                }
                self.now = next;
            }
            new.iter().for_each(|sent| hears(self, sent));
        }
        self.now = until_ns;
        self.sent[first..].to_vec()
    }

    fn collect(&mut self) -> Vec<Sent> {
        let frames: Vec<(usize, Vec<u8>)> = self
            .engine
            .out()
            .frames()
            .map(|(end, bytes)| (end, bytes.to_vec()))
            .collect();
        self.engine.out().clear();
        let mut new = vec![];
        for (end, frame) in frames {
            match Ipv4Header::decode(&frame[14..]) {
                Ok((ip, payload)) if frame[12..14] == [8, 0] => {
                    let packet = Packet::decode(payload).unwrap();
                    let mut again = vec![];
                    packet.encode(&mut again).unwrap();
                    assert_eq!(again, payload);
                    assert!(
                        packet
                            .messages()
                            .iter()
                            .all(|message| message.missing().next().is_none())
                    );
                    new.extend(packet.messages().iter().map(|message| Sent {
                        at_ns: self.now,
                        end,
                        ip,
                        message: message.clone(),
                    }));
                }
                _ => self.probes.push(frame),
            }
        }
        self.sent.extend(new.iter().cloned());
        new
    }

    /// A message arrives at an end, from the neighbour there unless it comes from afar.
    fn arrive(&mut self, end: usize, from: Ipv4Addr, ttl: u8, mut message: Message) {
        message.header.flags = self.flags;
        let addresses = self.engine.links[end].addresses;
        let is_end_to_end = matches!(
            message.kind,
            MessageType::Path | MessageType::PathTear | MessageType::ResvConf
        );
        let header = Ipv4Header {
            source: from,
            destination: if is_end_to_end {
                addresses.router_id
            } else {
                addresses.own
            },
            ttl,
            tos: 0,
            identification: 0,
            router_alert: false,
        };
        let mut payload = vec![];
        Packet::Message(message).encode(&mut payload).unwrap();
        let mut frame = vec![2; 12];
        frame.extend([8, 0]);
        header.encode(&payload, &mut frame).unwrap();
        self.engine.receive(self.now, end, &frame);
    }

    /// What a router makes of a message: PATH and PATH_TEAR to the egress, RESV to the ingress, with itself as the hop.
    fn pass_on(&mut self, sent: &Sent) {
        let mut message = sent.message.clone();
        let (end, address) = if sent.end == INGRESS {
            (EGRESS, EAST)
        } else {
            (INGRESS, WEST)
        };
        message
            .objects
            .retain(|object| !matches!(object, Object::MessageId(_)));
        message.header.ttl = sent.ip.ttl - 1;
        for object in &mut message.objects {
            match object {
                Object::Hop(hop) => hop.address = address,
                Object::Label(Label::Mpls(label)) => *label += 1000,
                _ => {}
            }
        }
        let ttl = message.header.ttl;
        match message.kind {
            MessageType::Path
            | MessageType::PathTear
            | MessageType::ResvConf
            | MessageType::Resv => {
                self.arrive(end, address, ttl, message);
            }
            _ => {}
        }
    }

    /// A router that works.
    fn settle(&mut self, until_ns: i64) -> Vec<Sent> {
        self.run_with(until_ns, |bench, sent| bench.pass_on(sent))
    }

    fn records(&mut self) -> Vec<Record> {
        let log = self.engine.log();
        let (mut records, _) = log.take().unwrap();
        (0..records.len())
            .map(|index| *records.get_mut(index).unwrap())
            .collect()
    }

    /// Times of one kind of event, with LSP number and value.
    fn events(&mut self, event: super::log::Event) -> Vec<(i64, u16, u32)> {
        let all = self.records();
        let of_kind = all
            .iter()
            .filter(|record| record.port == 2001 + event as u16);
        of_kind
            .map(|record| (record.tx_ns, record.stream, record.sequence))
            .collect()
    }
}

fn of(kind: MessageType, sent: &[Sent]) -> Vec<&Sent> {
    sent.iter()
        .filter(|sent| sent.message.kind == kind)
        .collect()
}

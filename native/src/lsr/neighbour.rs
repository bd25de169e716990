//! What is between neighbours: HELLO, acknowledgements, Srefresh.

use std::net::Ipv4Addr;

use rackproof_rsvp::{Acknowledgement, Hello, HelloKind, Message, MessageId, MessageType, Object};

use super::config::Hop;
use super::router::Router;
use super::state::Key;
use super::work::{Work, message_id};

/// HELLO is for the neighbour and nobody behind it.
const HELLO_TTL: u8 = 1;
/// Names of states that are no more are kept until there are so many.
const NAMES_MIN: usize = 1024;

impl Router {
    /// Answers what never waits for control: HELLO, and acknowledgements, which need no answer. Whether it was such a message.
    pub(super) fn answer_at_once(&mut self, work: &Work) -> bool {
        match work.message.kind {
            MessageType::Hello => self.hello(work),
            MessageType::Ack => {}
            _ => return false,
        }
        true
    }

    fn hello(&mut self, work: &Work) {
        let hello = work.message.objects.iter().find_map(|object| match object {
            Object::Hello(hello) => Some(*hello),
            _ => None,
        });
        let Some(hello) = hello else {
            self.counts.malformed += 1;
            return;
        };
        if hello.kind == HelloKind::Ack {
            return;
        }
        let answer = Hello {
            kind: HelloKind::Ack,
            source_instance: self.instance,
            destination_instance: hello.source_instance,
        };
        let hop = Hop {
            port: work.port,
            address: work.ip.source,
        };
        let header = self.header(hop, HELLO_TTL);
        self.send_as(hop, header, MessageType::Hello, vec![Object::Hello(answer)]);
    }

    /// Says that a message has arrived. It is said when it is taken into the queue, so that a long queue is not taken for a loss.
    pub(super) fn acknowledge(&mut self, port: usize, neighbour: Ipv4Addr, id: MessageId) {
        self.answer(port, neighbour, vec![(Acknowledgement::Ack, id)]);
    }

    fn answer(&mut self, port: usize, address: Ipv4Addr, said: Vec<(Acknowledgement, MessageId)>) {
        let objects = said.into_iter().map(|(what, id)| {
            let id = MessageId { flags: 0, ..id };
            Object::MessageIdAck(what, id)
        });
        let objects = objects.collect();
        self.send(Hop { port, address }, MessageType::Ack, objects);
    }

    /// Keeps which state a neighbour names by the MESSAGE_ID of a PATH or RESV.
    pub(super) fn remember(&mut self, neighbour: Ipv4Addr, message: &Message, key: Key) {
        if let Some(id) = message_id(message) {
            let name = (neighbour, id.epoch, id.identifier);
            self.named.insert(name, (key, message.kind));
            if self.named.len() > NAMES_MIN + 4 * self.states.len() {
                let states = &self.states;
                self.named.retain(|_, (key, _)| states.contains_key(key));
            }
        }
    }

    /// Refreshes the states that are named; those that are not known are named in the answer (RFC 2961, 5.4).
    pub(super) fn summary_refresh(&mut self, now_ns: i64, work: &Work) {
        let mut unknown = Vec::new();
        for object in &work.message.objects {
            let Object::MessageIdList(list) = object else {
                continue;
            };
            for identifier in &list.identifiers {
                let name = (work.ip.source, list.epoch, *identifier);
                if !self.refresh_named(now_ns, name) {
                    self.named.remove(&name);
                    let id = MessageId {
                        flags: 0,
                        epoch: list.epoch,
                        identifier: *identifier,
                    };
                    unknown.push((Acknowledgement::Nack, id));
                }
            }
        }
        if !unknown.is_empty() {
            self.answer(work.port, work.ip.source, unknown);
        }
    }

    fn refresh_named(&mut self, now_ns: i64, name: (Ipv4Addr, u32, u32)) -> bool {
        let Some((key, kind)) = self.named.get(&name) else {
            return false;
        };
        let Some(state) = self.states.get_mut(key) else {
            return false;
        };
        match (kind, &mut state.reservation) {
            (MessageType::Path, _) => state.life.seen_ns = now_ns,
            (_, Some(reservation)) => reservation.life.seen_ns = now_ns,
            (_, None) => return false,
        }
        true
    }
}

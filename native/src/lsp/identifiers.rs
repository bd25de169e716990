//! MESSAGE_ID and its acknowledgements: what arrives for certain, and what a summary may name (RFC 2961, 4 and 5).

use rackproof_rsvp::{Acknowledgement, Message, MessageId, MessageType, Object};

use super::engine::{Engine, Timer};
use super::link::What;
use super::messages::TTL;
use super::state::{Head, OurId, Tail};
use super::{EGRESS, INGRESS};

/// How long the first acknowledgement is waited for; each further time twice as long (RFC 2961, 6) [ns].
const RETRANSMIT_NS: i64 = 500_000_000;
/// How often a message is sent at most until it is acknowledged: once and three times again.
const SENDINGS: u8 = 4;
/// Most acknowledgements in one message.
const ACKS: usize = 64;

impl Engine {
    /// The MESSAGE_ID that a message for this is sent with, and what follows from sending it; None where the neighbour has no refresh reduction.
    pub(super) fn message_id(&mut self, now: i64, end: usize, what: What) -> Option<Object> {
        if !self.links[end].has_reduction {
            return None;
        }
        let known = self.our_id(what).and_then(|id| id.identifier);
        let link = &mut self.links[end];
        let identifier = known.unwrap_or_else(|| link.identify(what));
        let (epoch, is_mute) = (link.epoch, link.acknowledges == Some(false));
        let is_new = !is_mute && link.pending.insert(identifier, (what, 1)).is_none();
        if let Some(id) = self.our_id(what) {
            id.identifier = Some(identifier);
            id.is_acked = false;
        }
        if is_new {
            self.timer(now + RETRANSMIT_NS, Timer::Retransmit(end, identifier));
        }
        Some(Object::MessageId(MessageId {
            flags: if is_mute { 0 } else { MessageId::ACK_DESIRED },
            epoch,
            identifier,
        }))
    }

    /// Tears have no state that an identifier would stay with.
    fn our_id(&mut self, what: What) -> Option<&mut OurId> {
        match what {
            What::Path(number) => Some(&mut self.instances[number as usize].path_id),
            What::Resv(number) => Some(&mut self.instances[number as usize].resv_id),
            What::Tear(_) => None,
        }
    }

    pub(super) fn retransmit(&mut self, now: i64, end: usize, identifier: u32) {
        let Some((what, sent)) = self.links[end].pending.remove(&identifier) else {
            return;
        };
        let link = &mut self.links[end];
        if sent >= SENDINGS {
            link.acknowledges.get_or_insert(false);
        }
        if sent >= SENDINGS || link.acknowledges == Some(false) || !self.is_wanted(what) {
            return;
        }
        self.counts.retransmissions += 1;
        self.send_again(what, identifier);
        self.links[end].pending.insert(identifier, (what, sent + 1));
        self.timer(
            now + (RETRANSMIT_NS << sent),
            Timer::Retransmit(end, identifier),
        );
    }

    /// Whether there is still reason to send this.
    pub(super) fn is_wanted(&self, what: What) -> bool {
        match what {
            What::Path(number) => self.instances[number as usize].head != Head::Torn,
            What::Resv(number) => self.instances[number as usize].tail == Tail::Held,
            What::Tear(_) => true,
        }
    }

    /// The whole message again, with the identifier that it had.
    fn send_again(&mut self, what: What, identifier: u32) {
        let (end, mut message, to) = match what {
            What::Path(number) => {
                let path = self.spec.path(self.instances[number as usize].name());
                (INGRESS, path, self.spec.egress.router_id)
            }
            What::Tear(number) => {
                let tear = self.spec.path_tear(self.instances[number as usize].name());
                (INGRESS, tear, self.spec.egress.router_id)
            }
            What::Resv(number) => {
                let (resv, hop) = self.resv_of(number, false);
                (EGRESS, resv, hop)
            }
        };
        let id = MessageId {
            flags: MessageId::ACK_DESIRED,
            epoch: self.links[end].epoch,
            identifier,
        };
        message.objects.insert(0, Object::MessageId(id));
        self.send(end, to, message);
    }

    /// Identifiers in a message that came: to be acknowledged, and acknowledgements of ours.
    pub(super) fn take_acknowledgements(&mut self, now: i64, end: usize, message: &Message) {
        for object in &message.objects {
            match object {
                Object::MessageId(id) if id.flags & MessageId::ACK_DESIRED != 0 => {
                    let answer = MessageId { flags: 0, ..*id };
                    self.links[end].acks.push((Acknowledgement::Ack, answer));
                }
                Object::MessageIdAck(said, id) if id.epoch == self.links[end].epoch => {
                    self.take_acknowledgement(now, end, *said, id.identifier);
                }
                _ => {}
            }
        }
    }

    fn take_acknowledgement(
        &mut self,
        now: i64,
        end: usize,
        said: Acknowledgement,
        identifier: u32,
    ) {
        self.links[end].acknowledges = Some(true);
        let was_pending = self.links[end].pending.remove(&identifier).is_some();
        let what = self.links[end].ours.get(&identifier).copied();
        match said {
            Acknowledgement::Ack => {
                self.counts.acks_rx += 1;
                if let Some(What::Tear(_)) = what {
                    self.links[end].ours.remove(&identifier);
                } else if let Some(id) = what.and_then(|what| self.our_id(what)) {
                    id.is_acked = true;
                }
            }
            Acknowledgement::Nack => {
                self.counts.nacks_rx += 1;
                // The neighbour has no such state: all of it again, once for each time that it says so.
                match what.filter(|what| !was_pending && self.is_wanted(*what)) {
                    Some(What::Path(number)) => self.send_path(now, number),
                    Some(What::Resv(number)) => self.send_resv(now, number, false),
                    _ => {}
                }
            }
        }
    }

    /// Sends the acknowledgements that have gathered.
    pub(super) fn acknowledge(&mut self, end: usize) {
        while !self.links[end].acks.is_empty() {
            let count = self.links[end].acks.len().min(ACKS);
            let acks: Vec<_> = self.links[end].acks.drain(..count).collect();
            let is_nack =
                |(said, _): &&(Acknowledgement, MessageId)| *said == Acknowledgement::Nack;
            let nacks = acks.iter().filter(is_nack).count() as u64;
            self.counts.nacks_tx += nacks;
            self.counts.acks_tx += acks.len() as u64 - nacks;
            let objects = acks
                .into_iter()
                .map(|(said, id)| Object::MessageIdAck(said, id));
            self.send_to_neighbour(end, MessageType::Ack, objects.collect());
        }
    }

    pub(super) fn send_to_neighbour(
        &mut self,
        end: usize,
        kind: MessageType,
        objects: Vec<Object>,
    ) {
        let message = self.spec.message(kind, TTL, objects);
        self.send(end, self.links[end].addresses.neighbour, message);
    }

    /// Remembers which state a MESSAGE_ID of the neighbour stands for.
    pub(super) fn note_their_id(&mut self, end: usize, message: &Message, number: u32) {
        let id = message.objects.iter().find_map(|object| match object {
            Object::MessageId(id) => Some(id),
            _ => None,
        });
        let Some(id) = id else { return };
        let link = &mut self.links[end];
        if link.their_epoch != Some(id.epoch) {
            link.their_epoch = Some(id.epoch);
            link.theirs.clear();
        }
        let numbers = link.theirs.entry(id.identifier).or_default();
        if !numbers.contains(&number) {
            numbers.push(number);
        }
    }

    pub(super) fn take_srefresh(&mut self, now: i64, end: usize, message: &Message) {
        for object in &message.objects {
            let Object::MessageIdList(list) = object else {
                continue;
            };
            for identifier in &list.identifiers {
                self.take_summary(now, end, list.epoch, *identifier);
            }
        }
    }

    fn take_summary(&mut self, now: i64, end: usize, epoch: u32, identifier: u32) {
        let link = &self.links[end];
        let is_same = link.their_epoch == Some(epoch);
        let numbers = link.theirs.get(&identifier).filter(|_| is_same).cloned();
        let mut is_known = false;
        for number in numbers.unwrap_or_default() {
            let instance = &mut self.instances[number as usize];
            if end == INGRESS {
                is_known |= instance.head == Head::Up;
                instance.resv_until_ns = now + instance.resv_life_ns;
            } else {
                is_known |= instance.tail == Tail::Held;
                self.take_path_again(now, number);
            }
        }
        if !is_known {
            let id = MessageId {
                flags: 0,
                epoch,
                identifier,
            };
            self.links[end].acks.push((Acknowledgement::Nack, id));
        }
    }
}

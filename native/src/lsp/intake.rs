//! Messages that come: unpacked, counted, and given to whom they concern.

use rackproof_rsvp::ip::Ipv4Header;
use rackproof_rsvp::{Header, Message, MessageType, Packet};

use super::engine::Engine;
use super::{EGRESS, INGRESS};

/// Type of a Bundle.
pub(super) const BUNDLE: usize = 12;

impl Engine {
    /// An IP packet of protocol 46.
    pub(super) fn take_packet(&mut self, now: i64, end: usize, packet: &[u8]) {
        let Ok((ip, payload)) = Ipv4Header::decode(packet) else {
            self.counts.malformed += 1;
            return;
        };
        let addresses = self.links[end].addresses;
        if ![addresses.own, addresses.router_id].contains(&ip.destination) {
            self.counts.foreign += 1;
            return;
        }
        let Ok(packet) = Packet::decode(payload) else {
            self.counts.malformed += 1;
            return;
        };
        if matches!(packet, Packet::Bundle(_)) {
            self.counts.rx[BUNDLE] += 1;
        }
        for message in packet.messages() {
            self.take_message(now, end, &ip, message);
        }
    }

    fn take_message(&mut self, now: i64, end: usize, ip: &Ipv4Header, message: &Message) {
        if let Some(count) = self.counts.rx.get_mut(usize::from(message.kind.number())) {
            *count += 1;
        }
        if self.is_from_neighbour(end, message) {
            self.links[end].has_reduction |= self.spec.refresh_reduction
                && message.header.flags & Header::REFRESH_REDUCTION != 0;
            self.take_acknowledgements(now, end, message);
        }
        match (end, message.kind) {
            (INGRESS, MessageType::Resv) => self.take_resv(now, message),
            (INGRESS, MessageType::PathErr) => self.take_path_err(now, message),
            (INGRESS, MessageType::ResvTear) => self.take_resv_tear(now, message),
            (EGRESS, MessageType::Path) => self.take_path(now, ip, message),
            (EGRESS, MessageType::PathTear) => self.take_path_tear(now, message),
            (EGRESS, MessageType::ResvErr) => self.take_resv_err(now, message),
            (EGRESS, MessageType::ResvConf) => self.take_resv_conf(now, message),
            (_, MessageType::Hello) => self.take_hello(now, end, ip, message),
            (_, MessageType::Srefresh) => self.take_srefresh(now, end, message),
            (_, MessageType::Ack) => {}
            _ => self.counts.foreign += 1,
        }
    }

    /// Whether what a message says of its sender concerns the neighbour: what was only passed on speaks for the other LER.
    fn is_from_neighbour(&self, end: usize, message: &Message) -> bool {
        match message.hop() {
            Some(hop) => hop.address == self.links[end].addresses.neighbour,
            None => message.kind != MessageType::ResvConf,
        }
    }
}

//! The egress LER: RESV and what comes from the ingress through the devices.

use std::net::Ipv4Addr;

use rackproof_rsvp::ip::Ipv4Header;
use rackproof_rsvp::{Message, Session};

use super::EGRESS;
use super::answers::lifetime_ns;
use super::engine::{Engine, Timer};
use super::link::What;
use super::log::Event;
use super::messages::{Name, Reservation};
use super::state::{Head, Instance, TEAR, Tail};

/// Labels 0 to 15 have meanings of their own (RFC 3032, 2.1).
const FIRST_LABEL: u32 = 16;

impl Engine {
    pub(super) fn take_path(&mut self, now: i64, ip: &Ipv4Header, message: &Message) {
        let Some(number) = self
            .sender_of(message)
            .and_then(|name| self.instance_of(name))
        else {
            self.counts.foreign += 1;
            return;
        };
        let Some(hop) = message.hop() else {
            self.counts.malformed += 1;
            return;
        };
        self.note_their_id(EGRESS, message, number);
        let instance = &mut self.instances[number as usize];
        let was = instance.tail;
        if was == Tail::Gone || is_done_with(instance) {
            self.take_path_again(now, number);
            return;
        }
        instance.tail = Tail::Held;
        instance.path_life_ns = lifetime_ns(message);
        instance.path_until_ns = now + instance.path_life_ns;
        instance.hop = hop.address;
        instance.handle = hop.interface_handle;
        if was == Tail::Held {
            self.take_path_again(now, number);
            return;
        }
        instance.asked_label = self.spec.label.unwrap_or(FIRST_LABEL + number);
        let was_processed =
            hop.address == self.spec.egress.neighbour && ip.ttl == message.header.ttl;
        let is_armed = std::mem::replace(&mut instance.is_refreshing, true);
        self.log.event(
            Event::PathReceived,
            now,
            self.whose(number),
            u32::from(hop.address),
            0,
        );
        self.hear_answer(now);
        if !was_processed {
            self.find_phantom(now, number, hop.address);
        }
        self.reserve(now, number);
        if !is_armed {
            let refresh_ns = now + self.jittered();
            self.timer(refresh_ns, Timer::RefreshResv(number));
        }
    }

    /// A PATH for an instance that the egress knows, or a summary that stands for it: kept up, stale, or a sign that our RESV was lost.
    pub(super) fn take_path_again(&mut self, now: i64, number: u32) {
        let instance = &mut self.instances[number as usize];
        let is_held = instance.tail == Tail::Held;
        if is_held {
            instance.path_until_ns = now + instance.path_life_ns;
        }
        if !is_held || is_done_with(instance) {
            self.counts.stale_refreshes += 1;
            self.log
                .event(Event::StaleRefresh, now, self.whose(number), 0, 0);
        } else if instance.head == Head::Setting && instance.refusal.is_none() {
            self.reserve(now, number);
        }
    }

    /// A RESV that is written down: the first, or one because the ingress has none.
    fn reserve(&mut self, now: i64, number: u32) {
        let instance = &mut self.instances[number as usize];
        let (label, repeats) = (instance.asked_label, instance.resvs_sent);
        instance.resvs_sent = repeats.saturating_add(1);
        self.send_resv(now, number, repeats == 0);
        self.log
            .event(Event::ResvSent, now, self.whose(number), label, repeats);
    }

    /// RESV of an instance as it is now, and where it goes. Stable LSPs want their first one confirmed; what flaps is not to cost the devices
    /// more than it must.
    pub(super) fn resv_of(&self, number: u32, is_first: bool) -> (Message, Ipv4Addr) {
        let instance = &self.instances[number as usize];
        let reservation = Reservation {
            handle: instance.handle,
            label: instance.asked_label,
            confirm: is_first && instance.lsp < self.spec.stable,
        };
        (self.spec.resv(instance.name(), &reservation), instance.hop)
    }

    /// Sends it.
    pub(super) fn send_resv(&mut self, now: i64, number: u32, is_first: bool) {
        let (mut resv, hop) = self.resv_of(number, is_first);
        if let Some(id) = self.message_id(now, EGRESS, What::Resv(number)) {
            resv.objects.insert(0, id);
        }
        self.send(EGRESS, hop, resv);
    }

    pub(super) fn take_path_tear(&mut self, now: i64, message: &Message) {
        let name = self.sender_of(message);
        let Some(number) = name.and_then(|name| self.instance_of(name)) else {
            if name.is_some_and(|name| self.ids.is_skipped(name.lsp_id)) {
                self.counts.left_tears_rx += 1;
            } else {
                self.counts.foreign += 1;
            }
            return;
        };
        let whose = self.whose(number);
        let instance = &mut self.instances[number as usize];
        let repeats = instance.tears_seen;
        instance.tears_seen = repeats.saturating_add(1);
        let is_ours = instance.head == Head::Torn;
        let was_open = is_ours && !instance.is_answered[TEAR];
        // A device may give an LSP up by itself: a PATH can bring it back then.
        instance.tail = if is_ours { Tail::Gone } else { Tail::Unknown };
        instance.is_answered[TEAR] |= is_ours;
        self.log.event(Event::TearReceived, now, whose, 0, repeats);
        if was_open {
            self.hear_answer(now);
            self.come_back(now, number);
        }
    }

    pub(super) fn take_resv_err(&mut self, now: i64, message: &Message) {
        for number in self.instances_in(message) {
            self.refuse(now, number, Event::ResvErr, message);
        }
    }

    pub(super) fn take_resv_conf(&mut self, now: i64, message: &Message) {
        for number in self.instances_in(message) {
            self.log
                .event(Event::ResvConf, now, self.whose(number), 0, 0);
        }
    }

    /// The LSP of this pair that a PATH or PATH_TEAR is about.
    fn sender_of(&self, message: &Message) -> Option<Name> {
        let session: &Session = message.session()?;
        self.spec.name_of(session, message.sender_template()?)
    }
}

/// Whether an instance's tear was seen or given up: until then, what refreshes it may have left before.
fn is_done_with(instance: &Instance) -> bool {
    instance.head == Head::Torn && instance.is_answered[TEAR]
}

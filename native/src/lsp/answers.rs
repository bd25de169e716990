//! What the ingress LER is told: RESV, and what refuses or ends an LSP.

use std::net::Ipv4Addr;

use rackproof_rsvp::{ErrorSpec, Message, Object, TimeValues};

use super::INGRESS;
use super::engine::{Engine, Timer};
use super::log::Event;
use super::state::{Head, Refusal, Route, SETUP};

/// Refreshes that may be missed (RFC 2205, 3.7).
const MISSED: f64 = 3.0;

/// Lifetime of a state whose sender refreshes it as TIME_VALUES say: (K + 0.5) * 1.5 * R [ns].
pub(super) fn lifetime_ns(message: &Message) -> i64 {
    let refresh_ms = message.objects.iter().find_map(|object| match object {
        Object::TimeValues(TimeValues { refresh_ms }) => Some(*refresh_ms),
        _ => None,
    });
    ((MISSED + 0.5) * 1.5 * f64::from(refresh_ms.unwrap_or(30_000)) * 1e6) as i64
}

/// Code and value of an error in one word.
pub(super) fn error_word(error: Option<&ErrorSpec>) -> u32 {
    error.map_or(0, |error| {
        u32::from(error.code) << 16 | u32::from(error.value)
    })
}

impl Engine {
    pub(super) fn take_resv(&mut self, now: i64, message: &Message) {
        let (Some(session), Some(hop)) = (message.session(), message.hop()) else {
            self.counts.malformed += 1;
            return;
        };
        let neighbour = self.spec.ingress.neighbour;
        for flow in message.flow_descriptors() {
            let name = self.spec.name_of(session, flow.filter);
            let label = flow.label.and_then(|label| label.mpls());
            let (Some(number), Some(label)) = (name.and_then(|name| self.instance_of(name)), label)
            else {
                self.counts.foreign += 1;
                continue;
            };
            self.note_their_id(INGRESS, message, number);
            if hop.address != neighbour {
                self.find_phantom(now, number, hop.address);
            }
            self.come_up(now, number, label, lifetime_ns(message));
            let asker = message.objects.iter().find_map(|object| match object {
                Object::ResvConfirm(asker) => Some(*asker),
                _ => None,
            });
            if let (Some(asker), Some(name)) = (asker, name) {
                let conf = self.spec.resv_conf(name, asker);
                self.send(INGRESS, asker, conf);
            }
        }
    }

    /// A RESV for an instance came; what is torn stays torn.
    fn come_up(&mut self, now: i64, number: u32, label: u32, life_ns: i64) {
        let whose = self.whose(number);
        let instance = &mut self.instances[number as usize];
        if instance.head == Head::Torn {
            return;
        }
        instance.resv_life_ns = life_ns;
        instance.resv_until_ns = now + life_ns;
        let is_news = instance.head != Head::Up || instance.label != Some(label);
        if !is_news {
            return;
        }
        instance.head = Head::Up;
        instance.label = Some(label);
        instance.refusal = None;
        instance.resv_ns = now;
        instance.is_proven = false;
        instance.is_answered[SETUP] = true;
        let repeats = instance.resvs;
        instance.resvs = repeats.saturating_add(1);
        self.hear_answer(now);
        self.log
            .event(Event::ResvReceived, now, whose, label, repeats);
        self.lsps[usize::from(whose.lsp)].route = Some(Route {
            label,
            instance: number,
        });
        if self.spec.probes.is_some() {
            self.timer(now, Timer::Probe(number));
        }
    }

    /// No device answers for an instance: it needs no other PATH.
    pub(super) fn find_phantom(&mut self, now: i64, number: u32, hop: Ipv4Addr) {
        let whose = self.whose(number);
        let instance = &mut self.instances[number as usize];
        if instance.phantom.replace(hop).is_none() {
            instance.is_answered[SETUP] = true;
            self.hear_answer(now);
            self.log
                .event(Event::Phantom, now, whose, u32::from(hop), 0);
        }
    }

    pub(super) fn take_path_err(&mut self, now: i64, message: &Message) {
        let sender = message.sender_template().copied();
        let number = match (message.session(), sender) {
            (Some(session), Some(sender)) => {
                let name = self.spec.name_of(session, &sender);
                name.and_then(|name| self.instance_of(name))
            }
            _ => None,
        };
        match number {
            Some(number) => self.refuse(now, number, Event::PathErr, message),
            None => self.counts.foreign += 1,
        }
    }

    /// An error about an instance: it answers the PATH.
    pub(super) fn refuse(&mut self, now: i64, number: u32, event: Event, message: &Message) {
        let word = error_word(message.error_spec());
        let whose = self.whose(number);
        let instance = &mut self.instances[number as usize];
        instance.refusal = Some(Refusal {
            message: event,
            code: (word >> 16) as u8,
            value: word as u16,
        });
        instance.is_answered[SETUP] |= instance.head == Head::Setting;
        self.hear_answer(now);
        self.log.event(event, now, whose, word, 0);
    }

    pub(super) fn take_resv_tear(&mut self, now: i64, message: &Message) {
        for number in self.instances_in(message) {
            let instance = &mut self.instances[number as usize];
            if instance.head == Head::Up {
                instance.head = Head::Setting;
            }
            self.log
                .event(Event::ResvTear, now, self.whose(number), 0, 0);
        }
    }

    /// Instances that a message about reservations names; others are counted.
    pub(super) fn instances_in(&mut self, message: &Message) -> Vec<u32> {
        let Some(session) = message.session() else {
            self.counts.malformed += 1;
            return Vec::new();
        };
        let flows = message.flow_descriptors();
        let names = flows
            .iter()
            .filter_map(|flow| self.spec.name_of(session, flow.filter));
        let found: Vec<u32> = names.filter_map(|name| self.instance_of(name)).collect();
        self.counts.foreign += (flows.len() - found.len()) as u64;
        found
    }
}

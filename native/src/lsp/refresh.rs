//! What keeps states up on both sides: refreshes, one by one or in summary (RFC 2961, 5), and their ends.

use rackproof_rsvp::{MessageIdList, MessageType, Object};

use super::engine::{Engine, Timer};
use super::log::Event;
use super::state::{Head, OurId, Tail};
use super::{EGRESS, INGRESS};

/// Most identifiers in one message.
const IDENTIFIERS: usize = 300;
/// How long refreshes are gathered for one Srefresh, a part of the refresh period.
const GATHERED: i64 = 20;

impl Engine {
    pub(super) fn refresh_path(&mut self, now: i64, number: u32) {
        let instance = &self.instances[number as usize];
        if instance.head == Head::Torn {
            return;
        }
        if !self.refresh_by_summary(now, INGRESS, instance.path_id) {
            self.send_path(now, number);
        }
        let next_ns = now + self.jittered();
        self.timer(next_ns, Timer::RefreshPath(number));
    }

    pub(super) fn refresh_resv(&mut self, now: i64, number: u32) {
        let instance = &mut self.instances[number as usize];
        instance.is_refreshing = instance.tail == Tail::Held;
        if !instance.is_refreshing {
            return;
        }
        let instance = &self.instances[number as usize];
        if !self.refresh_by_summary(now, EGRESS, instance.resv_id) {
            self.send_resv(now, number, false);
        }
        let next_ns = now + self.jittered();
        self.timer(next_ns, Timer::RefreshResv(number));
    }

    fn refresh_by_summary(&mut self, now: i64, end: usize, id: OurId) -> bool {
        let (Some(identifier), true) = (id.identifier, id.is_acked) else {
            return false;
        };
        let link = &mut self.links[end];
        link.refreshed.push(identifier);
        link.srefresh_ns = link.srefresh_ns.min(now + self.spec.refresh_ns / GATHERED);
        true
    }

    /// Sends what was gathered, if it is time; what was torn down meanwhile is left out.
    pub(super) fn summarise(&mut self, now: i64, end: usize) {
        while self.links[end].refreshed.len() >= IDENTIFIERS || self.links[end].srefresh_ns <= now {
            let link = &mut self.links[end];
            let count = link.refreshed.len().min(IDENTIFIERS);
            let gathered: Vec<u32> = link.refreshed.drain(..count).collect();
            if link.refreshed.is_empty() {
                link.srefresh_ns = i64::MAX;
            }
            let link = &self.links[end];
            let is_wanted = |id: &u32| link.ours.get(id).is_some_and(|what| self.is_wanted(*what));
            let list = MessageIdList {
                flags: 0,
                epoch: link.epoch,
                identifiers: gathered.into_iter().filter(is_wanted).collect(),
            };
            if !list.identifiers.is_empty() {
                let objects = vec![Object::MessageIdList(list)];
                self.send_to_neighbour(end, MessageType::Srefresh, objects);
            }
        }
    }

    /// Ends what was not refreshed in time.
    pub(super) fn expire(&mut self, now: i64) {
        for number in 0..self.instances.len() as u32 {
            let instance = &mut self.instances[number as usize];
            let (up, held) = (instance.head == Head::Up, instance.tail == Tail::Held);
            let lost = [
                up && instance.resv_until_ns < now,
                held && instance.path_until_ns < now,
            ];
            if lost[INGRESS] {
                instance.head = Head::Setting;
            }
            if lost[EGRESS] {
                instance.tail = Tail::Unknown;
            }
            for end in [INGRESS, EGRESS].into_iter().filter(|end| lost[*end]) {
                self.counts.expired += 1;
                self.log
                    .event(Event::Expired, now, self.whose(number), end as u32, 0);
            }
        }
    }
}

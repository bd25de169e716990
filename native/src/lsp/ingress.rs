//! What the ingress LER sends: PATH and PATH_TEAR, paced, again where they are not answered.

use super::INGRESS;
use super::engine::{Engine, Timer};
use super::link::What;
use super::log::Event;
use super::messages::Name;
use super::pace::Step;
use super::state::{Head, Instance, SETUP, TEAR};

impl Engine {
    /// The next PATH that is due: an LSP is set up, or asked for again; whether there was one.
    pub(super) fn set_one_up(&mut self, now: i64) -> bool {
        if self.left.len() > 0 {
            return false;
        }
        let instances = &self.instances;
        let is_open = |number: u32| wants_answer(&instances[number as usize], SETUP);
        let Some((step, due_ns)) = self.setups.take(now, is_open) else {
            return false;
        };
        match step {
            Step::Send(lsp) => {
                let number = self.instances.len() as u32;
                if let Some(id) = self.ids.take(number) {
                    self.lateness.record(now - due_ns);
                    self.instances.push(Instance::new(lsp as u16, id));
                    self.lsps[lsp as usize].current = Some(number);
                    self.send_path_anew(now, number);
                    let refresh_ns = now + self.jittered();
                    self.timer(refresh_ns, Timer::RefreshPath(number));
                }
            }
            Step::Again(number) => {
                if self.instances[number as usize].sent[SETUP] <= self.spec.retries {
                    self.counts.retries += 1;
                    self.send_path_anew(now, number);
                } else {
                    self.counts.gave_up_paths += 1;
                    self.instances[number as usize].is_answered[SETUP] = true;
                    self.log.event(Event::GaveUp, now, self.whose(number), 0, 0);
                }
            }
        }
        true
    }

    /// The next PATH_TEAR that is due; whether there was one.
    pub(super) fn tear_one(&mut self, now: i64) -> bool {
        if let Some((Step::Send(place), _)) = self.left.take(now, |_| false) {
            let tear = self.spec.path_tear(self.left_names[place as usize]);
            self.counts.left_tears_tx += 1;
            self.send(INGRESS, self.spec.egress.router_id, tear);
            return true;
        }
        let instances = &self.instances;
        let is_open = |number: u32| wants_answer(&instances[number as usize], TEAR);
        let Some((step, due_ns)) = self.tears.take(now, is_open) else {
            return false;
        };
        match step {
            Step::Send(number) => {
                self.lateness.record(now - due_ns);
                self.send_tear_anew(now, number);
            }
            Step::Again(number) => {
                if self.instances[number as usize].sent[TEAR] <= self.spec.retries {
                    self.counts.retries += 1;
                    self.send_tear_anew(now, number);
                } else {
                    self.counts.gave_up_tears += 1;
                    self.instances[number as usize].is_answered[TEAR] = true;
                    self.log.event(Event::GaveUp, now, self.whose(number), 1, 0);
                    self.come_back(now, number);
                }
            }
        }
        true
    }

    /// Something new came through: the devices are at work, and are not given again what they may still have before them.
    pub(super) fn hear_answer(&mut self, now: i64) {
        self.setups.answered(now);
        self.tears.answered(now);
    }

    /// Lets an instance be torn down.
    pub(super) fn tear_down(&mut self, now: i64, number: u32, comes_back: bool) {
        let lsp = usize::from(self.instances[number as usize].lsp);
        self.lsps[lsp].comes_back = comes_back;
        self.tears.push(number, now);
    }

    /// After the end of an instance: its LSP is set up again where that is wanted.
    pub(super) fn come_back(&mut self, now: i64, number: u32) {
        let lsp = self.instances[number as usize].lsp;
        let state = &mut self.lsps[usize::from(lsp)];
        if state.current == Some(number) && std::mem::take(&mut state.comes_back) {
            self.setups.push(u32::from(lsp), now);
        }
    }

    /// A PATH_TEAR for an instance without any bookkeeping: the last thing that this pair does.
    pub fn send_last_tear(&mut self, name: Name) {
        let tear = self.spec.path_tear(name);
        self.send(INGRESS, self.spec.egress.router_id, tear);
    }

    /// PATH of an instance as it is now.
    pub(super) fn send_path(&mut self, now: i64, number: u32) {
        let mut path = self.spec.path(self.instances[number as usize].name());
        if let Some(id) = self.message_id(now, INGRESS, What::Path(number)) {
            path.objects.insert(0, id);
        }
        self.send(INGRESS, self.spec.egress.router_id, path);
    }

    /// PATH_TEAR of an instance.
    pub(super) fn send_tear(&mut self, now: i64, number: u32) {
        let mut tear = self.spec.path_tear(self.instances[number as usize].name());
        if let Some(id) = self.message_id(now, INGRESS, What::Tear(number)) {
            tear.objects.insert(0, id);
        }
        self.send(INGRESS, self.spec.egress.router_id, tear);
    }

    fn send_path_anew(&mut self, now: i64, number: u32) {
        let repeats = self.sent(number, SETUP);
        self.send_path(now, number);
        self.setups.sent(number, now);
        self.log
            .event(Event::PathSent, now, self.whose(number), 0, repeats);
    }

    fn send_tear_anew(&mut self, now: i64, number: u32) {
        let repeats = self.sent(number, TEAR);
        self.instances[number as usize].head = Head::Torn;
        self.send_tear(now, number);
        self.tears.sent(number, now);
        self.log
            .event(Event::TearSent, now, self.whose(number), 0, repeats);
    }

    /// Counts one more sending; how many there were before.
    fn sent(&mut self, number: u32, which: usize) -> u8 {
        let sent = &mut self.instances[number as usize].sent[which];
        *sent = sent.saturating_add(1);
        *sent - 1
    }
}

fn wants_answer(instance: &Instance, which: usize) -> bool {
    let is_torn = instance.head == Head::Torn;
    !instance.is_answered[which] && (which == TEAR || !is_torn)
}

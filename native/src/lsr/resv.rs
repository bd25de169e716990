//! RESV and RESV_TEAR: what comes from downstream and goes on upstream, and the labels that follow from it.

use rackproof_rsvp::{
    FlowDescriptor, Label, Message, MessageType, Object, Style, Subobject, TimeValues,
};

use super::config::Hop;
use super::errors::Refusal;
use super::path::{goes_on, our_hop, recorded};
use super::refresh::Timer;
use super::route::problem;
use super::router::Router;
use super::state::{Key, Life, Reservation, State, Wanted};
use super::table::{Entry, MAX_LABEL};
use super::work::Work;

const NO_PATH: u8 = 3;
const NO_SENDER: u8 = 4;
const UNKNOWN_STYLE: u8 = 6;

impl Router {
    pub(super) fn resv(&mut self, now_ns: i64, work: &Work) {
        let message = &work.message;
        let (Some(session), Some(hop), None) =
            (message.session(), message.hop(), message.missing().next())
        else {
            self.counts.malformed += 1;
            return;
        };
        let from = Hop {
            port: work.port,
            address: hop.address,
        };
        for descriptor in message.flow_descriptors() {
            let key = Key::new(session, descriptor.filter);
            self.remember(hop.address, message, key);
            match self.wanted(&key, message, &descriptor) {
                Ok(wanted) => self.reserve(now_ns, key, message, wanted),
                Err(refusal) => self.resv_error(message, &descriptor, from, refusal),
            }
        }
    }

    /// Whether a RESV says what is known already, of all its LSPs.
    pub(super) fn is_known_resv(&self, work: &Work) -> bool {
        let message = &work.message;
        message.session().is_some_and(|session| {
            message.flow_descriptors().iter().all(|descriptor| {
                let key = Key::new(session, descriptor.filter);
                let known = self
                    .states
                    .get(&key)
                    .and_then(|state| state.reservation.as_ref());
                let wanted = self.wanted(&key, message, descriptor);
                wanted.is_ok_and(|wanted| known.is_some_and(|known| known.wanted == wanted))
            })
        })
    }

    fn wanted(
        &self,
        key: &Key,
        message: &Message,
        descriptor: &FlowDescriptor<'_>,
    ) -> Result<Wanted, Refusal> {
        if !self.states.contains_key(key) {
            let mut keys = self.states.keys();
            let has_session = keys.any(|known| {
                (known.endpoint, known.tunnel_id, known.extended_tunnel_id)
                    == (key.endpoint, key.tunnel_id, key.extended_tunnel_id)
            });
            let code = if has_session { NO_SENDER } else { NO_PATH };
            return Err(Refusal { code, value: 0 });
        }
        let style = message.objects.iter().find_map(|object| match object {
            Object::Style(style) => Some(*style),
            _ => None,
        });
        let known = [Style::FIXED_FILTER, Style::SHARED_EXPLICIT];
        let style = style.filter(|style| known.iter().any(|other| other.options == style.options));
        let style = style.ok_or(Refusal {
            code: UNKNOWN_STYLE,
            value: 0,
        })?;
        let label = descriptor.label.and_then(Label::mpls);
        let label = label.filter(|label| !matches!(label, 1 | 2 | 4..=15) && *label <= MAX_LABEL);
        let label = label.ok_or(Refusal {
            code: problem::CODE,
            value: problem::UNACCEPTABLE_LABEL,
        })?;
        let others = message
            .objects
            .iter()
            .filter(|object| matches!(object, Object::Unknown(unknown) if goes_on(unknown)));
        Ok(Wanted {
            label,
            style,
            flowspec: descriptor.flowspec.cloned(),
            record_route: descriptor.record_route.map(<[Subobject]>::to_vec),
            others: others.cloned().collect(),
        })
    }

    fn reserve(&mut self, now_ns: i64, key: Key, message: &Message, wanted: Wanted) {
        let life = Life::new(message, now_ns);
        let confirm = message.objects.iter().find_map(|object| match object {
            Object::ResvConfirm(asker) => Some(*asker),
            _ => None,
        });
        let Some(state) = self.states.get_mut(&key) else {
            return;
        };
        let number = state.number;
        match &mut state.reservation {
            Some(known) if known.wanted == wanted => {
                let is_repeated = known.life.is_repeated(now_ns);
                known.life = life;
                known.confirm = confirm;
                if is_repeated || confirm.is_some() {
                    self.send_resv(key);
                }
            }
            Some(known) => {
                let has_other_label = known.wanted.label != wanted.label;
                known.life = life;
                known.confirm = confirm;
                known.wanted = wanted;
                if has_other_label {
                    self.forward(&key);
                }
                self.send_resv(key);
            }
            None => {
                let config = &self.config;
                let is_static = |label| config.labels.iter().any(|(taken, _)| *taken == label);
                let Some(label) = self.labels.give(is_static) else {
                    return;
                };
                state.reservation = Some(Reservation {
                    wanted,
                    confirm,
                    life,
                    label,
                    is_programmed: false,
                });
                let early_ns = (self.options.early_resv_ms * 1e6) as i64;
                if early_ns > 0 {
                    self.at(now_ns + early_ns, Timer::Forward(key, number));
                } else {
                    self.forward(&key);
                }
                self.at(life.until_ns(), Timer::ResvEnds(key, label));
                self.refresh_later(now_ns, life.refresh_ms, Timer::RefreshResv(key, label));
                self.send_resv(key);
            }
        }
    }

    /// Has the frames of an LSP forwarded as its RESV asks, or as a defect wants.
    pub(super) fn forward(&mut self, key: &Key) {
        let wrong = key.lsp_share() < self.options.wrong_label;
        let Some(state) = self.states.get_mut(key) else {
            return;
        };
        let hop = state.downstream;
        let Some(reservation) = &mut state.reservation else {
            return;
        };
        reservation.is_programmed = true;
        let out = match reservation.wanted.label {
            Label::IMPLICIT_NULL => None,
            label if wrong => Some(if label < MAX_LABEL {
                label + 1
            } else {
                label - 1
            }),
            label => Some(label),
        };
        let label = reservation.label;
        let entry = Entry {
            hop,
            out,
            push: None,
        };
        self.program(label, Some(entry));
    }

    pub(super) fn send_resv(&mut self, key: Key) {
        let Some(state) = self.states.get_mut(&key) else {
            return;
        };
        let Some(reservation) = &mut state.reservation else {
            return;
        };
        let ours = self.config.address(state.upstream.port);
        let refresh_ms = reservation.life.refresh_ms;
        let mut objects = vec![
            Object::Session(state.session),
            Object::Hop(our_hop(ours, state.handle)),
            Object::TimeValues(TimeValues { refresh_ms }),
        ];
        objects.extend(reservation.confirm.take().map(Object::ResvConfirm));
        objects.extend(reservation.wanted.others.iter().cloned());
        objects.push(Object::Style(reservation.wanted.style));
        objects.extend(reservation.wanted.flowspec.clone().map(Object::Flowspec));
        objects.push(Object::FilterSpec(state.lsp));
        objects.push(Object::Label(Label::Mpls(reservation.label)));
        if let Some(route) = &reservation.wanted.record_route {
            let label = Subobject::Label {
                flags: 0,
                c_type: 1,
                label: reservation.label,
            };
            let label = state.records_labels.then_some(label);
            let ours = std::iter::once(recorded(ours)).chain(label);
            objects.push(Object::RecordRoute(
                ours.chain(route.iter().cloned()).collect(),
            ));
        }
        let hop = state.upstream;
        self.send(hop, MessageType::Resv, objects);
    }

    pub(super) fn resv_tear(&mut self, work: &Work) {
        let Some(session) = work.message.session() else {
            self.counts.malformed += 1;
            return;
        };
        for descriptor in work.message.flow_descriptors() {
            let key = Key::new(session, descriptor.filter);
            match self.states.get(&key) {
                Some(state) if state.reservation.is_some() => self.end_reservation(key),
                _ => self.counts.no_state += 1,
            }
        }
    }

    /// Takes a reservation away and says so upstream.
    pub(super) fn end_reservation(&mut self, key: Key) {
        let Some(state) = self.states.get_mut(&key) else {
            return;
        };
        let ended = state.clone();
        state.reservation = None;
        self.give_up(&ended);
        let Some(reservation) = &ended.reservation else {
            return;
        };
        let ours = self.config.address(ended.upstream.port);
        let mut objects = vec![
            Object::Session(ended.session),
            Object::Hop(our_hop(ours, ended.handle)),
            Object::Style(reservation.wanted.style),
        ];
        objects.extend(reservation.wanted.flowspec.clone().map(Object::Flowspec));
        objects.push(Object::FilterSpec(ended.lsp));
        self.send(ended.upstream, MessageType::ResvTear, objects);
    }

    /// Gives back the label of a state that is no more.
    pub(super) fn give_up(&mut self, state: &State) {
        if let Some(reservation) = &state.reservation {
            if reservation.is_programmed && !self.options.stale_label {
                self.program(reservation.label, None);
            }
            self.labels.give_back(reservation.label);
        }
    }
}

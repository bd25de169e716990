//! PATH and PATH_TEAR: what comes from upstream and goes on downstream.

use std::net::Ipv4Addr;

use rackproof_rsvp::ip::Ipv4Header;
use rackproof_rsvp::{
    ClassRule, Hop as RsvpHop, IntServ, LabelRequest, MessageType, Object, ParameterValue,
    SessionAttribute, Subobject, Unknown, class,
};

use super::config::Hop;
use super::refresh::Timer;
use super::route::{Onward, onward, problem};
use super::router::Router;
use super::state::{Key, Life, State};
use super::work::Work;

/// Error codes of RFC 2205, appendix B.
const UNKNOWN_CLASS: u8 = 13;
const UNKNOWN_TYPE: u8 = 14;

impl Router {
    pub(super) fn path(&mut self, now_ns: i64, work: &Work) {
        let message = &work.message;
        let (Some(key), Some(hop), None) = (
            Key::of_sender(message),
            message.hop(),
            message.missing().next(),
        ) else {
            self.counts.malformed += 1;
            return;
        };
        let upstream = Hop {
            port: work.port,
            address: hop.address,
        };
        self.remember(upstream.address, message, key);
        if self.repeated_path(now_ns, key, work) {
            return;
        }
        match self.checked(work) {
            Ok(next) => self.take_path(now_ns, key, work, upstream, next),
            Err(Some((code, value))) => self.path_error(work, upstream, code, value),
            Err(None) => self.counts.ttl += 1,
        }
    }

    /// Whether a PATH says what is known already.
    pub(super) fn is_known_path(&self, work: &Work) -> bool {
        let state = Key::of_sender(&work.message).and_then(|key| self.states.get(&key));
        state.is_some_and(|state| {
            state.upstream.port == work.port
                && content(&work.message.objects).eq(state.received.iter())
        })
    }

    /// A refresh lets the state live on. One that comes too soon was sent again for want of an answer: it gets one, or goes on.
    fn repeated_path(&mut self, now_ns: i64, key: Key, work: &Work) -> bool {
        if !self.is_known_path(work) {
            return false;
        }
        let Some(state) = self.states.get_mut(&key) else {
            return false;
        };
        let is_repeated = state.life.is_repeated(now_ns);
        state.life = Life::new(&work.message, now_ns);
        match (is_repeated, state.reservation.is_some()) {
            (true, true) => self.send_resv(key),
            (true, false) => self.send_path(key),
            (false, _) => {}
        }
        true
    }

    /// Where it goes on; why not, or None where TTL is used up.
    fn checked(&self, work: &Work) -> Result<Onward, Option<(u8, u16)>> {
        let message = &work.message;
        for unknown in message.unknown() {
            if let Some(code) = refusal(unknown) {
                let value = u16::from(unknown.class) << 8 | u16::from(unknown.c_type);
                return Err(Some((code, value)));
            }
        }
        let routing = |value| Some((problem::CODE, value));
        if message.label_request().map(|request| request.l3pid) != Some(LabelRequest::IPV4.l3pid) {
            return Err(routing(problem::UNSUPPORTED_L3PID));
        }
        let is_ours = |subobject: &Subobject| matches!(subobject, Subobject::Ipv4 { address, .. } if self.config.is_own(*address));
        if message
            .record_route()
            .is_some_and(|route| route.iter().any(is_ours))
        {
            return Err(routing(problem::LOOP));
        }
        let endpoint = message
            .session()
            .map_or(Ipv4Addr::UNSPECIFIED, |session| session.endpoint);
        if self.config.is_own(endpoint) {
            return Err(routing(problem::NO_ROUTE));
        }
        let next = onward(&self.config, endpoint, message.explicit_route()).map_err(routing)?;
        let speaks = |port| self.config.interface(port).is_some_and(|known| known.rsvp);
        if !speaks(next.hop.port) {
            return Err(routing(problem::NO_ROUTE));
        }
        if work.ip.ttl.min(message.header.ttl) <= 1 {
            return Err(None);
        }
        Ok(next)
    }

    fn take_path(&mut self, now_ns: i64, key: Key, work: &Work, upstream: Hop, next: Onward) {
        let message = &work.message;
        let (Some(session), Some(lsp)) = (message.session(), message.sender_template()) else {
            return;
        };
        let before = self.states.remove(&key);
        let kept = before
            .as_ref()
            .filter(|known| (known.upstream, known.downstream) == (upstream, next.hop));
        if kept.is_none()
            && let Some(other_way) = before.clone()
        {
            self.give_up(&other_way);
            self.send_path_tear(&other_way);
        }
        self.next_number += 1;
        let number = kept.map_or(self.next_number, |known| known.number);
        let is_new = kept.is_none();
        let state = State {
            number,
            session: *session,
            lsp: *lsp,
            received: content(&message.objects).cloned().collect(),
            upstream,
            handle: message.hop().map_or(0, |hop| hop.interface_handle),
            downstream: next.hop,
            onward: self.onward_objects(&message.objects, &next),
            ttl: work.ip.ttl.min(message.header.ttl) - 1,
            records_labels: message
                .session_attribute()
                .is_some_and(|attribute| attribute.flags & SessionAttribute::LABEL_RECORDING != 0),
            life: Life::new(message, now_ns),
            reservation: kept.and_then(|known| known.reservation.clone()),
        };
        let (life, refresh_ms) = (state.life, state.life.refresh_ms);
        self.states.insert(key, state);
        if is_new {
            self.at(life.until_ns(), Timer::PathEnds(key, number));
            self.refresh_later(now_ns, refresh_ms, Timer::RefreshPath(key, number));
        }
        self.send_path(key);
    }

    fn onward_objects(&self, objects: &[Object], next: &Onward) -> Vec<Object> {
        let ours = self.config.address(next.hop.port);
        let forwarded = objects.iter().filter_map(|object| match object {
            Object::Hop(_) => Some(Object::Hop(our_hop(ours, next.hop.port as u32))),
            Object::ExplicitRoute(_) => next.route.clone().map(Object::ExplicitRoute),
            Object::RecordRoute(route) => {
                let ours = recorded(ours);
                Some(Object::RecordRoute(
                    std::iter::once(ours).chain(route.iter().cloned()).collect(),
                ))
            }
            Object::Adspec(adspec) => Some(Object::Adspec(one_hop_more(adspec))),
            Object::MessageId(_) | Object::MessageIdAck(..) | Object::MessageIdList(_) => None,
            Object::Unknown(unknown) if !goes_on(unknown) => None,
            other => Some(other.clone()),
        });
        forwarded.collect()
    }

    pub(super) fn send_path(&mut self, key: Key) {
        if let Some(state) = self.states.get(&key) {
            let (hop, objects) = (state.downstream, state.onward.clone());
            let header = downstream_header(state);
            self.send_as(hop, header, MessageType::Path, objects);
        }
    }

    pub(super) fn path_tear(&mut self, work: &Work) {
        let Some(key) = Key::of_sender(&work.message) else {
            self.counts.malformed += 1;
            return;
        };
        let from = work.message.hop().map(|hop| hop.address);
        let known = self.states.get(&key);
        if known.is_none_or(|state| from != Some(state.upstream.address)) {
            self.counts.no_state += 1;
            return;
        }
        if key.instance_share() < self.options.drop_tears {
            self.counts.defect_tears += 1;
            return;
        }
        if let Some(state) = self.states.remove(&key) {
            self.give_up(&state);
            self.send_path_tear(&state);
        }
    }

    /// PATH_TEAR downstream, of a state that is no more.
    pub(super) fn send_path_tear(&mut self, state: &State) {
        let torn = state.onward.iter().filter(|object| {
            matches!(
                object,
                Object::Session(_)
                    | Object::Hop(_)
                    | Object::SenderTemplate(_)
                    | Object::SenderTspec(_)
            )
        });
        let objects = torn.cloned().collect();
        self.send_as(
            state.downstream,
            downstream_header(state),
            MessageType::PathTear,
            objects,
        );
    }
}

/// What a PATH says but for what is between neighbours, and how often it is refreshed.
fn content(objects: &[Object]) -> impl Iterator<Item = &Object> {
    objects.iter().filter(|object| {
        !matches!(
            object,
            Object::MessageId(_)
                | Object::MessageIdAck(..)
                | Object::MessageIdList(_)
                | Object::TimeValues(_)
        )
    })
}

fn downstream_header(state: &State) -> Ipv4Header {
    Ipv4Header {
        source: state.lsp.sender,
        destination: state.session.endpoint,
        ttl: state.ttl,
        tos: rackproof_rsvp::ip::NETWORK_CONTROL,
        identification: 0,
        router_alert: true,
    }
}

/// RSVP_HOP of this router.
pub(super) fn our_hop(address: Ipv4Addr, interface_handle: u32) -> RsvpHop {
    RsvpHop {
        address,
        interface_handle,
        interfaces: None,
    }
}

/// This router in a RECORD_ROUTE.
pub(super) fn recorded(address: Ipv4Addr) -> Subobject {
    Subobject::Ipv4 {
        address,
        prefix_length: 32,
        flags: 0,
    }
}

/// The error code that an object is refused with (RFC 2205, 3.10), None where it is not.
fn refusal(unknown: &Unknown) -> Option<u8> {
    match unknown.class {
        class::INTEGRITY | class::POLICY_DATA | class::SCOPE => None,
        _ if unknown.rule() != ClassRule::Reject => None,
        number if rackproof_rsvp::class_name(number) == "unknown object" => Some(UNKNOWN_CLASS),
        _ => Some(UNKNOWN_TYPE),
    }
}

/// Whether an object that nobody here knows is sent on.
pub(super) fn goes_on(unknown: &Unknown) -> bool {
    unknown.class == class::POLICY_DATA || unknown.rule() == ClassRule::Forward
}

/// An ADSPEC with this router counted (RFC 2215, 3.2).
fn one_hop_more(adspec: &IntServ) -> IntServ {
    let mut adspec = adspec.clone();
    let parameters = adspec
        .services
        .iter_mut()
        .flat_map(|service| &mut service.parameters);
    for parameter in parameters {
        if let ParameterValue::HopCount(hops) = &mut parameter.value {
            *hops = hops.saturating_add(1);
        }
    }
    adspec
}

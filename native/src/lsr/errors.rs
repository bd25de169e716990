//! PATH_ERR, RESV_ERR and RESV_CONF: said by this router, or passed on.

use rackproof_rsvp::ip::Ipv4Header;
use rackproof_rsvp::{ErrorSpec, FlowDescriptor, Message, MessageType, Object};

use super::config::Hop;
use super::path::our_hop;
use super::router::Router;
use super::state::Key;
use super::work::Work;

/// Why something is refused.
pub struct Refusal {
    pub code: u8,
    pub value: u16,
}

impl Router {
    /// PATH_ERR to where a PATH came from.
    pub(super) fn path_error(&mut self, work: &Work, upstream: Hop, code: u8, value: u16) {
        let error = self.error_spec(upstream.port, code, value);
        let kept = work.message.objects.iter().filter(|object| {
            matches!(
                object,
                Object::Session(_) | Object::SenderTemplate(_) | Object::SenderTspec(_)
            )
        });
        let mut objects: Vec<Object> = kept.cloned().collect();
        let after_session = objects.len().min(1);
        objects.insert(after_session, error);
        self.send(upstream, MessageType::PathErr, objects);
    }

    /// RESV_ERR to where a RESV came from.
    pub(super) fn resv_error(
        &mut self,
        message: &Message,
        descriptor: &FlowDescriptor<'_>,
        downstream: Hop,
        refusal: Refusal,
    ) {
        let ours = self.config.address(downstream.port);
        let handle = message.hop().map_or(0, |hop| hop.interface_handle);
        let mut objects: Vec<Object> = Vec::new();
        objects.extend(message.session().map(|session| Object::Session(*session)));
        objects.push(Object::Hop(our_hop(ours, handle)));
        objects.push(self.error_spec(downstream.port, refusal.code, refusal.value));
        let style = message
            .objects
            .iter()
            .find(|object| matches!(object, Object::Style(_)));
        objects.extend(style.cloned());
        objects.extend(descriptor.flowspec.cloned().map(Object::Flowspec));
        objects.push(Object::FilterSpec(*descriptor.filter));
        self.send(downstream, MessageType::ResvErr, objects);
    }

    fn error_spec(&self, port: usize, code: u8, value: u16) -> Object {
        Object::ErrorSpec(ErrorSpec {
            node: self.config.address(port),
            flags: 0,
            code,
            value,
            interfaces: None,
        })
    }

    /// PATH_ERR of somebody downstream, hop by hop to the ingress.
    pub(super) fn pass_path_error(&mut self, work: &Work) {
        let state = Key::of_sender(&work.message).and_then(|key| self.states.get(&key));
        match state.map(|state| state.upstream) {
            Some(hop) => self.send(
                hop,
                MessageType::PathErr,
                without_ids(&work.message.objects),
            ),
            None => self.counts.no_state += 1,
        }
    }

    /// RESV_ERR of somebody upstream, hop by hop to the egress.
    pub(super) fn pass_resv_error(&mut self, work: &Work) {
        let Some((hop, objects)) = self.downstream_of_filter(&work.message) else {
            self.counts.no_state += 1;
            return;
        };
        self.send(hop, MessageType::ResvErr, objects);
    }

    /// RESV_CONF to whoever asked for it.
    pub(super) fn pass_confirmation(&mut self, work: &Work) {
        let Some((hop, _)) = self.downstream_of_filter(&work.message) else {
            self.counts.no_state += 1;
            return;
        };
        if work.ip.ttl <= 1 {
            self.counts.ttl += 1;
            return;
        }
        let header = Ipv4Header {
            ttl: work.ip.ttl - 1,
            ..work.ip
        };
        self.send_as(
            hop,
            header,
            MessageType::ResvConf,
            without_ids(&work.message.objects),
        );
    }

    /// Where an LSP named by FILTER_SPEC goes on, and the objects for there.
    fn downstream_of_filter(&self, message: &Message) -> Option<(Hop, Vec<Object>)> {
        let session = message.session()?;
        let descriptors = message.flow_descriptors();
        let key = Key::new(session, descriptors.first()?.filter);
        let hop = self.states.get(&key)?.downstream;
        let ours = our_hop(self.config.address(hop.port), hop.port as u32);
        let objects = without_ids(&message.objects).into_iter();
        let objects = objects.map(|object| match object {
            Object::Hop(_) => Object::Hop(ours.clone()),
            other => other,
        });
        Some((hop, objects.collect()))
    }
}

fn without_ids(objects: &[Object]) -> Vec<Object> {
    let kept = objects
        .iter()
        .filter(|object| !matches!(object, Object::MessageId(_) | Object::MessageIdAck(..)));
    kept.cloned().collect()
}

//! What a message is about: its objects by name, and which are missing.

use crate::class;
use crate::filter::FlowDescriptor;
use crate::hop::Hop;
use crate::label::{Label, LabelRequest};
use crate::message::{Message, MessageType};
use crate::object::{Object, Unknown};
use crate::route::{ExplicitHop, Subobject};
use crate::session::{Lsp, Session, SessionAttribute};
use crate::status::ErrorSpec;

macro_rules! first {
    ($($(#[$doc:meta])* $method:ident: $variant:ident -> $value:ty;)*) => {
        $(
            $(#[$doc])*
            pub fn $method(&self) -> Option<&$value> {
                self.objects.iter().find_map(|object| match object {
                    Object::$variant(value) => Some(value as &$value),
                    _ => None,
                })
            }
        )*
    };
}

impl Message {
    first! {
        /// The first SESSION.
        session: Session -> Session;
        /// The first RSVP_HOP.
        hop: Hop -> Hop;
        /// The first ERROR_SPEC.
        error_spec: ErrorSpec -> ErrorSpec;
        /// The first SENDER_TEMPLATE.
        sender_template: SenderTemplate -> Lsp;
        /// The first SESSION_ATTRIBUTE.
        session_attribute: SessionAttribute -> SessionAttribute;
        /// The first LABEL_REQUEST.
        label_request: LabelRequest -> LabelRequest;
        /// The first LABEL; of a RESV with several LSPs, [`Message::flow_descriptors`] says which is whose.
        label: Label -> Label;
        /// The first EXPLICIT_ROUTE.
        explicit_route: ExplicitRoute -> [ExplicitHop];
        /// The first RECORD_ROUTE.
        record_route: RecordRoute -> [Subobject];
    }

    /// The LSPs of a RESV, RESV_TEAR, RESV_ERR or RESV_CONF, in their order: one for each FILTER_SPEC.
    pub fn flow_descriptors(&self) -> Vec<FlowDescriptor<'_>> {
        FlowDescriptor::list(&self.objects)
    }

    /// The objects that are kept as they were received.
    pub fn unknown(&self) -> impl Iterator<Item = &Unknown> {
        self.objects.iter().filter_map(|object| match object {
            Object::Unknown(unknown) => Some(unknown),
            _ => None,
        })
    }

    /// Class numbers of objects that a message of this type needs and does not have (RFC 2205, 3.1; RFC 2961, 4 and 5; RFC 3209, 3 and 5).
    pub fn missing(&self) -> impl Iterator<Item = u8> {
        let needed: &'static [u8] = match self.kind {
            MessageType::Path => &[
                class::SESSION,
                class::RSVP_HOP,
                class::TIME_VALUES,
                class::LABEL_REQUEST,
                class::SENDER_TEMPLATE,
                class::SENDER_TSPEC,
            ],
            MessageType::Resv => &[
                class::SESSION,
                class::RSVP_HOP,
                class::TIME_VALUES,
                class::STYLE,
                class::FLOWSPEC,
                class::FILTER_SPEC,
                class::LABEL,
            ],
            MessageType::PathErr => &[class::SESSION, class::ERROR_SPEC],
            MessageType::ResvErr => &[
                class::SESSION,
                class::RSVP_HOP,
                class::ERROR_SPEC,
                class::STYLE,
            ],
            MessageType::PathTear => &[class::SESSION, class::RSVP_HOP],
            MessageType::ResvTear => &[class::SESSION, class::RSVP_HOP, class::STYLE],
            MessageType::ResvConf => &[
                class::SESSION,
                class::ERROR_SPEC,
                class::RESV_CONFIRM,
                class::STYLE,
            ],
            MessageType::Ack => &[class::MESSAGE_ID_ACK],
            MessageType::Srefresh => &[class::MESSAGE_ID_LIST],
            MessageType::Hello => &[class::HELLO],
            MessageType::Other(_) => &[],
        };
        let has = |number: u8| {
            self.objects
                .iter()
                .any(|object| object.class_and_type().0 == number)
        };
        needed.iter().copied().filter(move |number| !has(*number))
    }
}

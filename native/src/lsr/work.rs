//! A message on its way through control.

use rackproof_rsvp::ip::Ipv4Header;
use rackproof_rsvp::{Message, MessageId, MessageType, Object};

use super::state::Key;

/// A message that waits for its turn.
pub struct Work {
    pub port: usize,
    pub ip: Ipv4Header,
    pub message: Message,
}

impl Work {
    /// Whether it is a PATH or RESV of one LSP and no other.
    pub fn is_about(&self, key: &Key) -> bool {
        match self.message.kind {
            MessageType::Path => Key::of_sender(&self.message).as_ref() == Some(key),
            MessageType::Resv => {
                let filters = self.message.flow_descriptors();
                let lsp = filters.first().filter(|_| filters.len() == 1);
                lsp.zip(self.message.session())
                    .is_some_and(|(lsp, session)| Key::new(session, lsp.filter) == *key)
            }
            _ => false,
        }
    }

    /// The MESSAGE_ID whose sender wants to hear that it has arrived.
    pub fn asks_for_acknowledgement(&self) -> Option<MessageId> {
        message_id(&self.message).filter(|id| id.flags & MessageId::ACK_DESIRED != 0)
    }
}

/// The first MESSAGE_ID.
pub fn message_id(message: &Message) -> Option<MessageId> {
    message.objects.iter().find_map(|object| match object {
        Object::MessageId(id) => Some(*id),
        _ => None,
    })
}

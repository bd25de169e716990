//! Messages: the common header and what follows it.

use crate::error::{EncodeError, Expected};
use crate::header::{Header, read_header, write_message};
use crate::object::Object;
use crate::wire::{Decoded, Encoded, Reader};

macro_rules! message_types {
    ($($(#[$doc:meta])* $name:ident = $number:literal,)*) => {
        /// What a message is for; Bundle is a [`Bundle`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum MessageType {
            $($(#[$doc])* $name,)*
            /// Any other, by its number, which is neither 12 nor one of the above.
            Other(u8),
        }

        impl MessageType {
            /// The type of a number.
            pub const fn from_number(number: u8) -> Self {
                match number {
                    $($number => Self::$name,)*
                    _ => Self::Other(number),
                }
            }

            /// Its number.
            pub const fn number(self) -> u8 {
                match self {
                    $(Self::$name => $number,)*
                    Self::Other(number) => number,
                }
            }
        }
    };
}

message_types! {
    /// RFC 2205, 3.1.3; RFC 3209, 3.1.
    Path = 1,
    /// RFC 2205, 3.1.4; RFC 3209, 3.2.
    Resv = 2,
    /// RFC 2205, 3.1.7.
    PathErr = 3,
    /// RFC 2205, 3.1.8.
    ResvErr = 4,
    /// RFC 2205, 3.1.5.
    PathTear = 5,
    /// RFC 2205, 3.1.6.
    ResvTear = 6,
    /// RFC 2205, 3.1.9.
    ResvConf = 7,
    /// RFC 2961, 4.4.
    Ack = 13,
    /// RFC 2961, 5.2.
    Srefresh = 15,
    /// RFC 3209, 5.1.
    Hello = 20,
}

const BUNDLE: u8 = 12;

/// A message that has objects.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The common header.
    pub header: Header,
    /// What it is for.
    pub kind: MessageType,
    /// Objects in their order, which is kept.
    pub objects: Vec<Object>,
}

/// Several messages in one packet (RFC 2961, 3). None of them is a bundle.
#[derive(Clone, Debug, PartialEq)]
pub struct Bundle {
    /// The bundle's own header.
    pub header: Header,
    /// At least one, in their order.
    pub messages: Vec<Message>,
}

/// What one IP packet carries.
#[derive(Clone, Debug, PartialEq)]
pub enum Packet {
    /// One message.
    Message(Message),
    /// Several.
    Bundle(Bundle),
}

impl Packet {
    /// Takes the payload of one IP packet, from the common header to the end.
    pub fn decode(bytes: &[u8]) -> Decoded<Self> {
        let mut reader = Reader::new(bytes, "message");
        let (header, number, mut body) = read_header(&mut reader)?;
        if !reader.is_empty() {
            let length = bytes.len() - reader.len();
            return Err(reader.error(
                length - 6,
                "length",
                Expected::Exactly(bytes.len() as u32),
                length,
            ));
        }
        if number != BUNDLE {
            let kind = MessageType::from_number(number);
            return Ok(Self::Message(Message {
                header,
                kind,
                objects: Object::read_list(body)?,
            }));
        }
        if body.is_empty() {
            return Err(body.error(0, "length after the header", Expected::AtLeast(8), 0));
        }
        let mut messages = Vec::new();
        while !body.is_empty() {
            messages.push(Message::read(&mut body)?);
        }
        Ok(Self::Bundle(Bundle { header, messages }))
    }

    /// Appends the payload of one IP packet to `out`. After an error `out` holds what it held before.
    pub fn encode(&self, out: &mut Vec<u8>) -> Encoded {
        let start = out.len();
        let done = match self {
            Self::Message(message) => message.write(out),
            Self::Bundle(bundle) => bundle.write(out),
        };
        if done.is_err() {
            out.truncate(start);
        }
        done
    }

    /// The messages that the packet carries, one or several.
    pub fn messages(&self) -> &[Message] {
        match self {
            Self::Message(message) => std::slice::from_ref(message),
            Self::Bundle(bundle) => &bundle.messages,
        }
    }
}

impl Message {
    fn read(bundle: &mut Reader) -> Decoded<Self> {
        let (header, number, body) = read_header(bundle)?;
        if number == BUNDLE {
            return Err(body.error(
                7,
                "type",
                Expected::Not(u32::from(BUNDLE)),
                usize::from(number),
            ));
        }
        let kind = MessageType::from_number(number);
        Ok(Self {
            header,
            kind,
            objects: Object::read_list(body)?,
        })
    }

    fn write(&self, out: &mut Vec<u8>) -> Encoded {
        if self.kind.number() == BUNDLE {
            let (expected, found) = (Expected::Not(u32::from(BUNDLE)), usize::from(BUNDLE));
            return Err(EncodeError {
                part: "message",
                field: "type",
                expected,
                found,
            });
        }
        write_message(&self.header, self.kind.number(), out, |out| {
            self.objects.iter().try_for_each(|object| object.write(out))
        })
    }
}

impl Bundle {
    fn write(&self, out: &mut Vec<u8>) -> Encoded {
        if self.messages.is_empty() {
            let expected = Expected::AtLeast(1);
            return Err(EncodeError {
                part: "bundle",
                field: "messages",
                expected,
                found: 0,
            });
        }
        write_message(&self.header, BUNDLE, out, |out| {
            self.messages
                .iter()
                .try_for_each(|message| message.write(out))
        })
    }
}

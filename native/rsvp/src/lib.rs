//! RSVP-TE: messages as typed values, from bytes and back to the same bytes.
//!
//! [`Packet::decode`] takes what IP protocol 46 carried, [`Packet::encode`] gives it back. Unknown objects, unknown subobjects, reserved bits, the
//! order of objects and padding stay as they were received. Sources: RFC 2205, 2210, 2961, 3209, 3473, 3477, 4090, 5063.
//!
//! ```
//! use rackproof_rsvp::{Hello, HelloKind, Header, Message, MessageType, Object, Packet};
//!
//! let hello = Hello { kind: HelloKind::Request, source_instance: 7, destination_instance: 0 };
//! let header = Header { ttl: 1, ..Header::default() };
//! let message = Message { header, kind: MessageType::Hello, objects: vec![Object::Hello(hello)] };
//! let mut bytes = Vec::new();
//! Packet::Message(message.clone()).encode(&mut bytes)?;
//! assert_eq!(Packet::decode(&bytes)?, Packet::Message(message));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Bounds: a packet is at most 65,535 bytes; nothing recurses; a decoded packet holds at most [`GROWTH`] bytes of memory for each byte that it came
//! from, and so much is never exceeded on the way.

mod access;
pub mod class;
mod error;
mod filter;
mod header;
mod hop;
mod intserv;
pub mod ip;
mod label;
mod message;
mod object;
mod refresh;
mod reroute;
mod route;
mod session;
mod status;
mod wire;

pub use class::{ClassRule, class_name};
pub use error::{DecodeError, EncodeError, Expected};
pub use filter::{FlowDescriptor, Style};
pub use header::{Checksum, Header};
pub use hop::{Hop, InterfaceTlv};
pub use intserv::{IntServ, Parameter, ParameterValue, Service, TokenBucket, service};
pub use label::{Label, LabelRequest};
pub use message::{Bundle, Message, MessageType, Packet};
pub use object::{Object, Unknown};
pub use refresh::{
    Acknowledgement, Capability, Hello, HelloKind, MessageId, MessageIdList, RestartCapability,
};
pub use reroute::{Detour, DetourPair, FastReroute};
pub use route::{ExplicitHop, Subobject};
pub use session::{Affinities, Lsp, Session, SessionAttribute};
pub use status::{ErrorSpec, TimeValues};
pub use wire::Padding;

/// Bytes of memory that decoding asks for at most at one time, for each byte of input.
pub const GROWTH: usize = 32;

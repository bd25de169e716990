//! Objects: class number and C-Type say which value they carry.

use std::net::Ipv4Addr;

use crate::class::{self, ClassRule, class_name};
use crate::error::Expected;
use crate::filter::Style;
use crate::hop::{Hop, InterfaceTlv};
use crate::intserv::IntServ;
use crate::label::{Label, LabelRequest};
use crate::refresh::{
    Acknowledgement, Capability, Hello, HelloKind, MessageId, MessageIdList, RestartCapability,
};
use crate::reroute::{Detour, FastReroute};
use crate::route::{ExplicitHop, Subobject};
use crate::session::{Lsp, Session, SessionAttribute};
use crate::status::{ErrorSpec, TimeValues};
use crate::wire::{Decoded, Encoded, Reader, Write, at_most, whole_words};

/// An object of another class or C-Type, as it was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// Class number.
    pub class: u8,
    /// C-Type.
    pub c_type: u8,
    /// What follows the object's header: whole 32-bit words.
    pub data: Vec<u8>,
}

impl Unknown {
    /// What a node does that does not know this class; of a known class with an unknown C-Type, a message is refused with error 14.
    pub fn rule(&self) -> ClassRule {
        ClassRule::of(self.class)
    }
}

/// One object of a message.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)] // each is the object of that name
pub enum Object {
    Session(Session),
    Hop(Hop),
    TimeValues(TimeValues),
    ErrorSpec(ErrorSpec),
    Style(Style),
    Flowspec(IntServ),
    FilterSpec(Lsp),
    SenderTemplate(Lsp),
    SenderTspec(IntServ),
    Adspec(IntServ),
    /// Address that wants the confirmation (RFC 2205, A.14).
    ResvConfirm(Ipv4Addr),
    Label(Label),
    LabelRequest(LabelRequest),
    ExplicitRoute(Vec<ExplicitHop>),
    RecordRoute(Vec<Subobject>),
    Hello(Hello),
    MessageId(MessageId),
    /// MESSAGE_ID_ACK or MESSAGE_ID_NACK.
    MessageIdAck(Acknowledgement, MessageId),
    MessageIdList(MessageIdList),
    Detour(Detour),
    RestartCapability(RestartCapability),
    Capability(Capability),
    FastReroute(FastReroute),
    SessionAttribute(SessionAttribute),
    Unknown(Unknown),
}

impl Object {
    /// Bytes of an object's header: length, class number, C-Type (RFC 2205, 3.1.2).
    pub(crate) const HEADER_BYTES: usize = 4;

    /// Class number and C-Type.
    pub fn class_and_type(&self) -> (u8, u8) {
        match self {
            Self::Session(_) => (class::SESSION, 7),
            Self::Hop(hop) => (class::RSVP_HOP, interfaces_type(&hop.interfaces)),
            Self::TimeValues(_) => (class::TIME_VALUES, 1),
            Self::ErrorSpec(error) => (class::ERROR_SPEC, interfaces_type(&error.interfaces)),
            Self::Style(_) => (class::STYLE, 1),
            Self::Flowspec(_) => (class::FLOWSPEC, 2),
            Self::FilterSpec(_) => (class::FILTER_SPEC, 7),
            Self::SenderTemplate(_) => (class::SENDER_TEMPLATE, 7),
            Self::SenderTspec(_) => (class::SENDER_TSPEC, 2),
            Self::Adspec(_) => (class::ADSPEC, 2),
            Self::ResvConfirm(_) => (class::RESV_CONFIRM, 1),
            Self::Label(label) => (
                class::LABEL,
                if matches!(label, Label::Mpls(_)) {
                    1
                } else {
                    2
                },
            ),
            Self::LabelRequest(_) => (class::LABEL_REQUEST, 1),
            Self::ExplicitRoute(_) => (class::EXPLICIT_ROUTE, 1),
            Self::RecordRoute(_) => (class::RECORD_ROUTE, 1),
            Self::Hello(hello) => (
                class::HELLO,
                if hello.kind == HelloKind::Request {
                    1
                } else {
                    2
                },
            ),
            Self::MessageId(_) => (class::MESSAGE_ID, 1),
            Self::MessageIdAck(said, _) => (
                class::MESSAGE_ID_ACK,
                if *said == Acknowledgement::Ack { 1 } else { 2 },
            ),
            Self::MessageIdList(_) => (class::MESSAGE_ID_LIST, 1),
            Self::Detour(_) => (class::DETOUR, 7),
            Self::RestartCapability(_) => (class::RESTART_CAP, 1),
            Self::Capability(_) => (class::CAPABILITY, 1),
            Self::FastReroute(_) => (class::FAST_REROUTE, 1),
            Self::SessionAttribute(attribute) => (
                class::SESSION_ATTRIBUTE,
                if attribute.affinities.is_some() { 1 } else { 7 },
            ),
            Self::Unknown(unknown) => (unknown.class, unknown.c_type),
        }
    }

    pub(crate) fn read_list(mut body: Reader) -> Decoded<Vec<Self>> {
        let mut objects = Vec::with_capacity(count(body.peek()));
        while !body.is_empty() {
            objects.push(Self::read(&mut body)?);
        }
        Ok(objects)
    }

    fn read(message: &mut Reader) -> Decoded<Self> {
        let length = usize::from(message.u16()?);
        let (number, c_type) = (message.u8()?, message.u8()?);
        if length < Self::HEADER_BYTES {
            return Err(message.error(4, "length of object", Expected::AtLeast(4), length));
        }
        if !length.is_multiple_of(4) {
            return Err(message.error(4, "length of object", Expected::MultipleOf(4), length));
        }
        if length - Self::HEADER_BYTES > message.len() {
            let most = (message.len() + Self::HEADER_BYTES) as u32;
            return Err(message.error(4, "length of object", Expected::AtMost(most), length));
        }
        let body = message.split(length - Self::HEADER_BYTES, class_name(number))?;
        Self::read_body(number, c_type, body)
    }

    fn read_body(number: u8, c_type: u8, mut body: Reader) -> Decoded<Self> {
        Ok(match (number, c_type) {
            (class::SESSION, 7) => Self::Session(Session::read(body)?),
            (class::RSVP_HOP, 1 | 3) => Self::Hop(Hop::read(body, c_type == 3)?),
            (class::TIME_VALUES, 1) => Self::TimeValues(TimeValues::read(body)?),
            (class::ERROR_SPEC, 1 | 3) => Self::ErrorSpec(ErrorSpec::read(body, c_type == 3)?),
            (class::STYLE, 1) => Self::Style(Style::read(body)?),
            (class::FLOWSPEC, 2) => Self::Flowspec(IntServ::read(body)?),
            (class::FILTER_SPEC, 7) => Self::FilterSpec(Lsp::read(body)?),
            (class::SENDER_TEMPLATE, 7) => Self::SenderTemplate(Lsp::read(body)?),
            (class::SENDER_TSPEC, 2) => Self::SenderTspec(IntServ::read(body)?),
            (class::ADSPEC, 2) => Self::Adspec(IntServ::read(body)?),
            (class::RESV_CONFIRM, 1) => {
                body.exactly(4)?;
                Self::ResvConfirm(body.ipv4()?)
            }
            (class::LABEL, 1) => Self::Label(Label::read(body)?),
            (class::LABEL, 2) => Self::Label(Label::read_generalized(body)),
            (class::LABEL_REQUEST, 1) => Self::LabelRequest(LabelRequest::read(body)?),
            (class::EXPLICIT_ROUTE, 1) => Self::ExplicitRoute(ExplicitHop::read_list(body)?),
            (class::RECORD_ROUTE, 1) => Self::RecordRoute(Subobject::read_list(body)?),
            (class::HELLO, 1) => Self::Hello(Hello::read(body, HelloKind::Request)?),
            (class::HELLO, 2) => Self::Hello(Hello::read(body, HelloKind::Ack)?),
            (class::MESSAGE_ID, 1) => Self::MessageId(MessageId::read(body)?),
            (class::MESSAGE_ID_ACK, 1) => {
                Self::MessageIdAck(Acknowledgement::Ack, MessageId::read(body)?)
            }
            (class::MESSAGE_ID_ACK, 2) => {
                Self::MessageIdAck(Acknowledgement::Nack, MessageId::read(body)?)
            }
            (class::MESSAGE_ID_LIST, 1) => Self::MessageIdList(MessageIdList::read(body)?),
            (class::DETOUR, 7) => Self::Detour(Detour::read(body)?),
            (class::RESTART_CAP, 1) => Self::RestartCapability(RestartCapability::read(body)?),
            (class::CAPABILITY, 1) => Self::Capability(Capability::read(body)?),
            (class::FAST_REROUTE, 1) => Self::FastReroute(FastReroute::read(body)?),
            (class::SESSION_ATTRIBUTE, 1 | 7) => {
                Self::SessionAttribute(SessionAttribute::read(body, c_type == 1)?)
            }
            (class, c_type) => Self::Unknown(Unknown {
                class,
                c_type,
                data: body.rest(),
            }),
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) -> Encoded {
        let start = out.len();
        let (number, c_type) = self.class_and_type();
        out.extend_from_slice(&[0, 0, number, c_type]);
        self.write_body(out)?;
        let length = out.len() - start;
        whole_words(class_name(number), length)?;
        at_most(class_name(number), "length", length, u32::from(u16::MAX))?;
        out[start..start + 2].copy_from_slice(&(length as u16).to_be_bytes());
        Ok(())
    }

    fn write_body(&self, out: &mut Vec<u8>) -> Encoded {
        match self {
            Self::Session(session) => session.write(out),
            Self::Hop(hop) => hop.write(out)?,
            Self::TimeValues(values) => values.write(out),
            Self::ErrorSpec(error) => error.write(out)?,
            Self::Style(style) => style.write(out)?,
            Self::Flowspec(spec) | Self::SenderTspec(spec) | Self::Adspec(spec) => {
                spec.write(out)?
            }
            Self::FilterSpec(lsp) | Self::SenderTemplate(lsp) => lsp.write(out),
            Self::ResvConfirm(address) => out.ipv4(*address),
            Self::Label(label) => label.write(out)?,
            Self::LabelRequest(request) => request.write(out),
            Self::ExplicitRoute(hops) => hops.iter().try_for_each(|hop| hop.write(out))?,
            Self::RecordRoute(list) => Subobject::write_list(list, out)?,
            Self::Hello(hello) => hello.write(out),
            Self::MessageId(id) | Self::MessageIdAck(_, id) => id.write(out)?,
            Self::MessageIdList(list) => list.write(out)?,
            Self::Detour(detour) => detour.write(out),
            Self::RestartCapability(capability) => capability.write(out),
            Self::Capability(capability) => capability.write(out),
            Self::FastReroute(reroute) => reroute.write(out),
            Self::SessionAttribute(attribute) => attribute.write(out)?,
            Self::Unknown(unknown) => out.extend_from_slice(&unknown.data),
        }
        Ok(())
    }
}

/// C-Type of an object that may name interfaces (RFC 3473, 8).
fn interfaces_type(interfaces: &Option<Vec<InterfaceTlv>>) -> u8 {
    if interfaces.is_some() { 3 } else { 1 }
}

/// How many objects `bytes` begin; wrong lengths end the count.
fn count(mut bytes: &[u8]) -> usize {
    let mut count = 0;
    while let [high, low, ..] = bytes {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        if length < Object::HEADER_BYTES || length > bytes.len() {
            break;
        }
        bytes = &bytes[length..];
        count += 1;
    }
    count
}

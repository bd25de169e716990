//! The messages that the LERs send, with everything that real routers want in them.

use std::net::Ipv4Addr;

use rackproof_rsvp::{
    ErrorSpec, ExplicitHop, Header, Hello, Hop, IntServ, Label, LabelRequest, Lsp, Message,
    MessageType, Object, Padding, Parameter, ParameterValue, Service, Session, SessionAttribute,
    Style, Subobject, TimeValues, TokenBucket, service,
};

use super::spec::Spec;

/// TTL of messages, in the IP header and in the message.
pub const TTL: u8 = 255;
/// Setup and holding priority.
const PRIORITIES: (u8, u8) = (7, 0);
const MTU: u32 = 1500;
/// Smallest packet that is policed as such: an IPv4 header.
const POLICED_BYTES: u32 = 20;
const LINK_BYTES_PER_S: f32 = 125_000_000.0;

/// Which instance of which LSP, as it is said on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    /// Tunnel ID.
    pub tunnel_id: u16,
    /// LSP ID.
    pub lsp_id: u16,
}

/// What a RESV says of its own.
#[derive(Clone, Copy, Debug)]
pub struct Reservation {
    /// Logical interface handle of the PATH that it answers.
    pub handle: u32,
    /// Label asked for.
    pub label: u32,
    /// Whether a RESV_CONF is wanted.
    pub confirm: bool,
}

impl Spec {
    /// A message with these objects, the flag of refresh reduction as asked for.
    pub fn message(&self, kind: MessageType, ttl: u8, objects: Vec<Object>) -> Message {
        let flags = if self.refresh_reduction {
            Header::REFRESH_REDUCTION
        } else {
            0
        };
        let header = Header {
            flags,
            ttl,
            ..Header::default()
        };
        Message {
            header,
            kind,
            objects,
        }
    }

    /// A PATH from the ingress.
    pub fn path(&self, name: Name) -> Message {
        let (setup_priority, holding_priority) = PRIORITIES;
        let attribute = SessionAttribute {
            affinities: None,
            setup_priority,
            holding_priority,
            flags: if self.is_shared {
                SessionAttribute::SE_STYLE
            } else {
                0
            },
            // Whole words: KOM RSVP does not pass over what a shorter one is padded with.
            name: format!("rackproof-{:06}", name.tunnel_id).into_bytes(),
            padding: Padding::default(),
        };
        let objects = vec![
            self.session(name),
            hop(self.ingress.own, 0),
            self.time_values(),
            self.explicit_route(name),
            Object::LabelRequest(LabelRequest::IPV4),
            Object::SessionAttribute(attribute),
            Object::SenderTemplate(self.lsp(name)),
            Object::SenderTspec(IntServ::from_bucket(service::GENERAL, self.bucket())),
            Object::Adspec(adspec()),
        ];
        self.message(MessageType::Path, TTL, objects)
    }

    /// A PATH_TEAR from the ingress.
    pub fn path_tear(&self, name: Name) -> Message {
        let objects = vec![
            self.session(name),
            hop(self.ingress.own, 0),
            Object::SenderTemplate(self.lsp(name)),
            Object::SenderTspec(IntServ::from_bucket(service::GENERAL, self.bucket())),
            // Not asked for by RFC 2205, 3.1.5, but freeRtr drops a tear without it.
            Object::Adspec(adspec()),
        ];
        self.message(MessageType::PathTear, TTL, objects)
    }

    /// A RESV from the egress.
    pub fn resv(&self, name: Name, reservation: &Reservation) -> Message {
        let mut objects = vec![
            self.session(name),
            hop(self.egress.own, reservation.handle),
            self.time_values(),
        ];
        if reservation.confirm {
            objects.push(Object::ResvConfirm(self.egress.router_id));
        }
        objects.extend(self.flow(name));
        objects.push(Object::Label(Label::Mpls(reservation.label)));
        self.message(MessageType::Resv, TTL, objects)
    }

    /// A RESV_CONF from the ingress to who asked for it.
    pub fn resv_conf(&self, name: Name, asker: Ipv4Addr) -> Message {
        let confirmation = ErrorSpec {
            node: self.ingress.own,
            flags: 0,
            code: 0,
            value: 0,
            interfaces: None,
        };
        let mut objects = vec![
            self.session(name),
            Object::ErrorSpec(confirmation),
            Object::ResvConfirm(asker),
        ];
        objects.extend(self.flow(name));
        self.message(MessageType::ResvConf, TTL, objects)
    }

    /// A HELLO; it goes one hop.
    pub fn hello(&self, hello: Hello) -> Message {
        self.message(MessageType::Hello, 1, vec![Object::Hello(hello)])
    }

    /// Whether a message is about an LSP of this pair; its name then.
    pub fn name_of(&self, session: &Session, lsp: &Lsp) -> Option<Name> {
        let is_ours = session.endpoint == self.egress.router_id
            && session.extended_tunnel_id == u32::from(self.ingress.router_id)
            && lsp.sender == self.ingress.router_id;
        is_ours.then_some(Name {
            tunnel_id: session.tunnel_id,
            lsp_id: lsp.lsp_id,
        })
    }

    fn session(&self, name: Name) -> Object {
        Object::Session(Session {
            endpoint: self.egress.router_id,
            reserved: 0,
            tunnel_id: name.tunnel_id,
            extended_tunnel_id: u32::from(self.ingress.router_id),
        })
    }

    fn lsp(&self, name: Name) -> Lsp {
        Lsp {
            sender: self.ingress.router_id,
            reserved: 0,
            lsp_id: name.lsp_id,
        }
    }

    /// Style and flow descriptor of one LSP, without a label.
    fn flow(&self, name: Name) -> [Object; 3] {
        let style = if self.is_shared {
            Style::SHARED_EXPLICIT
        } else {
            Style::FIXED_FILTER
        };
        let flowspec = IntServ::from_bucket(service::CONTROLLED_LOAD, self.bucket());
        [
            Object::Style(style),
            Object::Flowspec(flowspec),
            Object::FilterSpec(self.lsp(name)),
        ]
    }

    fn time_values(&self) -> Object {
        let refresh_ms = (self.refresh_ns / 1_000_000) as u32;
        Object::TimeValues(TimeValues { refresh_ms })
    }

    /// Strict hops as asked for; or the neighbour, and from there whatever way leads to the egress.
    fn explicit_route(&self, name: Name) -> Object {
        let step = |loose: bool, address: Ipv4Addr| ExplicitHop {
            loose,
            subobject: Subobject::Ipv4 {
                address,
                prefix_length: 32,
                flags: 0,
            },
        };
        if self.routes.is_empty() {
            return Object::ExplicitRoute(vec![
                step(false, self.ingress.neighbour),
                step(true, self.egress.router_id),
            ]);
        }
        let number = usize::from(name.tunnel_id - 1);
        let route = &self.routes[number % self.routes.len()];
        Object::ExplicitRoute(route.iter().map(|hop| step(false, *hop)).collect())
    }

    fn bucket(&self) -> TokenBucket {
        let bytes_per_s = (self.bandwidth_bps / 8.0) as f32;
        TokenBucket {
            rate: bytes_per_s,
            size: bytes_per_s,
            peak_rate: f32::INFINITY,
            minimum_policed_unit: POLICED_BYTES,
            maximum_packet_size: MTU,
        }
    }
}

fn hop(address: Ipv4Addr, interface_handle: u32) -> Object {
    Object::Hop(Hop {
        address,
        interface_handle,
        interfaces: None,
    })
}

/// What the path offers as seen by its sender: everything, and controlled load.
fn adspec() -> IntServ {
    let parameter = |value| Parameter { flags: 0, value };
    let service = |number, parameters| Service {
        number,
        flags: 0,
        parameters,
    };
    let general = vec![
        parameter(ParameterValue::HopCount(1)),
        parameter(ParameterValue::PathBandwidth(LINK_BYTES_PER_S)),
        parameter(ParameterValue::MinimumLatency(0)),
        parameter(ParameterValue::PathMtu(MTU)),
    ];
    IntServ {
        version: 0,
        services: vec![
            service(service::GENERAL, general),
            service(service::CONTROLLED_LOAD, vec![]),
        ],
    }
}

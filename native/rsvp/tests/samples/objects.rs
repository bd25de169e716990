//! The objects that the samples are made of.

use std::net::{Ipv4Addr, Ipv6Addr};

use rackproof_rsvp::*;

use super::{EGRESS, INGRESS, TRANSIT};

pub fn session() -> Object {
    Object::Session(Session {
        endpoint: EGRESS,
        reserved: 0,
        tunnel_id: 7,
        extended_tunnel_id: u32::from(INGRESS),
    })
}

pub fn lsp(lsp_id: u16) -> Lsp {
    Lsp {
        sender: INGRESS,
        reserved: 0,
        lsp_id,
    }
}

pub fn hop(address: Ipv4Addr) -> Object {
    Object::Hop(Hop {
        address,
        interface_handle: 0x0a0b_0c0d,
        interfaces: None,
    })
}

pub fn bucket() -> TokenBucket {
    TokenBucket {
        rate: 1_250_000.0,
        size: 1500.0,
        peak_rate: f32::INFINITY,
        minimum_policed_unit: 64,
        maximum_packet_size: 1500,
    }
}

pub fn adspec() -> IntServ {
    let parameter = |value| Parameter { flags: 0, value };
    let general = vec![
        parameter(ParameterValue::HopCount(1)),
        parameter(ParameterValue::PathBandwidth(125_000_000.0)),
        parameter(ParameterValue::MinimumLatency(250)),
        parameter(ParameterValue::PathMtu(1500)),
    ];
    let error_term = |id| {
        let data = vec![0, 0, 0, id];
        parameter(ParameterValue::Unknown { id, data })
    };
    let guaranteed = [133, 134, 135, 136].map(error_term).to_vec();
    let service = |number, parameters| Service {
        number,
        flags: 0,
        parameters,
    };
    IntServ {
        version: 0,
        services: vec![
            service(service::GENERAL, general),
            service(service::GUARANTEED, guaranteed),
            service(service::CONTROLLED_LOAD, vec![]),
        ],
    }
}

pub fn attribute(affinities: Option<Affinities>) -> Object {
    Object::SessionAttribute(SessionAttribute {
        affinities,
        setup_priority: 7,
        holding_priority: 5,
        flags: SessionAttribute::SE_STYLE | SessionAttribute::LABEL_RECORDING,
        name: b"stable-0007".to_vec(),
        padding: Padding::default(),
    })
}

pub fn address(address: Ipv4Addr) -> Subobject {
    Subobject::Ipv4 {
        address,
        prefix_length: 32,
        flags: 0,
    }
}

pub fn unnumbered() -> Subobject {
    Subobject::Unnumbered {
        flags: 0,
        reserved: 0,
        router: TRANSIT,
        interface: 513,
    }
}

pub fn explicit_route() -> Object {
    let strict = |subobject| ExplicitHop {
        loose: false,
        subobject,
    };
    let ipv6 = Subobject::Ipv6 {
        address: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 5),
        prefix_length: 128,
        flags: 0,
    };
    Object::ExplicitRoute(vec![
        strict(address(TRANSIT)),
        strict(ipv6),
        strict(unnumbered()),
        strict(Subobject::AutonomousSystem(64_500)),
        ExplicitHop {
            loose: true,
            subobject: address(EGRESS),
        },
    ])
}

pub fn record_route() -> Object {
    let label = Subobject::Label {
        flags: 1,
        c_type: 1,
        label: 299_776,
    };
    let protected = Subobject::Ipv4 {
        address: TRANSIT,
        prefix_length: 32,
        flags: Subobject::PROTECTION_AVAILABLE,
    };
    Object::RecordRoute(vec![protected, label, unnumbered()])
}

pub fn error(code: u8, value: u16) -> Object {
    Object::ErrorSpec(ErrorSpec {
        node: TRANSIT,
        flags: 0,
        code,
        value,
        interfaces: None,
    })
}

pub fn message_id(identifier: u32) -> MessageId {
    MessageId {
        flags: 0,
        epoch: 0x12_3456,
        identifier,
    }
}

pub fn sender() -> Vec<Object> {
    vec![
        Object::SenderTemplate(lsp(11)),
        Object::SenderTspec(IntServ::from_bucket(service::GENERAL, bucket())),
    ]
}

pub fn flowspec() -> Object {
    Object::Flowspec(IntServ::from_bucket(service::CONTROLLED_LOAD, bucket()))
}

pub fn guaranteed_flowspec() -> Object {
    let mut spec = IntServ::from_bucket(service::GUARANTEED, bucket());
    let value = ParameterValue::Rspec {
        rate: 2_500_000.0,
        slack: 100,
    };
    spec.services[0]
        .parameters
        .push(Parameter { flags: 0, value });
    Object::Flowspec(spec)
}

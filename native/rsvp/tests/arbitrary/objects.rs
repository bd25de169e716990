//! Objects of every kind, in any order and with anything in them.

use std::net::{Ipv4Addr, Ipv6Addr};

use rackproof_rsvp::*;

use super::Numbers;

fn ipv4(numbers: &mut Numbers) -> Ipv4Addr {
    Ipv4Addr::from(numbers.u32())
}

fn ipv6(numbers: &mut Numbers) -> Ipv6Addr {
    Ipv6Addr::from(u128::from(numbers.word()) << 64 | u128::from(numbers.word()))
}

fn lsp(numbers: &mut Numbers) -> Lsp {
    Lsp {
        sender: ipv4(numbers),
        reserved: numbers.u16(),
        lsp_id: numbers.u16(),
    }
}

fn interface(numbers: &mut Numbers) -> InterfaceTlv {
    match numbers.below(4) {
        0 => InterfaceTlv::Ipv4(ipv4(numbers)),
        1 => InterfaceTlv::Ipv6(ipv6(numbers)),
        2 => InterfaceTlv::IfIndex {
            address: ipv4(numbers),
            interface: numbers.u32(),
        },
        _ => {
            let length = numbers.below(9);
            let (kind, value) = (100 + numbers.u16() % 100, numbers.bytes(length));
            InterfaceTlv::Unknown {
                kind,
                value,
                padding: Padding::default(),
            }
        }
    }
}

fn interfaces(numbers: &mut Numbers) -> Option<Vec<InterfaceTlv>> {
    numbers.bool().then(|| numbers.list(3, interface))
}

fn hop(numbers: &mut Numbers) -> Hop {
    Hop {
        address: ipv4(numbers),
        interface_handle: numbers.u32(),
        interfaces: interfaces(numbers),
    }
}

fn value(numbers: &mut Numbers) -> ParameterValue {
    match numbers.below(7) {
        0 => ParameterValue::HopCount(numbers.u32()),
        1 => ParameterValue::PathBandwidth(numbers.f32()),
        2 => ParameterValue::MinimumLatency(numbers.u32()),
        3 => ParameterValue::PathMtu(numbers.u32()),
        4 => ParameterValue::TokenBucket(TokenBucket {
            rate: numbers.f32(),
            size: numbers.f32(),
            peak_rate: numbers.f32(),
            minimum_policed_unit: numbers.u32(),
            maximum_packet_size: numbers.u32(),
        }),
        5 => ParameterValue::Rspec {
            rate: numbers.f32(),
            slack: numbers.u32(),
        },
        _ => {
            let length = 4 * numbers.below(4);
            ParameterValue::Unknown {
                id: 200 + numbers.u8() % 50,
                data: numbers.bytes(length),
            }
        }
    }
}

fn intserv(numbers: &mut Numbers) -> IntServ {
    let service = |numbers: &mut Numbers| Service {
        number: numbers.u8(),
        flags: numbers.u8(),
        parameters: numbers.list(4, |numbers| Parameter {
            flags: numbers.u8(),
            value: value(numbers),
        }),
    };
    IntServ {
        version: numbers.u16(),
        services: numbers.list(3, service),
    }
}

fn subobject(numbers: &mut Numbers) -> Subobject {
    match numbers.below(6) {
        0 => Subobject::Ipv4 {
            address: ipv4(numbers),
            prefix_length: numbers.u8(),
            flags: numbers.u8(),
        },
        1 => Subobject::Ipv6 {
            address: ipv6(numbers),
            prefix_length: numbers.u8(),
            flags: numbers.u8(),
        },
        2 => Subobject::Label {
            flags: numbers.u8(),
            c_type: numbers.u8(),
            label: numbers.u32(),
        },
        3 => Subobject::Unnumbered {
            flags: numbers.u8(),
            reserved: numbers.u8(),
            router: ipv4(numbers),
            interface: numbers.u32(),
        },
        4 => Subobject::AutonomousSystem(numbers.u16()),
        _ => {
            let length = 2 + 4 * numbers.below(5);
            Subobject::Unknown {
                kind: 50 + numbers.u8() % 70,
                data: numbers.bytes(length),
            }
        }
    }
}

fn attribute(numbers: &mut Numbers) -> SessionAttribute {
    let affinities = numbers.bool().then(|| Affinities {
        exclude_any: numbers.u32(),
        include_any: numbers.u32(),
        include_all: numbers.u32(),
    });
    let length = numbers.below(256);
    SessionAttribute {
        affinities,
        setup_priority: numbers.u8(),
        holding_priority: numbers.u8(),
        flags: numbers.u8(),
        name: numbers.bytes(length),
        padding: Padding::default(),
    }
}

fn message_id(numbers: &mut Numbers) -> MessageId {
    MessageId {
        flags: numbers.u8(),
        epoch: numbers.u24(),
        identifier: numbers.u32(),
    }
}

fn reroute(numbers: &mut Numbers) -> FastReroute {
    FastReroute {
        setup_priority: numbers.u8(),
        holding_priority: numbers.u8(),
        hop_limit: numbers.u8(),
        flags: numbers.u8(),
        bandwidth: numbers.f32(),
        include_any: numbers.u32(),
        exclude_any: numbers.u32(),
        include_all: numbers.u32(),
    }
}

fn unknown(numbers: &mut Numbers) -> Unknown {
    const CLASSES: [u8; 6] = [4, 14, 36, 64, 190, 255];
    let length = 4 * numbers.below(8);
    Unknown {
        class: CLASSES[numbers.below(CLASSES.len())],
        c_type: numbers.u8(),
        data: numbers.bytes(length),
    }
}

fn hello(numbers: &mut Numbers) -> Hello {
    let kind = if numbers.bool() {
        HelloKind::Request
    } else {
        HelloKind::Ack
    };
    Hello {
        kind,
        source_instance: numbers.u32(),
        destination_instance: numbers.u32(),
    }
}

pub fn object(numbers: &mut Numbers) -> Object {
    match numbers.below(25) {
        0 => Object::Session(Session {
            endpoint: ipv4(numbers),
            reserved: numbers.u16(),
            tunnel_id: numbers.u16(),
            extended_tunnel_id: numbers.u32(),
        }),
        1 => Object::Hop(hop(numbers)),
        2 => Object::TimeValues(TimeValues {
            refresh_ms: numbers.u32(),
        }),
        3 => Object::ErrorSpec(ErrorSpec {
            node: ipv4(numbers),
            flags: numbers.u8(),
            code: numbers.u8(),
            value: numbers.u16(),
            interfaces: interfaces(numbers),
        }),
        4 => Object::Style(Style {
            flags: numbers.u8(),
            options: numbers.u24(),
        }),
        5 => Object::Flowspec(intserv(numbers)),
        6 => Object::FilterSpec(lsp(numbers)),
        7 => Object::SenderTemplate(lsp(numbers)),
        8 => Object::SenderTspec(intserv(numbers)),
        9 => Object::Adspec(intserv(numbers)),
        10 => Object::ResvConfirm(ipv4(numbers)),
        11 => Object::Label(Label::Mpls(numbers.u32())),
        12 => Object::Label(Label::Generalized(numbers.bytes(8))),
        13 => Object::LabelRequest(LabelRequest {
            reserved: numbers.u16(),
            l3pid: numbers.u16(),
        }),
        14 => Object::ExplicitRoute(numbers.list(6, |numbers| ExplicitHop {
            loose: numbers.bool(),
            subobject: subobject(numbers),
        })),
        15 => Object::RecordRoute(numbers.list(6, subobject)),
        16 => Object::Hello(hello(numbers)),
        17 => Object::MessageId(message_id(numbers)),
        18 => {
            let said = if numbers.bool() {
                Acknowledgement::Ack
            } else {
                Acknowledgement::Nack
            };
            Object::MessageIdAck(said, message_id(numbers))
        }
        19 => Object::MessageIdList(MessageIdList {
            flags: numbers.u8(),
            epoch: numbers.u24(),
            identifiers: numbers.list(20, Numbers::u32),
        }),
        20 => Object::Detour(Detour {
            pairs: numbers.list(3, |numbers| DetourPair {
                point_of_local_repair: ipv4(numbers),
                avoided_node: ipv4(numbers),
            }),
        }),
        21 => Object::RestartCapability(RestartCapability {
            restart_ms: numbers.u32(),
            recovery_ms: numbers.u32(),
        }),
        22 => Object::Capability(Capability {
            flags: numbers.u32(),
        }),
        23 => Object::FastReroute(reroute(numbers)),
        24 if numbers.bool() => Object::SessionAttribute(attribute(numbers)),
        _ => Object::Unknown(unknown(numbers)),
    }
}

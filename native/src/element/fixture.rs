//! Tables and frames for tests.

use super::spec::{Attachment, Group, Priority, Route, Service, Station, Tables, address};

pub const HERE: &str = "02:52:50:01:00:01";
pub const NEXT: &str = "02:52:50:01:00:02";
pub const GROUP: &str = "03:52:50:02:00:01";
pub const NEAR: &str = "02:52:50:00:00:01";
pub const FAR: &str = "02:52:50:00:01:00";
pub const ALL: &str = "ff:ff:ff:ff:ff:ff";
pub const I_SID: u32 = 0x01_0001;
pub const B_VLAN: u16 = 101;

pub fn at(port: &str, c_vlan: u16) -> Attachment {
    Attachment {
        port: port.to_owned(),
        c_vlan,
    }
}

/// Two tenants on the same ports, with the same addresses behind them.
pub fn tables() -> Tables {
    let service = |tenant: u32, c_vlan: u16| Service {
        i_sid: I_SID + tenant - 1,
        tenant,
        b_vlan: B_VLAN + tenant as u16 - 1,
        attachments: vec![at("u1", c_vlan), at("u2", c_vlan)],
    };
    let route = |address: &str, b_vlan: u16, ports: &[&str]| Route {
        address: address.to_owned(),
        b_vlan,
        ports: ports.iter().map(|&port| port.to_owned()).collect(),
    };
    let station = |address: &str, port: Option<&str>, element: Option<&str>| Station {
        i_sid: I_SID,
        address: address.to_owned(),
        port: port.map(str::to_owned),
        element: element.map(str::to_owned),
    };
    Tables {
        address: HERE.to_owned(),
        uni: vec!["u1".to_owned(), "u2".to_owned()],
        nni: vec!["west".to_owned(), "east".to_owned()],
        services: vec![service(1, 10), service(2, 20)],
        priorities: vec![Priority {
            i_sid: I_SID,
            pcp: 3,
            b_pcp: 6,
        }],
        stations: vec![
            station(NEAR, Some("u2"), None),
            station(FAR, None, Some(NEXT)),
        ],
        groups: vec![Group {
            i_sid: I_SID,
            address: GROUP.to_owned(),
        }],
        routes: vec![
            route(NEXT, B_VLAN, &["east"]),
            route(GROUP, B_VLAN, &["west", "east"]),
        ],
        ..Tables::default()
    }
}

pub fn octets(text: &str) -> [u8; 6] {
    address(text).unwrap()
}

pub fn customer(destination: &str, tci: u16) -> Vec<u8> {
    let mut frame = octets(destination).to_vec();
    frame.extend(octets(NEAR));
    frame.extend([0x81, 0x00]);
    frame.extend(tci.to_be_bytes());
    frame.extend([0x88, 0xb5]);
    frame.resize(60, 7);
    frame
}

pub fn network(b_da: &str, b_tci: u16, i_tci: u32, inside: &[u8]) -> Vec<u8> {
    let mut frame = octets(b_da).to_vec();
    frame.extend(octets(NEXT));
    frame.extend([0x88, 0xa8]);
    frame.extend(b_tci.to_be_bytes());
    frame.extend([0x88, 0xe7]);
    frame.extend(i_tci.to_be_bytes());
    frame.extend(inside);
    frame
}

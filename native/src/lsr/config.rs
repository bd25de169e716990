//! Where things are: a router's own addresses, its neighbours and its static routes.

use std::net::Ipv4Addr;

use super::spec::Mpls;
use super::table::{Entry, MAX_LABEL};

/// Addresses that share their first bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    pub address: Ipv4Addr,
    pub length: u8,
}

impl Prefix {
    /// "10.0.1.0/24", or an address alone.
    fn parse(text: &str) -> Result<Self, String> {
        let (address, length) = text.split_once('/').unwrap_or((text, "32"));
        let length = length.parse().ok().filter(|length| *length <= 32);
        let length = length.ok_or_else(|| format!("{text}: expected a length of 0 to 32 bits"))?;
        Ok(Self {
            address: parse_address(address)?,
            length,
        })
    }

    pub fn contains(self, address: Ipv4Addr) -> bool {
        let mask = u32::MAX
            .checked_shl(32 - u32::from(self.length))
            .unwrap_or(0);
        (u32::from(self.address) ^ u32::from(address)) & mask == 0
    }
}

/// A port with its address and network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Number of the port.
    pub port: usize,
    pub network: Prefix,
    pub rsvp: bool,
}

/// A neighbour, and the port that it is behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hop {
    pub port: usize,
    pub address: Ipv4Addr,
}

/// What a router is told, with ports by number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    pub router_id: Ipv4Addr,
    pub interfaces: Vec<Interface>,
    pub routes: Vec<(Prefix, Ipv4Addr)>,
    pub labels: Vec<(u32, Entry)>,
}

impl Config {
    /// Numbers follow the order of `ports`.
    pub fn new(mpls: &Mpls, ports: &[String]) -> Result<Self, String> {
        let number = |name: &str| {
            let found = ports.iter().position(|port| port == name);
            found.ok_or_else(|| {
                format!(
                    "expected one of the ports {}, found {name}",
                    ports.join(", ")
                )
            })
        };
        let mut interfaces = Vec::new();
        for interface in &mpls.interfaces {
            interfaces.push(Interface {
                port: number(&interface.port)?,
                network: Prefix::parse(&interface.address)?,
                rsvp: interface.rsvp,
            });
        }
        let mut routes = Vec::new();
        for (prefix, next_hop) in &mpls.routes {
            routes.push((Prefix::parse(prefix)?, parse_address(next_hop)?));
        }
        let mut labels = Vec::new();
        for label in &mpls.labels {
            for value in [Some(label.in_label), label.out_label, label.push]
                .into_iter()
                .flatten()
            {
                if value > MAX_LABEL {
                    return Err(format!(
                        "label {value}: expected a label of at most 20 bits"
                    ));
                }
            }
            if label.push.is_some() && label.out_label.is_none() {
                return Err(format!(
                    "label {}: expected a label to swap to below the one that is pushed",
                    label.in_label
                ));
            }
            let hop = Hop {
                port: number(&label.port)?,
                address: parse_address(&label.next_hop)?,
            };
            let (out, push) = (label.out_label, label.push);
            labels.push((label.in_label, Entry { hop, out, push }));
        }
        Ok(Self {
            router_id: parse_address(&mpls.router_id)?,
            interfaces,
            routes,
            labels,
        })
    }

    /// Whether an address is one of the router's own.
    pub fn is_own(&self, address: Ipv4Addr) -> bool {
        address == self.router_id
            || self
                .interfaces
                .iter()
                .any(|known| known.network.address == address)
    }

    /// The interface of a port.
    pub fn interface(&self, port: usize) -> Option<&Interface> {
        self.interfaces.iter().find(|known| known.port == port)
    }

    /// The router's address at a port that has one.
    pub fn address(&self, port: usize) -> Ipv4Addr {
        let interface = self.interface(port);
        interface.map_or(self.router_id, |known| known.network.address)
    }

    /// An address as a neighbour, where it is on a connected network.
    pub fn neighbour(&self, address: Ipv4Addr) -> Option<Hop> {
        let mut interfaces = self.interfaces.iter();
        let interface = interfaces.find(|known| known.network.contains(address))?;
        Some(Hop {
            port: interface.port,
            address,
        })
    }

    /// The neighbour on the way to an address: itself, or by the route with the longest prefix.
    pub fn next_hop(&self, address: Ipv4Addr) -> Option<Hop> {
        self.neighbour(address).or_else(|| {
            let matching = self
                .routes
                .iter()
                .filter(|(prefix, _)| prefix.contains(address));
            let (_, next_hop) = matching.max_by_key(|(prefix, _)| prefix.length)?;
            self.neighbour(*next_hop)
        })
    }
}

fn parse_address(text: &str) -> Result<Ipv4Addr, String> {
    text.parse()
        .map_err(|_| format!("{text}: expected an IPv4 address"))
}

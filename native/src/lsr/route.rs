//! The next hop of a PATH: by its explicit route (RFC 3209, 4.3.4.1), or by the static routes.

use std::net::Ipv4Addr;

use rackproof_rsvp::{ExplicitHop, Subobject};

use super::config::{Config, Hop, Prefix};

/// Error values of the code "routing problem" (RFC 3209, 7.3).
pub mod problem {
    /// Its code.
    pub const CODE: u8 = 24;
    pub const BAD_EXPLICIT_ROUTE: u16 = 1;
    pub const BAD_STRICT_NODE: u16 = 2;
    pub const BAD_LOOSE_NODE: u16 = 3;
    pub const BAD_INITIAL_SUBOBJECT: u16 = 4;
    pub const NO_ROUTE: u16 = 5;
    pub const UNACCEPTABLE_LABEL: u16 = 6;
    pub const LOOP: u16 = 7;
    pub const UNSUPPORTED_L3PID: u16 = 10;
}

/// Where a PATH goes, and the explicit route that it has from there.
#[derive(Clone, Debug, PartialEq)]
pub struct Onward {
    pub hop: Hop,
    pub route: Option<Vec<ExplicitHop>>,
}

/// The next hop towards `endpoint`, or the error value of the routing problem.
pub fn onward(
    config: &Config,
    endpoint: Ipv4Addr,
    route: Option<&[ExplicitHop]>,
) -> Result<Onward, u16> {
    let Some(hops) = route else {
        return by_routes(config, endpoint);
    };
    if !prefix_of(hops.first())?.is_some_and(|first| includes_us(config, first)) {
        return Err(problem::BAD_INITIAL_SUBOBJECT);
    }
    let mut rest = hops;
    while let Some(first) = prefix_of(rest.first())?
        && includes_us(config, first)
    {
        rest = &rest[1..];
    }
    let Some(next) = rest.first() else {
        return by_routes(config, endpoint);
    };
    let Prefix { address, .. } = prefix_of(Some(next))?.ok_or(problem::BAD_EXPLICIT_ROUTE)?;
    match (config.neighbour(address), next.loose) {
        (Some(hop), _) => Ok(Onward {
            hop,
            route: Some(rest.to_vec()),
        }),
        (None, false) => Err(problem::BAD_STRICT_NODE),
        (None, true) => {
            let hop = config.next_hop(address).ok_or(problem::BAD_LOOSE_NODE)?;
            let mut route = vec![strict(hop.address)];
            route.extend_from_slice(rest);
            Ok(Onward {
                hop,
                route: Some(route),
            })
        }
    }
}

fn by_routes(config: &Config, endpoint: Ipv4Addr) -> Result<Onward, u16> {
    let hop = config.next_hop(endpoint).ok_or(problem::NO_ROUTE)?;
    Ok(Onward { hop, route: None })
}

fn strict(address: Ipv4Addr) -> ExplicitHop {
    ExplicitHop {
        loose: false,
        subobject: Subobject::Ipv4 {
            address,
            prefix_length: 32,
            flags: 0,
        },
    }
}

fn includes_us(config: &Config, node: Prefix) -> bool {
    let mut interfaces = config.interfaces.iter();
    node.contains(config.router_id)
        || interfaces.any(|interface| node.contains(interface.network.address))
}

/// Only IPv4 prefixes are known.
fn prefix_of(hop: Option<&ExplicitHop>) -> Result<Option<Prefix>, u16> {
    match hop.map(|hop| &hop.subobject) {
        None => Ok(None),
        Some(Subobject::Ipv4 {
            address,
            prefix_length,
            ..
        }) if *prefix_length <= 32 => Ok(Some(Prefix {
            address: *address,
            length: *prefix_length,
        })),
        Some(_) => Err(problem::BAD_EXPLICIT_ROUTE),
    }
}

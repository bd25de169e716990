//! The tables as frames are looked up in them.

use std::collections::HashMap;

use super::counts::{Counts, Entry};
use super::spec::{self, Address, Tables as Spec, address};

/// Tenants up to this number have tables of their own.
const OWN_TABLES_MAX: u32 = 30;
/// Policers count time in these parts of a nanosecond.
pub const TICKS: u128 = 16;

/// What a port leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Customers.
    Uni,
    /// Other elements.
    Nni,
}

/// A port in table 0.
#[derive(Debug)]
pub struct Port {
    pub name: String,
    pub side: Side,
    pub entry: Entry,
}

/// One rule of t,2.
#[derive(Debug)]
pub struct Rule {
    pub permit: bool,
    pub source: Option<Address>,
    pub destination: Option<Address>,
    pub ethertype: Option<u16>,
    pub entry: Entry,
}

/// The policer of t,3, in a tenant's set of tables.
#[derive(Debug)]
pub struct Policer {
    pub set: String,
    pub rule: spec::Policer,
    pub entry: Entry,
}

impl spec::Policer {
    /// How long so many octets take at its rate, in ticks.
    pub fn duration(&self, octets: u64) -> u128 {
        u128::from(octets) * 8_000_000_000 * TICKS / u128::from(self.rate_bps)
    }
}

/// Where a station is.
#[derive(Debug)]
pub enum Place {
    /// At a UNI port here (t,4).
    Here(usize),
    /// Behind another element (t,7).
    Behind(Address),
}

/// All that is known of one service.
#[derive(Debug)]
pub struct Service {
    pub i_sid: u32,
    pub b_vlan: u16,
    /// Table 3 and table 252.
    pub popped: Entry,
    pub pushed: Entry,
    pub priorities: [Option<(u8, Entry)>; 8],
    pub rules: Vec<Rule>,
    pub policer: Option<Policer>,
    pub stations: HashMap<Address, (Place, Entry)>,
    pub group: Option<(Address, Entry)>,
    /// t,5: UNI ports by C-VLAN.
    pub attached: HashMap<u16, (Vec<usize>, Entry)>,
}

/// All tables of an element.
#[derive(Debug)]
pub struct Tables {
    pub address: Address,
    pub ports: Vec<Port>,
    pub services: HashMap<u32, Service>,
    /// t,1: I-SID by UNI port and C-VLAN.
    pub attachments: HashMap<(usize, u16), (u32, Entry)>,
    /// 253: ports by B-DA and B-VID.
    pub routes: HashMap<(Address, u16), (Vec<usize>, Entry)>,
}

impl Service {
    /// Whether the C-VLAN is attached to it at the port.
    pub fn is_attached(&self, port: usize, c_vlan: u16) -> bool {
        self.attached
            .get(&c_vlan)
            .is_some_and(|(ports, _)| ports.contains(&port))
    }
}

impl Tables {
    /// Reads the tables as they were asked for, with counters at zero. Err says what is wrong.
    pub fn new(spec: &Spec) -> Result<(Self, Counts), String> {
        let mut counts = Counts::default();
        let sides = [(Side::Uni, &spec.uni), (Side::Nni, &spec.nni)];
        let names = sides
            .iter()
            .flat_map(|(side, names)| names.iter().map(|name| (*side, name)));
        let mut tables = Self {
            address: address(&spec.address)?,
            ports: names
                .map(|(side, name)| Port {
                    name: name.clone(),
                    side,
                    entry: counts.entry("0", name),
                })
                .collect(),
            services: HashMap::new(),
            attachments: HashMap::new(),
            routes: HashMap::new(),
        };
        for service in &spec.services {
            let service = tables.service(spec, service, &mut counts)?;
            tables.services.insert(service.i_sid, service);
        }
        for route in &spec.routes {
            let ports = route.ports.iter().map(|name| tables.port(name));
            let entry = counts.entry(
                "253",
                &format!("{}/{}", route.address.to_lowercase(), route.b_vlan),
            );
            tables.routes.insert(
                (address(&route.address)?, route.b_vlan),
                (ports.collect::<Result<_, _>>()?, entry),
            );
        }
        Ok((tables, counts))
    }

    fn port(&self, name: &str) -> Result<usize, String> {
        let found = self.ports.iter().position(|port| port.name == name);
        found.ok_or_else(|| format!("the element has no port {name}"))
    }

    fn service(
        &mut self,
        spec: &Spec,
        asked: &spec::Service,
        counts: &mut Counts,
    ) -> Result<Service, String> {
        let i_sid = asked.i_sid;
        let set = match asked.tenant {
            tenant @ 1..=OWN_TABLES_MAX => tenant.to_string(),
            _ => "shared".to_owned(),
        };
        let table = |number: u8| format!("{set},{number}");
        let mut service = Service {
            i_sid,
            b_vlan: asked.b_vlan,
            popped: counts.entry("3", &i_sid.to_string()),
            pushed: counts.entry("252", &i_sid.to_string()),
            priorities: [None; 8],
            rules: Vec::new(),
            policer: None,
            stations: HashMap::new(),
            group: None,
            attached: HashMap::new(),
        };
        for attachment in &asked.attachments {
            let (port, c_vlan) = (self.port(&attachment.port)?, attachment.c_vlan);
            let entry = counts.entry(&table(1), &format!("{}/{c_vlan}", attachment.port));
            self.attachments.insert((port, c_vlan), (i_sid, entry));
            let flooded = service.attached.entry(c_vlan).or_insert_with(|| {
                (
                    Vec::new(),
                    counts.entry(&table(5), &format!("{i_sid}/{c_vlan}")),
                )
            });
            flooded.0.push(port);
        }
        for priority in spec.priorities.iter().filter(|p| p.i_sid == i_sid) {
            let slot = service.priorities.get_mut(usize::from(priority.pcp));
            let slot = slot.ok_or_else(|| format!("pcp must be 0 to 7, got {}", priority.pcp))?;
            let entry = counts.entry(&table(0), &format!("{i_sid}/{}", priority.pcp));
            *slot = Some((priority.b_pcp, entry));
        }
        for (number, rule) in spec.access.iter().filter(|r| r.i_sid == i_sid).enumerate() {
            service.rules.push(Rule {
                permit: rule.permit,
                source: rule.source.as_deref().map(address).transpose()?,
                destination: rule.destination.as_deref().map(address).transpose()?,
                ethertype: rule.ethertype,
                entry: counts.entry(&table(2), &format!("{i_sid}/{number}")),
            });
        }
        for policer in spec.policers.iter().filter(|p| p.i_sid == i_sid) {
            if policer.rate_bps == 0 {
                return Err(format!(
                    "rate_bps of the policer of {i_sid} must be above 0"
                ));
            }
            service.policer = Some(Policer {
                set: set.clone(),
                rule: policer.clone(),
                entry: counts.policer(&table(3), &i_sid.to_string()),
            });
        }
        for station in spec.stations.iter().filter(|s| s.i_sid == i_sid) {
            let (place, number) = match (&station.port, &station.element) {
                (Some(port), None) => (Place::Here(self.port(port)?), 4),
                (None, Some(element)) => (Place::Behind(address(element)?), 7),
                _ => return Err(format!("{}: either port or element", station.address)),
            };
            let entry = counts.entry(
                &table(number),
                &format!("{i_sid}/{}", station.address.to_lowercase()),
            );
            let known = address(&station.address)?;
            service.stations.insert(known, (place, entry));
        }
        for group in spec.groups.iter().filter(|g| g.i_sid == i_sid) {
            let entry = counts.entry(
                &table(7),
                &format!("{i_sid}/{}", group.address.to_lowercase()),
            );
            service.group = Some((address(&group.address)?, entry));
        }
        Ok(service)
    }
}

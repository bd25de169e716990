//! A router with its sockets: what its control plane says is sent, and written into what forwards.

use std::collections::{BTreeMap, HashMap};
use std::os::fd::RawFd;

use super::config::{Config, Hop};
use super::links::Links;
use super::native::Native;
use super::plane::{Plane, Port};
use super::router::{Action, Router};
use super::spec::{Mpls, Options};
use super::table::{Adjacency, COUNTED, Entry};
use super::xdp::XdpPlane;
use super::{Forwarding, RouterSpec};
use crate::clock::realtime_ns;
use crate::error::SetupError;
use crate::netns;
use crate::socket::{PacketSocket, PortSpec, interface_index};

/// Messages that are read before frames are forwarded.
const READ_MESSAGES: usize = 32;

/// A router between real ports.
pub struct Device {
    ports: Vec<Port>,
    config: Config,
    router: Router,
    links: Links,
    plane: Plane,
    /// What control wants of the data plane.
    entries: HashMap<u32, Entry>,
    /// Labels whose neighbour has not said its address yet.
    unresolved: HashMap<Hop, Vec<u32>>,
    plane_errors: u64,
    /// How late control did at most what was due, since that was last told [ns].
    late_ns: i64,
}

impl Device {
    /// Opens sockets; frames are let in from now on.
    pub fn open(spec: RouterSpec) -> Result<Self, SetupError> {
        let names: Vec<String> = spec.ports.iter().map(|(name, _)| name.clone()).collect();
        let config = Config::new(&spec.mpls, &names).map_err(invalid)?;
        let first = PortSpec {
            interface: names.first().cloned().unwrap_or_default(),
            netns_fd: Some(spec.netns_fd),
        };
        let ports = netns::run_in(Some(spec.netns_fd), || {
            let ports = spec.ports.iter().map(|(name, mac)| {
                Ok(Port {
                    name: name.clone(),
                    ifindex: interface_index(name)?,
                    mac: *mac,
                })
            });
            ports.collect::<Result<Vec<_>, SetupError>>()
        })?;
        let plane = match &spec.forwarding {
            Forwarding::Xdp(object) => Plane::Xdp(XdpPlane::open(object, spec.netns_fd, &ports)?),
            Forwarding::Native => {
                Plane::Native(Box::new(Native::open(&first, &ports, &spec.options)?))
            }
        };
        let mut links = Links::open(&first, &ports)?;
        links.configure(None, &config);
        Ok(Self {
            router: new_router(&config, spec.options),
            config,
            ports,
            links,
            plane,
            entries: HashMap::new(),
            unresolved: HashMap::new(),
            plane_errors: 0,
            late_ns: 0,
        })
    }

    /// Takes another configuration; what does not differ stays as it is.
    pub fn change(&mut self, mpls: &Mpls) -> Result<(), SetupError> {
        let names: Vec<String> = self.ports.iter().map(|port| port.name.clone()).collect();
        let config = Config::new(mpls, &names).map_err(invalid)?;
        self.links.configure(Some(&self.config), &config);
        self.router.configure(config.clone());
        self.config = config;
        self.act(realtime_ns());
        Ok(())
    }

    /// Does what is there to do, not much at a time; whether there was something.
    pub fn turn(&mut self) -> bool {
        if let Some(due_ns) = self.router.next_ns() {
            self.late_ns = self.late_ns.max(realtime_ns() - due_ns);
        }
        let mut read = 0;
        while read < READ_MESSAGES {
            let router = &mut self.router;
            let came = self
                .links
                .receive(|came| router.receive(came.time_ns, came.port, came.packet));
            if came.is_none() {
                break;
            }
            read += 1;
        }
        let now_ns = realtime_ns();
        self.router.advance(now_ns);
        self.act(now_ns);
        self.links.advance(now_ns);
        self.resolve();
        let router = &self.router;
        let has_forwarded = match &mut self.plane {
            Plane::Native(native) => native.turn(|at_ns| router.works_since(at_ns)),
            Plane::Xdp(_) => false,
        };
        has_forwarded || read > 0
    }

    /// When there is something to do next, if nothing comes.
    pub fn next_ns(&self) -> Option<i64> {
        let forwarding = match &self.plane {
            Plane::Native(native) => native.next_ns(),
            Plane::Xdp(_) => None,
        };
        [self.router.next_ns(), self.links.next_ns(), forwarding]
            .into_iter()
            .flatten()
            .min()
    }

    /// What wakes it.
    pub fn wakes_on(&self) -> impl Iterator<Item = RawFd> {
        [Some(self.links.raw_fd()), self.plane.wakes_on()]
            .into_iter()
            .flatten()
    }

    /// Whether it has frames in hand, and must not sleep long.
    pub fn forwards_itself(&self) -> bool {
        matches!(self.plane, Plane::Native(_))
    }

    /// What was counted, by name.
    pub fn counters(&mut self) -> Result<BTreeMap<String, u64>, SetupError> {
        let mut counters = BTreeMap::new();
        self.router.write_counters(&mut counters);
        for (name, value) in COUNTED.iter().zip(self.plane.counted()?) {
            counters.insert((*name).to_owned(), value);
        }
        let late_ns = std::mem::take(&mut self.late_ns);
        let mut put = |name: &str, value: u64| counters.insert(name.to_owned(), value);
        put("labels", self.entries.len() as u64);
        put("rsvp.late_max_us", late_ns as u64 / 1000);
        put("drop.unresolved", self.links.unresolved);
        put("errors", self.links.errors + self.plane_errors);
        if let Plane::Native(native) = &mut self.plane {
            native.count_ring_drops();
            put("drop.ring", native.ring_drops);
            put("drop.waiting", native.overflows);
            put("frames.high_water", native.high_water as u64);
            put(
                "errors",
                self.links.errors + self.plane_errors + native.errors,
            );
        }
        Ok(counters)
    }

    /// Labels whose entry in what forwards is not what control wants; those without a neighbour's address are left out.
    pub fn differences(&self) -> Result<Vec<u32>, SetupError> {
        let mut found = Vec::new();
        for (label, entry) in &self.entries {
            let wanted = self.adjacency(entry);
            if wanted.is_some() && self.plane.entry(*label)? != wanted {
                found.push(*label);
            }
        }
        Ok(found)
    }

    /// How many labels what forwards has entries for.
    pub fn labels(&self) -> Result<usize, SetupError> {
        self.plane.entries()
    }

    /// The sockets, to be closed.
    pub fn into_sockets(self) -> Vec<PacketSocket> {
        let mut sockets: Vec<PacketSocket> = self.links.into_sockets().into();
        if let Plane::Native(native) = self.plane {
            sockets.extend(native.into_sockets());
        }
        sockets
    }

    fn act(&mut self, now_ns: i64) {
        for action in self.router.take_actions() {
            match action {
                Action::Send { hop, packet } => self.links.send(hop, packet, now_ns),
                Action::Program { label, entry } => self.program(label, entry, now_ns),
            }
        }
    }

    fn program(&mut self, label: u32, entry: Option<Entry>, now_ns: i64) {
        match entry {
            Some(entry) => self.entries.insert(label, entry),
            None => self.entries.remove(&label),
        };
        let adjacency = entry.and_then(|entry| self.adjacency(&entry));
        if let Some(entry) = entry.filter(|_| adjacency.is_none()) {
            self.unresolved.entry(entry.hop).or_default().push(label);
            self.links.want(entry.hop, now_ns);
        }
        self.write(label, adjacency);
    }

    /// Writes entries whose neighbour has said its address.
    fn resolve(&mut self) {
        let links = &self.links;
        let known: Vec<Hop> = self
            .unresolved
            .keys()
            .copied()
            .filter(|hop| links.mac_of(*hop).is_some())
            .collect();
        for hop in known {
            for label in self.unresolved.remove(&hop).unwrap_or_default() {
                let adjacency = self
                    .entries
                    .get(&label)
                    .and_then(|entry| self.adjacency(entry));
                self.write(label, adjacency);
            }
        }
    }

    fn write(&mut self, label: u32, adjacency: Option<Adjacency>) {
        if self.plane.program(label, adjacency).is_err() {
            self.plane_errors += 1;
        }
    }

    fn adjacency(&self, entry: &Entry) -> Option<Adjacency> {
        Some(Adjacency {
            port: entry.hop.port,
            source: self.ports[entry.hop.port].mac,
            destination: self.links.mac_of(entry.hop)?,
            out: entry.out,
            push: entry.push,
        })
    }
}

fn new_router(config: &Config, options: Options) -> Router {
    let instance = realtime_ns() as u32;
    Router::new(config.clone(), options, instance)
}

fn invalid(message: String) -> SetupError {
    let error = std::io::Error::new(std::io::ErrorKind::InvalidInput, message);
    SetupError::from_io(error, "configure router", "")
}

//! What a router is told: rackproof.model.functions.Mpls and the options of the model soft-lsr, field by field.

use std::collections::BTreeMap;

/// A port with an address.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject))]
pub struct MplsInterface {
    /// Name of the port.
    pub port: String,
    /// "10.0.1.1/24".
    pub address: String,
    /// Whether RSVP is spoken there.
    pub rsvp: bool,
}

/// A label that stands in the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject))]
pub struct StaticLabel {
    /// Label of the frames that come.
    pub in_label: u32,
    /// Port that they leave by.
    pub port: String,
    /// Neighbour that they leave for.
    pub next_hop: String,
    /// Label that they leave with; None: without.
    pub out_label: Option<u32>,
    /// One more label on top of it.
    pub push: Option<u32>,
}

/// A label switching router.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject))]
pub struct Mpls {
    /// Its router id.
    pub router_id: String,
    /// Its ports.
    pub interfaces: Vec<MplsInterface>,
    /// Its static labels.
    pub labels: Vec<StaticLabel>,
    /// Prefix -> next hop.
    pub routes: BTreeMap<String, String>,
}

/// What a router is like; shares are 0 to 1.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "python", derive(pyo3::FromPyObject))]
pub struct Options {
    /// Service time of a PATH that is new or says something new [us].
    pub path_us: f64,
    /// Service time of a RESV that is new or says something new [us].
    pub resv_us: f64,
    /// Service time of a PATH_TEAR or RESV_TEAR [us].
    pub tear_us: f64,
    /// How far service times go to either side, as a share of them.
    pub jitter: f64,
    /// Seeds service times and refresh periods.
    pub seed: u64,
    /// Most messages that wait.
    pub queue: usize,
    /// Whether the oldest message is dropped when there is no room, and not the newest.
    pub drop_head: bool,
    /// Share of PATH_TEARs without effect.
    pub drop_tears: f64,
    /// Whether labels stay in the data plane after the tear.
    pub stale_label: bool,
    /// How long before forwarding is programmed RESV leaves [ms].
    pub early_resv_ms: f64,
    /// Share of LSPs whose frames leave with another label than asked.
    pub wrong_label: f64,
    /// Whether PATH for others is forwarded as any IP packet.
    pub ignore_router_alert: bool,
    /// How much longer a frame takes while control works [us].
    pub steal_us: f64,
    /// Most frames per second, the others wait without end; 0: no such limit.
    pub memory_fps: f64,
}

impl Default for Options {
    /// A router that takes no time and has no defect.
    fn default() -> Self {
        Self {
            path_us: 0.0,
            resv_us: 0.0,
            tear_us: 0.0,
            jitter: 0.0,
            seed: 0,
            queue: 4096,
            drop_head: false,
            drop_tears: 0.0,
            stale_label: false,
            early_resv_ms: 0.0,
            wrong_label: 0.0,
            ignore_router_alert: false,
            steal_us: 0.0,
            memory_fps: 0.0,
        }
    }
}

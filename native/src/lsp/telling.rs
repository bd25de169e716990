//! How things stand, and what was counted.

use std::collections::BTreeMap;

use rackproof_rsvp::{ErrorSpec, MessageType};

use super::engine::Engine;
use super::intake::BUNDLE;
use super::log::Event;
use super::messages::Name;
use super::state::{Head, Instance, SETUP, Tail};
use super::{EGRESS, INGRESS};
use crate::arp::Mac;
use crate::lateness::Histogram;

/// How LSPs stand at one moment.
#[derive(Clone, Debug, Default)]
#[allow(missing_docs)] // see LerState in the stub
pub struct State {
    pub wanted: usize,
    pub up: usize,
    pub phantoms: usize,
    pub labels: BTreeMap<u16, u32>,
    pub refused: BTreeMap<String, usize>,
    pub tearing: usize,
    pub source_mac: Mac,
    pub destination_mac: Option<Mac>,
    pub egress_neighbour_mac: Option<Mac>,
    pub flapping: bool,
}

/// Names of the counts of messages, without direction.
const MESSAGES: [(&str, usize); 10] = [
    ("paths", MessageType::Path.number() as usize),
    ("resvs", MessageType::Resv.number() as usize),
    ("path_errors", MessageType::PathErr.number() as usize),
    ("resv_errors", MessageType::ResvErr.number() as usize),
    ("path_tears", MessageType::PathTear.number() as usize),
    ("resv_tears", MessageType::ResvTear.number() as usize),
    (
        "reservation_confirmations",
        MessageType::ResvConf.number() as usize,
    ),
    ("srefreshes", MessageType::Srefresh.number() as usize),
    ("hellos", MessageType::Hello.number() as usize),
    ("bundles", BUNDLE),
];

impl Engine {
    /// How the LSPs stand now.
    pub fn state(&self) -> State {
        let mut state = State {
            wanted: self.lsps.len(),
            tearing: self.tearing(),
            source_mac: self.links[INGRESS].mac,
            destination_mac: self.links[INGRESS].peer(),
            egress_neighbour_mac: self.links[EGRESS].peer(),
            flapping: self.is_flapping(),
            ..State::default()
        };
        for lsp in &self.lsps {
            let Some(instance) = lsp.current.map(|number| &self.instances[number as usize]) else {
                continue;
            };
            match (instance.head, instance.phantom, instance.label) {
                (Head::Torn, ..) => {}
                (_, Some(_), _) => state.phantoms += 1,
                (Head::Up, None, Some(label)) => {
                    state.up += 1;
                    state.labels.insert(instance.lsp, label);
                }
                _ => {
                    if let Some(words) = refusal(instance) {
                        *state.refused.entry(words).or_default() += 1;
                    }
                }
            }
        }
        state
    }

    /// Instances that devices may still have.
    pub fn standing(&self) -> Vec<Name> {
        let standing = self
            .instances
            .iter()
            .filter(|instance| instance.is_standing());
        standing.map(Instance::name).collect()
    }

    /// Between two PATH_TEARs [ns].
    pub fn teardown_gap_ns(&self) -> i64 {
        self.spec.teardown_gap_ns
    }

    /// How late paced messages and probes were.
    pub fn lateness(&self) -> &Histogram {
        &self.lateness
    }

    /// Everything that was counted, by name.
    pub fn counters(&self) -> BTreeMap<String, u64> {
        let counts = &self.counts;
        let mut named = BTreeMap::new();
        for (name, number) in MESSAGES {
            named.insert(format!("{name}_tx"), counts.tx[number]);
            named.insert(format!("{name}_rx"), counts.rx[number]);
        }
        let all = || self.lsps.iter().filter_map(|lsp| lsp.current);
        let up = all().filter(|number| self.instances[*number as usize].head == Head::Up);
        let held = all().filter(|number| self.instances[*number as usize].tail == Tail::Held);
        let phantoms = self.instances.iter().filter(|i| i.phantom.is_some());
        let others = [
            ("ingress_p2p_lsps_configured", self.lsps.len() as u64),
            ("ingress_p2p_lsps_up", up.count() as u64),
            ("egress_p2p_lsps_up", held.count() as u64),
            ("lsp_flap_count", counts.lsp_flaps),
            ("instances", self.instances.len() as u64),
            ("phantoms", phantoms.count() as u64),
            ("acks_tx", counts.acks_tx),
            ("acks_rx", counts.acks_rx),
            ("nacks_tx", counts.nacks_tx),
            ("nacks_rx", counts.nacks_rx),
            ("gave_up_paths", counts.gave_up_paths),
            ("gave_up_tears", counts.gave_up_tears),
            ("expired", counts.expired),
            ("stale_refreshes", counts.stale_refreshes),
            ("retries", counts.retries),
            ("retransmissions", counts.retransmissions),
            ("probes_tx", counts.probes_tx),
            ("probes_rx", counts.probes_rx),
            ("probes_duplicate", counts.probes_duplicate),
            ("probes_late", counts.probes_late),
            ("left_tears_tx", counts.left_tears_tx),
            ("left_tears_rx", counts.left_tears_rx),
            ("foreign", counts.foreign),
            ("malformed", counts.malformed),
            ("hello_losses", counts.hello_losses),
            ("neighbour_restarts", counts.neighbour_restarts),
        ];
        named.extend(others.map(|(name, count)| (name.to_owned(), count)));
        named
    }
}

/// Why an LSP is not up, in words; None where it may still come up.
fn refusal(instance: &Instance) -> Option<String> {
    let Some(refusal) = instance.refusal else {
        let was_given_up = instance.is_answered[SETUP] && instance.label.is_none();
        return was_given_up.then(|| "no answer to PATH".to_owned());
    };
    let error = ErrorSpec {
        node: std::net::Ipv4Addr::UNSPECIFIED,
        flags: 0,
        code: refusal.code,
        value: refusal.value,
        interfaces: None,
    };
    let message = if refusal.message == Event::PathErr {
        "PATH_ERR"
    } else {
        "RESV_ERR"
    };
    let meaning = error.meaning().unwrap_or("unknown error");
    Some(format!(
        "{message}: {meaning} (code {}, value {})",
        refusal.code, refusal.value
    ))
}

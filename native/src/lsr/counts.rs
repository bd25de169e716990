//! What control counts.

use std::collections::BTreeMap;

use rackproof_rsvp::MessageType;

const TYPES: [(MessageType, &str); 10] = [
    (MessageType::Path, "path"),
    (MessageType::Resv, "resv"),
    (MessageType::PathTear, "path_tear"),
    (MessageType::ResvTear, "resv_tear"),
    (MessageType::PathErr, "path_err"),
    (MessageType::ResvErr, "resv_err"),
    (MessageType::ResvConf, "resv_conf"),
    (MessageType::Ack, "ack"),
    (MessageType::Srefresh, "srefresh"),
    (MessageType::Hello, "hello"),
];

/// Messages by type, and those without effect by reason.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    received: [u64; TYPES.len()],
    sent: [u64; TYPES.len()],
    pub bundles: u64,
    /// Neither IP nor RSVP can be read, or objects are missing.
    pub malformed: u64,
    pub unknown_type: u64,
    /// Came at a port without RSVP.
    pub no_rsvp: u64,
    /// Packets of others for which there is no way.
    pub no_route: u64,
    /// Packets of others that went on as any IP packet.
    pub passed: u64,
    /// TTL is used up.
    pub ttl: u64,
    /// About an LSP that is not known.
    pub no_state: u64,
    /// PATH_TEARs that had no effect because a defect wants so.
    pub defect_tears: u64,
    /// States whose lifetime ended.
    pub expired: u64,
}

impl Counts {
    pub fn received(&mut self, kind: MessageType) {
        add(&mut self.received, kind);
    }

    pub fn sent(&mut self, kind: MessageType) {
        add(&mut self.sent, kind);
    }

    pub fn write(&self, to: &mut BTreeMap<String, u64>) {
        for (index, (_, name)) in TYPES.iter().enumerate() {
            to.insert(format!("rsvp.{name}.received"), self.received[index]);
            to.insert(format!("rsvp.{name}.sent"), self.sent[index]);
        }
        for (name, value) in [
            ("rsvp.bundle.received", self.bundles),
            ("rsvp.passed", self.passed),
            ("rsvp.expired", self.expired),
            ("rsvp.defect.tears", self.defect_tears),
            ("rsvp.drop.malformed", self.malformed),
            ("rsvp.drop.type", self.unknown_type),
            ("rsvp.drop.no_rsvp", self.no_rsvp),
            ("rsvp.drop.no_route", self.no_route),
            ("rsvp.drop.ttl", self.ttl),
            ("rsvp.drop.no_state", self.no_state),
        ] {
            to.insert(name.to_owned(), value);
        }
    }
}

fn add(counts: &mut [u64; TYPES.len()], kind: MessageType) {
    if let Some(index) = TYPES.iter().position(|(known, _)| *known == kind) {
        counts[index] += 1;
    }
}

//! What an element counts: frames and octets of every entry of its tables, dropped frames by reason, OAM frames.

use std::collections::{BTreeMap, HashMap};

/// Why a frame ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Its port is neither UNI nor NNI.
    Port,
    /// Too short for its headers.
    Malformed,
    /// No C-TAG.
    NoCTag,
    /// No MAC-in-MAC at an NNI port.
    NotXcf,
    /// It was encapsulated here.
    Loop,
    /// No service of its port and C-VLAN, or of its I-SID.
    NoService,
    /// In another backbone VLAN than its service.
    BVlan,
    /// Access control.
    Access,
    /// Policing.
    Policer,
    /// It would leave where it came in.
    Back,
    /// Its C-VLAN is not attached to its service there.
    CVlan,
    /// Too long for the network.
    TooLong,
    /// Nobody knows where its destination is.
    NoStation,
    /// No route for its B-DA and B-VID.
    NoRoute,
}

/// Names of the reasons, in the order of `Reason`.
const REASONS: [&str; 14] = [
    "port",
    "malformed",
    "no_c_tag",
    "not_xcf",
    "loop",
    "no_service",
    "b_vlan",
    "access",
    "policer",
    "back",
    "c_vlan",
    "too_long",
    "no_station",
    "no_route",
];

/// Number of a table's entry.
pub type Entry = usize;

#[derive(Clone, Debug, Default)]
struct Tally {
    frames: u64,
    octets: u64,
    exceeded: u64,
}

/// All counters.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    names: Vec<String>,
    policers: Vec<Entry>,
    tallies: Vec<Tally>,
    drops: [u64; REASONS.len()],
    oam_local: u64,
    oam_forwarded: u64,
}

impl Counts {
    /// A new entry; its name is "<table>.<key>".
    pub fn entry(&mut self, table: &str, key: &str) -> Entry {
        self.names.push(format!("table.{table}.{key}"));
        self.tallies.push(Tally::default());
        self.names.len() - 1
    }

    /// A new entry that also counts what exceeds it.
    pub fn policer(&mut self, table: &str, key: &str) -> Entry {
        let entry = self.entry(table, key);
        self.policers.push(entry);
        entry
    }

    /// A frame of so many octets matched.
    #[inline]
    pub fn hit(&mut self, entry: Entry, octets: usize) {
        let tally = &mut self.tallies[entry];
        tally.frames += 1;
        tally.octets += octets as u64;
    }

    /// A frame exceeded its policer.
    pub fn exceeded(&mut self, entry: Entry) {
        self.tallies[entry].exceeded += 1;
    }

    /// A frame ended.
    #[inline]
    pub fn dropped(&mut self, why: Reason) {
        self.drops[why as usize] += 1;
    }

    /// An OAM frame for this element.
    pub fn oam_local(&mut self) {
        self.oam_local += 1;
    }

    /// An OAM frame for another element.
    pub fn oam_forwarded(&mut self) {
        self.oam_forwarded += 1;
    }

    /// Entries of the same name go on from what `before` counted.
    pub fn carry_over(&mut self, before: Self) {
        self.drops = before.drops;
        self.oam_local = before.oam_local;
        self.oam_forwarded = before.oam_forwarded;
        let mut tallies: HashMap<_, _> = before.names.into_iter().zip(before.tallies).collect();
        for (name, tally) in self.names.iter().zip(&mut self.tallies) {
            if let Some(known) = tallies.remove(name) {
                *tally = known;
            }
        }
    }

    /// All by name.
    pub fn by_name(&self) -> BTreeMap<String, u64> {
        let drops = REASONS.iter().zip(self.drops);
        let mut found: BTreeMap<_, _> = drops.map(|(why, n)| (format!("drop.{why}"), n)).collect();
        found.insert("oam.local".to_owned(), self.oam_local);
        found.insert("oam.forwarded".to_owned(), self.oam_forwarded);
        for (name, tally) in self.names.iter().zip(&self.tallies) {
            found.insert(format!("{name}.frames"), tally.frames);
            found.insert(format!("{name}.octets"), tally.octets);
        }
        for entry in &self.policers {
            let name = format!("{}.exceeded", self.names[*entry]);
            found.insert(name, self.tallies[*entry].exceeded);
        }
        found
    }
}

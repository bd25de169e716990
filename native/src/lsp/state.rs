//! What is known of each LSP and of each of its instances, at both ends.

use std::net::Ipv4Addr;

use super::log::Event;
use super::messages::Name;

/// An instance as the ingress sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// PATH was sent; no RESV, or not any more.
    Setting,
    /// A RESV came and is kept up.
    Up,
    /// PATH_TEAR was sent.
    Torn,
}

/// An instance as the egress sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tail {
    /// No PATH, or its lifetime has ended.
    Unknown,
    /// A PATH came and is kept up.
    Held,
    /// A PATH_TEAR of the ingress came.
    Gone,
}

/// Why an instance is not up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// PATH_ERR or RESV_ERR.
    pub message: Event,
    /// Error code.
    pub code: u8,
    /// Error value.
    pub value: u16,
}

/// How a MESSAGE_ID of ours stands (RFC 2961, 4.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OurId {
    /// Identifier; None while the neighbour is not known to want one.
    pub identifier: Option<u32>,
    /// Whether it was acknowledged: Srefresh may name it.
    pub is_acked: bool,
}

/// One setting up of an LSP.
#[derive(Clone, Debug)]
pub struct Instance {
    /// LSP number.
    pub lsp: u16,
    /// LSP ID.
    pub id: u16,
    /// At the ingress.
    pub head: Head,
    /// How often PATH was sent to set it up, and PATH_TEAR.
    pub sent: [u8; 2],
    /// Whether what was sent wants no answer any more: PATH, PATH_TEAR.
    pub is_answered: [bool; 2],
    /// Label of the last RESV.
    pub label: Option<u32>,
    /// RESVs written down.
    pub resvs: u8,
    /// When the first RESV came, or one with another label [ns].
    pub resv_ns: i64,
    /// End of the RESV's lifetime [ns].
    pub resv_until_ns: i64,
    /// That lifetime [ns].
    pub resv_life_ns: i64,
    /// Address in RSVP_HOP where no device answers for it.
    pub phantom: Option<Ipv4Addr>,
    /// Whether a probe came through since `resv_ns`.
    pub is_proven: bool,
    /// Why it is not up.
    pub refusal: Option<Refusal>,
    /// Identifier of the PATH.
    pub path_id: OurId,
    /// At the egress.
    pub tail: Tail,
    /// Whether its RESV is due again some time.
    pub is_refreshing: bool,
    /// Address of the hop before the egress.
    pub hop: Ipv4Addr,
    /// Its logical interface handle.
    pub handle: u32,
    /// Label that the egress asked for.
    pub asked_label: u32,
    /// RESVs sent, refreshes aside.
    pub resvs_sent: u8,
    /// End of the PATH's lifetime [ns].
    pub path_until_ns: i64,
    /// That lifetime [ns].
    pub path_life_ns: i64,
    /// PATH_TEARs seen.
    pub tears_seen: u8,
    /// Identifier of the RESV.
    pub resv_id: OurId,
}

/// Index in `Instance::sent` and `is_answered`.
pub const SETUP: usize = 0;
/// The same of PATH_TEAR.
pub const TEAR: usize = 1;

impl Instance {
    /// One that was not signalled yet.
    pub fn new(lsp: u16, id: u16) -> Self {
        Self {
            lsp,
            id,
            head: Head::Setting,
            sent: [0; 2],
            is_answered: [false; 2],
            label: None,
            resvs: 0,
            resv_ns: 0,
            resv_until_ns: 0,
            resv_life_ns: 0,
            phantom: None,
            is_proven: false,
            refusal: None,
            path_id: OurId::default(),
            tail: Tail::Unknown,
            is_refreshing: false,
            hop: Ipv4Addr::UNSPECIFIED,
            handle: 0,
            asked_label: 0,
            resvs_sent: 0,
            path_until_ns: 0,
            path_life_ns: 0,
            tears_seen: 0,
            resv_id: OurId::default(),
        }
    }

    /// Its name on the wire.
    pub fn name(&self) -> Name {
        Name {
            tunnel_id: self.lsp + 1,
            lsp_id: self.id,
        }
    }

    /// Whether devices may still have it: it was signalled, and neither its tear nor the end of its lifetime was seen at the egress.
    pub fn is_standing(&self) -> bool {
        self.head != Head::Torn || (self.tail != Tail::Gone && !self.has_expired())
    }

    fn has_expired(&self) -> bool {
        self.tail == Tail::Unknown && self.path_life_ns > 0
    }
}

/// What an LSP sends with.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// Label to send with.
    pub label: u32,
    /// Instance that the label belongs to.
    pub instance: u32,
}

/// One LSP over all of its instances.
#[derive(Clone, Debug, Default)]
pub struct Lsp {
    /// Its newest instance.
    pub current: Option<u32>,
    /// What its last RESV said, torn or not.
    pub route: Option<Route>,
    /// Whether it is to be set up again once it is torn down.
    pub comes_back: bool,
}

/// LSP IDs: one after the other from a first one that differs from run to run, never zero.
#[derive(Debug)]
pub struct Ids {
    first: u16,
    used: usize,
    skipped: Vec<u16>,
    by_id: Vec<Option<u32>>,
}

/// IDs that there are.
const IDS: usize = u16::MAX as usize;

impl Ids {
    /// Begins at a place that follows from campaign and trial: what an earlier run left in a device is hit by no other soon.
    pub fn new(campaign: u32, trial: u32) -> Self {
        let mixed = u64::from(campaign) * 40_503 + u64::from(trial) * 4_799;
        Self {
            first: (mixed % IDS as u64) as u16,
            used: 0,
            skipped: Vec::new(),
            by_id: vec![None; IDS + 1],
        }
    }

    /// Leaves these out.
    pub fn skip(&mut self, id: u16) {
        self.skipped.push(id);
    }

    /// Whether this one was left out.
    pub fn is_skipped(&self, id: u16) -> bool {
        self.skipped.contains(&id)
    }

    /// The next ID, which `instance` has from now on; None when all are used.
    pub fn take(&mut self, instance: u32) -> Option<u16> {
        while self.used < IDS {
            let id = ((usize::from(self.first) + self.used) % IDS) as u16 + 1;
            self.used += 1;
            if !self.skipped.contains(&id) {
                self.by_id[usize::from(id)] = Some(instance);
                return Some(id);
            }
        }
        None
    }

    /// The instance that has an ID.
    pub fn instance(&self, id: u16) -> Option<u32> {
        self.by_id[usize::from(id)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_once_and_never_zero() {
        let mut ids = Ids::new(7, 9);
        ids.skip(500);
        let mut taken: Vec<u16> = (0..).map_while(|number| ids.take(number)).collect();
        assert_eq!(ids.instance(taken[3]), Some(3));
        taken.sort_unstable();
        assert_eq!(taken.len(), IDS - 1);
        assert!(taken.windows(2).all(|two| two[0] < two[1]));
        assert!(taken[0] == 1 && !taken.contains(&500));
    }
}

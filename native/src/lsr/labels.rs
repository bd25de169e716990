//! Which labels a router gives: the next free one, so that a label is not soon given again.

use std::collections::HashSet;
use std::net::Ipv4Addr;

use super::table::MAX_LABEL;

/// The first label that is not reserved (RFC 3032, 2.1).
const FIRST: u32 = 16;
/// Routers begin so far apart, by the last digit of their router id: a frame that goes astray is not taken for one of the next router's.
const APART: u32 = 100_000;

/// The labels that are given.
pub struct Labels {
    used: HashSet<u32>,
    next: u32,
}

impl Labels {
    pub fn new(router_id: Ipv4Addr) -> Self {
        Self {
            used: HashSet::new(),
            next: FIRST + APART * u32::from(router_id.octets()[3] % 10),
        }
    }

    /// One that is neither given nor among those that `taken` says; None where there is none left.
    pub fn give(&mut self, taken: impl Fn(u32) -> bool) -> Option<u32> {
        for _ in FIRST..=MAX_LABEL {
            let label = self.next;
            self.next = if label >= MAX_LABEL { FIRST } else { label + 1 };
            if !taken(label) && self.used.insert(label) {
                return Some(label);
            }
        }
        None
    }

    pub fn give_back(&mut self, label: u32) {
        self.used.remove(&label);
    }

    /// How many are given.
    pub fn in_use(&self) -> usize {
        self.used.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_free_one_and_not_the_one_just_given_back() {
        let mut labels = Labels::new(Ipv4Addr::new(10, 83, 253, 2));
        let first = labels.give(|_| false).unwrap();
        assert_eq!(first, 200_016);
        labels.give_back(first);
        assert_eq!(labels.give(|label| label == 200_017), Some(200_018));
        assert_eq!(labels.in_use(), 1);
    }
}

//! The phases of a run: nothing at first, then windows that each begin with a flap, then what drains.

use std::collections::VecDeque;

use super::engine::Engine;
use super::log::{Event, NOBODY};
use super::probing::Turns;
use super::spec::{Flaps, ns};
use super::state::{Head, TEAR};
use crate::lateness::Histogram;

/// Phases under way: ends of those that are left [ns].
#[derive(Debug)]
pub struct Phases {
    ends_ns: VecDeque<i64>,
    windows: usize,
    begun: usize,
}

impl Phases {
    /// Phases that begin at `now`. Err says what is wrong with them.
    pub fn new(flaps: &Flaps, now: i64) -> Result<Self, String> {
        let mut end_ns = now + ns("prior_s", flaps.prior_s, 0.0)?;
        let mut ends_ns = VecDeque::from([end_ns]);
        for window_s in &flaps.windows_s {
            end_ns += ns("windows_s", *window_s, 0.0)?;
            ends_ns.push_back(end_ns);
        }
        ends_ns.push_back(end_ns + ns("drain_s", flaps.drain_s, 0.0)?);
        Ok(Self {
            ends_ns,
            windows: flaps.windows_s.len(),
            begun: 0,
        })
    }

    /// When the next phase begins [ns].
    pub fn next_ns(&self) -> i64 {
        self.ends_ns.front().copied().unwrap_or(i64::MAX)
    }
}

impl Engine {
    /// Begins phases; false while others are under way.
    pub fn flap(&mut self, phases: Phases, now: i64) -> bool {
        if self.phases.is_some() {
            return false;
        }
        self.phases = Some(phases);
        self.lateness = Histogram::default();
        self.turns.iter_mut().for_each(|turns| turns.begin(now));
        true
    }

    /// Ends them at once; what is down goes on coming up.
    pub fn halt(&mut self) {
        self.phases = None;
        self.turns.iter_mut().for_each(Turns::end);
    }

    /// Whether phases are under way.
    pub fn is_flapping(&self) -> bool {
        self.phases.is_some()
    }

    /// Tears down all that stands and sets nothing up any more.
    pub fn tear_all(&mut self, now: i64) {
        self.halt();
        self.is_ending = true;
        self.setups.clear();
        self.tears.clear();
        self.lsps.iter_mut().for_each(|lsp| lsp.comes_back = false);
        for number in 0..self.instances.len() as u32 {
            let instance = &self.instances[number as usize];
            if instance.is_standing()
                && !(instance.head == Head::Torn && instance.is_answered[TEAR])
            {
                self.tear_down(now, number, false);
            }
        }
    }

    /// Begins and ends windows whose time has come.
    pub(super) fn change_phase(&mut self, now: i64) {
        while let Some(phases) = &mut self.phases
            && phases.next_ns() <= now
        {
            phases.ends_ns.pop_front();
            let (begun, windows) = (phases.begun, phases.windows);
            phases.begun += 1;
            if (1..=windows).contains(&begun) {
                self.log.event(Event::FlapEnd, now, NOBODY, begun as u32, 0);
            }
            if begun < windows {
                self.log
                    .event(Event::FlapBegin, now, NOBODY, begun as u32 + 1, 0);
                self.flap_now(now);
            } else if begun > windows {
                self.halt();
            }
        }
    }

    fn flap_now(&mut self, now: i64) {
        for lsp in self.spec.stable..self.spec.lsps {
            let current = self.lsps[usize::from(lsp)].current;
            let is_up = |number: &u32| self.instances[*number as usize].head == Head::Up;
            // One whose tear still waits from the flap before is torn once.
            if let Some(number) = current.filter(is_up)
                && !self.lsps[usize::from(lsp)].comes_back
            {
                self.counts.lsp_flaps += 1;
                self.tear_down(now, number, true);
            }
        }
    }
}

//! The tables of an element, frame by frame, without ports and clock.

use std::collections::{BTreeMap, HashMap};

use super::counts::Counts;
use super::output::Output;
use super::pass::Pass;
use super::spec::Tables as Spec;
use super::tables::Tables;
use crate::frame::FCS_BYTES;

/// Tables, and what they counted.
#[derive(Debug)]
pub struct Pipeline {
    tables: Tables,
    counts: Counts,
    buckets: HashMap<u32, u128>,
}

impl Pipeline {
    /// Tables that have seen nothing. Err says what is wrong with them.
    pub fn new(spec: &Spec) -> Result<Self, String> {
        let (tables, counts) = Tables::new(spec)?;
        Ok(Self {
            tables,
            counts,
            buckets: HashMap::new(),
        })
    }

    /// Names of its ports; their numbers count from 0.
    pub fn ports(&self) -> impl Iterator<Item = &str> {
        self.tables.ports.iter().map(|port| port.name.as_str())
    }

    /// Takes over the tables of `new`. Counters and buckets of entries that stay as they are go on.
    pub fn change(&mut self, new: Self) {
        let before = std::mem::replace(self, new);
        self.counts.carry_over(before.counts);
        self.buckets = before.buckets;
        let rule = |tables: &Tables, i_sid: &u32| {
            let policer = tables.services.get(i_sid)?.policer.as_ref()?;
            Some((policer.set.clone(), policer.rule.clone()))
        };
        self.buckets
            .retain(|i_sid, _| rule(&self.tables, i_sid) == rule(&before.tables, i_sid));
    }

    /// Counters by name.
    pub fn counters(&self) -> BTreeMap<String, u64> {
        self.counts.by_name()
    }

    /// Appends to `out` where the frame leaves that came in at port number `port` (None: no port of the element) at `now_ns`.
    ///
    /// `frame` is without FCS, its tags in place; octets are counted with FCS.
    #[inline]
    pub fn forward(
        &mut self,
        port: Option<usize>,
        frame: &[u8],
        now_ns: u64,
        out: &mut Vec<Output>,
    ) {
        let mut pass = Pass {
            tables: &self.tables,
            counts: &mut self.counts,
            buckets: &mut self.buckets,
            ingress: port.unwrap_or(usize::MAX),
            frame,
            octets: frame.len() + FCS_BYTES as usize,
            now_ns,
            out,
        };
        if let Err(why) = pass.receive() {
            self.counts.dropped(why);
        }
    }
}

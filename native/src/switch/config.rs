//! What a reference switch is made of, and what is wrong with that.

use super::defects::DefectSpec;
use super::discipline::Kind;

/// Queues, link and discipline of a switch.
#[derive(Clone, Debug)]
pub struct Config {
    /// Rate of the egress link [bit/s], layer 1.
    pub link_rate_bps: u64,
    /// What every frame costs beyond its bytes: preamble and gap.
    pub l1_overhead_bytes: u32,
    /// How queues share the link.
    pub scheduler: Kind,
    /// One per queue; unused for strict priority, where it may be empty.
    pub weights: Vec<f64>,
    /// Room of each queue [frames].
    pub queue_frames: Vec<usize>,
    /// The queue of each priority.
    pub pcp_to_queue: [usize; 8],
    /// Quantum of the smallest weight, for weights by bytes.
    pub quantum_bytes: u32,
    /// What it does wrong.
    pub defects: DefectSpec,
    /// What the defects' draws follow from.
    pub seed: u64,
}

impl Config {
    /// What is wrong with it, if anything.
    pub fn problem(&self) -> Option<String> {
        let queues = self.queue_frames.len();
        if !(1_000..=1_000_000_000_000).contains(&self.link_rate_bps) {
            return Some(format!(
                "link_rate_bps must be 1e3 to 1e12, got {}",
                self.link_rate_bps
            ));
        }
        if self.l1_overhead_bytes > 1_000 {
            return Some(format!(
                "l1_overhead_bytes must be at most 1000, got {}",
                self.l1_overhead_bytes
            ));
        }
        if queues == 0
            || self
                .queue_frames
                .iter()
                .any(|l| !(1..=1_000_000).contains(l))
        {
            return Some("queue_frames: at least one queue, each 1 to 1000000 frames".to_owned());
        }
        if let Some(wrong) = self.pcp_to_queue.iter().find(|queue| **queue >= queues) {
            return Some(format!("pcp_to_queue: queue {wrong} of {queues}"));
        }
        let strict = self.scheduler == Kind::StrictPriority;
        if self.weights.len() != queues && !(strict && self.weights.is_empty()) {
            let got = self.weights.len();
            return Some(format!("weights: {queues} queues, got {got} weights"));
        }
        let possible = |weight: &f64| weight.is_finite() && *weight > 0.0;
        if !strict && !self.weights.iter().all(possible) {
            return Some(format!("weights must be above 0, got {:?}", self.weights));
        }
        if !(64..=1_000_000).contains(&self.quantum_bytes) {
            return Some(format!(
                "quantum_bytes must be 64 to 1000000, got {}",
                self.quantum_bytes
            ));
        }
        let DefectSpec {
            leak,
            waste,
            unfair,
            ..
        } = self.defects;
        for (name, value) in [("leak", leak), ("waste", waste), ("unfair", unfair)] {
            if !(0.0..=1.0).contains(&value) || (name == "waste" && value > 0.99) {
                return Some(format!("{name} must be 0 to 1 (waste: 0.99), got {value}"));
            }
        }
        None
    }
}

//! How the reference switch misbehaves when asked to, so that analysis can be seen to find it.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Which defects, how strong. All zero: none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DefectSpec {
    /// Probability that a strict-priority decision serves the lowest waiting queue instead.
    pub leak: f64,
    /// Fraction of the link that is lost: after every frame it idles for that long.
    pub waste: f64,
    /// Probability that a frame from an odd ingress port is dropped while its queue is more than
    /// half full.
    pub unfair: f64,
    /// Weights asked by bytes are applied to frames.
    pub weights_per_packet: bool,
}

/// The defects at work.
#[derive(Debug)]
pub struct Defects {
    spec: DefectSpec,
    random: ChaCha8Rng,
    idle_carry_ns: f64,
}

impl Defects {
    /// Defects whose draws follow from `seed`.
    pub fn new(spec: DefectSpec, seed: u64) -> Self {
        Self {
            spec,
            random: ChaCha8Rng::seed_from_u64(seed),
            idle_carry_ns: 0.0,
        }
    }

    /// Whether this decision leaks to the lowest waiting queue.
    pub fn leaks(&mut self) -> bool {
        self.draw(self.spec.leak)
    }

    /// Whether a frame from `ingress` is dropped unfairly.
    pub fn drops(&mut self, ingress: u16, more_than_half_full: bool) -> bool {
        more_than_half_full && ingress % 2 == 1 && self.draw(self.spec.unfair)
    }

    /// How long the link idles after a frame that took `busy_ns` [ns]; fractions are carried over.
    pub fn idle_after(&mut self, busy_ns: i64) -> i64 {
        if self.spec.waste == 0.0 {
            return 0;
        }
        let exact = busy_ns as f64 * self.spec.waste / (1.0 - self.spec.waste) + self.idle_carry_ns;
        let whole = exact.floor();
        self.idle_carry_ns = exact - whole;
        whole as i64
    }

    fn draw(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.random.random::<f64>() < probability
    }
}

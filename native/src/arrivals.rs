//! When is a stream's next frame due, and how long is it.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// How a stream's frames follow each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrivals {
    /// Equal gaps; the first frame after `phase` of a gap (None: drawn from the seed).
    Constant { phase: Option<f64> },
    /// Exponential gaps, the first one included.
    Poisson,
    /// No schedule: as fast as possible.
    FlatOut,
}

/// The due times of a stream [ns since its origin], non-decreasing, without end.
#[derive(Debug)]
pub enum Timeline {
    /// Computed from the frame's number, so that errors never add up.
    Constant {
        gap_ns: f64,
        phase: f64,
        number: u64,
    },
    /// A running sum of drawn gaps.
    Poisson {
        gap_ns: f64,
        due_ns: f64,
        random: Box<ChaCha8Rng>,
    },
}

impl Timeline {
    /// A timeline at `rate_fps`; None for flat out.
    pub fn new(arrivals: Arrivals, rate_fps: f64, seed: u64) -> Option<Self> {
        let gap_ns = 1e9 / rate_fps;
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        match arrivals {
            Arrivals::Constant { phase } => Some(Self::Constant {
                gap_ns,
                phase: phase.unwrap_or_else(|| random.random::<f64>()),
                number: 0,
            }),
            Arrivals::Poisson => Some(Self::Poisson {
                gap_ns,
                due_ns: 0.0,
                random: Box::new(random),
            }),
            Arrivals::FlatOut => None,
        }
    }

    /// When the next frame is due [ns since the origin].
    #[inline]
    pub fn next_ns(&mut self) -> i64 {
        match self {
            Self::Constant {
                gap_ns,
                phase,
                number,
            } => {
                let due = (*phase + *number as f64) * *gap_ns;
                *number += 1;
                due as i64
            }
            Self::Poisson {
                gap_ns,
                due_ns,
                random,
            } => {
                // 1 - u lies in (0, 1], so the logarithm is finite.
                *due_ns -= (1.0 - random.random::<f64>()).ln() * *gap_ns;
                *due_ns as i64
            }
        }
    }
}

/// Draws frame lengths by weight.
#[derive(Debug)]
pub struct Sizes {
    frame_bytes: Vec<u32>,
    cumulative: Vec<f64>,
    random: ChaCha8Rng,
}

impl Sizes {
    /// Lengths and their weights, which need not sum to one. `sizes` must not be empty.
    pub fn new(sizes: &[(u32, f64)], seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        // A sequence of its own: drawing lengths never disturbs the arrivals.
        random.set_stream(1);
        let mut sum = 0.0;
        let cumulative = sizes
            .iter()
            .map(|(_, weight)| {
                sum += weight;
                sum
            })
            .collect();
        Self {
            frame_bytes: sizes.iter().map(|(bytes, _)| *bytes).collect(),
            cumulative,
            random,
        }
    }

    /// Length of the next frame [bytes, FCS included].
    #[inline]
    pub fn next_bytes(&mut self) -> u32 {
        if let [only] = self.frame_bytes[..] {
            return only;
        }
        let last = self.frame_bytes.len() - 1;
        let drawn = self.random.random::<f64>() * self.cumulative[last];
        let chosen = self.cumulative.partition_point(|bound| *bound <= drawn);
        self.frame_bytes[chosen.min(last)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_gaps_are_exact_and_never_drift() {
        let phase = Some(0.25);
        let mut line = Timeline::new(Arrivals::Constant { phase }, 100_000.0, 1).unwrap();
        let due: Vec<i64> = (0..1_000_000).map(|_| line.next_ns()).collect();
        assert_eq!(due[0], 2_500);
        assert!(due.windows(2).all(|pair| pair[1] - pair[0] == 10_000));
    }

    #[test]
    fn phase_is_drawn_from_the_seed() {
        let first = |seed| {
            Timeline::new(Arrivals::Constant { phase: None }, 1000.0, seed)
                .unwrap()
                .next_ns()
        };
        assert_eq!(first(5), first(5));
        assert_ne!(first(5), first(6));
        assert!((0..1_000_000).contains(&first(5)));
    }

    #[test]
    fn poisson_has_its_mean_and_variation() {
        let mut line = Timeline::new(Arrivals::Poisson, 50_000.0, 11).unwrap();
        let mut before = 0;
        let gaps: Vec<f64> = (0..200_000)
            .map(|_| {
                let due = line.next_ns();
                let gap = (due - before) as f64;
                before = due;
                gap
            })
            .collect();
        let n = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / n;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / n;
        assert!((mean / 20_000.0 - 1.0).abs() < 0.01, "mean {mean}");
        let variation = variance.sqrt() / mean;
        assert!((variation - 1.0).abs() < 0.01, "cv {variation}");
    }

    #[test]
    fn flat_out_has_no_timeline() {
        assert!(Timeline::new(Arrivals::FlatOut, 0.0, 1).is_none());
    }

    #[test]
    fn sizes_follow_their_weights() {
        let mut sizes = Sizes::new(&[(64, 7.0), (594, 4.0), (1518, 1.0)], 3);
        let drawn: Vec<u32> = (0..120_000).map(|_| sizes.next_bytes()).collect();
        let share = |bytes| drawn.iter().filter(|b| **b == bytes).count() as f64 / 120_000.0;
        assert!((share(64) - 7.0 / 12.0).abs() < 0.01);
        assert!((share(594) - 4.0 / 12.0).abs() < 0.01);
        assert!((share(1518) - 1.0 / 12.0).abs() < 0.01);
    }
}

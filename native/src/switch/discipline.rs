//! Which queue is served next.

use super::queue::Queue;

/// How queues share the link. In all of them a higher index is a higher priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The highest queue that isn't empty.
    StrictPriority,
    /// Weighted round robin that counts frames.
    WrrPackets,
    /// Deficit round robin: weights count bytes.
    WrrBytes,
}

/// A discipline at work.
#[derive(Debug)]
pub enum Discipline {
    /// The highest queue that isn't empty.
    StrictPriority,
    /// Cyclic: each queue in turn, highest first, sends up to its number of frames.
    Rounds {
        frames_per_round: Vec<u32>,
        at: usize,
        credit: u32,
    },
    /// Deficit round robin (Shreedhar and Varghese 1995): each queue in turn, highest first, is
    /// granted its quantum and sends while its deficit covers the next frame.
    Deficit {
        quantum_bytes: Vec<u64>,
        deficit_bytes: Vec<u64>,
        at: usize,
        granted: bool,
    },
}

impl Discipline {
    /// A discipline. `weights` has one entry per queue, all above 0 (unused for strict priority);
    /// `quantum_bytes` is the quantum of the smallest weight.
    pub fn new(kind: Kind, weights: &[f64], quantum_bytes: u32, count_frames: bool) -> Self {
        match kind {
            Kind::StrictPriority => Self::StrictPriority,
            Kind::WrrBytes if !count_frames => {
                let smallest = weights.iter().copied().fold(f64::INFINITY, f64::min);
                let quantum = |weight: &f64| (weight / smallest * f64::from(quantum_bytes)).round();
                Self::Deficit {
                    quantum_bytes: weights.iter().map(|w| quantum(w) as u64).collect(),
                    deficit_bytes: vec![0; weights.len()],
                    at: 0,
                    granted: true,
                }
            }
            Kind::WrrPackets | Kind::WrrBytes => Self::Rounds {
                frames_per_round: frames_per_round(weights),
                at: 0,
                credit: 0,
            },
        }
    }

    /// The queue to serve. At least one must hold a frame.
    pub fn choose(&mut self, queues: &[Queue]) -> usize {
        match self {
            Self::StrictPriority => queues.iter().rposition(|q| !q.is_empty()).unwrap_or(0),
            Self::Rounds {
                frames_per_round,
                at,
                credit,
            } => {
                while queues[*at].is_empty() || *credit == 0 {
                    *at = below(*at, queues.len());
                    *credit = frames_per_round[*at];
                }
                *credit -= 1;
                *at
            }
            Self::Deficit {
                quantum_bytes,
                deficit_bytes,
                at,
                granted,
            } => loop {
                let deficit = &mut deficit_bytes[*at];
                match queues[*at].head_bytes().map(u64::from) {
                    None => *deficit = 0,
                    Some(bytes) => {
                        if !*granted {
                            *deficit += quantum_bytes[*at];
                            *granted = true;
                        }
                        if *deficit >= bytes {
                            *deficit -= bytes;
                            return *at;
                        }
                    }
                }
                *at = below(*at, queues.len());
                *granted = false;
            },
        }
    }
}

/// The next queue in turn: from high to low, then the highest again.
fn below(at: usize, count: usize) -> usize {
    if at == 0 { count - 1 } else { at - 1 }
}

/// The smallest whole numbers (with a least one of up to 100) in the ratio of `weights`, within
/// 0.1 %; where none are, those that come closest.
pub fn frames_per_round(weights: &[f64]) -> Vec<u32> {
    let smallest = weights.iter().copied().fold(f64::INFINITY, f64::min);
    let mut best = (f64::INFINITY, Vec::new());
    for least in 1..=100 {
        let exact = weights
            .iter()
            .map(|weight| weight / smallest * f64::from(least));
        let error = exact
            .clone()
            .map(|value| (value.round() / value - 1.0).abs())
            .fold(0.0, f64::max);
        if error < best.0 {
            best = (error, exact.map(|value| value.round() as u32).collect());
        }
        if error < 0.001 {
            break;
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_in_the_ratio_of_the_weights() {
        assert_eq!(frames_per_round(&[0.1, 0.2, 0.3, 0.4]), [1, 2, 3, 4]);
        assert_eq!(frames_per_round(&[0.15, 0.25, 0.6]), [3, 5, 12]);
        assert_eq!(frames_per_round(&[1.0, 1.0]), [1, 1]);
        assert_eq!(frames_per_round(&[8.0, 1.0, 2.5]), [16, 2, 5]);
    }
}

//! How late were frames: a histogram that costs nothing to fill and is precise to 3 %.

const SUB_BITS: u32 = 5;
const SUB: u64 = 1 << SUB_BITS;
const BUCKETS: usize = ((64 - SUB_BITS as usize) + 1) * SUB as usize;

/// Log-linear histogram of non-negative nanoseconds: 32 buckets per power of two.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    max_ns: i64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self {
            counts: vec![0; BUCKETS],
            total: 0,
            max_ns: 0,
        }
    }
}

impl Histogram {
    /// Counts one value; a negative one counts as zero.
    #[inline]
    pub fn record(&mut self, value_ns: i64) {
        let value_ns = value_ns.max(0);
        self.counts[bucket_of(value_ns as u64)] += 1;
        self.total += 1;
        self.max_ns = self.max_ns.max(value_ns);
    }

    /// Counts all that `other` counted.
    pub fn add(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.total += other.total;
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// The value below or at which the fraction `q` lies [ns]: the top of its bucket, at most 3.2 %
    /// too high, never above the maximum. 0 for an empty histogram.
    pub fn quantile_ns(&self, q: f64) -> i64 {
        let rank = ((q * self.total as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return (top_of(bucket) as i64).min(self.max_ns);
            }
        }
        self.max_ns
    }

    /// The largest value [ns], exact.
    pub fn max_ns(&self) -> i64 {
        self.max_ns
    }

    /// How many values were counted.
    pub fn total(&self) -> u64 {
        self.total
    }
}

fn bucket_of(value: u64) -> usize {
    if value < SUB {
        return value as usize;
    }
    let shift = 63 - value.leading_zeros() - SUB_BITS;
    (u64::from(shift + 1) * SUB + ((value >> shift) - SUB)) as usize
}

fn top_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < SUB {
        return bucket;
    }
    let shift = bucket / SUB - 1;
    let low = (SUB + bucket % SUB) << shift;
    low + ((1 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_meet_without_gap_or_overlap() {
        for value in
            (0..5_000).chain([1 << 20, (1 << 20) + 1, u64::from(u32::MAX), i64::MAX as u64])
        {
            let bucket = bucket_of(value);
            assert!(top_of(bucket) >= value);
            assert!(bucket == 0 || top_of(bucket - 1) < value);
        }
    }

    #[test]
    fn quantiles_within_their_precision() {
        let mut histogram = Histogram::default();
        for value in 1..=100_000 {
            histogram.record(value);
        }
        for (q, exact) in [(0.5, 50_000.0), (0.99, 99_000.0), (0.001, 100.0)] {
            let got = histogram.quantile_ns(q) as f64;
            assert!(got >= exact && got <= exact * 1.033, "{q}: {got}");
        }
        assert_eq!(histogram.quantile_ns(1.0), 100_000);
        assert_eq!(histogram.max_ns(), 100_000);
        assert_eq!(histogram.total(), 100_000);
    }

    #[test]
    fn sums_are_as_if_counted_together() {
        let mut halves = [Histogram::default(), Histogram::default()];
        let mut whole = Histogram::default();
        for value in 1..=1_000 {
            halves[usize::from(value > 700)].record(value);
            whole.record(value);
        }
        let [mut low, high] = halves;
        low.add(&high);
        for q in [0.1, 0.5, 0.9, 1.0] {
            assert_eq!(low.quantile_ns(q), whole.quantile_ns(q));
        }
        assert_eq!((low.total(), low.max_ns()), (1_000, 1_000));
    }

    #[test]
    fn empty_and_negative() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile_ns(0.99), 0);
        histogram.record(-5);
        assert_eq!(histogram.quantile_ns(0.5), 0);
        assert_eq!(histogram.total(), 1);
    }
}

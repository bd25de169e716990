//! A direction against what can be worked out by hand, in virtual time.

use super::*;

const MS: i64 = 1_000_000;

/// 12 Mbit/s: 1500 bytes a millisecond.
fn spec() -> DirectionSpec {
    DirectionSpec {
        drain: Drain::RateBps(12_000_000),
        delay_ns: 0,
        buffer_bytes: None,
        buffer_packets: None,
        loss: 0.0,
    }
}

fn burst(spec: &DirectionSpec, packets: usize, bytes: u32) -> Vec<Fate> {
    let mut direction = Direction::new(spec, 1, 0);
    let arrive = |_| direction.arrive(0, bytes);
    (0..packets).map(arrive).collect()
}

#[test]
fn the_delay_comes_after_the_link() {
    let delayed = DirectionSpec {
        delay_ns: 20 * MS,
        ..spec()
    };
    let expected = [Fate::Leaves(21 * MS), Fate::Leaves(22 * MS)];
    assert_eq!(burst(&delayed, 2, 1500), expected);
}

#[test]
fn the_buffer_counts_bytes_and_the_packet_in_service() {
    let bounded = DirectionSpec {
        buffer_bytes: Some(3_999),
        ..spec()
    };
    let fates = burst(&bounded, 4, 1000);
    assert!(matches!(fates[2], Fate::Leaves(_)));
    assert_eq!(fates[3], Fate::NoRoom);
}

#[test]
fn the_buffer_counts_packets() {
    let bounded = DirectionSpec {
        buffer_packets: Some(2),
        ..spec()
    };
    let mut direction = Direction::new(&bounded, 1, 0);
    let fates: Vec<Fate> = [0, 0, MS - 1, MS]
        .map(|time| direction.arrive(time, 1500))
        .into();
    assert_eq!(fates[2], Fate::NoRoom);
    // The first has passed at 1 ms, and its place is free at that very moment.
    assert_eq!(fates[3], Fate::Leaves(3 * MS));
}

#[test]
fn the_delay_line_is_no_buffer() {
    let far = DirectionSpec {
        buffer_packets: Some(1),
        delay_ns: 1_000 * MS,
        ..spec()
    };
    let mut direction = Direction::new(&far, 1, 0);
    let all = (0..100).map(|n| direction.arrive(n * MS, 1500));
    assert!(all.into_iter().all(|fate| matches!(fate, Fate::Leaves(_))));
}

#[test]
fn with_a_trace_a_packet_waits_for_its_first_byte_to_go() {
    let traced = DirectionSpec {
        drain: Drain::TraceMs(vec![10, 20, 30]),
        buffer_packets: Some(1),
        ..spec()
    };
    let mut direction = Direction::new(&traced, 1, 0);
    assert_eq!(direction.arrive(0, 750), Fate::Leaves(10 * MS));
    assert_eq!(direction.arrive(0, 1500), Fate::NoRoom);
    let mut roomy = Direction::new(
        &DirectionSpec {
            buffer_packets: Some(2),
            ..traced
        },
        1,
        0,
    );
    assert_eq!(roomy.arrive(0, 750), Fate::Leaves(10 * MS));
    assert_eq!(roomy.arrive(0, 1500), Fate::Leaves(20 * MS));
    assert_eq!(roomy.arrive(0, 1500), Fate::NoRoom);
    // At 10 ms both are begun, the second not yet passed: nobody waits.
    assert_eq!(roomy.arrive(10 * MS, 100), Fate::Leaves(20 * MS));
    assert_eq!(roomy.arrive(10 * MS, 100), Fate::Leaves(20 * MS));
    assert_eq!(roomy.arrive(10 * MS, 100), Fate::NoRoom);
}

#[test]
fn an_overloaded_queue_drops_its_excess() {
    let bounded = DirectionSpec {
        buffer_bytes: Some(15_000),
        ..spec()
    };
    let mut direction = Direction::new(&bounded, 1, 0);
    // 24 Mbit/s into 12 Mbit/s for 10 s.
    let fates: Vec<Fate> = (0..20_000)
        .map(|n| direction.arrive(n * MS / 2, 1500))
        .collect();
    let dropped = fates.iter().filter(|fate| **fate == Fate::NoRoom).count();
    assert!(dropped.abs_diff(10_000) <= 10, "{dropped}");
}

#[test]
fn loss_has_its_probability_and_repeats_with_its_seed() {
    let lossy = DirectionSpec {
        loss: 0.01,
        ..spec()
    };
    let fates = burst(&lossy, 100_000, 100);
    let lost = fates.iter().filter(|fate| **fate == Fate::Lost).count();
    // Four standard deviations of a binomial.
    assert!(lost.abs_diff(1_000) < 126, "{lost}");
    assert_eq!(burst(&lossy, 100_000, 100), fates);
    let mut other = Direction::new(&lossy, 1, 1);
    let others: Vec<Fate> = (0..100_000).map(|_| other.arrive(0, 100)).collect();
    assert_ne!(others, fates);
}

#[test]
fn a_recording_that_begins_anew_meets_the_same_losses() {
    let lossy = DirectionSpec {
        loss: 0.1,
        ..spec()
    };
    let mut direction = Direction::new(&lossy, 1, 0);
    let mut lost = || -> Vec<bool> {
        direction.restart(0);
        (0..1_000)
            .map(|_| direction.arrive(0, 100) == Fate::Lost)
            .collect()
    };
    let first = lost();
    assert!(first.contains(&true));
    assert_eq!(first, lost());
}

#[test]
fn what_is_lost_does_not_fill_the_queue() {
    let lossy = DirectionSpec {
        loss: 0.5,
        buffer_packets: Some(3),
        ..spec()
    };
    let fates = burst(&lossy, 100, 1500);
    let kept = fates.iter().filter(|fate| matches!(fate, Fate::Leaves(_)));
    assert_eq!(kept.count(), 3);
}

#[test]
fn a_packet_that_comes_to_light_late_counts_as_of_now() {
    let mut direction = Direction::new(&spec(), 1, 0);
    direction.arrive(5 * MS, 1500);
    assert_eq!(direction.arrive(4 * MS, 1500), Fate::Leaves(7 * MS));
}

#[test]
fn problems_are_named() {
    let wrong = |change: fn(&mut DirectionSpec)| {
        let mut changed = spec();
        change(&mut changed);
        changed.problem().unwrap()
    };
    assert_eq!(spec().problem(), None);
    assert!(wrong(|s| s.drain = Drain::RateBps(10)).contains("rate_bps"));
    assert!(wrong(|s| s.drain = Drain::TraceMs(vec![])).contains("period"));
    assert!(wrong(|s| s.drain = Drain::TraceMs(vec![2, 1])).contains("ascend"));
    assert!(wrong(|s| s.delay_ns = -1).contains("delay_ms"));
    assert!(wrong(|s| s.buffer_bytes = Some(0)).contains("buffer_bytes"));
    assert!(wrong(|s| s.loss = f64::NAN).contains("loss"));
}

/// The same in small steps: every opportunity is walked through, and takes up what waits by then.
struct StepByStep {
    times_ms: Vec<u32>,
    next: usize,
    base_ms: i64,
    limit_bytes: u32,
    waiting: VecDeque<(usize, u32)>,
    begun: Option<(usize, u32)>,
    left_ms: Vec<Option<i64>>,
}

impl StepByStep {
    fn walk_to(&mut self, now_ms: i64) {
        loop {
            let moment_ms = self.base_ms + i64::from(self.times_ms[self.next]);
            if moment_ms > now_ms {
                break;
            }
            self.next = (self.next + 1) % self.times_ms.len();
            if self.next == 0 {
                self.base_ms += i64::from(self.times_ms[self.times_ms.len() - 1]);
            }
            let mut left = 1500;
            while left > 0 {
                let Some((number, missing)) =
                    self.begun.take().or_else(|| self.waiting.pop_front())
                else {
                    break;
                };
                let part = missing.min(left);
                left -= part;
                if part == missing {
                    self.left_ms[number] = Some(moment_ms);
                } else {
                    self.begun = Some((number, missing - part));
                }
            }
        }
    }

    fn arrive(&mut self, now_ms: i64, bytes: u32) {
        self.walk_to(now_ms);
        let before: u32 = self.waiting.iter().map(|(_, bytes)| bytes).sum();
        if before + bytes <= self.limit_bytes {
            self.waiting.push_back((self.left_ms.len(), bytes));
        }
        self.left_ms.push(None);
    }
}

#[test]
fn a_trace_does_what_its_opportunities_do_one_by_one() {
    for seed in 0..20 {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut times_ms: Vec<u32> = (0..200).map(|_| random.random_range(0..400)).collect();
        times_ms.sort_unstable();
        let mut expected = StepByStep {
            times_ms: times_ms.clone(),
            next: 0,
            base_ms: 0,
            limit_bytes: 9_000,
            waiting: VecDeque::new(),
            begun: None,
            left_ms: Vec::new(),
        };
        let traced = DirectionSpec {
            drain: Drain::TraceMs(times_ms),
            buffer_bytes: Some(9_000),
            ..spec()
        };
        let mut direction = Direction::new(&traced, 1, 0);
        let (mut now_ms, mut got_ms) = (0, Vec::new());
        for _ in 0..5_000 {
            // Bursts and pauses, around what the trace can carry.
            now_ms += random.random_range(0..5) * random.random_range(0..2);
            let bytes = random.random_range(40..=1500);
            expected.arrive(now_ms, bytes);
            got_ms.push(match direction.arrive(now_ms * MS, bytes) {
                Fate::Leaves(time_ns) => Some(time_ns / MS),
                _ => None,
            });
        }
        expected.walk_to(now_ms + 10_000);
        assert!(got_ms.iter().filter(|left| left.is_none()).count() > 100);
        assert_eq!(got_ms, expected.left_ms);
    }
}

//! The scheduler against closed forms, in virtual time.

use super::*;
use crate::switch::defects::DefectSpec;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const RATE_BPS: u64 = 100_000_000;
const FRAME_BYTES: u32 = 1518;
const FRAME_NS: i64 = 123_040;
const WEIGHTS: [f64; 4] = [0.1, 0.2, 0.3, 0.4];

fn config(scheduler: Kind) -> Config {
    Config {
        link_rate_bps: RATE_BPS,
        l1_overhead_bytes: 20,
        scheduler,
        weights: WEIGHTS.to_vec(),
        queue_frames: vec![50; 4],
        pcp_to_queue: [0, 0, 1, 1, 2, 2, 3, 3],
        quantum_bytes: 1518,
        defects: DefectSpec::default(),
        seed: 1,
    }
}

fn frame(pcp: u8, frame_bytes: u32, ingress: u16) -> Frame {
    Frame {
        handle: 0,
        frame_bytes,
        pcp,
        ingress,
    }
}

/// What left, and what was dropped from each ingress port.
struct Outcome {
    departures: Vec<Departure>,
    dropped: [u64; 8],
}

/// Sender `n` has priority `n` and sends frames of `bytes(n)` at `rate_bps` (layer 1), for
/// `duration_ns`; phases are spread.
fn offer(config: &Config, rate_bps: u64, duration_ns: i64, bytes: fn(u8) -> u32) -> Outcome {
    let mut arrivals: Vec<(i64, u8)> = Vec::new();
    for sender in 0..8_u8 {
        let gap_ns = (u64::from(bytes(sender)) + 20) * 8 * 1_000_000_000 / rate_bps;
        let phase = u64::from(sender) * gap_ns / 8;
        let times = (0..).map(|n| (phase + n * gap_ns) as i64);
        arrivals.extend(times.take_while(|t| *t < duration_ns).map(|t| (t, sender)));
    }
    arrivals.sort_unstable();
    let mut scheduler = Scheduler::new(config);
    let mut outcome = Outcome {
        departures: Vec::new(),
        dropped: [0; 8],
    };
    for (time_ns, sender) in arrivals {
        let next = frame(sender, bytes(sender), u16::from(sender));
        if let Arrival::Dropped(_) = scheduler.arrive(time_ns, next, &mut outcome.departures) {
            outcome.dropped[usize::from(sender)] += 1;
        }
    }
    outcome.departures.retain(|d| d.time_ns < duration_ns);
    outcome
}

fn saturate(config: &Config) -> Outcome {
    offer(config, 60_000_000, 4_000_000_000, |_| FRAME_BYTES)
}

/// Each queue's share of what left in the second half, by `measure`.
fn shares(departures: &[Departure], measure: fn(&Departure) -> u32) -> Vec<f64> {
    let half = &departures[departures.len() / 2..];
    let mut sums = [0.0; 4];
    for departure in half {
        sums[departure.queue] += f64::from(measure(departure));
    }
    let total: f64 = sums.iter().sum();
    sums.iter().map(|sum| sum / total).collect()
}

fn assert_near(got: &[f64], expected: &[f64], tolerance: f64) {
    for (value, wanted) in got.iter().zip(expected) {
        assert!(
            (value - wanted).abs() <= tolerance,
            "{got:?}, not {expected:?}"
        );
    }
}

#[test]
fn a_lone_frame_takes_its_serialisation() {
    let mut scheduler = Scheduler::new(&config(Kind::StrictPriority));
    let mut departures = Vec::new();
    scheduler.arrive(1_000, frame(0, FRAME_BYTES, 0), &mut departures);
    assert!(departures.is_empty());
    scheduler.advance(1_000, &mut departures);
    assert_eq!(departures[0].time_ns, 1_000 + FRAME_NS);
}

#[test]
fn rounding_never_adds_up() {
    let mut odd = config(Kind::StrictPriority);
    odd.link_rate_bps = 99_999_999;
    odd.queue_frames = vec![200_000; 4];
    let mut scheduler = Scheduler::new(&odd);
    let mut departures = Vec::new();
    for _ in 0..100_000 {
        scheduler.arrive(0, frame(0, 64, 0), &mut departures);
    }
    scheduler.advance(i64::MAX / 2, &mut departures);
    let exact = 100_000.0 * 84.0 * 8.0 * 1e9 / 99_999_999.0;
    assert!((departures[99_999].time_ns as f64 - exact).abs() < 2.0);
}

#[test]
fn a_decision_sees_every_frame_up_to_its_moment() {
    let mut scheduler = Scheduler::new(&config(Kind::StrictPriority));
    let mut departures = Vec::new();
    scheduler.arrive(0, frame(0, FRAME_BYTES, 0), &mut departures);
    scheduler.arrive(10, frame(0, FRAME_BYTES, 0), &mut departures);
    scheduler.arrive(FRAME_NS, frame(7, FRAME_BYTES, 0), &mut departures);
    scheduler.advance(3 * FRAME_NS, &mut departures);
    let order: Vec<u8> = departures.iter().map(|d| d.frame.pcp).collect();
    assert_eq!(order, [0, 7, 0]);
    // One that comes to light late counts as of the last decision, not before.
    scheduler.arrive(5, frame(7, FRAME_BYTES, 0), &mut departures);
    scheduler.advance(9 * FRAME_NS, &mut departures);
    assert_eq!(departures[3].time_ns, 4 * FRAME_NS);
}

#[test]
fn the_tail_is_dropped_beyond_the_limit() {
    let mut scheduler = Scheduler::new(&config(Kind::StrictPriority));
    let mut departures = Vec::new();
    // The first is in transmission by the time of the others and has left its queue.
    scheduler.arrive(0, frame(2, FRAME_BYTES, 0), &mut departures);
    let fates: Vec<Arrival> = (1..=51)
        .map(|t| scheduler.arrive(t, frame(2, FRAME_BYTES, 0), &mut departures))
        .collect();
    assert!(fates[..50].iter().all(|fate| *fate == Arrival::Queued(1)));
    assert_eq!(fates[50], Arrival::Dropped(1));
    // Another queue has room of its own.
    let other = scheduler.arrive(60, frame(0, FRAME_BYTES, 0), &mut departures);
    assert_eq!(other, Arrival::Queued(0));
}

#[test]
fn untagged_frames_are_of_priority_0() {
    let scheduler = Scheduler::new(&config(Kind::StrictPriority));
    assert_eq!(scheduler.queue_of(255), 0);
    assert_eq!(scheduler.queue_of(5), 2);
}

#[test]
fn strict_priority_starves_the_lower_queues() {
    // Queue 3 alone offers 120 % of the link.
    let outcome = saturate(&config(Kind::StrictPriority));
    let got = shares(&outcome.departures, |_| 1);
    assert_near(&got, &[0.0, 0.0, 0.0, 1.0], 0.0);
}

#[test]
fn strict_priority_leaves_the_rest_to_the_next() {
    // 8 x 20: queue 3 and queue 2 have their 40 %, queue 1 what is left, queue 0 nothing.
    let outcome = offer(
        &config(Kind::StrictPriority),
        20_000_000,
        4_000_000_000,
        |_| FRAME_BYTES,
    );
    let got = shares(&outcome.departures, |_| 1);
    assert_near(&got, &[0.0, 0.2, 0.4, 0.4], 0.002);
}

#[test]
fn every_discipline_conserves_work() {
    for kind in [Kind::StrictPriority, Kind::WrrPackets, Kind::WrrBytes] {
        let outcome = saturate(&config(kind));
        let gaps = outcome.departures.windows(2);
        assert!(
            gaps.clone()
                .all(|p| p[1].time_ns - p[0].time_ns == FRAME_NS)
        );
    }
}

#[test]
fn below_saturation_everything_passes() {
    for kind in [Kind::StrictPriority, Kind::WrrPackets, Kind::WrrBytes] {
        let outcome = offer(&config(kind), 12_000_000, 1_000_000_000, |_| FRAME_BYTES);
        assert_eq!(outcome.dropped, [0; 8]);
        assert_near(&shares(&outcome.departures, |_| 1), &[0.25; 4], 0.005);
    }
}

#[test]
fn weights_are_kept_at_saturation() {
    for kind in [Kind::WrrPackets, Kind::WrrBytes] {
        let outcome = saturate(&config(kind));
        assert_near(&shares(&outcome.departures, |_| 1), &WEIGHTS, 0.001);
    }
}

#[test]
fn what_a_queue_does_not_use_goes_to_the_others() {
    // 8 x 20: queue 0 and 1 are held to .1 : .2 of what queue 2 and 3 (40 and 40 asked) leave.
    let outcome = offer(&config(Kind::WrrPackets), 20_000_000, 4_000_000_000, |_| {
        FRAME_BYTES
    });
    // Water filling: 3 is content with .4; .6 over .1 .2 .3 gives .1 .2 .3.
    assert_near(&shares(&outcome.departures, |_| 1), &WEIGHTS, 0.002);
    let outcome = offer(&config(Kind::WrrPackets), 15_000_000, 4_000_000_000, |_| {
        FRAME_BYTES
    });
    // 2 and 3 are content with .3 each; .4 over .1 .2 gives .133 .267.
    let expected = [0.4 / 3.0, 0.8 / 3.0, 0.3, 0.3];
    assert_near(&shares(&outcome.departures, |_| 1), &expected, 0.002);
}

fn mixed(sender: u8) -> u32 {
    if sender < 4 { 1518 } else { 300 }
}

#[test]
fn bytes_or_frames_as_asked() {
    let by_frames = offer(&config(Kind::WrrPackets), 60_000_000, 4_000_000_000, mixed);
    assert_near(&shares(&by_frames.departures, |_| 1), &WEIGHTS, 0.002);
    let by_bytes = offer(&config(Kind::WrrBytes), 60_000_000, 4_000_000_000, mixed);
    assert_near(
        &shares(&by_bytes.departures, |d| d.frame.frame_bytes),
        &WEIGHTS,
        0.002,
    );
}

#[test]
fn defect_weights_per_packet() {
    let mut defective = config(Kind::WrrBytes);
    defective.defects.weights_per_packet = true;
    let outcome = offer(&defective, 60_000_000, 4_000_000_000, mixed);
    assert_near(&shares(&outcome.departures, |_| 1), &WEIGHTS, 0.002);
}

#[test]
fn defect_leak_goes_to_the_lowest_queue() {
    let mut defective = config(Kind::StrictPriority);
    defective.defects.leak = 0.05;
    let outcome = saturate(&defective);
    assert_near(
        &shares(&outcome.departures, |_| 1),
        &[0.05, 0.0, 0.0, 0.95],
        0.015,
    );
}

#[test]
fn defect_waste_loses_its_fraction() {
    let mut defective = config(Kind::StrictPriority);
    defective.defects.waste = 0.03;
    let outcome = saturate(&defective);
    let used = outcome.departures.len() as f64 * FRAME_NS as f64 / 4e9;
    assert!((used - 0.97).abs() < 0.0002, "{used}");
}

#[test]
fn defect_unfair_hurts_odd_ports_only() {
    let sound = saturate(&config(Kind::WrrPackets)).dropped;
    let mut defective = config(Kind::WrrPackets);
    defective.defects.unfair = 0.9;
    let unfair = saturate(&defective).dropped;
    let even = |dropped: [u64; 8]| dropped.iter().step_by(2).sum::<u64>();
    let odd = |dropped: [u64; 8]| dropped.iter().skip(1).step_by(2).sum::<u64>();
    // An odd port's frames pass with at most 0.1, those of its even neighbour fill the rest.
    let offered = 4 * (60_000_000 * 4 / (1538 * 8) + 1);
    let passed = |dropped: u64| (offered - dropped) as f64;
    let ratio = passed(odd(unfair)) / passed(even(unfair));
    assert!(ratio < 0.15, "{ratio}: {unfair:?}");
    let all = even(sound) + odd(sound);
    let difference = (even(unfair) + odd(unfair)).abs_diff(all);
    assert!(
        difference < all / 100,
        "the link stays busy: {unfair:?}, {sound:?}"
    );
}

#[test]
fn same_seed_same_departures() {
    let mut defective = config(Kind::StrictPriority);
    defective.defects.leak = 0.3;
    assert_eq!(
        saturate(&defective).departures,
        saturate(&defective).departures
    );
}

#[test]
fn mean_delay_of_the_top_queue_is_that_of_m_g_1() {
    let mut roomy = config(Kind::StrictPriority);
    roomy.queue_frames = vec![100_000; 4];
    let load = 0.8;
    let mut random = ChaCha8Rng::seed_from_u64(9);
    let mut scheduler = Scheduler::new(&roomy);
    let mut departures = Vec::new();
    let mut arrived = Vec::new();
    let mut time = 0.0;
    for handle in 0..400_000 {
        time -= (1.0 - random.random::<f64>()).ln() * FRAME_NS as f64 / load;
        let mut next = frame(random.random_range(0..8), FRAME_BYTES, 0);
        next.handle = handle;
        arrived.push(time as i64);
        scheduler.arrive(time as i64, next, &mut departures);
    }
    let delays: Vec<f64> = departures
        .iter()
        .filter(|d| d.queue == 3)
        .map(|d| (d.time_ns - arrived[d.frame.handle as usize]) as f64)
        .collect();
    let mean = delays.iter().sum::<f64>() / delays.len() as f64;
    let service = FRAME_NS as f64;
    let expected = load * service / 2.0 / (1.0 - load / 4.0) + service;
    assert!(
        (mean / expected - 1.0).abs() < 0.01,
        "{mean} for {expected}"
    );
}

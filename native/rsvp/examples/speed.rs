//! Prints how many full PATH and RESV messages one core decodes and encodes in a second of its time. Wants `--release`.
//!
//! Seconds are those in which this thread ran: other work on the machine is not counted.

#[path = "../tests/samples/mod.rs"]
mod samples;

use std::hint::black_box;
use std::time::Duration;

use rackproof_rsvp::Packet;

/// Measured this often; the median counts.
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_millis(200);
const BATCH: u32 = 1024;

/// How long this thread has run.
fn running_time() -> Duration {
    let times =
        std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux says how long");
    let nanoseconds = times.split(' ').next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanoseconds.expect("the first number is in nanoseconds"))
}

/// Messages per second of the median round.
fn rate(mut one: impl FnMut()) -> f64 {
    let mut rates = Vec::new();
    for _ in 0..ROUNDS {
        let (start, mut count) = (running_time(), 0);
        let elapsed = loop {
            (0..BATCH).for_each(|_| one());
            count += BATCH;
            let elapsed = running_time() - start;
            if elapsed >= ROUND {
                break elapsed;
            }
        };
        rates.push(f64::from(count) / elapsed.as_secs_f64());
    }
    rates.sort_by(f64::total_cmp);
    rates[ROUNDS / 2]
}

fn main() {
    for (name, message) in [
        ("PATH", samples::path()),
        ("RESV", samples::resv_fixed_filter()),
    ] {
        let packet = Packet::Message(message);
        let mut bytes = Vec::new();
        packet.encode(&mut bytes).expect("a sample encodes");
        let decoded = rate(|| {
            black_box(Packet::decode(black_box(&bytes))).expect("a sample decodes");
        });
        let mut out = Vec::with_capacity(bytes.len());
        let encoded = rate(|| {
            out.clear();
            black_box(&packet)
                .encode(black_box(&mut out))
                .expect("a sample encodes");
        });
        println!(
            "{name} of {} bytes: {decoded:.0} messages/s decoded, {encoded:.0} messages/s encoded",
            bytes.len()
        );
    }
}

//! Whatever comes, the engine goes on.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::lsp::spec::Probing;

/// With RACKPROOF_LONG=1 a hundred times as many.
const ROUNDS: usize = 2_000;

#[test]
fn changed_messages_do_no_harm() {
    let mut asked = signalling(3, 3);
    asked.hello_s = 5.0;
    asked.probing = Some(Probing {
        fps: 10.0,
        gap_us: 500.0,
        gap_s: 0.01,
        frame_bytes: 128,
    });
    let mut bench = Bench::new(&asked);
    bench.flags = 1;
    let sent = bench.settle(40 * S);
    let mut frames: Vec<Vec<u8>> = std::mem::take(&mut bench.probes);
    for sent in &sent {
        let mut payload = vec![];
        Packet::Message(sent.message.clone())
            .encode(&mut payload)
            .unwrap();
        // Without a checksum, so that what is changed is read.
        payload[2..4].fill(0);
        let own = bench.engine.links[1 - sent.end].addresses.own;
        let ip = Ipv4Header {
            destination: own,
            ..sent.ip
        };
        let mut frame = vec![2; 12];
        frame.extend([8, 0]);
        ip.encode(&payload, &mut frame).unwrap();
        frames.push(frame);
    }
    let is_long = std::env::var("RACKPROOF_LONG").is_ok_and(|long| long == "1");
    let rounds = if is_long { 100 * ROUNDS } else { ROUNDS };
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for round in 0..rounds {
        let mut frame = frames[random.random_range(0..frames.len())].clone();
        for _ in 0..random.random_range(0..4) {
            let at = random.random_range(34.min(frame.len() - 1)..frame.len());
            frame[at] = random.random();
        }
        bench.now += random.random_range(0..100 * MS);
        let now = bench.now;
        bench.engine.receive(now, round % 2, &frame);
        bench.run(now);
        bench.sent.clear();
    }
    let counters = bench.engine.counters();
    assert!(counters["malformed"] > 100 && counters["foreign"] > 100);
    assert!(bench.engine.instances.len() == 6);
}

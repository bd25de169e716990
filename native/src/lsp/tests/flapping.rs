//! Flaps, tears that are late or lost, and probes.

use super::*;
use crate::lsp::Phases;
use crate::lsp::log::{Event, PROBE};
use crate::lsp::spec::{Flaps, Probing};

fn flaps(prior_s: f64, windows_s: &[f64]) -> Flaps {
    Flaps {
        prior_s,
        windows_s: windows_s.to_vec(),
        drain_s: 1.0,
    }
}

fn begin(bench: &mut Bench, flaps: &Flaps) {
    let phases = Phases::new(flaps, bench.now).unwrap();
    assert!(bench.engine.flap(phases, bench.now));
}

fn kinds(records: &[Record], kind: Event) -> Vec<Record> {
    records
        .iter()
        .filter(|record| record.port == 2001 + kind as u16)
        .copied()
        .collect()
}

#[test]
fn each_window_tears_the_flapped_ones_and_sets_them_up_again() {
    let mut bench = Bench::new(&signalling(2, 3));
    bench.settle(S);
    let before = bench.engine.state().labels;
    bench.records();
    begin(&mut bench, &flaps(2.0, &[5.0, 2.0]));
    assert!(bench.engine.is_flapping());
    bench.settle(20 * S);
    assert!(!bench.engine.is_flapping());
    let records = bench.records();
    let at = |kind| {
        kinds(&records, kind)
            .iter()
            .map(|record| (record.tx_ns / S, record.sequence))
            .collect::<Vec<_>>()
    };
    assert_eq!(at(Event::FlapBegin), [(3, 1), (8, 2)]);
    assert_eq!(at(Event::FlapEnd), [(8, 1), (10, 2)]);
    let torn: Vec<u16> = kinds(&records, Event::TearSent)
        .iter()
        .map(|record| record.stream)
        .collect();
    assert_eq!(torn, [2, 3, 4, 2, 3, 4]);
    assert_eq!(kinds(&records, Event::TearReceived).len(), 6);
    assert_eq!(kinds(&records, Event::ResvReceived).len(), 6);
    let after = bench.engine.state().labels;
    assert_eq!(after.len(), 5);
    assert!(after[&0] == before[&0] && after[&2] != before[&2]);
    assert_eq!(bench.engine.counters()["lsp_flap_count"], 6);
}

#[test]
fn the_next_instance_waits_for_the_tear_to_be_seen() {
    let mut bench = Bench::new(&signalling(0, 1));
    bench.settle(S);
    bench.records();
    begin(&mut bench, &flaps(0.0, &[5.0]));
    let mut tear = None;
    bench.run_with(S + 400 * MS, |_, sent| tear = Some(sent.clone()));
    assert_eq!(bench.records().len(), 2);
    bench.pass_on(&tear.unwrap());
    bench.settle(S + 500 * MS);
    let records = bench.records();
    let seen = kinds(&records, Event::TearReceived)[0];
    let path = kinds(&records, Event::PathSent)[0];
    assert_eq!((seen.tx_ns, path.tx_ns), (S + 400 * MS, S + 400 * MS));
    assert_ne!(seen.frame_bytes, path.frame_bytes);
}

#[test]
fn a_lost_tear_is_repeated_given_up_and_its_refreshes_are_stale() {
    let mut bench = Bench::new(&signalling(0, 1));
    let sent = bench.settle(S);
    let old = of(MessageType::Path, &sent)[0].clone();
    begin(&mut bench, &flaps(0.0, &[8.0]));
    bench.records();
    bench.run_with(8 * S, |bench, sent| {
        if sent.message.kind != MessageType::PathTear {
            bench.pass_on(sent);
        }
    });
    let records = bench.records();
    let repeats: Vec<u8> = kinds(&records, Event::TearSent)
        .iter()
        .map(|record| record.pcp)
        .collect();
    assert_eq!(repeats, [0, 1, 2, 3]);
    let gave_up = kinds(&records, Event::GaveUp)[0];
    assert_eq!((gave_up.sequence, gave_up.tx_ns), (1, 5 * S));
    assert_eq!(bench.engine.state().up, 1);
    assert_eq!(bench.engine.standing().len(), 2);
    bench.pass_on(&old);
    let stale = bench.records();
    assert_eq!(stale[0].port, 2001 + Event::StaleRefresh as u16);
    assert_eq!(stale[0].frame_bytes, gave_up.frame_bytes);
}

#[test]
fn a_device_that_still_tears_down_is_not_sent_its_paths_again() {
    // One tear each 0.4 s, in their order, and nothing else until all are done.
    let mut bench = Bench::new(&signalling(0, 8));
    bench.settle(S);
    begin(&mut bench, &flaps(0.0, &[20.0]));
    let mut tears = vec![];
    bench.run_with(S + 100 * MS, |_, sent| tears.push(sent.clone()));
    bench.records();
    for (number, tear) in tears.iter().enumerate() {
        bench.run(S + (number as i64 + 1) * 400 * MS);
        bench.pass_on(tear);
    }
    // Then the PATHs as slowly, the answers to all of them after that.
    let until_ns = bench.now + 100 * MS;
    bench.run(until_ns);
    let is_new = |sent: &&Sent| sent.at_ns >= S && sent.message.kind == MessageType::Path;
    let paths: Vec<Sent> = bench.sent.iter().filter(is_new).cloned().collect();
    assert_eq!((tears.len(), paths.len()), (8, 8));
    for path in &paths {
        let until_ns = bench.now + 400 * MS;
        bench.run(until_ns);
        bench.pass_on(path);
    }
    assert_eq!(bench.engine.counters()["retries"], 0);
}

#[test]
fn a_tear_that_comes_twice_counts_twice_and_sets_up_once() {
    let mut bench = Bench::new(&signalling(0, 1));
    bench.settle(S);
    bench.records();
    begin(&mut bench, &flaps(0.0, &[5.0]));
    bench.run_with(3 * S, |bench, sent| {
        bench.pass_on(sent);
        if sent.message.kind == MessageType::PathTear {
            bench.pass_on(sent);
        }
    });
    let records = bench.records();
    let tears: Vec<u8> = kinds(&records, Event::TearReceived)
        .iter()
        .map(|record| record.pcp)
        .collect();
    assert_eq!(tears, [0, 1]);
    assert_eq!(kinds(&records, Event::PathSent).len(), 1);
}

#[test]
fn everything_is_torn_down_at_the_end() {
    let mut bench = Bench::new(&signalling(3, 2));
    bench.settle(S);
    bench.engine.tear_all(bench.now);
    assert_eq!(bench.engine.tearing(), 5);
    let sent = bench.settle(2 * S);
    assert_eq!(of(MessageType::PathTear, &sent).len(), 5);
    assert_eq!(
        (bench.engine.tearing(), bench.engine.standing().len()),
        (0, 0)
    );
    assert!(bench.settle(200 * S).is_empty());
}

fn with_probes(stable: u32, flapped: u32) -> Signalling {
    let mut asked = signalling(stable, flapped);
    asked.probing = Some(Probing {
        fps: 100.0,
        gap_us: 500.0,
        gap_s: 0.2,
        frame_bytes: 128,
    });
    asked
}

#[test]
fn probes_follow_a_resv_until_the_first_has_come() {
    let mut bench = Bench::new(&with_probes(0, 1));
    bench.settle(MS);
    bench.now = MS;
    bench.settle(MS + 100_000);
    let probes: Vec<Vec<u8>> = std::mem::take(&mut bench.probes);
    assert_eq!(probes.len(), 3);
    // Label 1016, class 0, bottom, TTL 64; with FCS 128 bytes.
    assert_eq!(
        (probes[0].len(), &probes[0][12..18]),
        (124, &[0x88, 0x47, 0x00, 0x3f, 0x81, 0x40][..])
    );
    let mut swapped = probes[2].clone();
    swapped[14..18].copy_from_slice(&[0, 1, 1, 63]);
    bench.engine.receive(MS + 200_000, EGRESS, &swapped);
    bench.engine.receive(MS + 300_000, EGRESS, &swapped);
    bench.settle(S);
    assert!(bench.probes.is_empty());
    let records = bench.records();
    let came: Vec<(i64, u32, u8)> = records
        .iter()
        .filter(|record| record.port == PROBE)
        .map(|record| (record.rx_ns, record.sequence, record.pcp))
        .collect();
    assert_eq!(came, [(0, 0, 2), (0, 0, 2), (MS + 200_000, 0x0001_013f, 2)]);
    assert_eq!(bench.engine.counters()["probes_duplicate"], 1);
}

#[test]
fn rows_of_many_lsps_share_what_there_is() {
    let mut bench = Bench::new(&with_probes(400, 0));
    bench.settle(150 * MS);
    bench.now = 150 * MS;
    bench.probes.clear();
    bench.settle(200 * MS);
    // 20,000 a second, and the first of each LSP that came up meanwhile.
    let sent = bench.probes.len();
    assert!((900..1200).contains(&sent), "{sent}");
}

#[test]
fn in_turn_and_with_the_old_label_after_the_tear() {
    let mut bench = Bench::new(&with_probes(2, 2));
    bench.settle(S);
    bench.probes.clear();
    bench.records();
    begin(&mut bench, &flaps(1.0, &[2.0]));
    bench.run_with(4 * S, |bench, sent| {
        if sent.message.kind != MessageType::Path {
            bench.pass_on(sent);
        }
    });
    let records = bench.records();
    let probes: Vec<&Record> = records
        .iter()
        .filter(|record| record.port == PROBE)
        .collect();
    let of_lsp = |lsp: u16| probes.iter().filter(|record| record.stream == lsp).count();
    // Stable ones once a second, the others share what is left: 98 a second.
    assert!((3..=4).contains(&of_lsp(0)), "{}", of_lsp(0));
    assert!((140..=150).contains(&of_lsp(2)), "{}", of_lsp(2));
    let torn: Vec<&&Record> = probes.iter().filter(|record| record.pcp == 1).collect();
    let tear = kinds(&records, Event::TearSent)[0];
    assert!(
        torn.iter()
            .all(|record| record.tx_ns >= tear.tx_ns && record.stream >= 2)
    );
    assert!(
        torn.iter()
            .any(|record| record.frame_bytes == tear.frame_bytes)
    );
    assert!(
        probes
            .iter()
            .filter(|record| record.stream == 2)
            .all(|record| (record.tx_ns < tear.tx_ns) == (record.pcp == 0))
    );
}

#[test]
fn a_probe_without_label_where_the_device_pops() {
    let mut asked = with_probes(0, 1);
    asked.labels = "implicit-null".to_owned();
    let mut bench = Bench::new(&asked);
    bench.run_with(MS, |bench, sent| {
        if sent.message.kind != MessageType::Resv {
            return bench.pass_on(sent);
        }
        let mut message = sent.message.clone();
        for object in &mut message.objects {
            if let Object::Hop(hop) = object {
                hop.address = WEST;
            }
        }
        bench.arrive(INGRESS, WEST, 255, message);
    });
    let probe = bench.probes[0].clone();
    assert_eq!((probe.len(), &probe[12..15]), (124, &[8, 0, 0x45][..]));
    bench.engine.receive(2 * MS, EGRESS, &probe);
    let records = bench.records();
    let came = records.iter().find(|record| record.rx_ns > 0).unwrap();
    assert_eq!((came.rx_ns, came.sequence), (2 * MS, 0));
}

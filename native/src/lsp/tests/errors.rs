//! What does not come up, and what is lost again.

use rackproof_rsvp::ErrorSpec;

use super::*;
use crate::lsp::log::Event;

fn error(code: u8, value: u16) -> Object {
    Object::ErrorSpec(ErrorSpec {
        node: WEST,
        flags: 0,
        code,
        value,
        interfaces: None,
    })
}

#[test]
fn a_path_without_answer_is_sent_again_and_given_up() {
    let mut bench = Bench::new(&signalling(1, 0));
    let sent = bench.run(20 * S);
    let times: Vec<i64> = of(MessageType::Path, &sent)
        .iter()
        .map(|sent| sent.at_ns / S)
        .collect();
    assert_eq!(times, [0, 1, 2, 3]);
    let records = bench.records();
    let repeats: Vec<u8> = records.iter().map(|record| record.pcp).collect();
    assert_eq!(repeats, [0, 1, 2, 3, 0]);
    assert_eq!(
        (records[4].port, records[4].tx_ns),
        (2001 + Event::GaveUp as u16, 4 * S)
    );
    assert_eq!(bench.engine.state().refused["no answer to PATH"], 1);
    // It may still come up: its PATH is refreshed.
    assert!(!of(MessageType::Path, &bench.run(60 * S)).is_empty());
}

#[test]
fn a_device_at_work_is_not_given_more() {
    // One answer each 0.9 s for five LSPs: nothing is sent twice.
    let mut bench = Bench::new(&signalling(5, 0));
    let mut late = vec![];
    bench.run_with(100 * MS, |_, sent| late.push(sent.clone()));
    for (number, sent) in late.clone().into_iter().enumerate() {
        bench.run((number as i64 + 1) * 900 * MS);
        bench.pass_on(&sent);
        bench.settle(bench.now + MS);
    }
    assert_eq!(of(MessageType::Path, &bench.sent).len(), 5);
    assert_eq!(bench.engine.state().up, 5);
}

#[test]
fn a_resv_that_was_lost_follows_the_next_path() {
    let mut bench = Bench::new(&signalling(1, 0));
    let mut lost = 0;
    bench.run_with(3 * S, |bench, sent| {
        if sent.message.kind == MessageType::Resv && lost == 0 {
            lost += 1;
        } else {
            bench.pass_on(sent);
        }
    });
    assert_eq!(bench.engine.state().up, 1);
    let sent = bench.events(Event::ResvSent);
    assert_eq!(
        sent.iter().map(|(at, ..)| at / S).collect::<Vec<_>>(),
        [0, 1]
    );
}

#[test]
fn a_path_err_refuses_and_is_not_asked_again() {
    let mut bench = Bench::new(&signalling(2, 0));
    let sent = bench.run_with(10 * S, |bench, sent| {
        let mut objects = sent.message.objects.clone();
        objects.retain(|object| [1, 11, 12].contains(&object.class_and_type().0));
        objects.insert(1, error(24, 5));
        let err = Message {
            kind: MessageType::PathErr,
            objects,
            ..sent.message.clone()
        };
        bench.arrive(INGRESS, WEST, 254, err);
    });
    assert_eq!(of(MessageType::Path, &sent).len(), 2);
    let state = bench.engine.state();
    assert_eq!(
        state.refused["PATH_ERR: routing problem (code 24, value 5)"],
        2
    );
    assert_eq!(bench.events(Event::PathErr)[1].2, 24 << 16 | 5);
}

#[test]
fn a_resv_err_is_shown() {
    let mut bench = Bench::new(&signalling(1, 0));
    bench.run_with(S / 2, |bench, sent| {
        if sent.message.kind == MessageType::Path {
            return bench.pass_on(sent);
        }
        let mut objects = sent.message.objects.clone();
        objects.retain(|object| [1, 3, 8, 9, 10].contains(&object.class_and_type().0));
        objects.insert(2, error(6, 0));
        let err = Message {
            kind: MessageType::ResvErr,
            objects,
            ..sent.message.clone()
        };
        bench.arrive(EGRESS, EAST, 254, err);
    });
    assert_eq!(
        bench.engine.state().refused["RESV_ERR: unknown reservation style (code 6, value 0)"],
        1
    );
    assert_eq!(bench.events(Event::ResvErr), [(0, 0, 6 << 16)]);
}

#[test]
fn an_lsp_that_the_other_side_gives_up_is_seen_and_may_come_back() {
    let mut bench = Bench::new(&signalling(1, 0));
    let sent = bench.settle(S);
    let resv = of(MessageType::Resv, &sent)[0].clone();
    let mut objects = resv.message.objects.clone();
    objects.retain(|object| [1, 3, 8, 10].contains(&object.class_and_type().0));
    let tear = Message {
        kind: MessageType::ResvTear,
        objects,
        ..resv.message.clone()
    };
    bench.arrive(INGRESS, WEST, 254, tear);
    assert_eq!(bench.engine.state().up, 0);
    assert_eq!(bench.events(Event::ResvTear), [(S, 0, 0)]);
    bench.pass_on(&resv);
    assert_eq!(bench.engine.state().up, 1);
    assert_eq!(bench.events(Event::ResvReceived).len(), 1);
}

#[test]
fn stumps_and_strangers_are_counted_and_change_nothing() {
    let mut bench = Bench::new(&signalling(1, 0));
    let sent = bench.settle(S);
    let mut stranger = sent[1].clone();
    for object in &mut stranger.message.objects {
        if let Object::FilterSpec(lsp) = object {
            lsp.lsp_id ^= 0x5555;
        }
    }
    bench.pass_on(&stranger);
    let mut frame = vec![2; 12];
    frame.extend([
        8, 0, 0x45, 0, 0, 20, 0, 0, 0, 0, 64, 46, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8,
    ]);
    bench.engine.receive(S, INGRESS, &frame);
    let counters = bench.engine.counters();
    assert_eq!((counters["foreign"], counters["malformed"]), (1, 1));
    assert_eq!(bench.engine.state().up, 1);
}

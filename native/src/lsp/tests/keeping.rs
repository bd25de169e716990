//! Refreshes, lifetimes, HELLO, and what an earlier run has left.

use rackproof_rsvp::{Hello, HelloKind};

use super::*;
use crate::lsp::Phases;
use crate::lsp::log::Event;
use crate::lsp::messages::Name;
use crate::lsp::spec::{Flaps, Probing};

#[test]
fn both_sides_refresh_with_jitter() {
    let mut bench = Bench::new(&signalling(50, 0));
    bench.settle(S);
    let sent = bench.settle(601 * S);
    for kind in [MessageType::Path, MessageType::Resv] {
        let of_first = |sent: &&&Sent| sent.message.session().unwrap().tunnel_id == 1;
        let all = of(kind, &sent);
        // 600 s of 30 s each, 50 LSPs: 1000 on average.
        assert!((900..1100).contains(&all.len()), "{}", all.len());
        let times: Vec<i64> = all.iter().filter(of_first).map(|sent| sent.at_ns).collect();
        assert!(
            times
                .windows(2)
                .all(|two| (15 * S..=45 * S).contains(&(two[1] - two[0])))
        );
    }
}

#[test]
fn a_state_ends_five_and_a_quarter_periods_after_its_last_refresh() {
    let mut bench = Bench::new(&signalling(1, 0));
    bench.settle(S);
    bench.run(157 * S);
    assert_eq!(bench.engine.state().up, 1);
    bench.records();
    bench.run(160 * S);
    let records = bench.records();
    let expired: Vec<(u32, i64)> = records
        .iter()
        .map(|record| (record.sequence, record.tx_ns / S))
        .collect();
    assert_eq!(expired, [(0, 158), (1, 158)]);
    assert_eq!(bench.engine.state().up, 0);
    assert_eq!(bench.engine.counters()["expired"], 2);
}

#[test]
fn refreshes_of_the_device_keep_states_up() {
    let mut bench = Bench::new(&signalling(3, 0));
    bench.settle(1000 * S);
    assert_eq!(bench.engine.state().up, 3);
    assert_eq!(bench.engine.counters()["expired"], 0);
    // Refreshes are no events.
    assert_eq!(bench.events(Event::PathSent).len(), 3);
}

fn hello(kind: HelloKind, source_instance: u32) -> Message {
    let hello = Hello {
        kind,
        source_instance,
        destination_instance: 0,
    };
    Message {
        header: Default::default(),
        kind: MessageType::Hello,
        objects: vec![Object::Hello(hello)],
    }
}

#[test]
fn hello_is_always_answered() {
    let mut bench = Bench::new(&signalling(1, 0));
    bench.arrive(INGRESS, WEST, 1, hello(HelloKind::Request, 41));
    let sent = bench.run(MS);
    let answer = of(MessageType::Hello, &sent)[0];
    assert_eq!((answer.ip.destination, answer.ip.ttl), (WEST, 1));
    let expected = Hello {
        kind: HelloKind::Ack,
        source_instance: 77,
        destination_instance: 41,
    };
    assert_eq!(answer.message.objects, [Object::Hello(expected)]);
}

#[test]
fn hello_is_originated_where_asked_for_and_a_silent_neighbour_is_missed_once() {
    let mut asked = signalling(1, 0);
    asked.hello_s = 9.0;
    let mut bench = Bench::new(&asked);
    bench.run_with(20 * S, |bench, sent| {
        if sent.message.kind == MessageType::Hello && sent.end == INGRESS {
            bench.arrive(INGRESS, WEST, 1, hello(HelloKind::Ack, 41));
        }
    });
    assert_eq!(bench.engine.counters()["hellos_tx"], 6);
    bench.run(100 * S);
    assert_eq!(bench.engine.counters()["hello_losses"], 1);
    bench.arrive(INGRESS, WEST, 1, hello(HelloKind::Ack, 42));
    assert_eq!(bench.engine.counters()["neighbour_restarts"], 1);
}

#[test]
fn what_an_earlier_run_left_is_torn_down_first_and_its_ids_are_not_used() {
    let mut earlier = Bench::new(&signalling(3, 0));
    earlier.settle(S);
    let left = earlier.engine.standing();
    assert_eq!(left.len(), 3);

    let asked = signalling(3, 0);
    let mut engine = Engine::new(Spec::new(&asked).unwrap(), [[2; 6]; 2], 78, 1000).unwrap();
    engine.tear_left(&left, 0);
    let mut bench = Bench::new(&asked);
    let fresh = std::mem::replace(&mut bench.engine, engine);
    bench.engine.start(0);
    bench.engine.links = fresh.links;
    bench.engine.receive(
        0,
        INGRESS,
        &Arp::new(WEST, [4; 6]).request(Ipv4Addr::new(10, 83, 0, 2)),
    );
    let sent = bench.settle(S);
    let messages: Vec<MessageType> = sent
        .iter()
        .filter(|sent| sent.end == INGRESS)
        .map(|sent| sent.message.kind)
        .take(4)
        .collect();
    assert_eq!(messages[..3], [MessageType::PathTear; 3]);
    let torn: Vec<Name> = sent[..3]
        .iter()
        .map(|sent| Name {
            tunnel_id: sent.message.session().unwrap().tunnel_id,
            lsp_id: sent.message.sender_template().unwrap().lsp_id,
        })
        .collect();
    assert_eq!(torn, left);
    assert!(
        bench
            .engine
            .standing()
            .iter()
            .all(|name| !left.contains(name))
    );
    assert_eq!(
        (
            bench.engine.counters()["left_tears_rx"],
            bench.engine.state().up
        ),
        (3, 3)
    );
}

#[test]
fn torn_down_before_the_neighbours_are_found_nothing_is_set_up() {
    let asked = signalling(3, 0);
    let mut engine = Engine::new(Spec::new(&asked).unwrap(), [[2; 6]; 2], 78, 1000).unwrap();
    let left = Name {
        tunnel_id: 5,
        lsp_id: 6,
    };
    engine.tear_left(&[left], 0);
    engine.start(0);
    engine.tear_all(0);
    let mut bench = Bench::new(&asked);
    std::mem::swap(&mut bench.engine, &mut engine);
    bench.engine.links = engine.links;
    let question = Arp::new(WEST, [4; 6]).request(Ipv4Addr::new(10, 83, 0, 2));
    bench.engine.receive(0, INGRESS, &question);
    let kinds: Vec<MessageType> = bench
        .settle(S)
        .iter()
        .map(|sent| sent.message.kind)
        .collect();
    assert_eq!(kinds, [MessageType::PathTear]);
    assert!(bench.engine.standing().is_empty());
}

#[test]
fn without_lsps_the_ends_answer_and_phases_go_by() {
    let mut asked = signalling(0, 0);
    asked.probing = Some(Probing {
        fps: 100.0,
        gap_us: 500.0,
        gap_s: 0.2,
        frame_bytes: 128,
    });
    let mut bench = Bench::new(&asked);
    let flaps = Flaps {
        prior_s: 1.0,
        windows_s: vec![1.0],
        drain_s: 0.0,
    };
    assert!(bench.engine.flap(Phases::new(&flaps, 0).unwrap(), 0));
    bench.arrive(INGRESS, WEST, 1, hello(HelloKind::Request, 41));
    assert_eq!(bench.run(3 * S).len(), 1);
    assert!(bench.probes.is_empty() && !bench.engine.is_flapping());
    assert_eq!(bench.events(Event::FlapEnd).len(), 1);
}

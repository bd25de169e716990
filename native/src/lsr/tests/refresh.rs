//! Refreshes, ends of lifetimes, neighbours, and how long control takes.

use rackproof_rsvp::{
    Acknowledgement, Hello, HelloKind, MessageId, MessageIdList, MessageType, Object, Style,
};

use super::fixture::*;
use crate::lsr::router::Router;
use crate::lsr::spec::Options;

fn steps(router: &mut Router, from_ms: i64, to_ms: i64) -> Vec<MessageType> {
    let mut all = Vec::new();
    for now_ms in from_ms..to_ms {
        all.extend(kinds(router, now_ms * MS));
    }
    all
}

fn count(all: &[MessageType], kind: MessageType) -> usize {
    all.iter().filter(|one| **one == kind).count()
}

#[test]
fn states_are_refreshed_both_ways_and_end_when_nobody_refreshes_them() {
    let mut router = router(Options::default());
    established(&mut router, 0, 1);
    let mut all = Vec::new();
    for second in 0..20 {
        all.extend(steps(&mut router, second * 1000 + 2, second * 1000 + 999));
        give(
            &mut router,
            (second + 1) * 1000 * MS,
            MessageType::Path,
            path(1),
        );
        let refresh = resv(1, 1000, Style::SHARED_EXPLICIT);
        give(
            &mut router,
            (second + 1) * 1000 * MS,
            MessageType::Resv,
            refresh,
        );
    }
    for kind in [MessageType::Path, MessageType::Resv] {
        assert!((15..=26).contains(&count(&all, kind)), "{kind:?}");
    }
    assert_eq!(counter(&router, "lsps"), 1);
    // (3 + 0.5) * 1.5 R = 5.25 R.
    let rest = steps(&mut router, 20_001, 25_249);
    assert_eq!(count(&rest, MessageType::PathTear), 0);
    let end = steps(&mut router, 25_249, 25_252);
    assert!(count(&end, MessageType::PathTear) == 1 || count(&end, MessageType::ResvTear) == 1);
    steps(&mut router, 25_252, 25_300);
    assert_eq!(counter(&router, "lsps"), 0);
    assert_eq!(counter(&router, "rsvp.labels"), 0);
    assert_eq!(router.next_ns().filter(|due| *due < 25_300 * MS), None);
}

#[test]
fn a_path_sent_again_too_soon_is_answered_or_passed_on() {
    let mut router = router(Options::default());
    give(&mut router, 0, MessageType::Path, path(1));
    give(&mut router, MS, MessageType::Path, path(1));
    assert_eq!(kinds(&mut router, MS), [MessageType::Path; 2]);
    give(
        &mut router,
        MS,
        MessageType::Resv,
        resv(1, 1000, Style::FIXED_FILTER),
    );
    give(&mut router, 2 * MS, MessageType::Path, path(1));
    assert_eq!(kinds(&mut router, 2 * MS), [MessageType::Resv; 2]);
}

#[test]
fn acknowledged_when_taken_and_refreshed_by_name() {
    let id = |identifier| MessageId {
        flags: MessageId::ACK_DESIRED,
        epoch: 5,
        identifier,
    };
    let mut router = router(Options {
        path_us: 1000.0,
        ..Options::default()
    });
    let mut objects = path(1);
    objects.insert(0, Object::MessageId(id(42)));
    give(&mut router, 0, MessageType::Path, objects);
    let (to, answer) = sent(&mut router, 0).remove(0);
    assert_eq!((to, answer.kind), (BEFORE, MessageType::Ack));
    let said = MessageId { flags: 0, ..id(42) };
    assert_eq!(
        answer.objects,
        [Object::MessageIdAck(Acknowledgement::Ack, said)]
    );
    let onward = sent(&mut router, 2 * MS).remove(0).1;
    assert!(
        !onward
            .objects
            .iter()
            .any(|object| matches!(object, Object::MessageId(_)))
    );

    let mut named = Vec::new();
    for second in 1..12 {
        let list = MessageIdList {
            flags: 0,
            epoch: 5,
            identifiers: vec![42, 43],
        };
        let objects = vec![Object::MessageIdList(list)];
        let bytes = packet(MessageType::Srefresh, objects, BEFORE);
        router.receive(second * 1000 * MS, 0, &bytes);
        named.extend(sent(&mut router, second * 1000 * MS + MS));
    }
    assert_eq!(counter(&router, "lsps"), 1);
    let nack = MessageId { flags: 0, ..id(43) };
    let refused = Object::MessageIdAck(Acknowledgement::Nack, nack);
    assert!(
        named
            .iter()
            .any(|(_, message)| message.objects == [refused.clone()])
    );
}

#[test]
fn hello_does_not_wait() {
    let mut router = router(Options {
        path_us: 1e6,
        ..Options::default()
    });
    give(&mut router, 0, MessageType::Path, path(1));
    let hello = |kind, source_instance, destination_instance| {
        Object::Hello(Hello {
            kind,
            source_instance,
            destination_instance,
        })
    };
    let asked = vec![hello(HelloKind::Request, 3, 0)];
    router.receive(MS, 0, &packet(MessageType::Hello, asked, BEFORE));
    let (to, answer) = sent(&mut router, MS).remove(0);
    assert_eq!((to, answer.header.ttl), (BEFORE, 1));
    assert_eq!(answer.objects, [hello(HelloKind::Ack, 77, 3)]);
}

#[test]
fn control_takes_its_time_and_a_refresh_takes_little_of_it() {
    let mut router = router(Options {
        path_us: 2000.0,
        resv_us: 5000.0,
        tear_us: 1000.0,
        queue: 3,
        ..Options::default()
    });
    for lsp_id in 1..=6 {
        give(&mut router, 0, MessageType::Path, path(lsp_id));
    }
    assert_eq!(counter(&router, "rsvp.drop.queue"), 2);
    assert_eq!(counter(&router, "rsvp.queue.high_water"), 3);
    assert_eq!(router.works_since(MS), Some(0));
    assert_eq!(kinds(&mut router, 2 * MS - 1).len(), 0);
    assert_eq!(kinds(&mut router, 2 * MS).len(), 1);
    assert_eq!(kinds(&mut router, 8 * MS).len(), 3);
    give(&mut router, 1000 * MS, MessageType::Path, path(1));
    give(
        &mut router,
        1000 * MS,
        MessageType::Resv,
        resv(1, 20, Style::FIXED_FILTER),
    );
    steps(&mut router, 1000, 1005);
    assert_eq!(counter(&router, "rsvp.labels"), 0);
    steps(&mut router, 1005, 1007);
    assert_eq!(counter(&router, "rsvp.labels"), 1);
}

#[test]
fn a_tear_overtakes_others_and_ends_what_waits_of_its_own_lsp() {
    let mut router = router(Options::default());
    established(&mut router, 0, 1);
    router.options.path_us = 5000.0;
    for lsp_id in [2, 3, 1] {
        give(&mut router, MS, MessageType::Path, path(lsp_id));
    }
    give(&mut router, 2 * MS, MessageType::PathTear, tear(1));
    let order = kinds(&mut router, 20 * MS);
    let (path, tear) = (MessageType::Path, MessageType::PathTear);
    assert_eq!(order, [path, tear, path]);
    assert_eq!(counter(&router, "lsps"), 2);
}

#[test]
fn jitter_is_the_same_for_the_same_seed() {
    let times = |seed| {
        let mut router = router(Options {
            path_us: 2000.0,
            jitter: 0.1,
            seed,
            ..Options::default()
        });
        let mut times = Vec::new();
        for lsp_id in 1..=20 {
            give(
                &mut router,
                i64::from(lsp_id) * 10 * MS,
                MessageType::Path,
                path(lsp_id),
            );
            times.push(router.next_ns().unwrap() - i64::from(lsp_id) * 10 * MS);
            did(&mut router, i64::from(lsp_id) * 10 * MS + 9 * MS);
        }
        times
    };
    assert_eq!(times(1), times(1));
    assert_ne!(times(1), times(2));
}

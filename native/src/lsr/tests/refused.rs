//! What a router refuses, and how it says so.

use rackproof_rsvp::{ExplicitHop, LabelRequest, MessageType, Object, Style, Subobject, Unknown};

use super::fixture::*;
use crate::lsr::config::Config;
use crate::lsr::router::Router;
use crate::lsr::spec::Options;

fn error(router: &mut Router, kind: MessageType, objects: Vec<Object>) -> (MessageType, u8, u16) {
    give(router, 0, kind, objects);
    let all = sent(router, 0);
    let [(_, message)] = &all[..] else {
        panic!("one message: {all:?}");
    };
    assert_eq!(message.missing().next(), None);
    let spec = message.error_spec().unwrap();
    assert!([WEST, EAST].contains(&spec.node));
    (message.kind, spec.code, spec.value)
}

fn refused(more: Vec<Object>) -> (u8, u16) {
    let mut router = router(Options::default());
    let mut objects = path(1);
    objects.extend(more);
    let (kind, code, value) = error(&mut router, MessageType::Path, objects);
    assert_eq!(kind, MessageType::PathErr);
    assert_eq!(counter(&router, "lsps"), 0);
    (code, value)
}

fn strict(addresses: &[[u8; 4]]) -> Vec<ExplicitHop> {
    let hop = |address: &[u8; 4]| ExplicitHop {
        loose: false,
        subobject: Subobject::Ipv4 {
            address: (*address).into(),
            prefix_length: 32,
            flags: 0,
        },
    };
    addresses.iter().map(hop).collect()
}

fn unknown(class: u8) -> Object {
    Object::Unknown(Unknown {
        class,
        c_type: 2,
        data: vec![0; 4],
    })
}

#[test]
fn objects_that_nobody_knows_are_refused_left_out_or_passed_on() {
    assert_eq!(refused(vec![unknown(77)]), (13, 77 << 8 | 2));
    assert_eq!(refused(vec![unknown(1)]), (14, 1 << 8 | 2));
    let mut router = router(Options::default());
    let mut objects = path(1);
    objects.extend([unknown(0x90), unknown(0xc9)]);
    give(&mut router, 0, MessageType::Path, objects);
    let onward = sent(&mut router, 0).remove(0).1;
    assert!(onward.objects.contains(&unknown(0xc9)));
    assert!(!onward.objects.contains(&unknown(0x90)));
}

#[test]
fn bad_explicit_routes() {
    let route = |addresses: &[[u8; 4]]| vec![Object::ExplicitRoute(strict(addresses))];
    assert_eq!(refused(route(&[[10, 99, 0, 1]])), (24, 4));
    assert_eq!(refused(route(&[])), (24, 4));
    assert_eq!(refused(route(&[WEST.octets(), [10, 99, 0, 1]])), (24, 2));
    let autonomous = ExplicitHop {
        loose: true,
        subobject: Subobject::AutonomousSystem(7),
    };
    assert_eq!(
        refused(vec![Object::ExplicitRoute(vec![autonomous])]),
        (24, 1)
    );
}

#[test]
fn no_route_loops_and_other_payloads() {
    let mut router = router(Options::default());
    let mut objects = path(1);
    objects[0] = Object::Session(rackproof_rsvp::Session {
        endpoint: [192, 0, 2, 1].into(),
        ..session(1)
    });
    assert_eq!(
        error(&mut router, MessageType::Path, objects),
        (MessageType::PathErr, 24, 5)
    );
    let been = Subobject::Ipv4 {
        address: EAST,
        prefix_length: 32,
        flags: 0,
    };
    assert_eq!(refused(vec![Object::RecordRoute(vec![been])]), (24, 7));
    let mut objects = path(1);
    objects[3] = Object::LabelRequest(LabelRequest {
        reserved: 0,
        l3pid: 0x86dd,
    });
    assert_eq!(
        error(&mut router, MessageType::Path, objects),
        (MessageType::PathErr, 24, 10)
    );
}

#[test]
fn reservations_without_a_path_and_of_other_styles() {
    let mut router = router(Options::default());
    let wanted = resv(2, 20, Style::FIXED_FILTER);
    let answer = error(&mut router, MessageType::Resv, wanted);
    assert_eq!(answer, (MessageType::ResvErr, 3, 0));
    established(&mut router, 0, 1);
    let mut other = resv(1, 20, Style::FIXED_FILTER);
    other[5] = Object::FilterSpec(lsp(9));
    let answer = error(&mut router, MessageType::Resv, other);
    assert_eq!(answer, (MessageType::ResvErr, 4, 0));
    let wanted = resv(1, 20, Style::WILDCARD_FILTER);
    let answer = error(&mut router, MessageType::Resv, wanted);
    assert_eq!(answer, (MessageType::ResvErr, 6, 0));
    let wanted = resv(1, 7, Style::FIXED_FILTER);
    let answer = error(&mut router, MessageType::Resv, wanted);
    assert_eq!(answer, (MessageType::ResvErr, 24, 6));
    assert_eq!(counter(&router, "rsvp.labels"), 1);
}

#[test]
fn what_cannot_be_read_is_counted_and_nothing_else() {
    let mut router = router(Options::default());
    let mut cut = path(1);
    cut.remove(3);
    give(&mut router, 0, MessageType::Path, cut);
    router.receive(0, 0, &[0x45, 0, 0]);
    let mut wrong = packet(MessageType::Path, path(1), BEFORE);
    *wrong.last_mut().unwrap() ^= 1;
    router.receive(0, 0, &wrong);
    assert_eq!(did(&mut router, 0), []);
    assert_eq!(counter(&router, "rsvp.drop.malformed"), 3);
}

#[test]
fn a_label_to_push_without_one_below_it() {
    let mut mpls = mpls();
    mpls.labels[0].out_label = None;
    mpls.labels[0].push = Some(77);
    let error = Config::new(&mpls, &["west".to_owned(), "east".to_owned()]).unwrap_err();
    assert!(error.starts_with("label 100016: expected a label to swap to"));
}

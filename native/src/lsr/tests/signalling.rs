//! LSPs come, forward and go as RFC 2205 and RFC 3209 say.

use rackproof_rsvp::{
    ErrorSpec, ExplicitHop, Label, MessageType, Object, SessionAttribute, Style, Subobject, class,
};

use super::fixture::*;
use crate::lsr::config::Hop;
use crate::lsr::spec::Options;
use crate::lsr::table::Entry;

const DOWN: Hop = Hop {
    port: 1,
    address: AFTER,
};

fn towards_egress(out: Option<u32>) -> Entry {
    Entry {
        hop: DOWN,
        out,
        push: None,
    }
}
const UP: Hop = Hop {
    port: 0,
    address: BEFORE,
};

fn address(address: std::net::Ipv4Addr, loose: bool) -> ExplicitHop {
    ExplicitHop {
        loose,
        subobject: Subobject::Ipv4 {
            address,
            prefix_length: 32,
            flags: 0,
        },
    }
}

#[test]
fn path_goes_on_with_the_routers_own_hop_and_less_ttl() {
    let mut router = router(Options::default());
    let mut objects = path(1);
    objects.push(Object::ExplicitRoute(vec![
        address(WEST, false),
        address(AFTER, false),
    ]));
    objects.push(Object::RecordRoute(vec![]));
    give(&mut router, 0, MessageType::Path, objects);
    let [Did::Sent(hop, ip, message)] = &did(&mut router, 0)[..] else {
        panic!("one PATH");
    };
    assert_eq!(*hop, DOWN);
    assert_eq!((ip.source, ip.destination), (INGRESS, EGRESS));
    assert!(ip.router_alert);
    assert_eq!((ip.ttl, message.header.ttl), (59, 59));
    assert_eq!(message.header.flags, 1);
    assert_eq!(message.hop().unwrap().address, EAST);
    assert_eq!(message.explicit_route(), Some(&[address(AFTER, false)][..]));
    let ours = Subobject::Ipv4 {
        address: EAST,
        prefix_length: 32,
        flags: 0,
    };
    assert_eq!(message.record_route(), Some(&[ours][..]));
    assert_eq!(message.session(), Some(&session(1)));
    assert_eq!(message.missing().next(), None);
}

#[test]
fn a_route_that_ends_here_goes_on_by_the_static_routes() {
    let mut router = router(Options::default());
    let mut objects = path(1);
    objects.push(Object::ExplicitRoute(vec![address(WEST, true)]));
    give(&mut router, 0, MessageType::Path, objects);
    let [Did::Sent(hop, _, message)] = &did(&mut router, 0)[..] else {
        panic!("one PATH");
    };
    assert_eq!((*hop, message.explicit_route()), (DOWN, None));
}

#[test]
fn forwarding_is_programmed_before_resv_leaves() {
    for style in [Style::FIXED_FILTER, Style::SHARED_EXPLICIT] {
        let mut router = router(Options::default());
        let mut objects = path(1);
        objects.push(Object::SessionAttribute(SessionAttribute {
            affinities: None,
            setup_priority: 7,
            holding_priority: 7,
            flags: SessionAttribute::LABEL_RECORDING,
            name: Vec::new(),
            padding: Default::default(),
        }));
        give(&mut router, 0, MessageType::Path, objects);
        did(&mut router, 0);
        let mut objects = resv(1, 1234, style);
        objects.push(Object::RecordRoute(vec![]));
        give(&mut router, 0, MessageType::Resv, objects);
        let [Did::Programmed(label, entry), Did::Sent(hop, ip, message)] = &did(&mut router, 0)[..]
        else {
            panic!("an entry, and after it one RESV");
        };
        // The first label of all is taken by a static one.
        assert_eq!(*label, 100_017);
        let out = Some(1234);
        assert_eq!(*entry, Some(towards_egress(out)));
        assert_eq!((*hop, ip.source, ip.destination), (UP, WEST, BEFORE));
        assert!(!ip.router_alert && ip.ttl == message.header.ttl);
        assert_eq!(message.missing().next(), None);
        let said = message.hop().unwrap();
        assert_eq!((said.address, said.interface_handle), (WEST, 9));
        assert_eq!(message.label(), Some(&Label::Mpls(100_017)));
        assert_eq!(message.record_route().unwrap().len(), 2);
        assert!(message.objects.contains(&Object::Style(style)));
    }
}

#[test]
fn implicit_null_is_popped_and_explicit_null_is_a_label() {
    for (asked, out) in [(3, None), (0, Some(0))] {
        let mut router = router(Options::default());
        give(&mut router, 0, MessageType::Path, path(1));
        give(
            &mut router,
            0,
            MessageType::Resv,
            resv(1, asked, Style::FIXED_FILTER),
        );
        let all = did(&mut router, 0);
        let entry = Some(towards_egress(out));
        assert!(all.contains(&Did::Programmed(100_017, entry)));
    }
}

#[test]
fn a_tear_takes_the_label_and_goes_on() {
    let mut router = router(Options::default());
    let label = established(&mut router, 0, 1);
    give(&mut router, MS, MessageType::PathTear, tear(1));
    let all = did(&mut router, MS);
    let [Did::Programmed(gone, None), Did::Sent(hop, ip, message)] = &all[..] else {
        panic!("the entry goes, then a tear: {all:?}");
    };
    assert_eq!(
        (*gone, *hop, message.kind),
        (label, DOWN, MessageType::PathTear)
    );
    assert!(ip.router_alert && message.hop().unwrap().address == EAST);
    assert_eq!(counter(&router, "lsps"), 0);
    // The same label is not given again soon.
    assert_ne!(established(&mut router, 2 * MS, 2), label);
    give(&mut router, 3 * MS, MessageType::PathTear, tear(1));
    assert_eq!(did(&mut router, 3 * MS), []);
    assert_eq!(counter(&router, "rsvp.drop.no_state"), 1);
}

#[test]
fn resv_tear_takes_the_label_and_keeps_the_path() {
    let mut router = router(Options::default());
    let label = established(&mut router, 0, 1);
    let mut objects = resv(1, 1000, Style::SHARED_EXPLICIT);
    objects.retain(|object| !matches!(object, Object::TimeValues(_) | Object::Label(_)));
    give(&mut router, MS, MessageType::ResvTear, objects);
    let all = did(&mut router, MS);
    let [Did::Programmed(gone, None), Did::Sent(hop, _, message)] = &all[..] else {
        panic!("the entry goes, then a tear: {all:?}");
    };
    assert_eq!(
        (*gone, *hop, message.kind),
        (label, UP, MessageType::ResvTear)
    );
    assert_eq!(counter(&router, "lsps"), 1);
}

#[test]
fn errors_and_confirmations_are_passed_on() {
    let mut router = router(Options::default());
    established(&mut router, 0, 1);
    let error = Object::ErrorSpec(ErrorSpec {
        node: AFTER,
        flags: 0,
        code: 24,
        value: 5,
        interfaces: None,
    });
    let mut objects = path(1);
    objects.retain(|object| {
        matches!(
            object,
            Object::Session(_) | Object::SenderTemplate(_) | Object::SenderTspec(_)
        )
    });
    objects.insert(1, error.clone());
    give(&mut router, MS, MessageType::PathErr, objects);
    let (to, passed) = sent(&mut router, MS).remove(0);
    assert_eq!((to, passed.kind), (BEFORE, MessageType::PathErr));
    assert_eq!(passed.error_spec().unwrap().node, AFTER);

    let mut objects = resv(1, 1000, Style::SHARED_EXPLICIT);
    objects
        .retain(|object| !matches!(object.class_and_type().0, class::TIME_VALUES | class::LABEL));
    objects[1] = hop(BEFORE);
    objects.insert(2, error.clone());
    give(&mut router, MS, MessageType::ResvErr, objects);
    let (to, passed) = sent(&mut router, MS).remove(0);
    assert_eq!((to, passed.kind), (AFTER, MessageType::ResvErr));
    assert_eq!(passed.hop().unwrap().address, EAST);

    let mut objects = resv(1, 1000, Style::SHARED_EXPLICIT);
    objects.insert(3, Object::ResvConfirm(EGRESS));
    give(&mut router, 2 * MS, MessageType::Resv, objects.clone());
    let (to, passed) = sent(&mut router, 2 * MS).remove(0);
    assert_eq!((to, passed.kind), (BEFORE, MessageType::Resv));
    assert!(passed.objects.contains(&Object::ResvConfirm(EGRESS)));
    objects[1] = error;
    objects
        .retain(|object| !matches!(object.class_and_type().0, class::TIME_VALUES | class::LABEL));
    router.receive(3 * MS, 0, &packet(MessageType::ResvConf, objects, BEFORE));
    let (to, passed) = sent(&mut router, 3 * MS).remove(0);
    assert_eq!((to, passed.kind), (AFTER, MessageType::ResvConf));
}

#[test]
fn of_static_labels_only_those_that_differ_are_changed() {
    let mut router = router(Options::default());
    let mut mpls = mpls();
    mpls.labels.push(crate::lsr::spec::StaticLabel {
        in_label: 40,
        port: "east".to_owned(),
        next_hop: AFTER.to_string(),
        out_label: None,
        push: None,
    });
    router.configure(config_of(&mpls));
    let entry = towards_egress(None);
    assert_eq!(did(&mut router, 0), [Did::Programmed(40, Some(entry))]);
    mpls.labels[1].out_label = Some(41);
    mpls.labels[1].push = Some(42);
    router.configure(config_of(&mpls));
    let entry = Entry {
        push: Some(42),
        ..towards_egress(Some(41))
    };
    assert_eq!(did(&mut router, 0), [Did::Programmed(40, Some(entry))]);
    mpls.labels.remove(0);
    router.configure(config_of(&mpls));
    assert_eq!(did(&mut router, 0), [Did::Programmed(100_016, None)]);
}
